"""The source lines that say most about a run, on a terminal."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ncu_assist.ncu.hot_spots import HotLine, HotSpots
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

INDENT = "    "
PLACE_WIDTH = 30  # columns for file:line; of a longer name the end is shown


def hot_lines_text(spots: HotSpots, width: int) -> list[RenderableType]:
    """Return the lines, each with its source text below it; or the note why there are none."""
    from rich.text import Text

    if not spots.lines:
        return [Text(""), Text(f"note: {spots.note}")] if spots.note else []
    parts: list[RenderableType] = [Text(""), Text(_lines_title(spots), style="bold")]
    for line in spots.lines:
        parts += [Text(_line(line))]
        parts += [Text(INDENT + one_line(line.source, width - len(INDENT)), style="dim")] if line.source else []
    return parts


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
