"""The history of a kernel in words: times, notes, sweeps, and faults gone with what that was to win."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ncu_assist.analysis.yardstick import COPY
from ncu_assist.quantity import duration, times_as_fast
from ncu_assist.render.words.floors import copy_words, floor_note
from ncu_assist.render.words.terms import against
from ncu_assist.render.words.verdicts import cycle_words, factor, origin, settling
from ncu_assist.rules.model.resources import LATENCY
from ncu_assist.verdict import REASONS, Cycles, Verdict
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.faults_gone import FaultsGone
    from ncu_assist.analysis.history import History, HistoryCell, Sweep, VersionRow
    from ncu_assist.analysis.records import StoredFinding
    from ncu_assist.record import Run, Source

FAULTS_GONE = "faults gone or lessened since the parent: speed-up estimated and achieved"
TOGETHER = "together: the largest alone, if they waste the same time, to all savings summed"
ACHIEVED_BY = {
    "bench": "in one bench, paired",
    "unpaired samples": "in two benches, not paired",
    "launches under ncu": "over repeated launches under ncu",
    "ncu": "of durations under ncu",
}


def with_faults_gone(found: Iterable[FaultsGone]) -> list[FaultsGone]:
    """Return the steps that tell estimate from achievement: those that lost a fault, or have less of one."""
    return [one for one in found if one.gone or one.lessened]


def not_told(found: Iterable[FaultsGone]) -> Iterator[str]:
    """Yield of which steps nothing is told, and why: another program than the parent's has not lost a fault of it."""
    steps: dict[str, list[str]] = {}
    for one in found:
        if one.another_program:
            steps.setdefault(one.another_program, []).append(
                f"{short_name(one.version)} against {short_name(one.before)}"
            )
    for why, own in steps.items():
        yield f"not told of {', '.join(own)}, another program: {why}"


def fault(finding: StoredFinding) -> str:
    """Return a rule with its pipe or limiter, e.g. ``pipe-bound (xu)``."""
    return finding.rule + "".join(f" ({value})" for value in finding.detail.values())


def estimate(finding: StoredFinding) -> str:
    """Return what the fault alone was to win; a tilde where that rests on an assumed ceiling."""
    mark = "~" if finding.assumed else ""
    return mark + times_as_fast(finding.estimated_speedup) if finding.estimated_speedup else "-"


def estimates(both: tuple[StoredFinding, StoredFinding]) -> str:
    """Return what a fault was to win before and is to win now, e.g. ``3.80x → 1.25x``."""
    return " → ".join(map(estimate, both))


def together(step: FaultsGone) -> str:
    """Return what several faults were to win, e.g. ``2.49x to 3.11x``."""
    if step.low is None:
        return "-"
    low = factor(step.low)
    return f"{low} to {factor(step.high)}" if step.high is not None else f"{low} or more"


def prediction_legend(found: list[FaultsGone]) -> Iterator[str]:
    """Yield what the table does not say: of what its two figures are, and what its signs mean."""
    yield f"estimated: {_by_version({one.version: _estimate_source(one) for one in found})}"
    by = {one.version: ACHIEVED_BY[one.achieved_by] for one in found if one.achieved_by}
    if any(step.source == "stored" for step in found):
        yield "stored estimates are shown as they were stored; ncu-assist show makes them anew, by the rules of today"
    if by:
        yield f"achieved: {_by_version(by)}"
    if any(len(one.gone) > 1 for one in found):
        yield TOGETHER
    pairs = [each for step in found for each in (*step.lessened, *step.worse)]
    if any(
        one.assumed for step in found for one in (*step.gone, *step.appeared, *(one for both in pairs for one in both))
    ):
        yield "~: rests on an assumed ceiling"
    yield from (_why_so_little(one) for one in found if one.low and one.achieved and one.low > FAR * one.achieved)
    for one in found:
        for old, new in one.renamed:
            yield f"{short_name(one.version)}: {fault(old)} is not gone, the same resource now shows it as {fault(new)}"
    if pairs:
        yield "less, more: a fault that is still there, and what it was and is to win; others may hide a part of that"
    if any(one.appeared for one in found):
        yield "new: the largest fault that came with the version (+ more), and what it costs"


FAR = 2.0  # an estimate that many times what was achieved is given a word


def _why_so_little(step: FaultsGone) -> str:
    """Return why a version achieved far less than the fault alone was to win: what came with it, as far as found."""
    largest = max(step.gone, key=lambda one: one.estimated_speedup or 0.0)
    most = f"{estimate(largest)} is what {fault(largest)} alone was to win if nothing else cost time"
    there = (*step.appeared, *(now for _, now in step.worse))
    came = ", ".join(f"{fault(one)} {estimate(one)}" for one in there)
    why = f"what replaced it has faults of its own, {came}" if came else "nothing was found that says why less came"
    return f"{short_name(step.version)}: {most}; {why}"


def _estimate_source(step: FaultsGone) -> str:
    if step.source == "stored":
        return f"stored with the run of the parent, by ncu-assist {step.tool}, {step.date}"
    return "computed now, as the run of the parent keeps no findings"


