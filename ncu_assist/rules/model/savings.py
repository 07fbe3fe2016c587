"""How much a fix can win before the next limit is reached, and the time that less work for some units saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ncu_assist.ceilings.chips import SCHEDULERS, SECTOR_BYTES
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.dram import OF_CEILING, asked_share, fill, link_load, needed_link_load
from ncu_assist.rules.model.facts import Facts, once
from ncu_assist.rules.model.pipes import ISSUE, TENSOR
from ncu_assist.rules.model.resources import (
    BUSY_PERCENT,
    HOST_LINK,
    MEMORY,
    NEARLY,
    PARTS,
    RESOURCES,
    SM,
    SM_PARTS,
    Resource,
)

# No kernel keeps a unit busy all the time: a loop of nothing but FMA its pipe 85 to 95 % (docs/sources.md,
# Rates). It stands for what `ceilings` did not measure as a share: units of L2 (whose reads are held
# against the measured rate as well), of L1 but the data pipe, and all of a GPU that nobody measured. Also for the FMA
# pipe and the tensor cores, whose measured loops use operands again as no product can (with three others a multiply-add
# reaches 85 %, a library's product 91 %). What DRAM can be asked for depends on mix and size: `dram`.
REACHABLE = 0.9
# By unit: the loop of nothing else that `ceilings` runs on it, and whose share of the peak ncu counted.
PROBES = {
    "ALU pipe": ("pipe", "alu"), "FMA heavy pipe": ("pipe", "imad"),
    "FP64 pipe": ("pipe", "fp64"), "XU pipe": ("pipe", "xu"), "LSU pipe": ("pipe", "lsu"),
    "L1 data pipe": ("shared", "wavefronts"),
}  # fmt: skip
# The loop that fills issue slots, where the FMA pipe takes an instruction a cycle: 94 % of them on an H200 and an H100.
# More can be reached (`pipe_fma_unfused` of the fault gallery fills 98 %), less was only assumed.
FILLS_SLOTS = ("pipe", "fma")
L2_READS = "L2 output"  # where what SMs read leaves L2
CACHES = {"L1": "l1_cache_throughput", "L2": "l2_cache_throughput"}
START = "start"  # of a kernel: what relieves it of that is fused with its neighbours
# Of what a unit can reach: from here on it is what takes the time, and is named first, with or without waste. Nsight
# Compute calls a pipe a bottleneck at 80 % (rule HighPipeUtilization) and a unit highly used at 80 % (SOLBottleneck).
# Streams that wait for nothing else keep DRAM at 88 % of its peak and more (the curves in ceilings/data).
OWNED, OWNED_DRAM = 0.80, 0.88
AT_WORK = " on the multiprocessors that have a block"
ON_EACH_SM = frozenset(one.name for one in (*PARTS, *SM_PARTS, SM) if one.group in ("L1", "SM"))
BUSY = BUSY_PERCENT / 100.0 / REACHABLE  # of what a unit can reach: below it on all units time goes with waiting
EXCESS = {"sectors_excessive", "wavefronts_excessive"}  # kinds of waste, of which each finding has its own
UNKNOWN_PART = 0.5  # of the work of a unit that is spared where nobody knows what it is
LEAST_SHARE = 0.02  # of the time that stays whatever is fixed, where a rule does not know what its fix leaves


@dataclass(frozen=True)
class Busiest:
    """The unit that is nearest to its limit: how busy it was, and of what it can reach, both 0 to 1.

    ``where`` that is, in words with a space before them; empty for the whole chip.
    """

    name: str
    share: float
    load: float
    where: str = ""

    @property
    def reached(self) -> float:
        """How much it did of the most that it can, 0 to 1."""
        return min(1.0, of_most(self.name, self.load))

    @property
    def is_busy(self) -> bool:
        """Whether it is busy enough that waiting alone does not explain the time."""
        return self.load >= BUSY

    @property
    def takes_the_time(self) -> bool:
        """Whether it is so near to its limit that it must be named first."""
        return takes_the_time(self.name, self.load)


def of_most(name: str, load: float) -> float:
    """Return how much a unit did of the most that it can; the load of DRAM is of what a kernel has which is done."""
    return load * OF_CEILING if name == "DRAM" else load


def takes_the_time(name: str, load: float) -> bool:
    """Return whether a unit is so near to its limit that the time goes with its work."""
    return load >= takes_from(name)


def takes_from(name: str) -> float:
    """Return from which part of what a unit can reach the time goes with its work, 0 to 1."""
    return OWNED_DRAM / OF_CEILING if name == "DRAM" else OWNED


def busiest_unit(facts: Facts) -> Busiest | None:
    """Return the unit nearest to its limit, the link to the host among them; None where none was counted."""
    limits = loads(facts)
    if not limits or max(limits.values()) <= 0.0:
        return None
    name = max(limits, key=lambda one: limits[one])
    shares = [facts.busy(one) for one in (*PARTS, *SM_PARTS, MEMORY, SM) if one.name == name]
    sms = _sms_of(name, facts)
    return Busiest(name, max(shares, default=limits[name]) * sms, limits[name], AT_WORK if sms > 1.0 else "")


def bounded_ns(finding: Finding, facts: Facts) -> float:
    """Return the most time that a fix can save: the other resources keep the work that it does not take off them.

    A fix that spares the start of a kernel puts its blocks beside those of others, on all multiprocessors, and leaves
    DRAM the time for its bytes, not that of a kernel of this size; any other leaves the start of each launch, beside
    what the busiest of the others needs; what DRAM can be asked for has its start in it. What has to come from the host
    crosses the link whatever is changed.
    """
    kept, starts = dict(loads(facts)), START_NS * len(facts.combined.launches)
    if START in finding.relieves:
        kept, starts = {**spread(facts), "DRAM": asked_share(facts) / REACHABLE}, 0.0
    others = {name: load for name, load in kept.items() if name not in finding.relieves}
    least = 0.0 if finding.left else LEAST_SHARE
    of_dram, of_others = others.pop("DRAM", 0.0), max([least, needed_link_load(facts), *others.values()])
    return max(0.0, facts.duration_ns - max(of_dram * facts.duration_ns, of_others * facts.duration_ns + starts))


def left_by(finding: Finding, facts: Facts) -> Mapping[str, float]:
    """Return what part of its work each unit keeps that a fix relieves: as the rule knows, else as of the time.

    Tensor cores keep all of theirs: a fix may leave them no time without operands, but spares no product.
    """
    time = facts.duration_ns
    kept = 1.0 - min(1.0, finding.saved_ns / time) if time else 1.0
    return {**dict.fromkeys(finding.relieves, kept), TENSOR: 1.0, **finding.left}


def joint_ns(pair: tuple[Finding, Finding], facts: Facts) -> float | None:
    """Return the most time that two fixes save together; None where they may be about the same time.

    The work of both goes, and what units keep stays: alone each is bounded by the work that the other takes off the
    next unit. Two kinds of wasted passes or sectors are different ones, and add up; of other fixes the second wins its
    part of what the first has left. Fixes whose rules do not know what units keep are of different times where they
    share neither a unit nor a reason to wait.
    """
    time, limits, (one, other) = facts.duration_ns, loads(facts), pair
    if not (one.left and other.left) and (_shared(one.relieves, other.relieves) or _shared(one.stalls, other.stalls)):
        return None
    add_up = {one.waste, other.waste} <= EXCESS
    lefts = left_by(one, facts), left_by(other, facts)
    kept = {
        name: load * _both(lefts[0].get(name, 1.0), lefts[1].get(name, 1.0), add_up) for name, load in limits.items()
    }
    own = 1.0 - _both(1.0 - _own_share(one, limits, time), 1.0 - _own_share(other, limits, time), add_up)
    of_dram, of_others = kept.pop("DRAM", 0.0), max([LEAST_SHARE, *kept.values()])
    bound = max(of_dram * time, of_others * time + START_NS * len(facts.combined.launches))
    return max(0.0, min(own * time, time - bound))


def _shared(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return bool(set(some) & set(others))


def _both(one: float, other: float, add_up: bool) -> float:
    """Return the part that two fixes leave, each of which leaves a part, 0 to 1."""
    return max(0.0, one + other - 1.0) if add_up else one * other


def _own_share(finding: Finding, limits: Mapping[str, float], time: float) -> float:
    """Return the part of the time that goes with what a fix takes away, whatever other units allow, 0 to 1."""
    gone = (min(1.0, limits.get(unit, 0.0)) * (1.0 - part) for unit, part in finding.left.items())
    return min(1.0, max([finding.saved_ns / time, *gone]))


def next_limit(finding: Finding, facts: Facts, speedup: float) -> Busiest | None:
    """Return the unit that keeps its work and takes the time once a fix has won ``speedup``; None if none does.

    Below that a unit ends no gain, and the estimate is what the rule of the fault says. ``load`` is of that time. Of
    different kernels nothing is said: no unit takes the time of all.
    """
    now = spread(facts) if START in finding.relieves else loads(facts)
    kept = {name: load * speedup for name, load in now.items() if name not in finding.relieves}
    limits = {name: load for name, load in kept.items() if takes_the_time(name, load)}
    if not limits or len(facts.by_kernel) > 1:
        return None
    name = max(limits, key=lambda one: limits[one])
    share = facts.busy(RESOURCES[name]) * _sms_of(name, facts)
    return Busiest(name, share * speedup, min(1.0, limits[name]))


def reachable(facts: Facts, name: str) -> float:
    """Return how busy a unit can be, 0 to 1: as it was in a loop of nothing else on such a GPU, else REACHABLE."""
    if name == ISSUE:
        return max(REACHABLE, _filled_slots(facts))
    rate = facts.ceilings.rate(*PROBES[name], "ncu") if facts.ceilings and name in PROBES else None
    measured = rate.pct_of_peak if rate else None
    return measured / 100.0 if measured else REACHABLE


def _filled_slots(facts: Facts) -> float:
    """Return the share of issue slots that a loop of `ceilings` filled, 0 to 1; 0 where none was run."""
    rate = facts.ceilings.rate(*FILLS_SLOTS, "ncu") if facts.ceilings else None
    return (rate.per_cycle_per_sm or 0.0) / SCHEDULERS if rate else 0.0


@once
def loads(facts: Facts) -> Mapping[str, float]:
    """Return how busy each unit (names of `resources`) was, of what a kernel can ask of it; 1 is at its limit.

    The link to the host is one of them: what has to cross it does so no faster, whatever else is changed. Of different
    kernels it is the share of their time. With fewer blocks than multiprocessors, a unit that each multiprocessor has
    counts where there is work: ncu's shares are of all, and idle ones would hide that those at work are full.
    """
    if len(facts.by_kernel) > 1 and facts.duration_ns:
        return _of_kernels(facts, loads)
    found = {HOST_LINK: link_load(facts)}
    for one in (*PARTS, *SM_PARTS):
        load = fill(facts) if one.name == "DRAM" else facts.busy(one) / reachable(facts, one.name)
        found[one.name] = max(load, found.get(one.name, 0.0))
    found[L2_READS] = max(found[L2_READS], _l2_reads(facts))
    every = {**found, **_coarse(facts)}
    return {name: load * _sms_of(name, facts) * facts.left.get(name, 1.0) for name, load in every.items()}


def _of_kernels(facts: Facts, of: Callable[[Facts], Mapping[str, float]]) -> dict[str, float]:
    """Return how busy each unit was over different kernels, each by its share of their time."""
    parts = [(one.duration_ns / facts.duration_ns, of(one)) for one in facts.by_kernel]
    names = dict.fromkeys(name for _, own in parts for name in own)
    return {name: sum(share * own.get(name, 0.0) for share, own in parts) for name in names}


def sms_a_block(facts: Facts) -> float:
    """Return how many multiprocessors there are for each that gets a block; 1 from a block each on, or if not known.

    Blocks are handed to idle multiprocessors first, so that as many work as there are blocks. No more than the longest
    worked for each cycle that the mean did, where that was counted.
    """
    blocks, count, mean, longest = (
        facts.get(key) for key in ("grid_size", "sm_count", "sm_cycles_active", "sm_cycles_active_max")
    )
    if not blocks or not count:
        return 1.0
    return max(1.0, min(count / blocks, longest / mean if longest and mean else count / blocks))


def _sms_of(name: str, facts: Facts) -> float:
    return sms_a_block(facts) if name in ON_EACH_SM else 1.0


def spread(facts: Facts) -> dict[str, float]:
    """Return how busy each unit would be with its work spread over all multiprocessors, of what it can reach."""
    if len(facts.by_kernel) > 1 and facts.duration_ns:
        return _of_kernels(facts, spread)
    return {name: load / _sms_of(name, facts) for name, load in loads(facts).items()}


def _coarse(facts: Facts) -> dict[str, float]:
    """Return the load of the memory and of the SM as wholes, where parts that explain it were not counted.

    A cache of which no part was counted may be what memory is busy with, and a pipe what the SM is.
    """
    pipes = tuple(one for one in SM_PARTS if one.name != ISSUE)
    caches = tuple(tuple(one for one in PARTS if one.group == cache) for cache in CACHES)
    found = {}
    for whole, parts, groups in ((MEMORY, PARTS, caches), (SM, SM_PARTS, (pipes,))):
        share, known = facts.busy(whole), max(facts.busy(one) for one in parts)
        if share and known < NEARLY * share and any(_uncounted(group, facts) for group in groups):
            found[whole.name] = share / REACHABLE
    return found


def _uncounted(parts: tuple[Resource, ...], facts: Facts) -> bool:
    return all(one.share(facts.combined.values) is None for one in parts)


def uncounted_caches(facts: Facts) -> Iterator[tuple[str, float]]:
    """Yield caches of which no part was counted, and how busy ncu calls them, 0 to 1: of all counters, the busiest.

    Some of these limit no kernel, so it is at most so much; that of L1 is of the time in which it was active.
    """
    for cache, key in CACHES.items():
        share = facts.get(key)
        if share is not None and _uncounted(tuple(one for one in PARTS if one.group == cache), facts):
            yield cache, share / 100.0


def _l2_reads(facts: Facts) -> float:
    """Return what SMs read from L2 a second, of the most that was measured on such a GPU; 0 where that is not known."""
    measured = [one.bytes_per_second for one in facts.ceilings.l2 if one.source == "ncu"] if facts.ceilings else []
    sectors = facts.get("l2_sectors_read")
    if not measured or sectors is None or not facts.duration_ns:
        return 0.0
    return 1e9 * SECTOR_BYTES * sectors / facts.duration_ns / max(measured)


# What a kernel takes besides moving its bytes: streams of 32 and 64 MiB take 9.1 to 9.7 and 16.1 to 17.0 us on an H200,
# so 1.9 to 3.0 us besides their bytes; 0.7 to 3.1 us on an H100 (the first two sizes of each mix in ceilings/data).
START_NS = 2_500.0
NOTICEABLE = 0.01  # of the time: a repeated launch of 124 µs varies by 0.8 % (docs/sources.md)
NOISE = 0.008  # of the time: what repeats of one launch of 124 µs stray by (docs/sources.md, Noise)


def saved_ns(facts: Facts, left: Mapping[str, float]) -> float:
    """Return the time that is saved where units (names of `resources`) keep only a part of their work, 0 to 1.

    The least of three: the time that goes with what the busiest of them no longer does; what the busiest of the others
    leaves; what the busiest of them still needs for the rest, at the rate that it can reach. Nothing where another unit
    is busier, and busy enough that waiting does not explain the time: what is done behind it is done while it works.
    """
    time, limits = facts.duration_ns, loads(facts)
    others = max((load for name, load in limits.items() if name not in left), default=0.0)
    is_behind = len(facts.by_kernel) < 2 and others >= BUSY  # of several kernels the loads are of different times
    if is_behind and others > max((limits.get(name, 0.0) for name in left), default=0.0):
        return 0.0
    gone = max((_time_of(name, limits.get(name, 0.0)) * (1.0 - part) for name, part in left.items()), default=0.0)
    rest = max((_rest(limits.get(name, 0.0), part) for name, part in left.items()), default=0.0)
    return max(0.0, min(time * gone, time * (1.0 - others), time * (1.0 - rest) - START_NS))


def _time_of(name: str, load: float) -> float:
    """Return the part of the time that goes with the work of a unit: all of it where the unit takes the time."""
    return 1.0 if takes_the_time(name, load) else load


def assumes_start(facts: Facts) -> bool:
    """Return whether a saving rests on START_NS of other GPUs: nobody measured such a one, and the launch is short.

    A start that is less than what makes a finding a remark changes no advice.
    """
    return facts.ceilings is None and facts.duration_ns * LEAST_WORTH < START_NS * len(facts.combined.launches)


def filled(facts: Facts) -> dict[str, float]:
    """Return for each unit how busy it was, of what it can reach, 0 to 1; one busier than that is at its limit."""
    return {name: min(1.0, load) for name, load in loads(facts).items()}


def _rest(load: float, part: float) -> float:
    """Return the share of the time that a unit needs for a part of its work.

    One that did more than a kernel can be asked for did so with much work; with less it comes down to what others
    reach: large streams fill DRAM better than small ones.
    """
    return load * part / (1.0 + max(0.0, load - 1.0) * part)


def worth_saying(saved: float, facts: Facts) -> float:
    """Return a time that is saved; 0 where it is no more than what repeats of the same launch stray by."""
    return saved if saved > NOISE * facts.duration_ns else 0.0


def bound_at(units: tuple[str, ...], facts: Facts) -> float | None:
    """Return how busy the busiest resource was, 0 to 1, where it is one of these and waiting does not explain the time.

    None below 60 %, where NVIDIA's speed-of-light rule calls a kernel bound by latency, and where another is busier.
    """
    busiest = facts.busiest()
    is_one = busiest is not None and busiest[0].name in units and busiest[1] >= BUSY_PERCENT / 100.0
    return busiest[1] if busiest is not None and is_one else None


def filled_by(units: tuple[str, ...], facts: Facts) -> Busiest | None:
    """Return the unit that takes the time where it is one of these; None where none does, or another."""
    busiest = busiest_unit(facts)
    return busiest if busiest and busiest.name in units and busiest.takes_the_time else None
