"""What the catalogue says of one metric, by which further ways it is known, and how launches make one value of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final, Literal

from ncu_assist.ncu.catalogue.formulas import NOT_APPLICABLE, total

How = Literal["sum", "mean", "max", "formula", "none"]


@dataclass(frozen=True)
class Combining:
    """How the launches of one kernel make one value.

    ``sum``: counts add up. ``mean``: a ratio, weighted by what it is a ratio over: ``weights`` says that in keys of the
    catalogue, as a sum of products; where a report lacks one, the next is taken, and without any there is no value.
    ``formula``: that of a derived metric, over its combined parts. ``max``: the largest. ``none``: no value unless all
    launches have the same.

    Over different kernels only sums hold, and what is no property of a kernel: ``of_device``.
    """

    how: How
    weights: tuple[str, ...] = ()
    of_device: bool = False

    @property
    def over_kernels(self) -> bool:
        """Whether launches of different kernels make one value."""
        return self.how == "sum" or self.of_device


def mean_by(*weights: str) -> Combining:
    return Combining("mean", weights)


SUM: Final = Combining("sum")
MAX: Final = Combining("max")
FORMULA: Final = Combining("formula")
FORMULA_OF_DEVICE: Final = Combining("formula", of_device=True)
NOT_AT_ALL: Final = Combining("none")
OF_DEVICE: Final = Combining("none", of_device=True)
CLOCK: Final = Combining("mean", ("duration",), of_device=True)  # cycles over time, whichever kernel runs

# What ratios are ratios over. Where a report lacks the counter, the next says the same, or nearly: the cycles of a unit
# are its clock times the time; since Volta a scheduler issues one instruction in a cycle in which it issues.
BY_TIME: Final = mean_by("duration")
BY_SM_ELAPSED: Final = mean_by("sm_cycles_elapsed", "cycles", "sm_clock * duration")
BY_SM_ACTIVE: Final = mean_by("sm_cycles_active")
BY_L1_ACTIVE: Final = mean_by("l1_cycles_active", "sm_cycles_active")
BY_SCHEDULER_ACTIVE: Final = mean_by("scheduler_cycles_active", "sm_cycles_active")
BY_SCHEDULER_ELAPSED: Final = mean_by("scheduler_cycles_elapsed", "sm_cycles_elapsed", "cycles", "sm_clock * duration")
BY_L2_ELAPSED: Final = mean_by("l2_clock * duration", "duration")  # its clock does not follow the kernel
BY_DRAM_ELAPSED: Final = mean_by("dram_clock * duration", "duration")  # the same
BY_ISSUED: Final = mean_by("instructions_issued", "issued_per_cycle * scheduler_cycles_active", "instructions")
BY_INSTRUCTIONS: Final = mean_by("instructions", "instructions_issued")

COUNTS = ("memory_", "smsp__pcsamp_", "sass__inst_executed", "smsp__inst_executed", "thread_inst_executed")
ELAPSED, ACTIVE = ("sustained_elapsed", "per_cycle_elapsed"), ("sustained_active", "per_cycle_active")
OF_UNIT: dict[str, Combining] = {
    **dict.fromkeys(("sm", "l1tex", "idc", "tpc", "gpc"), BY_SM_ELAPSED),
    "smsp": BY_SCHEDULER_ELAPSED,
    **dict.fromkeys(("lts", "ltc"), BY_L2_ELAPSED),
    **dict.fromkeys(("dram", "fbpa"), BY_DRAM_ELAPSED),
    "gpu": BY_TIME,  # the largest of several units, each with cycles of its own
}
WHILE_ACTIVE: dict[str, Combining] = {"sm": BY_SM_ACTIVE, "smsp": BY_SCHEDULER_ACTIVE, "l1tex": BY_L1_ACTIVE}


def combining_of(name: str) -> Combining:
    """Return how a metric that no catalogue has is put together, from ncu's name; not at all where it does not say.

    A sum over all units and a mean of them add up over launches; the busiest unit need not be the same in each.
    """
    head, _, rest = name.partition("__")
    unit = head.rpartition(".")[2]  # SM_B.TriageCompute.l1tex__…
    rollups = rest.split(".")[1:]
    if unit in ("launch", "device"):
        return NOT_AT_ALL
    if not rollups:
        is_count = name.startswith(COUNTS) and not name.endswith(("_pct", "_ratio"))
        return SUM if is_count else NOT_AT_ALL
    if rollups[0] in ("max", "min"):
        return NOT_AT_ALL
    last = rollups[-1]
    if last in ("sum", "avg"):
        return SUM
    if last == "per_second":
        return BY_TIME
    if last.endswith(ELAPSED):
        return OF_UNIT.get(unit, NOT_AT_ALL)
    return WHILE_ACTIVE.get(unit, NOT_AT_ALL) if last.endswith(ACTIVE) else NOT_AT_ALL


Better = Literal["higher", "lower"]

# What the rows of the catalogue are made of.
LOWER: Final[Better] = "lower"
HIGHER: Final[Better] = "higher"
EXACT, NOISY = True, False

# ncu's own names of its sections.
SPEED = "GPU Speed Of Light Throughput"
COMPUTE = "Compute Workload Analysis"
MEMORY = "Memory Workload Analysis"
CHART = "Memory Workload Analysis Chart"
TABLES = "Memory Workload Analysis Tables"
SCHEDULER = "Scheduler Statistics"
WARP_STATE = "Warp State Statistics"
INSTRUCTIONS = "Instruction Statistics"
LAUNCH = "Launch Statistics"
OCCUPANCY = "Occupancy"
DISTRIBUTION = "GPU and Memory Workload Distribution"
SOURCE = "Source Counters"
NOWHERE = ""  # in the report, but no section shows it under a label

# Chips that lack a metric, as the lists in data/ have it; a test holds every row against them.
BEFORE_AMPERE = ("tu102",)
BEFORE_HOPPER = ("tu102", "ga100", "ga102", "ad102")
BLACKWELL = ("gb100", "gb202")
ALL_BUT_HOPPER = (*BEFORE_HOPPER, *BLACKWELL)


@dataclass(frozen=True)
class Way:
    """A way to know a metric of a launch that has none of its names: from others of the same launch.

    ``needs`` are ncu's names and keys of the catalogue, in the order of the arguments of ``formula``; ``parts`` the
    same with the row of each key, which ``linked`` puts there. ``words``: the formula, for people. ``source``:
    where the equivalence comes from. ``approximate``: not the same number, but near; ``benchmarks/ladder_agreement.py``
    compares them.
    """

    needs: tuple[str, ...]
    formula: Callable[..., float]
    words: str
    source: str
    approximate: bool = False
    parts: tuple[str | Metric, ...] = field(default=(), repr=False)

    def value(self, values: Mapping[str, float]) -> float | None:
        """Return the metric from values by ncu's name; None where one that it needs is absent, or nothing follows."""
        known: list[float] = []
        for part in self.parts:
            one = _finite(values.get(part)) if isinstance(part, str) else part.value(values)
            if one is None:
                return None
            known.append(one)
        return _finite(self.formula(*known))

    def is_approximate(self, values: Mapping[str, float]) -> bool:
        """Tell whether it, or what it needs, is only near what was asked for."""
        rows = (part for part in self.parts if not isinstance(part, str))
        return self.approximate or any(row.is_approximate(values) for row in rows)

    @property
    def every_name(self) -> frozenset[str]:
        """Return every name of ncu that the value may come from."""
        return frozenset().union(*((part,) if isinstance(part, str) else part.every_name for part in self.parts))

    def names(self, has: Callable[[str], bool]) -> tuple[str, ...]:
        """Return ncu's names that the value comes from, of those that can be had; empty where one cannot."""
        found = [((part,) if has(part) else ()) if isinstance(part, str) else part.spelled(has) for part in self.parts]
        return tuple(dict.fromkeys(name for names in found for name in names)) if all(found) else ()