def _by_version(said: dict[str, str]) -> str:
    """Return what is said of all versions, or each thing with the versions that it is said of."""
    groups: dict[str, list[str]] = {}
    for version, words in said.items():
        groups.setdefault(words, []).append(short_name(version))
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{', '.join(names)} {words}" for words, names in groups.items())


MOST_SAID = 500  # letters of one note
NOT_MEASURED = "not measured"
NOT_SERVED = "not served"  # a workload of another dtype, or that is for other versions
ANOTHER_SOURCE = "another source"
SWEPT = "each point was timed on its own, not interleaved with the others: a few tenths of a per cent say nothing"
UNDER_NCU = "under ncu: all launches together; verdicts are over the launches of both"
OF_ONE_LAUNCH = (
    "bound by … (#3): of its launch 3 alone, the longest of the kernel that takes most time; all else: of all"
)
OF_LATENCY = "bound by latency …: warps wait, and no unit is busier than that"
ALL_WORKLOADS = "geomean: of the speed-ups over the parent; worst: the smallest of them"


def bound_by(cell: HistoryCell) -> str:
    """Return the bottleneck and the share of peak of its busiest unit, e.g. ``DRAM 81 %``.

    Of different kernels that of one launch, which is said: ``DRAM 81 % (#3)``.
    """
    if cell.bottleneck is None:
        return "-"
    of = f" (#{cell.bound_launch})" if cell.bound_launch is not None else ""
    return f"{cell.bottleneck.name} {cell.bottleneck.percent:.0f} %{of}"


def time_of(row: VersionRow, cell: HistoryCell) -> str:
    """Return the time of a version, or in a word why there is none."""
    if cell.time_ns is not None:
        return duration(cell.time_ns)
    if cell.failed:
        return "FAILED"
    if not cell.served:
        return NOT_SERVED
    if row.missing:
        return "changed" if row.missing.startswith("has changed") else row.missing.partition(":")[0]
    return "-" if cell.stored else NOT_MEASURED


def slower_on(row: VersionRow) -> str:
    """Return on how many of the compared workloads a version is slower, e.g. ``2 of 10``."""
    if not row.compared:
        return "-"
    text = f"{len(row.slower)} of {len(row.compared)}" if row.slower else "none"
    if row.slower and row.slower[0] != row.worst:  # the worst case is doubtful: name the worst known one too
        known = row.slower[0]
        text += f", {factor(1 / (known.speedup or 1.0))} on {known.workload}"
    return text


def sweep_title(sweep: Sweep) -> str:
    """Return what a sweep is of, e.g. ``block of v9_block_size: float16, n = 67108864, width = 2``."""
    return f"{sweep.axis} of {sweep.version}{f': {sweep.same}' if sweep.same else ''}"


def in_l2_lines(history: History) -> list[str]:
    """Return which workloads' data lies in L2, where shares of a copy are shown: that of the copy does too."""
    found: dict[str, dict[str, None]] = {}
    for cell in (cell for row in history.rows for cell in row.cells):
        if cell.row and cell.row.in_l2 and cell.share_of(COPY):
            found.setdefault(cell.row.in_l2, {})[str(cell.workload)] = None
    return [f"of copy on {', '.join(names)}: {copy_words(kind)}" for kind, names in found.items()]


def legend(history: History) -> list[str]:
    """Return what the tables of a history do not say of themselves; text from outside is as it is."""
    lines = [history.yardstick.legend] if any(history.cell(row).share for row in history.rows) else []
    lines += in_l2_lines(history) if history.yardstick is COPY else []
    lines += [UNDER_NCU] if history.shown is None else []
    lines += [SWEPT] if history.sweeps else []
    cells = [history.cell(row) for row in history.rows]
    lines += [OF_LATENCY] if any(cell.bottleneck and cell.bottleneck.name == LATENCY for cell in cells) else []
    lines += [OF_ONE_LAUNCH] if any(cell.bottleneck and cell.bound_launch is not None for cell in cells) else []
    return [*lines, *([ALL_WORKLOADS] if len(history.places) > 1 else [])]


def others_legend(history: History) -> Iterator[str]:
    """Yield where and when the times of each other GPU were taken, its floor, and what is not shown of it."""
    for other in history.others:
        floor = next((cell.floor for cell in other.cells if cell.floor), None)
        said = f"{origin(other.newest.source, other.newest)}, bench {other.bench_id}"
        yield f"{said}; floor: {floor_note(floor)}" if floor else said
        if other.changed:
            names = ", ".join(map(short_name, other.changed))
            yield f"{ANOTHER_SOURCE}: what {other.gpu} timed as {names} is not the source shown here"
    if history.others:
        yield "each GPU has a bench of its own: no verdict is between two GPUs"


def point_time(cell: HistoryCell) -> str:
    """Return the time at one point of a sweep, or in a word why there is none."""
    if cell.time_ns is not None:
        return duration(cell.time_ns)
    return "FAILED" if cell.failed else NOT_MEASURED


