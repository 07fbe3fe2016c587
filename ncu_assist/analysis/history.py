"""The history of a kernel: each version against its parent, with times, speed-ups, worst cases, bottlenecks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path

from ncu_assist.analysis.run_view import InL2, in_l2
from ncu_assist.analysis.yardstick import Yardstick, measure_of, share, yardstick_ns
from ncu_assist.ceilings import Floor
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.frame.columns import Values
from ncu_assist.record import Check, Run, Source, Timing, WorkloadFacts
from ncu_assist.rules.model.resources import Bottleneck, bottleneck
from ncu_assist.store import StoredRun
from ncu_assist.store.findings import Judged
from ncu_assist.verdict import Verdict


@dataclass(frozen=True)
class VersionOnWorkload:
    """One version on one workload: the run that has its time, and the verdict by time against the version before.

    ``workload`` is None for a program that knows of none. ``run`` is None where the version was not measured on it,
    ``verdict`` where one of the two versions has no time. ``predicted`` is the run of the version before whose findings
    were stored last before this version was first measured, None where there is none. ``judged`` is what the rules say
    now of a run that keeps no findings, on the workload whose times are shown. ``before`` is the version compared with
    on it, None for that of the step: not every version serves every workload. ``served`` is whether this one does.
    ``floor`` is the least time that the workload can take on the GPU of ``run``, None where no rate of it is known.
    """

    workload: str | None
    run: StoredRun | None
    verdict: Verdict | None
    predicted: StoredRun | None = None
    judged: Judged | None = field(default=None, repr=False)
    before: str | None = None
    served: bool = True
    floor: Floor | None = None


@dataclass(frozen=True)
class Step:
    """One version of a history, ``before`` being the one that it is compared with: the nearest that it builds on.

    That is on the workload shown, or, for a version that does not serve it, on the first that it does.
    ``missing`` says why nothing of it is shown; it is empty for a version that was measured as its source is now.
    ``dtypes`` are those that it serves, empty for all. ``is_peer``: it is a library's or a framework's own.
    """

    version: str
    before: str | None
    standings: tuple[VersionOnWorkload, ...]  # one a workload of the history
    missing: str = ""
    dtypes: tuple[str, ...] = ()
    is_peer: bool = False
    parents: tuple[str, ...] = ()  # what it builds on, measured or not


@dataclass(frozen=True)
class Sweep:
    """One version on workloads that differ in one integer only, ``axis``: each value with its workload, in order."""

    version: str
    axis: str
    points: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class History:
    """The versions of a kernel, oldest first, each against its parent, on all workloads that were measured.

    ``only`` has the workloads that are for some versions only, with those.
    """

    kernel: str
    workloads: tuple[str | None, ...]
    shown: str | None  # the workload whose times are shown: the default one, where it was timed
    steps: tuple[Step, ...]
    sweeps: tuple[Sweep, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Counters = dict[Path, dict[int, Values]]  # of runs, by folder and launch
TOO_LITTLE = ("one-sample", "only-late-samples")  # what is known of time then are durations under ncu


@dataclass(frozen=True)
class HistoryCell:
    """One version on one workload. ``duration_ns`` is under ncu, over all launches; ``before`` is compared with.

    ``share`` is the time of what it is held against (yardstick.py) over the median: 1 is as fast.
    """

    workload: str | None
    stored: StoredRun | None
    check: Check | None
    timing: Timing | None
    duration_ns: float | None
    bottleneck: Bottleneck | None
    verdict: Verdict | None
    combined: Combined | None = field(default=None, repr=False)
    judged: Judged | None = field(default=None, repr=False)  # now, of a run that keeps no findings
    predicted: StoredRun | None = None  # the run of the version before that holds what was predicted of this one
    before: str | None = None
    served: bool = True  # whether the workload is for this version
    floor: Floor | None = None  # the least time that the workload can take on the GPU of the run

    @property
    def bound_launch(self) -> int | None:
        """The launch that the bottleneck is of where launches are of different kernels: the longest."""
        combined = self.combined
        return combined.longest.launches[0].index if combined and combined.is_of_kernels else None

    @property
    def facts(self) -> WorkloadFacts | None:
        """What its run says of the workload."""
        return self.stored.run.workload(self.workload) if self.stored and self.workload else None

    @property
    def share(self) -> float | None:
        """None where the version is held against nothing."""
        return share(self.timing, self.floor)

    @property
    def measure(self) -> Yardstick:
        """What the version is held against."""
        return measure_of([self])

    def share_of(self, measure: Yardstick) -> float | None:
        """None where it is held against something else: floors are of a workload and of a GPU."""
        return self.share if self.measure is measure else None

    @property
    def beside_ns(self) -> float | None:
        """The time of what the version is held against."""
        return yardstick_ns(self.timing, self.floor)

    @property
    def share_of_floor(self) -> float | None:
        """The least time that the workload can take over the median: 1 is at the floor."""
        return self.floor.ns / self.timing.median_ns if self.floor and self.timing else None

    def over(self, peer: HistoryCell) -> float | None:
        """Return the time of another version over this one's, of medians in one bench: 2 is twice as fast as it."""
        own, other = self.timing, peer.timing
        if own is None or other is None or own.bench_id != other.bench_id:
            return None
        return other.median_ns / own.median_ns

    @property
    def in_l2(self) -> InL2 | None:
        """What of the workload's data fits in L2, as what a copy moves then does; None where DRAM has to move it."""
        return in_l2(self.facts, self.stored.run) if self.stored else None

    @property
    def time_ns(self) -> float | None:
        """The median of the bench; of a program that knows of no workload, the time under ncu."""
        if self.workload is None:
            return self.duration_ns
        return self.timing.median_ns if self.timing else None

    @property
    def failed(self) -> bool:
        return self.check is not None and not self.check.passed

    @property
    def speedup(self) -> float | None:
        """Over the version before, from samples of both: one duration a side is too little to average."""
        if self.verdict is None or self.verdict.verdict == "not-comparable" or self.verdict.reason in TOO_LITTLE:
            return None
        return self.verdict.speedup


