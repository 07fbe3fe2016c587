"""The source lines and the findings of NVIDIA's that say most about a run, on a terminal."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ncu_assist.ncu.hot_spots import HotLine, HotSpots, NvidiaFinding
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

INDENT = "    "
PLACE_WIDTH = 30  # columns for file:line; of a longer name the end is shown


def hot_spots_text(spots: HotSpots, width: int) -> list[RenderableType]:
    """Return the lines, each with its source text below it, then the findings; ``note`` where there are none."""
    from rich.text import Text

    parts: list[RenderableType] = []
    if spots.lines:
        parts += [Text(""), Text(_lines_title(spots), style="bold")]
        for line in spots.lines:
            parts += [Text(_line(line))]
            parts += [Text(INDENT + one_line(line.source, width - len(INDENT)), style="dim")] if line.source else []
    if spots.findings:
        parts += [Text(""), Text("NVIDIA's findings, by estimated speed-up", style="bold"), _findings(spots)]
    return [*parts, Text(""), Text(f"note: {spots.note}")] if spots.note else parts


def _lines_title(spots: HotSpots) -> str:
    title = "Hottest source lines: share of warp samples, top stall"
    return title + (f" ({spots.launches_read} longest launches)" if spots.launches_read < spots.launches else "")


def _line(line: HotLine) -> str:
    parts = [f"{100 * line.share:5.1f} %  {_place(line)}"]
    parts += [one_line(line.stall.replace("_", " "), 20)] if line.stall else []
    parts += [
        f"{quantity(excess, '')} excess {what}"
        for what, excess in (("sectors", line.sectors_excessive), ("wavefronts", line.wavefronts_excessive))
        if excess
    ]
    return ", ".join(parts)


def _place(line: HotLine) -> str:
    place = f"{one_line(PurePath(line.file).name)}:{line.line}"
    return place if len(place) <= PLACE_WIDTH else f"…{place[1 - PLACE_WIDTH :]}"


def _findings(spots: HotSpots) -> Table:
    from rich.text import Text

    made = table(("finding", "left"), ("estimate", "right"), ("of", "left"), ("launch", "left"))
    for finding in spots.findings:
        made.add_row(
            Text(one_line(finding.title, 48)),
            "-" if finding.speedup_pct is None else f"{finding.speedup_pct:.0f} %",
            finding.speedup_type or "-",
            Text(_where(finding, spots.launches)),
        )
    return made


def _where(finding: NvidiaFinding, launches: int) -> str:
    if launches == 1:
        return one_line(finding.kernel, 24)
    return f"{one_line(finding.kernel, 24)} ({finding.launches} of {launches})"
