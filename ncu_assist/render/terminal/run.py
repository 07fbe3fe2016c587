"""One run on a terminal: what it is, verdict, times, what binds it, diagnosis, warp states, counters, launches."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ncu_assist.analysis.run_view import BARS, RunView, WorkloadRow, gigabytes_per_second, throughputs
from ncu_assist.analysis.yardstick import OPERATIONS, Yardstick, measure_of
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.command import UNKNOWN
from ncu_assist.quantity import digits, duration, number_of, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.diagnosis import brief_diagnosis, diagnosis_lines, hot_lines_text, nvidia_text
from ncu_assist.render.terminal.launches import BRIEF_ROWS, launches_text
from ncu_assist.render.terminal.style import Style, detected, styled, table, to_text
from ncu_assist.render.words.floors import IN_L2, floor_words, lowered_words, no_rates, operations_words
from ncu_assist.render.words.launches import LIMIT_WORDS, block_limits, bound_note, focus_words, limits_of, room_words
from ncu_assist.render.words.terms import stall_name
from ncu_assist.render.words.values import ABOUT, drivers_part
from ncu_assist.render.words.verdicts import (
    failed_checks,
    impossible_lines,
    of_launches,
    of_representative,
    origin,
    verdict_sentence,
)
from ncu_assist.rules.model.resources import BUSY_PERCENT, LATENCY
from ncu_assist.rules.model.warnings import can_be_collected

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

TOP_STALLS = 5
BAR = 24


def speed_of_light(shown: RunView, alone: str = "") -> list[RenderableType]:
    """Return a bar for each unit, in percent of its peak; none without such counters.

    ``alone`` names the launch that is shown of several kernels, empty where it is of all launches.
    """
    values = shown.combined.values
    known = throughputs(shown.combined)
    if not known:
        return []
    made = table(("unit", "left"), ("of its peak", "right"), ("", "left"), ("", "left"))
    for key, value in known:
        rate = values["dram_bandwidth"] if key == "dram_throughput" else None
        made.add_row(ROWS[key].label, f"{value:.1f} %", _bar(value), quantity(rate, "byte/s") if rate else "")
    return [
        styled(""),
        styled(f"Speed of light{f' of {alone}' if alone else of_what(shown)}", "bold"),
        made,
        *(styled(line) for line in impossible_lines(shown.combined, BARS)),
        *(styled(one) for one in _binding_sentence(shown)),
    ]


def warp_states(shown: RunView, alone: str = "") -> list[RenderableType]:
    """Return where warps spent their time and how many there were; nothing where that was not sampled."""
    occupancy = [styled(line) for line in _occupancy(shown)]
    if not shown.combined.stalls:
        return [styled(""), *occupancy] if occupancy else []
    return [styled(""), styled(f"Warp states{f' of {alone}' if alone else ''}", "bold"), _stalls(shown), *occupancy]


def of_what(shown: RunView) -> str:
    """Return what the counters are of, for a title: the workload, and how many launches and kernels."""
    where = f" of {one_line(shown.combined.workload)}" if shown.combined.workload else ""
    count = len(shown.combined.launches)
    if shown.combined.is_of_kernels:
        return f"{where}, {count} launches of different kernels: sums of all, the others of the longest"
    return where + (f", {count} launches together" if count > 1 else "")


def _binding_sentence(shown: RunView) -> Iterator[str]:
    bound = shown.bottleneck
    if bound is None:
        return
    if bound.name == LATENCY:
        yield f"bound by latency: compute and memory throughput are below {BUSY_PERCENT:.0f} %"
        return
    yield f"bound by {bound.name}, at {bound.percent:.0f} % of its peak{bound_note(shown)}"


def _bar(percent: float) -> str:
    return "█" * min(BAR, max(0, round(percent / 100 * BAR)))


def _stalls(shown: RunView) -> Table:
    made = table(("stalled for", "left"), ("share", "right"), ("", "left"))
    for reason, share in list(shown.stalls.items())[:TOP_STALLS]:
        made.add_row(one_line(stall_name(reason, shown)), f"{share:.1f} %", _bar(share))
    return made


def _occupancy(shown: RunView) -> list[str]:
    """Return the occupancy and what limits it, with the blocks that each limit allows; empty without counters."""
    values = shown.combined.values
    shares = [f"{v:.0f} % {word}" for word in ("achieved", "theoretical") if (v := values[f"{word}_occupancy"])]
    allowed = block_limits(shown)
    if not shares or not allowed:
        return [f"Occupancy: {', '.join(shares)}"] if shares else []
    names, _ = limits_of(allowed)
    ranked = sorted(allowed.items(), key=lambda one: one[1])
    counts = ", ".join(f"{LIMIT_WORDS.get(word, word)} {digits(count)}" for word, count in ranked)
    room = room_words(shown.results.facts) if shown.results else ()
    return [
        f"Occupancy: {', '.join(shares)}, limited by {names}",
        f"  blocks that fit an SM: {counts}",
        *(f"  {one}" for one in room),
    ]


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


BRIEF_LETTERS = 240  # of what a finding says: three lines


def brief_text(shown: RunView) -> str:
    """Return a run on one screen: verdict, times, launches, what binds it, what to change, and what more there is."""
    style = detected()
    parts: list[RenderableType] = [styled(one_line(shown.reference), "bold"), styled(_origin(shown), "dim")]
    parts += _verdict(shown)
    if shown.rows:
        rest = len(shown.rows) - BRIEF_ROWS
        parts += [styled(""), _times(shown.rows[:BRIEF_ROWS])]
        parts += [styled(f"and {number_of(rest, 'workload')} more", "dim")] if rest > 0 else []
        parts += [styled(line, "red") for line in failed_checks(shown.rows)]
    parts += launches_text(shown, style.width, brief=True)
    told = shown.detail
    if told.combined.launches:
        parts += [styled(""), *(styled(one) for one in _binding_sentence(told.counted))]
        parts += [styled(line) for line in _waits(told.counted)]
        first = brief_diagnosis(told.results, BRIEF_LETTERS) if told.results else []
        parts += [styled(line, "" if place else "bold") for place, line in enumerate(first)]
    if shown.close.spots is not None:
        hottest = replace(shown.close.spots, lines=shown.close.spots.lines[:BRIEF_ROWS])
        parts += hot_lines_text(hottest, style.width, _alone(shown))
    notes = f", {number_of(len(shown.run.notes), 'note')}" if shown.run.notes else ""
    asked = {"--lines": shown.close.spots, "--ncu-rules": shown.close.nvidia} if shown.keeps_report else {}
    held = "".join(f", {name}" for name, found in asked.items() if found is None)
    more = f"more: --full (units, warp states, counters{notes}){held}"
    page = f"page: ncu-assist report {shlex.quote(one_line(shown.reference).partition('@')[0])}"
    return to_text([*parts, styled(""), styled(more, "dim"), styled(page, "dim")], style)


def _waits(shown: RunView) -> list[str]:
    """Return in one line what warps wait for most, and the occupancy; none without either."""
    stalls = [f"{one_line(stall_name(reason, shown))} {share:.0f} %" for reason, share in shown.stalls.items()]
    said = [f"warps wait for {', '.join(stalls[:2])}"] if stalls else []
    achieved = shown.combined.values["achieved_occupancy"]
    said += [f"occupancy {achieved:.0f} %"] if achieved else []
    return [", ".join(said)] if said else []


def show_text(shown: RunView, style: Style | None = None) -> str:
    """Return a run as text. One line at the end says how to get what only its report holds."""
    style = style or detected()
    parts: list[RenderableType] = [styled(one_line(shown.reference), "bold"), styled(_origin(shown), "dim")]
    parts += [styled(f"note: {one_line(note)}") for note in shown.run.notes]
    parts += _verdict(shown)
    if shown.rows:
        parts += [styled(""), _times(shown.rows)]
        parts += [styled(line, "dim") for line in no_rates(shown.rows)]
        parts += [styled(line, "red") for line in failed_checks(shown.rows)]
    parts += launches_text(shown, style.width)
    told = shown.detail
    if told is not shown:
        parts += [styled(""), styled(focus_words(shown), "bold")]
    if told.combined.launches:
        parts += speed_of_light(told.counted, of_representative(told))
        parts += _diagnosis(told, style.width)
        parts += warp_states(told.counted, of_representative(told))
    if shown.close.spots is not None:
        parts += hot_lines_text(shown.close.spots, style.width, _alone(shown))
    if shown.close.nvidia is not None:
        parts += nvidia_text(shown.close.nvidia, len(shown.launches_shown), style.width)
    if told.combined.launches:
        parts += [styled(""), styled(f"Counters{of_what(told)}", "bold"), *_metrics(told)]
    return to_text([*parts, *_more_to_see(shown, style.width)], style)


def _alone(shown: RunView) -> int | None:
    """Return the number of the launch that lines are of; None where they are of all that there are."""
    return shown.focus.launch.index if shown.focus and len(shown.launches) > 1 else None


def _verdict(shown: RunView) -> list[RenderableType]:
    """Return the verdict against the version before, floor and operations, and the clock where it was lowered."""
    lines: list[RenderableType] = []
    if shown.before is not None:
        name, verdict = shown.before.version, shown.before.verdict
        said = verdict_sentence(shown.run.version, name, shown.combined.workload, verdict)
        lines.append(styled(said, "bold"))
    floor = floor_words(shown.row)
    if floor:
        lines.append(styled(f"floor: {floor}"))
    operations = operations_words(shown)
    if operations:
        lines.append(styled(f"operations: {operations}"))
    lowered = lowered_words(shown.run.bench, shown.row.timing if shown.row else None)
    if lowered:
        lines.append(styled(f"clock: {lowered}"))
    return [styled(""), *lines] if lines else []


def _diagnosis(shown: RunView, width: int) -> list[RenderableType]:
    results = diagnosis_lines(shown.results, width) if shown.results else []
    return (
        [styled(""), *(styled(line, "" if place else "bold") for place, line in enumerate(results))] if results else []
    )


def _more_to_see(shown: RunView, width: int) -> list[RenderableType]:
    """Return what the report would add and how to see it, or why it adds nothing."""
    close = shown.close
    if close.note:
        return [styled(""), styled(f"note: {close.note}")]
    options = ["--lines"] * (close.spots is None) + ["--ncu-rules"] * (close.nvidia is None)
    if not options or not shown.keeps_report:
        return []
    whole = f"more: ncu-assist show {' '.join(options)} {shlex.quote(one_line(shown.reference))}"
    short = f"more: the same command with {' and '.join(options)}"
    return [styled(""), styled(whole if len(whole) <= width else short, "dim")]


def _origin(shown: RunView) -> str:
    text = origin(shown.source, shown.run)
    if not shown.run.verified:
        text += " (whether it is as ncu wrote it is not known)"
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
        ("TFLOP/s" if measure is OPERATIONS else "GB/s", "right"),
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

    Where versions are compared with the tensor cores, it is TFLOP/s.
    """
    if measure is OPERATIONS:
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


def _metrics(shown: RunView) -> list[RenderableType]:
    """Return the key metrics that a report has, and in one line those that it lacks and that can be collected."""
    made = table(("metric (under ncu)", "left"), ("value", "right"), ("", "left"))
    lacking = []
    for key in KEY_METRICS:
        metric = ROWS[key]
        is_of_all = metric.combine.over_kernels or shown.counted is shown
        combined = shown.combined if is_of_all else shown.counted.combined
        value = combined.values[key]
        if value is None and key not in combined.not_applicable:
            if shown.results is None or can_be_collected(key, shown.results.facts):
                lacking.append(metric.label)
            continue
        about = ABOUT if combined.is_approximate(key) else ""
        text = combined.not_applicable[key] if value is None else about + quantity(value, metric.unit)
        of = of_launches(combined.coverage(key)) if is_of_all else f"launch {combined.launches[0].index}"
        drivers = drivers_part(combined) if key == "shared_memory" else ""
        made.add_row(metric.label, text, ", ".join(filter(None, (of, drivers))))
    rest = [styled(f"not in the report: {'; '.join(lacking)}", "dim")] if lacking else []
    return [*([made] if made.row_count else []), *rest]
