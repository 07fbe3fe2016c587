"""The launches of a run beside one another: distance to the floor, winnable time, what pays across them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.launch_selection import LaunchSelection
from ncu_assist.record import Launch, Run
from ncu_assist.rules import launch_bound
from ncu_assist.rules.base import LIMITS, with_figures
from ncu_assist.rules.model.diagnosis import OF_A_CALL, UNEXPLAINED, Ranked
from ncu_assist.rules.model.libraries import LibraryKernel, library_advice, library_kernel
from ncu_assist.rules.model.pipes import (
    ALU,
    FMA,
    FP64,
    TENSOR,
    XU,
    busy,
    is_matrix_work,
    operations,
    reads_tiles_again,
    tensor_ns,
)
from ncu_assist.rules.model.resources import HOST_LINK, SM, Bottleneck
from ncu_assist.rules.model.savings import REACHABLE, START, START_NS, loads, of_most, spread, takes_from
from ncu_assist.rules.no_tensor_core import OF_A_PRODUCT
from ncu_assist.spec import ALL
from ncu_assist.store import StoredRun

if TYPE_CHECKING:
    from ncu_assist.record import Launch
    from ncu_assist.rules.model.facts import Facts
    from ncu_assist.rules.model.of_run import RuleResults


S = TypeVar("S", bound=StoredRun)


def narrowed(stored: S, selection: LaunchSelection, workload: str | None = None) -> S:
    """Return a run with the launches that are meant only, under the numbers that they have in the whole.

    Of those only the ones of ``workload``, where one is named. A workload of which a call is not whole is unknown then:
    its times, bytes and floor are those of all its launches. Raises UsageProblem as ``LaunchSelection.of`` does, and
    where none that is meant is of the workload.
    """
    if selection.is_of_all:
        return stored
    every = stored.run.launches
    chosen = selection.of(every)
    if workload not in (None, ALL):
        check_workload(replace(stored.run, launches=chosen), stored.run, str(workload))
        chosen = tuple(one for one in chosen if one.workload == workload)
    numbers = {one.index for one in chosen}
    calls = {one.call for one in chosen}
    cut = {one.workload for one in every if one.index not in numbers and one.call in calls}
    kept = {one.workload for one in chosen} - cut
    return replace(stored, run=_of_workloads(replace(stored.run, launches=chosen), kept), complete=stored.whole)


def check_workload(run: Run, whole: Run, wanted: str) -> None:
    """Raise UsageProblem where a run has some launches of the ``whole``, none of them on the workload that is wanted.

    What it tries is ``--launch`` where others are, else another workload.
    """
    if any(one.workload == wanted for one in run.launches):
        return
    others = [one.index for one in whole.launches if one.workload == wanted]
    own = dict.fromkeys(str(one.workload) for one in run.launches)
    names = [facts.name for facts in whole.workloads]
    if others:
        there = f"{run.version} has launch {_numbers([one.index for one in run.launches])} of {' and '.join(own)}"
        message = f"{there}; of workload '{wanted}' it has launch {_numbers(others)}"
        hint = f"--launch {others[0]}" + (f"-{others[-1]}" if len(others) == others[-1] - others[0] + 1 > 1 else "")
    elif not names:
        message, hint = f"{run.version} has no workloads, so there is no '{wanted}'", "leave out --workload"
    elif wanted in names:
        counted = dict.fromkeys(str(one.workload) for one in whole.launches)
        message = f"{run.version} has no launches of workload '{wanted}': counters were taken on {', '.join(counted)}"
        hint = "leave out --launch"
    else:
        about = "one workload is shown at a time" if wanted == ALL else did_you_mean(wanted, names)
        message = f"{run.kernel}/{run.version} was not measured on workload '{wanted}'; {about}"
        hint = f"--workload {next(iter(own))}"
    raise UsageProblem(message, hint)


def _numbers(indices: Sequence[int]) -> str:
    return ", ".join(map(str, indices[:MOST_NUMBERS])) + (" …" if len(indices) > MOST_NUMBERS else "")


def _of_workloads(run: Run, kept: set[str | None]) -> Run:
    bench = run.bench and replace(run.bench, timings=tuple(t for t in run.bench.timings if t.workload in kept))
    return replace(
        run,
        bench=bench if bench and bench.timings else None,
        workloads=tuple(one for one in run.workloads if one.name in kept),
        checks=tuple(one for one in run.checks if one.workload in kept),
    )


MOST_NUMBERS = 5  # of launches, in a message
FAR = LIMITS[1][0]  # of its time above the floor: a finding that won less would explain nothing either
MOST_GROUPS = 20  # rows of a table: beyond it launches of one kernel are one row, whatever their grids
# TF32 is multiplied at half the rate of halves (NVIDIA A100 and H100 Tensor Core GPU architecture, table of peaks).
OF_HALVES = 2.0
WITHOUT_TF32 = ("7.0", "7.2", "7.5")
OTHER_FORMAT = "no-tensor-core"  # the id of the rule whose advice it is
PIPES = (FMA, ALU, FP64, XU, TENSOR)  # what does operations
MEMORY_UNITS = ("DRAM", "L2 input", "L2 tags", "L2 data", "L2 lookups", "L2 output", HOST_LINK)

T = TypeVar("T")


@dataclass(frozen=True)
class LaunchFloor:
    """The least time of a launch, and by what: the floor of its workload where the launch is all of a call.

    Else it is what starting it takes, and what the bytes of DRAM and of the host link, or the operations, need that
    were counted, at the rates that these can reach, less what a finding says is not needed; of a product on tensor
    cores the operations of those alone, without the DRAM bytes of tiles that seem to be fetched several times.
    ``by`` is the unit, or START. ``times`` is the time over it, None where that was too short to tell. ``by_finding``:
    what is counted needs longer, and the time is what is left without what the finding that could win most would save.
    """

    ns: float
    by: str
    times: float | None
    of_workload: bool
    assumed: bool
    by_finding: bool = False


def launch_floor(results: RuleResults | None, other_format_ns: float = 0.0) -> LaunchFloor | None:
    """Return the floor of launches that were judged; None where neither bytes nor operations were counted.

    What a finding takes off the unit that sets it is not needed, nor what another number format would save: it is no
    longer than what the most that could be won leaves.
    """
    if results is None or results.diagnosis.lacks_counters:
        return None
    facts = results.facts
    if facts.floor is not None:
        return LaunchFloor(facts.floor.ns, facts.floor.bound, facts.times_floor, True, facts.floor.assumed)
    least = _least_ns(facts)
    if not least or not facts.duration_ns:
        return None
    starts = _starts_ns(facts)
    needed = min(facts.duration_ns, max(starts, *least.values()))
    is_start = max(least.values()) <= starts
    by = START if is_start else _floor_unit((results.typical and _least_ns(results.typical)) or least, facts)
    ranked = [one for one in results.diagnosis.findings if one.severity != "info"]
    most = max(ranked, key=lambda one: one.saved_ns, default=None)
    won, is_assumed = (most.saved_ns, most.finding.assumed) if most else (0.0, False)
    left = facts.duration_ns - max(won, other_format_ns)
    if left >= needed or left <= 0:
        return LaunchFloor(needed, by, facts.duration_ns / needed, False, facts.ceilings is None)
    return LaunchFloor(left, by, facts.duration_ns / left, False, facts.ceilings is None or is_assumed, True)


def _least_ns(facts: Facts) -> dict[str, float]:
    """Return how long each unit needs at least that may set a floor, with the start of each launch; empty for none."""
    limits = spread(facts)
    pipes = (TENSOR,) if is_matrix_work(facts) else PIPES
    memory = (HOST_LINK,) if reads_tiles_again(facts) else ("DRAM", HOST_LINK)
    known = {name: limits[name] for name in (*memory, *pipes) if limits.get(name)}
    of_sm = takes_from("DRAM") if facts.lacks("sm_throughput") else facts.busy(SM) / REACHABLE
    if not any(name in known for name in pipes) and max(known.values(), default=0.0) < of_sm:
        return {}  # what of that is operations was not counted
    # What DRAM can be asked for has the start in it (`bounded_ns`).
    return {
        name: facts.duration_ns * of_most(name, load) + (name != "DRAM") * _starts_ns(facts)
        for name, load in known.items()
    }


def _floor_unit(least: Mapping[str, float], facts: Facts) -> str:
    """Return what needs longest at least, or START where that is no more than starting takes once again.

    ``least`` is that of the launch which stands for all that do the same work: where two units need as long, noise
    decides which, and equal launches are to have one.
    """
    by = max(least, key=lambda name: least[name])
    return START if least[by] < 2 * _starts_ns(facts) and by != "DRAM" else by


def _starts_ns(facts: Facts) -> float:
    return START_NS * len(facts.combined.launches)


@dataclass(frozen=True)
class LaunchRow:
    """One launch, the resource it keeps busiest, and what the rules say of it alone.

    ``results`` is None where it has no counters, or where it was not ``judged`` as one of many short ones. ``share`` is
    its part of the time of all launches of the run, or of its call on a workload; None where that is not known.
    """

    launch: Launch
    bottleneck: Bottleneck | None
    results: RuleResults | None = None
    judged: bool = False
    share: float | None = None

    @property
    def first(self) -> Ranked | None:
        """Its diagnosis; None where it was not judged, or has no counters."""
        return self.results.diagnosis.first if self.results else None

    @cached_property
    def floor(self) -> LaunchFloor | None:
        """How little time it could take; None where it was not judged, or no unit was counted."""
        return launch_floor(self.results, self.other_format_ns)

    @property
    def unexplained_ns(self) -> float | None:
        """How far it is above its floor for no known cause; None where a finding explains it, or it is near."""
        floor, took = self.floor, self.launch.duration_ns
        if floor is None or not floor.times or not took or self.first is None or self.other_format_ns:
            return None
        above = took * (1.0 - 1.0 / floor.times)
        return above if self.first.finding.rule == UNEXPLAINED and above >= FAR * took else None

    @property
    def lacks_cause(self) -> bool:
        """Whether nobody can say what it could win: too few counters, or it is far above its floor for no known cause.

        So is a launch that nothing explains and that has no floor; of one near its floor it is known: next to nothing.
        """
        if self.first is None or self.results is None or self.launch.interrupted or self.winnable_ns is None:
            return True
        if self.first.finding.rule != UNEXPLAINED or self.other_format_ns:
            return False
        return self.floor is None or self.floor.times is None or self.unexplained_ns is not None

    @cached_property
    def library(self) -> LibraryKernel | None:
        """The library that its kernel comes with; None for one of somebody's own."""
        return library_kernel(self.launch)

    @cached_property
    def winnable_ns(self) -> float | None:
        """The time that its diagnosis, or another number format, could save; None where it was not judged."""
        if self.results is None or self.results.diagnosis.lacks_counters:
            return None
        return max(self._saved_ns, self.other_format_ns)

    @cached_property
    def other_format_ns(self) -> float:
        """The time that a library's product of floats would save on tensor cores; 0 for all else.

        Bytes are moved as before, and the operations take what they do in a good product of TF32, or of halves where a
        chip has none. What is saved is time in which a unit that such products keep busy was busy: idle SMs and
        latency stay as they are.
        """
        if self.results is None or self.library is None or self.library.number_format != "float32":
            return 0.0
        facts = self.results.facts
        needed = tensor_ns(facts, 2.0 * operations(facts, "fp32_fma_per_cycle"))
        if needed is None or not needed:
            return 0.0
        slower = 1.0 if facts.device and facts.device.compute_capability in WITHOUT_TF32 else OF_HALVES
        others = max((load for name, load in loads(facts).items() if name in MEMORY_UNITS), default=0.0)
        worked = min(1.0, max(busy(facts, name) for name in OF_A_PRODUCT)) or 1.0  # not counted: nobody saw it idle
        return max(0.0, facts.duration_ns * worked - max(slower * needed, facts.duration_ns * min(1.0, others)))

    @property
    def _saved_ns(self) -> float:
        return self.first.saved_ns if self.first and self.first.severity != "info" else 0.0


