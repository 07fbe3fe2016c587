"""One run on a terminal: what it is, its times, its counters, its launches, its stalls."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.derived import DERIVED
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.hot_spots import HotSpots
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.facts import LaunchRow, Shown, WorkloadRow, gather
from ncu_assist.render.terminal.diagnosis import diagnosis_lines
from ncu_assist.render.terminal.hot_spots import hot_spots_text
from ncu_assist.render.terminal.style import Style, detected, table, to_text
from ncu_assist.render.words import of_launches, origin
from ncu_assist.store import StoredRun

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

KEY_METRICS = (
    "duration",
    "sm_throughput",
    "memory_throughput",
    "dram_throughput",
    "dram_bandwidth",
    "dram_bytes",
    "l2_hit_rate",
    "sector_efficiency_load",
    "sector_efficiency_store",
    "sectors_per_request_load",
    "sectors_per_request_store",
    "shared_wavefronts_excessive",
    "global_sectors_excessive",
    "local_spilling_requests",
    "theoretical_occupancy",
    "achieved_occupancy",
    "registers",
    "shared_memory",
    "instructions",
)
TOP_STALLS = 5
MOST_LAUNCHES = 20
BAR = 24


def show_text(
    stored: StoredRun,
    workload: str | None = None,
    style: Style | None = None,
    spots: HotSpots | None = None,
    code: Code | None = None,
) -> str:
    """Return a run as text; ``workload`` chooses whose counters are shown. Raises as ``gather`` does.

    ``code`` says where the diagnosis happens.
    Without ``spots``, the lines and findings that cost most, one line says how to get them.
    """
    from rich.text import Text

    style = style or detected()

    shown = gather(stored, workload)
    parts: list[RenderableType] = [Text(_title(shown), style="bold"), Text(_origin(shown), style="dim")]
    parts += [Text(f"note: {one_line(note)}") for note in shown.run.notes]
    if shown.rows:
        parts += [Text(""), _times(shown.rows)]
        parts += [Text(line, style="red") for line in _failed_checks(shown.rows)]
    if shown.combined.launches:
        told = diagnosis_lines(shown.told, code, style.width) if shown.told else []
        parts += [Text(""), *(Text(line, "" if place else "bold") for place, line in enumerate(told))] if told else []
        parts += [Text(""), Text(_counters_title(shown), style="bold"), _metrics(shown)]
        parts += [Text(""), Text("Warp states", style="bold"), _stalls(shown)] if shown.combined.stalls else []
    if spots is not None:
        parts += hot_spots_text(spots, style.width)
    if len(shown.launches_shown) > 1:
        parts += [Text(""), *_launches(shown.launches_shown)]
    if spots is None and shown.keeps_report:
        parts += [Text(""), Text(_offer(shown, style.width), style="dim")]
    return to_text(parts, style)


def _title(shown: Shown) -> str:
    return one_line(shown.reference)


def _offer(shown: Shown, width: int) -> str:
    """Return how to see source lines and findings, with a command to paste where that fits on the line."""
    what = "source lines, NVIDIA's findings:"
    command = f"{what} ncu-assist show --lines {shlex.quote(one_line(shown.reference))}"
    return command if len(command) <= width else f"{what} ncu-assist show --lines"


def _origin(shown: Shown) -> str:
    text = origin(shown.source, shown.run)
    if not shown.run.verified:
        text += " (its bytes at capture are not known)"
    profile = shown.run.profile
    if profile is not None:
        text += f"; --set {one_line(profile.section_set)}, clocks {one_line(profile.clock_control)}"
    return text


def _times(rows: tuple[WorkloadRow, ...]) -> Table:
    made = table(
        ("workload", "left"),
        ("median", "right"),
        ("q1 to q3", "right"),
        ("GB/s", "right"),
        ("of copy", "right"),
        ("check", "left"),
    )
    for row in rows:
        timing = row.timing
        made.add_row(
            one_line(row.workload.name),
            duration(timing.median_ns) if timing else "-",
            f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}" if timing else "-",
            bandwidth(row.bytes_per_second),
            percent(row.share_of_copy),
            check_word(row),
        )
    return made


def bandwidth(bytes_per_second: float | None) -> str:
    """Return a bandwidth in GB/s without the unit, ``-`` where there is none."""
    return "-" if bytes_per_second is None else f"{bytes_per_second / 1e9:.0f}"


def percent(share: float | None) -> str:
    """Return a share as a percentage, ``-`` where there is none."""
    return "-" if share is None else f"{100 * share:.0f} %"


def check_word(row: WorkloadRow | None) -> str:
    """Return how the check of a workload came out, ``-`` where there was none."""
    if row is None or row.check is None:
        return "-"
    return "passed" if row.check.passed else "FAILED"


def _failed_checks(rows: tuple[WorkloadRow, ...]) -> list[str]:
    failed = [row for row in rows if row.check and not row.check.passed]
    return [f"{one_line(row.workload.name)}: {one_line(row.check.reason)}" for row in failed if row.check]


def _counters_title(shown: Shown) -> str:
    where = f" of {one_line(shown.combined.workload)}" if shown.combined.workload else ""
    count = len(shown.combined.launches)
    title = f"Counters{where}" + (f", {count} launches together" if count > 1 else "")
    bound = shown.bottleneck
    return f"{title}: bound by {bound.name} ({bound.percent:.0f} % at the busiest unit)" if bound else title


def _metrics(shown: Shown) -> Table:
    made = table(("metric (under ncu)", "left"), ("value", "right"), ("", "left"))
    for key in KEY_METRICS:
        metric = CATALOGUE[key] if key in CATALOGUE else DERIVED[key]
        value = shown.combined.values[key]
        text = quantity(value, metric.unit) if value is not None else shown.combined.not_applicable.get(key, "-")
        made.add_row(metric.label, text, of_launches(shown.combined.coverage(key)))
    return made


def _stalls(shown: Shown) -> Table:
    made = table(("stalled for", "left"), ("share", "right"), ("", "left"))
    for reason, share in list(shown.combined.stalls.items())[:TOP_STALLS]:
        made.add_row(one_line(reason.replace("_", " ")), f"{share:.1f} %", "█" * round(share / 100 * BAR))
    return made


def _launches(rows: tuple[LaunchRow, ...]) -> list[RenderableType]:
    from rich.text import Text

    made = table(("launch", "left"), ("duration", "right"), ("grid", "right"), ("block", "right"), ("bound by", "left"))
    for row in rows[:MOST_LAUNCHES]:
        launch = row.launch
        made.add_row(
            Text(one_line(launch.kernel)),
            duration(launch.duration_ns) if launch.duration_ns is not None else "-",
            "x".join(map(str, launch.grid)),
            "x".join(map(str, launch.block)),
            row.bottleneck.name if row.bottleneck else "-",
        )
    rest = len(rows) - MOST_LAUNCHES
    return [made, Text(f"and {rest} more")] if rest > 0 else [made]