def history_title(history: History) -> str:
    """Return what a history is about: the kernel and the workload whose times are shown."""
    return f"{history.kernel} on {history.shown}" if history.shown else history.kernel


def history_provenance(history: History) -> str:
    """Return where and when the newest run was measured; empty where there is none."""
    return origin(history.source, history.newest) if history.newest else ""


def history_notes(history: History) -> Iterator[str]:
    """Yield a line for everything about a version that the tables do not say; text from outside is as it is."""
    for row in history.rows:
        yield from (f"{row.version}: {text}" for text in _notes(row, history))
    along = {cell.workload for sweep in history.sweeps for _, cell in sweep.points}
    yield from (f"{name} is for {' and '.join(some)} only" for name, some in history.only.items() if name not in along)


def to_settle(history: History) -> str:
    """Return the first verdict that is unclear on the workload shown, with why and what would settle it, or empty.

    Of a kernel without any run it is the command that measures it.
    """
    if history.newest is None:
        return f"try: ncu-assist profile {history.kernel}"
    for row in history.rows:
        verdict, before = history.cell(row).verdict, history.cell(row).before
        if verdict is None or verdict.verdict != "unclear" or before is None:
            continue
        command = settling(verdict.reason, history.kernel, (before, row.version), history.shown)
        if command and history.shown is not None:
            return f"unclear: {verdict.meaning}\ntry: {command}"
    return ""


def _notes(row: VersionRow, history: History) -> Iterator[str]:
    if row.dtypes and any(not cell.served and cell.workload not in history.only for cell in row.cells):
        yield f"serves {' and '.join(row.dtypes)} only"
    if row.missing:
        if row.missing != NOT_MEASURED:  # the table says that
            yield row.missing
        return
    for cell in row.cells:
        if cell.failed and cell.check:
            yield f"check failed on {cell.workload}: {cell.check.reason}"
    absent = [cell.workload for cell in row.cells if cell.served and cell.time_ns is None and not cell.failed]
    if absent:
        yield f"not measured on {', '.join(map(str, absent))}" if None not in absent else "has no time"
    if row.before != history.adjacent[row.version] and row.before is not None:
        yield f"compared with {row.before}, {_why_not_previous(row, history)}"
    for other, names in row.befores.items():
        if other != row.before:
            yield f"compared with {other} on {', '.join(names)}"
    for (reason, before), workloads in row.not_comparable.items():
        where = f" on {', '.join(map(str, workloads))}" if len(workloads) < len(row.cells) else ""
        yield f"not comparable with {before}{where}: {REASONS[reason].meaning}"
    yield from _cycles(row)
    yield from _clocks(row)
    yield from sorted(_other_places(row, history))


def _cycles(row: VersionRow) -> Iterator[str]:
    """Yield the workloads on which SM cycles say something else than time, each with both, in one line."""
    found = []
    for cell in row.cells:
        verdict = cell.verdict
        if verdict and verdict.cycles and verdict.speedup and _says_else(verdict, verdict.cycles):
            where = f"{cell.workload} " if cell.workload else ""
            found.append(f"{where}{against(verdict)}, {cycle_words(verdict)}")
    if found:
        yield f"time and SM cycles differ: {'; '.join(found)}"


def _says_else(verdict: Verdict, cycles: Cycles) -> bool:
    return verdict.by_clock or (cycles.verdict in ("faster", "slower") and cycles.verdict != verdict.verdict)


def _clocks(row: VersionRow) -> Iterator[str]:
    """Yield the SM clocks of the workloads on which they were not those of the version before, in one line."""
    judged = ((cell.workload, cell.verdict.clocks_mhz) for cell in row.cells if cell.verdict)
    found = {workload: clocks for workload, clocks in judged if clocks}
    if not found:
        return
    where = f" on {', '.join(map(str, found))}" if None not in found else ""
    before, now = ([clocks[side] for clocks in found.values()] for side in (0, 1))
    yield f"SM clocks{where}: {_range_of(now)} MHz, before {_range_of(before)} MHz"


def _range_of(values: list[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def _why_not_previous(row: VersionRow, history: History) -> str:
    """Return why a version is compared with one that is not just before it."""
    first = history.all_rows[0]
    if row.before == first.version and first.is_peer:
        return "the first version"
    if row.before in row.parents[:1]:
        return "which it builds on"
    parents = row.parents or (history.adjacent[row.version],)
    served = any(history.cell(one).served for one in history.all_rows if one.version in parents)
    return f"the nearest that it builds on {'with a time' if served else f'that serves {history.shown}'}"


def _other_places(row: VersionRow, history: History) -> set[str]:
    """Return where runs of a version were measured, if it was elsewhere than what stands above the table."""
    runs = [(c.stored.run.source, c.stored.run) for c in row.cells if c.stored]
    above = _source_and_gpu(history.source, history.newest) if history.newest else None
    return {origin(source, run) for source, run in runs if _source_and_gpu(source, run) != above}


def _source_and_gpu(source: Source, run: Run) -> tuple[Source, str | None]:
    return source, run.device.name if run.device else None