@dataclass(frozen=True)
class Metric:
    """One metric of ncu.

    ``names`` are its spellings, Hopper's first. ``section`` and ``label`` are ncu's own; where ``shown_as`` holds ncu's
    label, or no section shows the metric, the label is ours. ``exact``: every recorded repeat gave the same value; what
    that is worth says ``noise.repeats_as``. ``combine``: how launches of one kernel make one value. ``lacking``:
    recorded chips without any spelling. ``given``: no report holds it, we measure it ourselves. ``ncu_unit``: what ncu
    prints where that is not the true unit. ``most``: the largest value that hardware can have; 100 of a percentage
    unless said. ``ways``: further ways to know it, the best first.
    """

    key: str
    names: tuple[str, ...]
    section: str
    label: str
    unit: str
    better: Better | None
    exact: bool
    combine: Combining
    meaning: str
    shown_as: str = ""
    lacking: tuple[str, ...] = ()
    given: bool = False
    ncu_unit: str | None = None
    most: float | None = None
    ways: tuple[Way, ...] = field(default=(), repr=False)

    def value(self, values: Mapping[str, float]) -> float | None:
        """Return this metric from values by ncu's name: by its own names first, then by the ways to know it.

        None where it is absent or no finite number.
        """
        for name in self.names:  # a loop, not a generator: a report of 2,000 launches asks half a million times
            if name in values and (found := _finite(values[name])) is not None:
                return found
        for way in self.ways:
            if (found := way.value(values)) is not None:
                return found
        return None

    def way(self, values: Mapping[str, float]) -> Way | None:
        """Return by which way ``value`` knows it; None where a launch has one of its names, or nothing knows it."""
        if any(_finite(values.get(name)) is not None for name in self.names):
            return None
        return next((way for way in self.ways if way.value(values) is not None), None)

    def is_approximate(self, values: Mapping[str, float]) -> bool:
        """Tell whether what ``value`` returns is near, and not the same: derived from others."""
        way = self.way(values)
        return way is not None and way.is_approximate(values)

    def spelled(self, has: Callable[[str], bool]) -> tuple[str, ...]:
        """Return ncu's names behind it, of those that can be had: its own, or those of a way; empty where none can."""
        own = next((name for name in self.names if has(name)), None)
        if own is not None:
            return (own,)
        return next((names for way in self.ways if (names := way.names(has))), ())

    @property
    def every_name(self) -> frozenset[str]:
        """Return every name of ncu that it may be known by."""
        return frozenset(self.names).union(*(way.every_name for way in self.ways))