@dataclass(frozen=True)
class VersionRow:
    """One version with its cells, one a workload, and what they come to."""

    version: str
    before: str | None
    cells: tuple[HistoryCell, ...]
    missing: str
    dtypes: tuple[str, ...] = ()
    is_peer: bool = False  # a library's or a framework's own
    parents: tuple[str, ...] = ()

    @property
    def compared(self) -> tuple[HistoryCell, ...]:
        """The cells with a speed-up over the version before."""
        return tuple(cell for cell in self.cells if cell.speedup)

    @property
    def slower(self) -> tuple[HistoryCell, ...]:
        """The cells on which it is slower than the version before, the worst first."""
        slower = [cell for cell in self.compared if cell.verdict and cell.verdict.verdict == "slower"]
        return tuple(sorted(slower, key=_speedup))

    @property
    def worst(self) -> HistoryCell | None:
        """The cell with the smallest speed-up, whatever its verdict."""
        return min(self.compared, key=_speedup, default=None)

    @property
    def geomean(self) -> float | None:
        """The geometric mean of the speed-ups; it may hide a slower workload, so never show it without ``worst``."""
        logs = [log(_speedup(cell)) for cell in self.compared]  # statistics.geometric_mean rounds another last digit
        return exp(sum(logs) / len(logs)) if logs else None

    @property
    def not_comparable(self) -> dict[tuple[str, str | None], list[str | None]]:
        """The reason codes that forbid a comparison, each with the other version and its workloads."""
        found: dict[tuple[str, str | None], list[str | None]] = {}
        for cell in self.cells:
            if cell.verdict and cell.verdict.verdict == "not-comparable":
                found.setdefault((cell.verdict.reason, cell.before), []).append(cell.workload)
        return found

    @property
    def befores(self) -> dict[str, list[str]]:
        """The versions that it is compared with, each with the workloads on which it is."""
        found: dict[str, list[str]] = {}
        for cell in self.cells:
            if cell.verdict and cell.before:
                found.setdefault(cell.before, []).append(str(cell.workload))
        return found


@dataclass(frozen=True)
class SweepRow:
    """A version along an axis: the integer's name, what is the same at all points, each value with its cell."""

    version: str
    axis: str
    same: str
    points: tuple[tuple[int, HistoryCell], ...]

    @property
    def yardstick(self) -> Yardstick:
        """What the version was timed beside."""
        return measure_of(cell for _, cell in self.points)

    @property
    def timed(self) -> tuple[tuple[int, HistoryCell], ...]:
        return tuple((value, cell) for value, cell in self.points if cell.time_ns)


