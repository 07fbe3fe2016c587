"""One run on a terminal: what it is, verdict, times, what binds it, diagnosis, counters, launches."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ncu_assist.analysis.run_view import Shown, WorkloadRow, gigabytes_per_second
from ncu_assist.analysis.yardstick import TENSOR, Yardstick, measure_of
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.command_line import UNKNOWN
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.floor import floor_words
from ncu_assist.render.l2_words import IN_L2, no_rates
from ncu_assist.render.precisions import operations_words
from ncu_assist.render.terminal.diagnosis import diagnosis_lines
from ncu_assist.render.terminal.hot_spots import hot_lines_text
from ncu_assist.render.terminal.nvidia_findings import nvidia_text
from ncu_assist.render.terminal.run_launches import launches_text
from ncu_assist.render.terminal.speed_of_light import of_what, speed_of_light, warp_states
from ncu_assist.render.terminal.style import Style, detected, table, to_text
from ncu_assist.render.words import failed_checks, of_launches, of_longest, origin, verdict_sentence

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

KEY_METRICS = (
    "duration",
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
    "registers",
    "shared_memory",
    "instructions",
)


def show_text(shown: Shown, style: Style | None = None) -> str:
    """Return a run as text. One line at the end says how to get what only its report holds."""
    from rich.text import Text

    style = style or detected()
    parts: list[RenderableType] = [Text(one_line(shown.reference), style="bold"), Text(_origin(shown), style="dim")]
    parts += [Text(f"note: {one_line(note)}") for note in shown.run.notes]
    parts += _verdict(shown)
    if shown.rows:
        parts += [Text(""), _times(shown.rows)]
        parts += [Text(line, style="dim") for line in no_rates(shown.rows)]
        parts += [Text(line, style="red") for line in failed_checks(shown.rows)]
    if shown.combined.launches:
        parts += speed_of_light(shown.counted, of_longest(shown))
        parts += _diagnosis(shown, style.width)
        parts += warp_states(shown.counted, of_longest(shown))
    if shown.close.spots is not None:
        parts += hot_lines_text(shown.close.spots, style.width)
    if shown.close.nvidia is not None:
        parts += nvidia_text(shown.close.nvidia, len(shown.launches_shown), style.width)
    if shown.combined.launches:
        parts += [Text(""), Text(f"Counters{of_what(shown)}", style="bold"), *_metrics(shown)]
    if len(shown.launches_shown) > 1:
        parts += [Text(""), *launches_text(shown.launches_shown, style.width)]
    return to_text([*parts, *_last(shown, style.width)], style)


def _verdict(shown: Shown) -> list[RenderableType]:
    """Return the verdict against the version before, how far the floor is, and operations where they set it."""
    from rich.text import Text

    lines: list[RenderableType] = []
    if shown.before is not None:
        name, verdict = shown.before.version, shown.before.verdict
        said = verdict_sentence(shown.run.version, name, shown.combined.workload, verdict)
        lines.append(Text(said, style="bold"))
    floor = floor_words(shown.row)
    if floor:
        lines.append(Text(f"floor: {floor}"))
    operations = operations_words(shown)
    if operations:
        lines.append(Text(f"operations: {operations}"))
    return [Text(""), *lines] if lines else []


def _diagnosis(shown: Shown, width: int) -> list[RenderableType]:
    from rich.text import Text

    told = diagnosis_lines(shown.told, width) if shown.told else []
    return [Text(""), *(Text(line, "" if place else "bold") for place, line in enumerate(told))] if told else []


def _last(shown: Shown, width: int) -> list[RenderableType]:
    """Return what the report would add and how to see it, or why it adds nothing."""
    from rich.text import Text

    close = shown.close
    if close.note:
        return [Text(""), Text(f"note: {close.note}")]
    options = ["--lines"] * (close.spots is None) + ["--ncu-rules"] * (close.nvidia is None)
    if not options or not shown.keeps_report:
        return []
    whole = f"more: ncu-assist show {' '.join(options)} {shlex.quote(one_line(shown.reference))}"
    short = f"more: the same command with {' and '.join(options)}"
    return [Text(""), Text(whole if len(whole) <= width else short, style="dim")]


def _origin(shown: Shown) -> str:
    text = origin(shown.source, shown.run)
    if not shown.run.verified:
        text += " (its bytes at capture are not known)"
    profile = shown.run.profile
    if profile is not None:
        said = {"--set": profile.section_set, "clocks": profile.clock_control}
        known = [f"{what} {one_line(value)}" for what, value in said.items() if value != UNKNOWN]
        text += f"; {', '.join(known)}" if known else ""
    return text


def _times(rows: tuple[WorkloadRow, ...]) -> Table:
    measure = measure_of(rows)
    made = table(
        ("workload", "left"),
        ("median", "right"),
        ("q1 to q3", "right"),
        ("Tflop/s" if measure is TENSOR else "GB/s", "right"),
        (measure.title, "right"),
        ("check", "left"),
    )
    for row in rows:
        timing = row.timing
        made.add_row(
            one_line(row.workload.name),
            duration(timing.median_ns) if timing else "-",
            f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}" if timing else "-",
            rate(row, measure),
            percent(row.share_of(measure)),
            check_word(row),
        )
    return made


def rate(row: WorkloadRow, measure: Yardstick) -> str:
    """Return a bandwidth in GB/s without the unit, ``-`` where there is none, or that the data lies in L2.

    Where versions are held against the tensor cores, it is Tflop/s.
    """
    if measure is TENSOR:
        return "-" if row.flops_per_second is None else f"{row.flops_per_second / 1e12:.1f}"
    return IN_L2[row.in_l2] if row.in_l2 and row.timing else gigabytes_per_second(row)


def percent(share: float | None) -> str:
    """Return a share as a percentage, ``-`` where there is none."""
    return "-" if share is None else f"{100 * share:.0f} %"


def check_word(row: WorkloadRow | None) -> str:
    """Return how the check of a workload came out, ``-`` where there was none."""
    if row is None or row.check is None:
        return "-"
    return "passed" if row.check.passed else "FAILED"


def _metrics(shown: Shown) -> list[RenderableType]:
    """Return the key metrics that a report has, and in one line those that it lacks."""
    from rich.text import Text

    made = table(("metric (under ncu)", "left"), ("value", "right"), ("", "left"))
    lacking = []
    for key in KEY_METRICS:
        metric = ROWS[key]
        is_of_all = metric.combine.over_kernels or shown.counted is shown
        combined = shown.combined if is_of_all else shown.counted.combined
        value = combined.values[key]
        if value is None and key not in combined.not_applicable:
            lacking.append(metric.label)
            continue
        text = combined.not_applicable[key] if value is None else quantity(value, metric.unit)
        of = of_launches(combined.coverage(key)) if is_of_all else f"launch {combined.launches[0].index}"
        made.add_row(metric.label, text, of)
    rest = [Text(f"not in the report: {'; '.join(lacking)}", style="dim")] if lacking else []
    return [*([made] if made.row_count else []), *rest]
