"""How the time of a kernel moved over its runs: where it changed, what changed there, and what a bisection came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log
from typing import Literal

from ncu_assist.analysis.diff.comparability import differences
from ncu_assist.analysis.diff.records import RunDifference
from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.record import Run, Source, Timing
from ncu_assist.store import Damage, StoredRun
from ncu_assist.verdict.levels import FEWEST, Level, Levels, error_of, levels_of
from ncu_assist.verdict.samples import CLOCKS_APART

Kind = Literal["step", "creep"]
By = Literal["version", "commit"]
# What of a run's differences has no part in the time of a bench: it is about counters.
OF_COUNTERS = {"clock control", "cache control", "replay mode", "section set", "values", "ncu"}
# What a checkout of older commits does not bring back.
OF_THE_MACHINE = frozenset({"driver", "nvcc", "torch", "triton", "GPU"})
BY_COMMIT = "best of each commit"  # what a series of commits is called
SHOWN_DIGITS = 12  # of a hash


@dataclass(frozen=True)
class TrendPoint:
    """One run: its median on the workload, and the relative standard error of that, from its samples.

    ``counters`` are the values that were asked for, by key; None where the run has not counted one.
    """

    stored: StoredRun
    timing: Timing
    error: float
    counters: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        return self.stored.run

    @property
    def reference(self) -> str:
        return self.stored.reference


def trend_point(
    stored: StoredRun, workload: str, samples: SampleReader, counters: Mapping[str, float | None] | None = None
) -> TrendPoint:
    """Return a run that was timed on a workload as a point. Raises DamagedData for samples that were changed."""
    timing = stored.run.timing(workload)
    assert timing is not None
    own = samples.of(stored, workload)
    good = own.where((own["bench_id"] == timing.bench_id) & ~own["late"])
    in_order = good["time_ns"][good["round"].argsort()]
    return TrendPoint(stored, timing, error_of(in_order), counters or {})


@dataclass(frozen=True)
class TrendChange:
    """Where a time changed: in one step between two runs, or slowly from one run to another.

    ``change`` is relative, 0.01 is 1 % slower, ``low`` and ``high`` its 99 % interval. ``per_run`` is that of a creep
    from a run to the next, 0 for a step. ``runs`` are those that came after it at the new level, or are on the slope.
    """

    kind: Kind
    before: TrendPoint
    after: TrendPoint
    change: float
    low: float
    high: float
    runs: int
    per_run: float = 0.0
    differences: tuple[RunDifference, ...] = ()

    @property
    def is_slower(self) -> bool:
        return self.change > 0


@dataclass(frozen=True)
class TrendSeries:
    """The runs of one version, or the best of each commit, on one model of GPU, the oldest first.

    ``name`` is the version, empty for commits; in a trend on several workloads it names that, too.
    """

    name: str
    gpu: str | None
    points: tuple[TrendPoint, ...]

    @cached_property
    def levels(self) -> Levels:
        return levels_of([one.timing.median_ns for one in self.points], [one.error for one in self.points])

    @property
    def levels_ns(self) -> list[float]:
        """The time of each run without the noise."""
        return [exp(level.at(place)) for level in self.levels.levels for place in range(level.first, level.last + 1)]

    @property
    def is_long_enough(self) -> bool:
        """Tell whether there are runs enough for a change to be found."""
        return len(self.points) >= 2 * FEWEST

    @property
    def best(self) -> TrendPoint:
        return min(self.points, key=lambda one: one.timing.median_ns)

    @property
    def total(self) -> float:
        """The relative change from the first run to the last, of what the levels say without the noise."""
        first, last = self.levels.levels[0], self.levels.levels[-1]
        return exp(last.end - first.start) - 1

    @cached_property
    def changes(self) -> tuple[TrendChange, ...]:
        """All changes, the oldest first."""
        return tuple(self._changes())

    def _changes(self) -> Iterator[TrendChange]:
        before: Level | None = None
        for level in self.levels.levels:
            runs = level.last - level.first + 1
            if before is not None and self.levels.is_step(before, level):
                change, low, high = self.levels.step_between(before, level)
                sides = self.points[before.last], self.points[level.first]
                yield TrendChange("step", *sides, change, low, high, runs, differences=between(*sides))
            if level.slope:
                change, low, high = self.levels.along(level)
                sides = self.points[level.first], self.points[level.last]
                per_run = (1 + change) ** (1 / (runs - 1)) - 1
                yield TrendChange("creep", *sides, change, low, high, runs, per_run, between(*sides))
            before = level


@dataclass(frozen=True)
class Trend:
    """The series of a kernel on one workload, or on ``all``; ``notes`` say which runs are no part of them, and why.

    ``nothing_between`` are pairs of commits at changes with none between them that could be measured. ``left_out`` is
    what of the kernel cannot be read.
    """

    kernel: str
    workload: str
    by: By
    series: tuple[TrendSeries, ...]
    metrics: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    nothing_between: frozenset[tuple[str, str]] = frozenset()
    left_out: tuple[Damage, ...] = ()

    def can_bisect(self, change: TrendChange) -> bool:
        """Tell whether measuring commits between both runs can name the one that made it slower."""
        before, after = (side.run.commit for side in (change.before, change.after))
        if not (change.is_slower and before and after) or before.id == after.id:
            return False
        of_the_machine = any(one.what in OF_THE_MACHINE for one in change.differences)
        return not of_the_machine and (before.id, after.id) not in self.nothing_between

    @property
    def changes(self) -> tuple[tuple[TrendSeries, TrendChange], ...]:
        """All changes with their series, the newest first."""
        found = [(series, change) for series in self.series for change in series.changes]
        return tuple(sorted(found, key=lambda one: one[1].after.run.created, reverse=True))

    @property
    def points(self) -> tuple[TrendPoint, ...]:
        return tuple(point for series in self.series for point in series.points)

    @property
    def newest(self) -> Run:
        return max((one.run for one in self.points), key=lambda run: run.created)

    @property
    def source(self) -> Source:
        return self.newest.source


def between(before: TrendPoint, after: TrendPoint) -> tuple[RunDifference, ...]:
    """Return what differs between two runs that can have moved a time: version, source, tools, GPU, clock."""
    name = before.timing.workload
    runs = before.run, after.run
    found, _ = differences((runs[0], runs[0].workload(name)), (runs[1], runs[1].workload(name)))
    own = [
        RunDifference(what, old, new, False)
        for what, (old, new) in _own_answers(before, after)
        if old and new and old != new
    ]
    return tuple(one for one in (*own, *found) if one.what not in OF_COUNTERS and one.baseline != "None")


def _own_answers(before: TrendPoint, after: TrendPoint) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what a diff of versions does not ask, with the answers of both runs, empty where one is not known."""
    old, new = before.run, after.run
    yield "version", (old.version, new.version)
    yield "source", ((old.source_sha256 or "")[:SHOWN_DIGITS], (new.source_sha256 or "")[:SHOWN_DIGITS])
    yield "commit", (old.commit.short if old.commit else "", new.commit.short if new.commit else "")
    for name in ("reference.py", "kernel.toml"):
        kept = [run.files.get(f"source/{name}") for run in (old, new)]
        yield name, (kept[0].sha256[:SHOWN_DIGITS] if kept[0] else "", kept[1].sha256[:SHOWN_DIGITS] if kept[1] else "")
    yield "triton", (old.toolchain.triton or "", new.toolchain.triton or "")
    yield "ncu-assist", (old.tool, new.tool)
    clocks = before.timing.sm_clock_mhz, after.timing.sm_clock_mhz
    if clocks[0] and clocks[1] and abs(clocks[0] - clocks[1]) > CLOCKS_APART * min(clocks[0], clocks[1]):
        yield "SM clock", (f"{clocks[0]:.0f} MHz", f"{clocks[1]:.0f} MHz")
    throttled = [", ".join(run.bench.throttle_reasons or ()) if run.bench else "" for run in (old, new)]
    yield "throttled", (throttled[0] or "no", throttled[1] or "no")