@dataclass(frozen=True)
class LaunchGroup:
    """Launches of one kernel that stand in one row of a table, by number; a single one is a group, too."""

    rows: tuple[LaunchRow, ...]

    @property
    def longest(self) -> LaunchRow:
        return max(self.rows, key=lambda row: row.launch.duration_ns or 0.0)

    @property
    def told(self) -> LaunchRow:
        """The launch whose diagnosis and bottleneck stand for all: the one with the most winnable time."""
        return max(self.rows, key=_most)

    @property
    def numbers(self) -> str:
        """The numbers of its launches as ``--launch`` takes them, e.g. ``0-3, 7``."""
        return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in self._spans())

    @property
    def grid(self) -> tuple[int, int, int] | None:
        """The grid of all its launches; None where they differ."""
        return only({row.launch.grid for row in self.rows})

    @property
    def ranges(self) -> tuple[str, ...]:
        """The NVTX ranges around all of them, outermost first."""
        levels = zip(*(row.launch.ranges for row in self.rows), strict=False)
        return tuple(names[0] for names in takewhile(lambda names: len(set(names)) == 1, levels))

    @property
    def duration_ns(self) -> float | None:
        """Their time together; None where that of one is not known."""
        return _sum(row.launch.duration_ns for row in self.rows)

    @property
    def share(self) -> float | None:
        return shared(self.rows)

    @property
    def winnable_ns(self) -> float | None:
        return _sum(row.winnable_ns for row in self.rows)

    @property
    def unexplained_ns(self) -> float | None:
        """How far those are above their floors, together, that are so for no known cause; None without any."""
        return sum(row.unexplained_ns or 0.0 for row in self.rows) or None

    @property
    def times_floor(self) -> float | None:
        """Their time over their floors; None where one has none."""
        floors = [row.floor for row in self.rows if row.floor and row.floor.times]
        if len(floors) < len(self.rows):
            return None
        return sum(one.ns * (one.times or 1.0) for one in floors) / sum(one.ns for one in floors)

    @property
    def bound_by(self) -> tuple[str, float] | None:
        """The unit that binds the launches which most of their time goes to, and the part of it; None if unknown."""
        times: dict[str, float] = {}
        for row in self.rows:
            name = row.bottleneck.name if row.bottleneck else ""
            times[name] = times.get(name, 0.0) + (row.launch.duration_ns or 0.0)
        name, most = max(times.items(), key=lambda one: one[1])
        whole = sum(times.values())
        return (name, most / whole) if name and whole else None

    def _spans(self) -> Iterator[tuple[int, int]]:
        first = last = self.rows[0].launch.index
        for row in self.rows[1:]:
            if row.launch.index != last + 1:
                yield first, last
                first = row.launch.index
            last = row.launch.index
        yield first, last