def _finite(found: float | None) -> float | None:
    return found if found is not None and math.isfinite(found) else None


# Where equivalences come from.
HARDWARE = "CUDA C++ Programming Guide"
DOCUMENTED = "ncu's documentation, Metrics Structure"
SECTION = "ncu's section files"
ATTRIBUTE = "attribute of the device"
IN_BOTH = "compared in reports that hold both"
RELEASE_2019 = "its name in ncu 2019 on Pascal"
RATE_TIMES_TIME = f"{DOCUMENTED}: .per_second times the time"
A_SECOND = 1e-9  # a rate is a second, a duration in ns
OF_ACTIVE, OF_ELAPSED = ".avg.pct_of_peak_sustained_active", ".avg.pct_of_peak_sustained_elapsed"
CAPABILITY = ("device__attribute_compute_capability_major", "device__attribute_compute_capability_minor")


def same(name: str, source: str, *, approximate: bool = False) -> Way:
    """Return that another metric is the same number, or nearly."""
    return Way((name,), float, name, source, approximate)


def times(needs: Sequence[str], source: str, *, factor: float = 1.0, approximate: bool = False) -> Way:
    """Return the product of metrics and a factor."""

    def formula(*parts: float) -> float:
        return factor * prod(parts)

    return Way(tuple(needs), formula, _words(needs, (), factor), source, approximate)


def rate_times_time(rate: str, *, approximate: bool = False) -> Way:
    """Return a rate of a second times the duration in ns."""
    return times((rate, "duration"), RATE_TIMES_TIME, factor=A_SECOND, approximate=approximate)


def over(
    above: Sequence[str], below: Sequence[str], source: str, *, factor: float = 1.0, approximate: bool = False
) -> Way:
    """Return a product of metrics and a factor over another product."""

    def formula(*parts: float) -> float:
        whole = prod(parts[len(above) :])
        return factor * prod(parts[: len(above)]) / whole if whole > 0 else NOT_APPLICABLE

    return Way((*above, *below), formula, _words(above, below, factor), source, approximate)


def added(needs: Sequence[str], source: str, *, approximate: bool = False) -> Way:
    """Return the sum of metrics."""
    return Way(tuple(needs), total, " + ".join(needs), source, approximate)


def less(whole: str, part: str, source: str, *, approximate: bool = False) -> Way:
    """Return what is left of a metric without another, at least 0."""
    return Way((whole, part), lambda whole, part: max(0.0, whole - part), f"{whole} - {part}", source, approximate)


def linked(rows: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the rows with, in their ways, the rows of the keys that these need.

    Raises ValueError for ways that need each other.
    """
    made: dict[str, Metric] = {}

    def link(key: str, asked: tuple[str, ...]) -> Metric:
        if key in asked:
            raise ValueError(f"ways that need each other: {' -> '.join((*asked, key))}")
        if key not in made:
            needs = {need for way in rows[key].ways for need in way.needs if need in rows}
            parts = {need: link(need, (*asked, key)) for need in sorted(needs)}
            made[key] = replace(rows[key], ways=tuple(with_parts(way, parts) for way in rows[key].ways))
        return made[key]

    return {key: link(key, ()) for key in rows}


def with_parts(way: Way, rows: Mapping[str, Metric]) -> Way:
    """Return a way with the rows of the keys that it needs."""
    return replace(way, parts=tuple(rows.get(need, need) for need in way.needs))


def _words(above: Sequence[str], below: Sequence[str], factor: float) -> str:
    start = [] if factor == 1.0 else [f"{factor:g}"]
    words = " * ".join([*start, *above])
    return f"{words} / {' / '.join(below)}" if below else words