def by_version(points: Sequence[TrendPoint]) -> tuple[TrendSeries, ...]:
    """Return the series of each version on each model of GPU, in the order in which they first come."""
    groups: dict[tuple[str, str | None], list[TrendPoint]] = {}
    for point in points:
        groups.setdefault((point.run.version, point.run.gpu), []).append(point)
    return tuple(TrendSeries(version, gpu, tuple(some)) for (version, gpu), some in groups.items())


def by_commit(points: Sequence[TrendPoint]) -> tuple[TrendSeries, ...]:
    """Return for each model of GPU the series of the fastest run of each commit, whichever version that is of.

    Runs of no commit, or of changes that were in none, belong together where one bench timed them.
    """
    groups: dict[str | None, dict[str, TrendPoint]] = {}
    for point in points:
        best = groups.setdefault(point.run.gpu, {})
        commit = point.run.commit
        key = commit.id if commit and not commit.dirty else point.timing.bench_id
        if key not in best or point.timing.median_ns < best[key].timing.median_ns:
            best[key] = point
    return tuple(TrendSeries("", gpu, tuple(some.values())) for gpu, some in groups.items())


Found = Literal["good", "bad", "skipped"]
Symptom = Literal["slower", "wrong"]
# A time between the two is nearer to one: in the middle third of the way, in logarithms, another bench decides.
MIDDLE = 1 / 3
EXIT_FOUND, EXIT_SKIPPED = 0, 4


@dataclass(frozen=True)
class MeasuredCommit:
    """One commit: what it is called, its time on the workload, and what it was taken for.

    ``median_ns`` is None where it has none, ``problem`` says then why: it does not build, or is wrong.
    """

    id: str
    subject: str
    found: Found
    median_ns: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Bisection:
    """A search for the first bad commit, ``first``; several where those between could not be measured.

    ``good`` and ``bad`` are the ends as they were measured, ``tried`` the commits between, in the order of the search.
    """

    kernel: str
    version: str
    workload: str
    symptom: Symptom
    good: MeasuredCommit
    bad: MeasuredCommit
    tried: tuple[MeasuredCommit, ...]
    first: tuple[str, ...]
    files: tuple[str, ...] = ()

    @property
    def slowdown(self) -> float | None:
        """How much slower the bad end is than the good one, relative; None where results are wrong."""
        if self.good.median_ns is None or self.bad.median_ns is None:
            return None
        return self.bad.median_ns / self.good.median_ns - 1

    @property
    def exit_code(self) -> int:
        return EXIT_FOUND if len(self.first) == 1 else EXIT_SKIPPED


def side_of(median_ns: float, good_ns: float, bad_ns: float) -> Found | None:
    """Return which end a time is near to; None in the middle third between them."""
    share = (log(median_ns) - log(good_ns)) / (log(bad_ns) - log(good_ns))
    if abs(share - 0.5) < MIDDLE / 2:
        return None
    return "bad" if share > 0.5 else "good"