def launch_groups(rows: Iterable[LaunchRow]) -> tuple[LaunchGroup, ...]:
    """Return launches with those of one kernel, shape and NVTX range as one, what takes longest first.

    Where that is more than MOST_GROUPS, launches of one kernel are one, whatever their shape and range.
    """
    ordered = sorted(rows, key=lambda row: row.launch.index)
    fine = _grouped(ordered, lambda one: (one.workload, one.signature, one.grid, one.block, one.ranges))
    return fine if len(fine) <= MOST_GROUPS else _grouped(ordered, lambda one: (one.workload, one.signature))


def kernel_groups(rows: Iterable[LaunchRow]) -> tuple[LaunchGroup, ...]:
    """Return launches by kernel, whatever their shapes and ranges, what takes longest first."""
    return _grouped(sorted(rows, key=lambda row: row.launch.index), lambda one: one.signature or one.kernel)


def most_winnable(rows: Sequence[LaunchRow]) -> LaunchRow | None:
    """Return the launch with the most winnable time, of equals the longest; None for none."""
    return max(rows, key=_most, default=None)


@dataclass(frozen=True)
class Payoff:
    """What one change would win over all launches that it is for: those of one kernel, or of one kind of a library.

    Launches of other shapes that are advised differently are another change. What a rule says of a call as a whole,
    such as that launches are short, is said of all kernels; so is that their build is at fault (``of_build``), also of
    those that have another first finding.

    ``share`` is their part of the time, ``won`` what the change saves of all time; None where that is not known.
    ``assumed``: rests on a rate that was not measured on this GPU. ``is_part``: other launches of this kernel are
    advised differently.
    """

    rule: str
    rows: tuple[LaunchRow, ...]
    library: LibraryKernel | None
    advice: str
    figures: str  # of the launch with most to win
    winnable_ns: float
    share: float | None
    won: float | None
    assumed: bool
    is_part: bool = False
    of_build: bool = False

    @property
    def full_advice(self) -> str:
        return with_figures(self.advice, self.figures)

    @property
    def launches(self) -> tuple[int, ...]:
        return tuple(row.launch.index for row in self.rows)

    @property
    def wins(self) -> tuple[float, ...]:
        """What it saves of the time of each launch, ns."""
        return tuple(_saved_ns(row, self.rule) for row in self.rows)

    @property
    def worst(self) -> LaunchRow:
        """The launch of these with the most winnable time."""
        return _worst(self.rows, self.rule)

    @property
    def kernels(self) -> int:
        """How many kernels these are launches of."""
        return len(_kernels(self.rows))

    @property
    def kernel(self) -> str:
        """The kernel, without template arguments; of several of a library that takes longest."""
        return max(self.rows, key=lambda row: row.launch.duration_ns or 0.0).launch.kernel


