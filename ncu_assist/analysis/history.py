"""The history of a kernel: each version against its parent, with times, speed-ups, worst cases, bottlenecks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import NamedTuple

from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.analysis.run_view import WorkloadRow, workload_row
from ncu_assist.analysis.yardstick import (
    AgainstYardstick,
    OwnAgainstLibrary,
    Yardstick,
    least_against_libraries,
    measure_of,
)
from ncu_assist.ceilings import Floor
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.frame.columns import Values
from ncu_assist.record import Check, Run, Source, Timing, WorkloadFacts
from ncu_assist.rules.model.resources import Bottleneck, bottleneck
from ncu_assist.store import Damage, StoredRun
from ncu_assist.store.answers import Answers
from ncu_assist.store.findings import Judged
from ncu_assist.verdict import Verdict

TOO_LITTLE = ("one-sample", "only-late-samples")  # what is known of time then are durations under ncu


class UnderNcu(NamedTuple):
    """What most readers ask of the counters of a call; without launches where it was not profiled."""

    launches: int = 0
    duration_ns: float | None = None  # over all launches
    bottleneck: Bottleneck | None = None  # what binds it; where launches are of different kernels, the longest
    bound_launch: int | None = None  # that longest one


@dataclass(frozen=True)
class CounterReader:
    """The counters of runs by launch: those of a run are read once, when they are first asked for.

    ``answers`` keep what came of them, for who asks again.
    """

    answers: Answers | None = None
    _read: dict[Path, dict[int, Values]] = field(default_factory=dict, repr=False)

    def of(self, stored: StoredRun) -> dict[int, Values]:
        """Return the counters of each launch. Raises DamagedData for metrics that were changed."""
        if stored.folder not in self._read:
            self._read[stored.folder] = stored.by_launch()
        return self._read[stored.folder]

    def under_ncu(self, stored: StoredRun, workload: str | None) -> UnderNcu:
        """Return what they say of a workload. Raises as ``of``."""

        def made() -> UnderNcu:
            every = combine_tables(stored.run, self.of(stored), workload)
            bound = every.representative if every.is_of_kernels else every
            index = bound.launches[0].index if every.is_of_kernels else None
            return UnderNcu(len(every.launches), every.duration_ns, bottleneck(bound.values), index)

        if self.answers is None:
            return made()
        return self.answers.of("under ncu", [stored], [workload or ""], UnderNcu, made)


@dataclass(frozen=True)
class HistoryCell(AgainstYardstick):
    """One version on one workload: the run that has its time, and the verdict by time against the version before.

    ``workload`` is None for a program that knows of none. ``stored`` is None where the version was not measured on it,
    ``verdict`` where one of the two versions has no time. ``predicted`` is the run of the version before whose findings
    were stored last before this version was first measured, None where there is none. ``judged`` is what the rules say
    now of a run that keeps no findings, on the workload whose times are shown. ``before`` is the version compared with
    on it, where it was measured: not every version serves every workload. ``served`` is whether this one does.
    ``floor`` is the least time that the workload can take on the GPU of the run, None where no rate of it is known.
    """

    workload: str | None
    stored: StoredRun | None = None
    verdict: Verdict | None = None
    predicted: StoredRun | None = None
    judged: Judged | None = field(default=None, repr=False)
    before: str | None = None
    served: bool = True
    floor: Floor | None = None
    counters: CounterReader = field(default_factory=CounterReader, repr=False, compare=False)
    samples: SampleReader = field(default_factory=SampleReader, repr=False, compare=False)

    @cached_property
    def combined(self) -> Combined | None:
        """The counters of its launches together. Raises DamagedData for metrics that were changed."""
        stored = self.stored
        return combine_tables(stored.run, self.counters.of(stored), self.workload) if stored else None

    @cached_property
    def under_ncu(self) -> UnderNcu:
        """What most ask of them. Raises as ``combined``."""
        return self.counters.under_ncu(self.stored, self.workload) if self.stored else UnderNcu()

    @property
    def duration_ns(self) -> float | None:
        """The time under ncu, over all launches."""
        return self.under_ncu.duration_ns

    @property
    def bottleneck(self) -> Bottleneck | None:
        """What binds it; where launches are of different kernels, what binds the longest."""
        return self.under_ncu.bottleneck

    @property
    def bound_launch(self) -> int | None:
        """The launch that the bottleneck is of where launches are of different kernels: the longest."""
        return self.under_ncu.bound_launch

    @property
    def facts(self) -> WorkloadFacts | None:
        """What its run says of the workload."""
        return self.stored.run.workload(self.workload) if self.stored and self.workload else None

    @property
    def check(self) -> Check | None:
        checks = self.stored.run.checks if self.stored else ()
        return next((check for check in checks if check.workload == self.workload), None)

    @property
    def timing(self) -> Timing | None:
        return self.stored.run.timing(self.workload) if self.stored and self.workload else None

    @property
    def row(self) -> WorkloadRow | None:
        """The rates that its median comes to; None without a workload of its own."""
        return workload_row(self.stored.run, self.facts) if self.stored and self.facts else None

    @property
    def share_of_floor(self) -> float | None:
        """The least time that the workload can take over the median: 1 is at the floor."""
        return self.floor.ns / self.timing.median_ns if self.floor and self.timing else None

    def over(self, peer: HistoryCell) -> float | None:
        """Return how much faster it is than another version, by paired samples of one bench: 2 is twice as fast.

        None where no bench timed both. Raises DamagedData for samples that were changed.
        """
        if self.stored is None or peer.stored is None or self.workload is None:
            return None
        return self.samples.speedup(peer.stored, self.stored, self.workload)

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
    """One version with its cells, one a workload of the history, and what they come to.

    ``before`` is the version that it is compared with, the nearest that it builds on: on the workload shown, or, for a
    version that does not serve it, on the first that it does. ``missing`` says why nothing of it is shown; it is empty
    for a version that was measured as its source is now. ``dtypes`` are those that it serves, empty for all.
    ``is_peer``: it is a library's or a framework's own. ``parents`` are what it builds on, measured or not.
    """

    version: str
    before: str | None
    cells: tuple[HistoryCell, ...]
    missing: str = ""
    dtypes: tuple[str, ...] = ()
    is_peer: bool = False
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
class Sweep:
    """A version on workloads that differ in one integer only, ``axis``: each value with its cell, in order."""

    version: str
    axis: str
    points: tuple[tuple[int, HistoryCell], ...]

    @property
    def same(self) -> str:
        """What is the same at all points: the dtype and the other integers."""
        facts = next((cell.facts for _, cell in self.points if cell.facts), None)
        if facts is None:
            return ""
        others = (f"{name} = {value}" for name, value in facts.integers.items() if name != self.axis)
        return ", ".join([facts.dtype, *others])

    @property
    def yardstick(self) -> Yardstick:
        """What the version was timed beside."""
        return measure_of(cell for _, cell in self.points)


@dataclass(frozen=True)
class OtherGpu:
    """The versions on another GPU model than the one whose times are shown, by one bench there.

    ``cells`` are those of the history's rows on the workload shown, each compared within that bench with the nearest
    version that it builds on; a version that was not timed in it has no run. ``changed`` are versions that were, by
    another source than the one shown: they have no run here either. ``newest`` is the newest run of the bench.
    """

    gpu: str
    bench_id: str
    newest: Run
    cells: tuple[HistoryCell, ...]
    changed: tuple[str, ...]
    against_library: tuple[OwnAgainstLibrary, ...]


@dataclass(frozen=True)
class History:
    """The versions of a kernel, oldest first, each against its parent, on all workloads that were measured.

    ``shown`` is the workload whose times are shown: the default one, where it was timed. ``only`` has the workloads
    that are for some versions only, with those. ``others`` are GPU models that are not that of the newest run.
    ``against_library`` is the fastest own version against the fastest library, on each workload that versions are
    compared on. Where ``rows`` are a page of the versions, ``every`` has all. ``left_out`` is what cannot be read.
    """

    kernel: str
    workloads: tuple[str | None, ...]
    shown: str | None
    rows: tuple[VersionRow, ...]
    sweeps: tuple[Sweep, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: tuple[OtherGpu, ...] = ()
    against_library: tuple[OwnAgainstLibrary, ...] = ()
    every: tuple[VersionRow, ...] = ()
    left_out: tuple[Damage, ...] = ()

    def page(self, chosen: slice) -> History:
        """Return the history with these versions alone; what is said over all of them stays as it is."""
        others = tuple(replace(one, cells=one.cells[chosen]) for one in self.others)
        return replace(self, rows=self.rows[chosen], others=others, every=self.all_rows)

    @property
    def all_rows(self) -> tuple[VersionRow, ...]:
        """All versions, also where a page of them is shown."""
        return self.every or self.rows

    @cached_property
    def newest(self) -> Run | None:
        """The run whose GPU and date stand above the history."""
        runs = (cell.stored.run for row in self.all_rows for cell in row.cells if cell.stored)
        return max(runs, key=lambda run: run.created, default=None)

    @property
    def source(self) -> Source:
        return self.newest.source if self.newest else "live"

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPU models that the times shown are of: where they are several, no verdict is between two of them."""
        cells = [self.cell(row) for row in self.rows if row.cells]
        return tuple(dict.fromkeys(one.stored.run.gpu for one in cells if one.stored and one.stored.run.gpu))

    def cell(self, row: VersionRow) -> HistoryCell:
        """Return the cell of the workload whose times are shown."""
        return row.cells[self.workloads.index(self.shown)]

    @property
    def places(self) -> tuple[int, ...]:
        """The workloads that versions are compared on: those that are no mere point of a sweep."""
        swept = {cell.workload for sweep in self.sweeps for _, cell in sweep.points} & set(self.only)
        return tuple(place for place, name in enumerate(self.workloads) if name not in swept)

    @cached_property
    def least_against_libraries(self) -> tuple[str, str, float] | None:
        """The one version that is best against the fastest library where it is worst, that workload, and that ratio.

        Raises DamagedData for samples that were changed.
        """
        runs = {
            row.version: {
                str(cell.workload): cell.stored for cell in row.cells if cell.stored and cell.workload is not None
            }
            for row in self.all_rows
        }
        own = ((row.version, runs[row.version]) for row in self.all_rows if not row.is_peer)
        libraries = {one.workload: runs[one.library][one.workload] for one in self.against_library}
        samples = next((cell.samples for row in self.all_rows for cell in row.cells), SampleReader())
        return least_against_libraries(own, libraries, samples.speedup)

    @property
    def yardstick(self) -> Yardstick:
        """What the versions are compared with on the workload shown."""
        return measure_of(self.cell(row) for row in self.rows if row.cells)

    @property
    def yardsticks(self) -> str:
        """What the versions are compared with on any workload, in words."""
        known = {cell.measure.what for row in self.rows for cell in row.cells if cell.share is not None}
        return " or ".join(sorted(known)) or self.yardstick.what

    def read_counters(self) -> History:
        """Return the history with the counters of all cells read. Raises DamagedData for metrics that were changed."""
        _ = [cell.under_ncu for row in self.rows for cell in row.cells]
        return self

    @property
    def adjacent(self) -> dict[str, str | None]:
        """Each version with the one just before it, whether or not that was measured."""
        names = [row.version for row in self.all_rows]
        return dict(zip(names, [None, *names], strict=False))


def _speedup(cell: HistoryCell) -> float:
    return cell.speedup or 1.0