@dataclass(frozen=True)
class HistoryTable:
    """A history ready to be shown; ``newest`` is the run whose GPU and date stand above it."""

    kernel: str
    workloads: tuple[str | None, ...]
    shown: str | None
    source: Source
    newest: Run | None
    rungs: tuple[VersionRow, ...]
    sweeps: tuple[SweepRow, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def cell(self, rung: VersionRow) -> HistoryCell:
        """Return the cell of the workload whose times are shown."""
        return rung.cells[self.workloads.index(self.shown)]

    @property
    def places(self) -> tuple[int, ...]:
        """The workloads that versions are held against each other on: those that are no mere point of a sweep."""
        swept = {cell.workload for sweep in self.sweeps for _, cell in sweep.points} & set(self.only)
        return tuple(place for place, name in enumerate(self.workloads) if name not in swept)

    @property
    def yardstick(self) -> Yardstick:
        """What the versions are held against on the workload shown."""
        return measure_of(self.cell(rung) for rung in self.rungs if rung.cells)

    @property
    def held_against(self) -> str:
        """What the versions are held against on any workload, in words."""
        held = {cell.measure.what for rung in self.rungs for cell in rung.cells if cell.share is not None}
        return " or ".join(sorted(held)) or self.yardstick.what

    @property
    def adjacent(self) -> dict[str, str | None]:
        """Each version with the one just before it, whether or not that was measured."""
        names = [rung.version for rung in self.rungs]
        return dict(zip(names, [None, *names], strict=False))


def history_table(history: History) -> HistoryTable:
    """Return a history with the figures that every format shows. Raises DamagedData for counters that were changed."""
    counters: Counters = {}
    rungs = tuple(_rung(step, counters) for step in history.steps)
    newest = max(_runs(rungs), key=lambda stored: stored.run.created, default=None)
    return HistoryTable(
        kernel=history.kernel,
        workloads=history.workloads,
        shown=history.shown,
        source=newest.run.source if newest else "live",
        newest=newest.run if newest else None,
        rungs=rungs,
        sweeps=tuple(_swept(sweep, history.workloads, rungs) for sweep in history.sweeps),
        only=history.only,
    )


def _swept(sweep: Sweep, workloads: tuple[str | None, ...], rungs: tuple[VersionRow, ...]) -> SweepRow:
    rung = next(one for one in rungs if one.version == sweep.version)
    points = tuple((value, rung.cells[workloads.index(name)]) for value, name in sweep.points)
    facts = next((cell.facts for _, cell in points if cell.facts), None)
    integers = {name: value for name, value in facts.integers.items() if name != sweep.axis} if facts else {}
    same = [facts.dtype, *(f"{name} = {value}" for name, value in integers.items())] if facts else []
    return SweepRow(sweep.version, sweep.axis, ", ".join(same), points)


def _runs(rungs: tuple[VersionRow, ...]) -> Iterator[StoredRun]:
    return (cell.stored for rung in rungs for cell in rung.cells if cell.stored)


def _rung(step: Step, counters: Counters) -> VersionRow:
    cells = tuple(_cell(one, one.before or step.before, counters) for one in step.standings)
    return VersionRow(step.version, step.before, cells, step.missing, step.dtypes, step.is_peer, step.parents)


def _cell(standing: VersionOnWorkload, before: str | None, counters: Counters) -> HistoryCell:
    stored, workload = standing.run, standing.workload
    if stored is None:
        return HistoryCell(workload, None, None, None, None, None, None, served=standing.served)
    if stored.folder not in counters:  # each file is read once
        counters[stored.folder] = stored.by_launch()
    combined = combine_tables(stored.run, counters[stored.folder], workload)
    return HistoryCell(
        workload=workload,
        stored=stored,
        check=next((check for check in stored.run.checks if check.workload == workload), None),
        timing=stored.run.timing(workload) if workload else None,
        duration_ns=combined.duration_ns,
        bottleneck=bottleneck((combined.longest if combined.is_of_kernels else combined).values),
        verdict=standing.verdict,
        combined=combined,
        judged=standing.judged,
        predicted=standing.predicted,
        before=before,
        served=standing.served,
        floor=standing.floor,
    )


def _speedup(cell: HistoryCell) -> float:
    return cell.speedup or 1.0