def _kernels(rows: Iterable[LaunchRow]) -> set[str]:
    return {row.launch.signature or row.launch.kernel for row in rows}


def payoffs(rows: Sequence[LaunchRow]) -> tuple[Payoff, ...]:
    """Return what would pay over all these launches, the most winnable time first; what saves nothing is not in it.

    Of a kernel those with the same advice are together; launches of one grid and block have that of the worst of them.
    """
    alike: dict[tuple[object, str, object], list[LaunchRow]] = {}
    for row in rows:
        kernel, shape = row.library or row.launch.signature or row.launch.kernel, (row.launch.grid, row.launch.block)
        for rule in _rules(row):
            of_all = rule in OF_A_CALL or rule in _of_build(row)  # the change is not to one kernel
            alike.setdefault((None, rule, None) if of_all else (kernel, rule, shape), []).append(row)
    groups: dict[tuple[object, str, str], list[LaunchRow]] = {}
    for (of, rule, _), some in alike.items():
        groups.setdefault((of, rule, _advice(_worst(some, rule), rule)[0]), []).extend(some)
    shares = ((row.launch.duration_ns, row.share) for row in rows)
    whole = next((time / share for time, share in shares if time and share), None)
    kernels = Counter(of for of, *_ in groups if of is not None)
    found = [_payoff(rule, some, whole, kernels[of] > 1) for (of, rule, _), some in groups.items()]
    return tuple(sorted(found, key=lambda one: -one.winnable_ns))


def _rules(row: LaunchRow) -> set[str]:
    """Return the rules whose changes pay for a launch: that of its first finding, and those about its build."""
    first = {_rule(row)} if row.winnable_ns and row.first else set[str]()
    return first | {rule for rule in _of_build(row) if _saved_ns(row, rule)}


def _of_build(row: LaunchRow) -> set[str]:
    """Return the rules that say the build of a launch is at fault."""
    found = row.results.diagnosis.findings if row.results else ()
    return {one.finding.rule for one in found if one.finding.of_build}


def _told(row: LaunchRow, rule: str) -> Ranked | None:
    """Return what a rule says of a launch that is no remark."""
    found = row.results.diagnosis.findings if row.results else ()
    return next((one for one in found if one.finding.rule == rule and one.severity != "info"), None)


def _saved_ns(row: LaunchRow, rule: str) -> float:
    if rule not in _of_build(row):
        return row.winnable_ns or 0.0
    told = _told(row, rule)
    return told.saved_ns if told else 0.0


def _worst(rows: Sequence[LaunchRow], rule: str) -> LaunchRow:
    return max(rows, key=lambda row: (_saved_ns(row, rule), row.launch.duration_ns or 0.0))


def _advice(row: LaunchRow, rule: str) -> tuple[str, str]:
    """Return what a launch is advised by a rule, and its figures."""
    if rule == OTHER_FORMAT and row.other_format_ns == row.winnable_ns and row.library:
        return library_advice(row.library, OTHER_FORMAT), ""
    told = _told(row, rule)
    return (told.finding.advice, told.finding.figures) if told else ("", "")


def _payoff(rule: str, rows: Sequence[LaunchRow], whole_ns: float | None, is_part: bool) -> Payoff:
    rows = sorted(rows, key=lambda row: row.launch.index)
    told = [_told(row, rule) for row in rows]
    saved = sum(_saved_ns(row, rule) for row in rows)
    worst = _worst(rows, rule)
    is_other = rule == OTHER_FORMAT and worst.other_format_ns == worst.winnable_ns
    advice, figures = _advice(worst, rule)
    if len(rows) > 1:  # what each is told as a launch by itself
        advice = advice.replace(launch_bound.SINGLE, launch_bound.CHAIN)
    of_build = rule in _of_build(worst)
    if len(_kernels(rows)) > 1 or (of_build and len(rows) > 1):
        figures = ""  # of one launch or kernel: here it is a sum
    return Payoff(
        rule=rule,
        rows=tuple(rows),
        library=only({row.library for row in rows}),
        advice=advice,
        figures=figures,
        winnable_ns=saved,
        share=shared(rows),
        won=saved / whole_ns if whole_ns else None,
        assumed=is_other or any(one.finding.assumed for one in told if one),
        is_part=is_part,
        of_build=of_build,
    )


def _rule(row: LaunchRow) -> str:
    first = row.first
    return OTHER_FORMAT if first is None or row.other_format_ns == row.winnable_ns else first.finding.rule


def _most(row: LaunchRow) -> tuple[float, float]:
    return row.winnable_ns or 0.0, row.launch.duration_ns or 0.0


def _grouped(rows: Sequence[LaunchRow], key: Callable[[Launch], object]) -> tuple[LaunchGroup, ...]:
    groups: dict[object, list[LaunchRow]] = {}
    for row in rows:
        groups.setdefault(key(row.launch), []).append(row)
    return tuple(
        sorted((LaunchGroup(tuple(own)) for own in groups.values()), key=lambda one: -(one.duration_ns or 0.0))
    )


def only(values: set[T]) -> T | None:
    """Return the one value of a set; None where there are several."""
    return next(iter(values)) if len(values) == 1 else None


def shared(rows: Iterable[LaunchRow]) -> float | None:
    """Return the part of the time that launches take together; None where that of one is not known, or without any."""
    return _sum(row.share for row in rows)


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum; None where a part of it is not known."""
    known = list(values)
    return None if not known or any(value is None for value in known) else sum(value or 0.0 for value in known)
