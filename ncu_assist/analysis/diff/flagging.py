"""Which changes got worse and what each says of the time; and in which order changes are worth reading."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isclose, log

from ncu_assist.analysis.diff.noise import BEYOND, WITHIN
from ncu_assist.analysis.diff.records import Change, ChangeWord, Diff, Flag, Role
from ncu_assist.analysis.diff.why import BoundBy
from ncu_assist.frame.combined import STALL_SHARE
from ncu_assist.ncu.catalogue.metric import Better
from ncu_assist.ncu.catalogue.rows import STALL_SHARES
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS
from ncu_assist.ncu.source.tables import told_apart
from ncu_assist.quantity import quantity
from ncu_assist.rules.model.resources import (
    BUSY_PERCENT,
    HOST_LINK,
    LATENCY,
    LINK,
    MEMORY,
    PARTS,
    RESOURCES,
    SM_PARTS,
    WHOLES,
    Bottleneck,
    Values,
    bottleneck,
)
from ncu_assist.verdict import Verdict, Word

DURATION = "duration"
DRAM = "dram_throughput"
# Which metrics are work on a resource, or its rate, or what leads to them: if it binds, they can cost time.
BINDING = {
    "DRAM": ("dram_bytes", "dram_bandwidth", "dram_throughput", "memory_throughput"),
    "L2": (
        "l2_sectors_sm",
        "global_sectors_excessive",
        "sector_efficiency_load",
        "sector_efficiency_store",
        "memory_throughput",
    ),
    "L1": (
        "sector_efficiency_load",
        "sector_efficiency_store",
        "shared_wavefronts_excessive",
        "local_spilling_requests",
        "memory_throughput",
    ),
    "shared memory": ("shared_wavefronts_excessive", "memory_throughput"),
    "memory": ("dram_bytes", "l2_sectors_sm", "memory_throughput"),
    "host link": ("host_bytes", "host_link_busy"),
    "SM": ("instructions", "sm_throughput"),
    "latency": ("achieved_occupancy", "local_spilling_requests", "instructions"),
}
# Of which groups of units a metric is work: instructions are issued and pass a pipe, sectors pass L1, L2, perhaps DRAM.
UNITS_OF = {
    "dram_bytes": ("DRAM",),
    "l2_sectors_sm": ("L2",),
    "global_sectors_excessive": ("L1", "L2", "DRAM"),
    "sector_efficiency_load": ("L1", "L2", "DRAM"),
    "sector_efficiency_store": ("L1", "L2", "DRAM"),
    "shared_wavefronts_excessive": ("L1",),
    "local_spilling_requests": ("L1", "L2", "DRAM", "SM"),
    "host_bytes": (HOST_LINK,),
    "instructions": ("SM",),
}
# An instruction keeps tensor cores busy for many cycles: how many others there are says nothing of them.
NOT_BY_INSTRUCTIONS = "tensor cores"
# How busy a resource is follows from the time where another one binds: less of it a second explains nothing.
SAME_AS_DRAM = ("dram_rate", "dram_of_ceiling")  # DRAM's throughput once more, in other units
RATES = ("dram_bandwidth", "dram_throughput", "memory_throughput", "sm_throughput", *SAME_AS_DRAM)
# The work of which a rate is so much a second, among what is always looked at. A rate that moved as its work did says
# nothing of its own: with fewer instructions the SMs are less busy.
WORK_OF = {
    "dram_bandwidth": ("dram_bytes",),
    "dram_throughput": ("dram_bytes",),
    "memory_throughput": ("dram_bytes", "l2_sectors_sm", "shared_wavefronts_excessive", "global_sectors_excessive"),
    "sm_throughput": ("instructions",),
}
# A rate is good or bad only where the time goes with it: less of it in a version as fast or faster is less work.
NOT_SAID_OF_RATES: dict[Word, tuple[ChangeWord, ...]] = {
    "faster": ("regressed",),
    "same": ("regressed", "improved"),
    "unclear": ("regressed", "improved"),
    "slower": ("improved",),
}


VISIBLE_PART = 0.1  # of the time that a slower version takes longer: less of it is a remark, and no explanation

OCCUPANCY = "achieved_occupancy"
# Waits for other warps: the state of those that have nothing to do, as spare warps of a group that loads tiles.
MOST_OF_WARPS = 0.5
FOR_OTHER_WARPS = ("stall_barrier", "stall_mbarrier", "stall_cluster_barrier")

# What is said of metrics that got worse: the heading of their list, how the sentence of each ends.
FlagWords = tuple[str, str]
EXPLAINS: dict[Word, FlagWords] = {
    "slower": ("What got worse and explains the slowdown", "explains the slowdown"),
    "unclear": (
        "What got worse on the resource that binds, and would explain a slowdown",
        "would explain a slowdown, it is the resource that binds",
    ),
}
LIMIT: dict[Word, FlagWords] = dict.fromkeys(("faster", "same"), ("What limits it now", "what limits it now"))
SIDE_EFFECT: dict[Word, FlagWords] = {
    "slower": ("What got worse as a side effect (another resource binds)", "side effect, another resource binds"),
    "faster": ("What got worse as a side effect", "side effect, it is faster"),
    "same": ("What got worse as a side effect (the time stayed the same)", "side effect, it is as fast"),
    "unclear": (
        "What got worse as a side effect (which way the time went is not settled)",
        "side effect, another resource binds",
    ),
}


# Where launches are of different kernels, or too little was counted.
UNKNOWN_BOUND: dict[Word, FlagWords] = {
    "slower": ("What got worse, and may explain the slowdown (what binds is not known)", "may explain the slowdown"),
    "unclear": ("What got worse (what binds is not known)", "what binds is not known"),
}
CLOCK_MADE_IT: FlagWords = ("What got worse as a side effect (it takes no more cycles)", "side effect, no more cycles")
# These have a clock of their own.
APART_FROM_SMS = ("DRAM", HOST_LINK)


def follows_sms(bottleneck: Bottleneck | None) -> bool:
    """Tell whether what binds is as fast as the SM clock; so too where it is not known."""
    return bottleneck is None or bottleneck.group not in APART_FROM_SMS


def far_from_limits(baseline: Values, candidate: Values) -> frozenset[str]:
    """Return the metrics that are work of units which are far from their limits in the candidate.

    A unit that has room does more in the same time: while another binds, more of its work costs none. One that was near
    its limit in the baseline is far now only if what it was busy for longer is a small part of the time that was added.
    What latency binds waits for all of them, in turn; then none is far. Nor is one that was not counted of the
    candidate; what the baseline lacks, as one of several kernels does, says nothing against it.
    """
    bound = bottleneck(candidate)
    if bound is None or bound.name == LATENCY:
        return frozenset()
    units = [one for one in (*PARTS, *WHOLES, LINK, *SM_PARTS) if one.name != NOT_BY_INSTRUCTIONS]

    def busiest(groups: Collection[str], values: Values) -> float | None:
        shares = [one.share(values) for one in units if one.group in groups]
        return max((share for share in shares if share is not None), default=None)

    def may_bind(groups: Collection[str]) -> bool:
        """Tell whether it may be a unit of these that binds, where only the busiest of several is known."""
        is_unknown = bound.group == MEMORY.group and any(busiest([one], candidate) is None for one in groups)
        return RESOURCES[bound.name].is_coarse and (bound.group in groups or is_unknown)

    def is_far(groups: Collection[str]) -> bool:
        before, after = busiest(groups, baseline), busiest(groups, candidate)
        if after is None or after >= BUSY_PERCENT or may_bind(groups):
            return False
        if before is None or before < BUSY_PERCENT:
            return True
        times = baseline.get("duration"), candidate.get("duration")
        longer = (times[1] or 0.0) - (times[0] or 0.0)
        busy_longer = (after * (times[1] or 0.0) - before * (times[0] or 0.0)) / 100.0
        return longer > 0 and busy_longer < VISIBLE_PART * longer

    return frozenset(one for one, groups in UNITS_OF.items() if is_far(groups))


def with_roles(
    changes: tuple[Change, ...],
    verdict: Verdict,
    bottleneck: Bottleneck | None = None,
    far: Collection[str] = (),
) -> tuple[Change, ...]:
    """Return the changes with a role for each regressed one that is more than a trifle, rates as the time has it.

    Time decides: in a slower version it explains, in a faster one or one that is as fast it is a side effect, and in
    one that is slower by its clock alone. The rate of a resource that does not bind the candidate is never worse. Waits
    of warps where a unit binds are a side effect everywhere, and so is work of units that are ``far`` from their
    limits; where the time is not settled, so is all that is not work on its ``bottleneck``. Fewer warps are worse only
    in a slower version that latency binds. The time itself has no role, nor has anything of runs that cannot be
    compared.
    """
    if verdict.verdict == "not-comparable":
        return changes
    changes = _beside_idle_warps(changes)
    dram = next((change for change in changes if change.metric == DRAM), None)
    told = beside_the_time(changes, verdict, bottleneck)
    if bottleneck and bottleneck.group == LATENCY and verdict.verdict == "slower":
        told = [replace(one, verdict="regressed") if _lacks_warps(one, changes) else one for one in told]
    top = _top_stall(changes)
    roles = (
        "side-effect" if c.metric in far else _role(c, _judged_as(c, dram), verdict, bottleneck, top) for c in told
    )
    return tuple(
        replace(c, role=role) if _got_worse(c) and c.metric != DURATION else c
        for c, role in zip(told, roles, strict=True)
    )


def beside_the_time(changes: Sequence[Change], verdict: Verdict, bottleneck: Bottleneck | None = None) -> list[Change]:
    """Return changes without judgements that the time, or the work of which something is a rate, does not bear out."""
    moved = {change.metric: way for change in changes if (way := _way(change))}
    dram = next((change for change in changes if change.metric == DRAM), None)
    return [_beside_the_time(change, _judged_as(change, dram), verdict, moved, bottleneck) for change in changes]


def _top_stall(changes: Iterable[Change]) -> str:
    """Return the stall reason that most warps of the candidate wait for, as the key of its change; empty for none."""
    stalls = [one for one in changes if one.metric.startswith(STALL_SHARE) and one.candidate]
    return max(stalls, key=lambda one: one.candidate or 0.0).metric if stalls else ""


def flags(changes: tuple[Change, ...], verdict: Verdict, is_known: bool = True) -> tuple[Flag, ...]:
    """Return a flag for each change that has a role, what explains or limits first; one for names of one number.

    ``is_known``: whether it is known what binds the candidate.
    """
    told = once_each(change for change in changes if change.role != "none")
    told.sort(key=lambda change: ("explains", "limit", "side-effect").index(change.role))
    return tuple(Flag(change.metric, change.role, _sentence(change, verdict, is_known)) for change in told)


def flags_heading(role: Role, verdict: Verdict, is_known: bool = True) -> str:
    """Return what the list of flags of a role is called; empty for a role that no flag has under this verdict."""
    telling = _telling(role, verdict, is_known)
    return telling[0] if telling else ""


def once_each(changes: Iterable[Change]) -> list[Change]:
    """Return changes without other names of DRAM's throughput, if that is among them."""
    every = list(changes)
    dram = next((change for change in every if change.metric == DRAM), None)
    return [one for one in every if one is dram or dram is None or not _says_the_same(one, dram)]


def _says_the_same(change: Change, dram: Change) -> bool:
    """Tell whether it is DRAM's throughput by another name: in bytes a second, or as that of all memory."""
    return change.metric == "dram_bandwidth" or _judged_as(change, dram) == DRAM


def _judged_as(change: Change, dram: Change | None) -> str:
    """Return DRAM's throughput for that of memory where it is the same number on both sides, else the metric."""
    if change.metric in SAME_AS_DRAM:
        return DRAM
    if dram is None or change.metric != "memory_throughput":
        return change.metric
    pairs = ((change.baseline, dram.baseline), (change.candidate, dram.candidate))
    same = all(own and of_dram and isclose(own, of_dram) for own, of_dram in pairs)
    return DRAM if same else change.metric


def _beside_the_time(
    change: Change, metric: str, verdict: Verdict, moved: Mapping[str, int], bottleneck: Bottleneck | None
) -> Change:
    """Return a change without a judgement that the time, or the work that it is a rate of, does not bear out.

    The time under ncu is not better or worse where noise may explain how far apart the times are. A rate that fell is
    worse only of what binds the candidate: of all else it is lower because the time is longer, whatever made it so.
    """
    if change.verdict not in ("improved", "regressed"):
        return change
    if change.metric == DURATION:
        return replace(change, verdict="undecided") if verdict.way == "unclear" else change
    if change.metric not in RATES:
        return change
    not_said = change.verdict in NOT_SAID_OF_RATES.get(verdict.likely or verdict.verdict, ())
    with_work = any(moved.get(work) == moved[change.metric] for work in WORK_OF[metric])
    follows = change.verdict == "regressed" and not (bottleneck and metric in BINDING.get(bottleneck.group, ()))
    return replace(change, verdict="changed") if not_said or with_work or follows else change


def _beside_idle_warps(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return changes that judge neither the waits of warps which one side has more, nor shares that moved by those.

    The warps in all other states do the work of a kernel: its time is what they do over how many they are. A wait for
    other warps that rose by no more than warps came leaves as many in other states, so it costs none of the time; it
    makes shares of those states smaller, though as many warps are in them. Likewise where such warps went.
    """
    warps = next((one for one in changes if one.metric == OCCUPANCY), None)
    idle = [one for one in changes if warps and one.metric in FOR_OTHER_WARPS and _is_of_idle(one, warps)]
    waiting = [sum(value or 0.0 for value in side) for side in zip(*map(_values, idle), strict=True)]
    if not idle or max(waiting) >= 100.0:
        return changes

    def is_diluted(one: Change) -> bool:
        """Tell whether a share of the states of all other warps did not move, or not the way that of all did."""
        before, after = ((of or 0.0) / (1.0 - away / 100.0) for of, away in zip(_values(one), waiting, strict=True))
        return abs(after - before) <= (one.beyond or 0.0) or (after - before) * (one.delta or 0.0) < 0

    return tuple(
        replace(one, verdict="changed")
        if one.metric.startswith(STALL_SHARE)
        and one.verdict in ("improved", "regressed")
        and (one in idle or is_diluted(one))
        else one
        for one in changes
    )


def _values(change: Change) -> tuple[float | None, float | None]:
    return change.baseline, change.candidate


def _is_of_idle(wait: Change, warps: Change) -> bool:
    """Tell whether most warps that came, or went, wait there, and no warp of those that both sides have."""
    sides = [(wait.baseline or 0.0, warps.baseline or 0.0), (wait.candidate or 0.0, warps.candidate or 0.0)]
    (before, fewer), (after, more) = sorted(sides, key=lambda side: side[1])
    waiting, came = after / 100.0 * more - before / 100.0 * fewer, more - fewer
    return _way(wait) != 0 and MOST_OF_WARPS * came < waiting <= came


def _lacks_warps(warps: Change, changes: tuple[Change, ...]) -> bool:
    """Tell whether it is occupancy that fell, and the warps that went did more than wait for others.

    Where latency binds, time is what warps have to wait for over how many of them share the wait (Little's law).
    """
    spare = any(one.metric in FOR_OTHER_WARPS and _is_of_idle(one, warps) for one in changes)
    return warps.metric == OCCUPANCY and _way(warps) < 0 and not spare


def _way(change: Change) -> int:
    """Return 1 for a metric that is more than it was, -1 for less; 0 where it did not move beyond its noise."""
    if (
        change.verdict not in ("improved", "regressed", "changed")
        or change.baseline is None
        or change.candidate is None
    ):
        return 0
    return 1 if change.candidate > change.baseline else -1


def _got_worse(change: Change) -> bool:
    return change.verdict == "regressed" and change.is_material


def _role(change: Change, metric: str, verdict: Verdict, bottleneck: Bottleneck | None, top: str) -> Role:
    """Return what a change that got worse says of the time.

    A unit at its limit makes warps wait, for it and for each other: whatever they wait for is then its symptom. Where
    latency binds, waits are what the time is made of. Where nobody knows what binds, they say nothing.
    """
    is_wait, is_latency = metric.startswith(STALL_SHARE), bottleneck is not None and bottleneck.group == LATENCY
    if is_wait and bottleneck is None:
        return "none"
    binds = is_latency if is_wait else bottleneck is not None and metric in BINDING.get(bottleneck.group, ())
    if is_latency and metric == top and verdict.way in LIMIT:
        return "limit"
    if verdict.is_of_clock and follows_sms(bottleneck):
        return "side-effect"
    if verdict.way == "slower":
        return "explains" if binds or not is_wait else "side-effect"
    return "explains" if verdict.way == "unclear" and binds else "side-effect"


def _telling(role: Role, verdict: Verdict, is_known: bool) -> FlagWords | None:
    if not is_known and verdict.way in UNKNOWN_BOUND and role in ("explains", "side-effect"):
        return UNKNOWN_BOUND[verdict.way]
    if role == "side-effect" and verdict.verdict == "slower" and verdict.is_of_clock:
        return CLOCK_MADE_IT
    words = {"explains": EXPLAINS, "limit": LIMIT}.get(role, SIDE_EFFECT)
    return words.get(verdict.way)


def waits_apart(diff: Diff) -> Diff:
    """Return a diff with waits apart that ncu books under one reason, where the code tells them.

    A change of a share that is divided has the noise of the whole; roles, flags and what latency is follow.
    """
    parts = told_in_parts(diff, diff.changes)
    if parts is diff.changes or diff.lines is None:
        return diff
    waits, bound, top = diff.lines.waits, diff.candidate.bottleneck, _top_stall(parts)
    told = tuple(
        replace(one, role=_role(one, one.metric, diff.verdict, bound, top) if _got_worse(one) else "none")
        if one.metric.startswith(STALL_SHARE)
        else replace(one, verdict="changed", role="none")
        if one.metric == OCCUPANCY and one.verdict == "regressed" and not _lacks_warps(one, parts)
        else one
        for one in parts
    )
    why = diff.why and replace(
        diff.why, baseline=_apart(diff.why.baseline, waits[0]), candidate=_apart(diff.why.candidate, waits[1])
    )
    launches = tuple(replace(one, changes=told) if one.changes is diff.changes else one for one in diff.launches)
    return replace(diff, changes=told, launches=launches, flags=flags(told, diff.verdict, bound is not None), why=why)


def told_in_parts(diff: Diff, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return changes with shares of waits divided as the code of both sides tells; as they are where it does not."""
    waits = diff.lines.waits if diff.lines else ({}, {})
    if any(one.metric.removeprefix(STALL_SHARE) in BOOKED_AS for one in changes):
        return changes  # they are apart
    if not all(waits) or not any(side.get(own) for side in waits for own in BOOKED_AS):
        return changes
    times = diff.baseline.duration_ns, diff.candidate.duration_ns
    return _beside_idle_warps(tuple(part for change in changes for part in _parts(change, waits, times)))


def _apart(limit: BoundBy | None, waits: Mapping[str, float]) -> BoundBy | None:
    if limit is None or limit.stall is None or not waits:
        return limit
    stalls = told_apart(limit.stalls, waits)
    return replace(limit, stall=next(iter(stalls)), stalls=stalls, has_wgmma=False)


def _parts(
    change: Change, waits: tuple[Mapping[str, float], Mapping[str, float]], times: tuple[float | None, float | None]
) -> Iterator[Change]:
    """Yield the share of a stall reason by what the code tells that it is, the largest first; else the change."""
    reason = change.metric.removeprefix(STALL_SHARE)
    values = change.baseline, change.candidate
    if reason not in BOOKED_AS.values() or reason == change.metric or None in values:
        yield change
        return
    before, after = (told_apart({reason: value or 0.0}, side) for value, side in zip(values, waits, strict=True))
    names = sorted({**before, **after}, key=lambda own: (-max(before.get(own, 0.0), after.get(own, 0.0)), own))
    for own in names:
        shares = before.get(own, 0.0), after.get(own, 0.0)
        key = STALL_SHARE + own
        told = change if own == reason else replace(change, metric=key, label=STALL_SHARES[key].label)
        word = _word_of(change, STALL_SHARES[key].better, shares, times)
        yield replace(told, baseline=shares[0], candidate=shares[1], delta=shares[1] - shares[0], verdict=word, z=None)


def _word_of(
    whole: Change, better: Better | None, shares: tuple[float, float], times: tuple[float | None, float | None]
) -> ChangeWord:
    """Return what became of a part of a share, by the noise of the whole, as ``NoiseModel.distance`` has it.

    Of one that moved against its time nobody tells which way is better.
    """
    moved = shares[1] - shares[0]
    if whole.verdict in ("missing", "not-comparable"):
        return whole.verdict
    beyond = whole.beyond or 0.0
    if abs(moved) <= beyond:
        return "unchanged" if abs(moved) <= beyond * WITHIN / BEYOND else "undecided"
    before, after = times
    if better is None:
        return "changed"
    if before and after and moved * (shares[1] * after - shares[0] * before) < 0:
        return "changed"
    return "regressed" if moved > 0 else "improved"


def _sentence(change: Change, verdict: Verdict, is_known: bool) -> str:
    baseline, candidate = change.baseline or 0.0, change.candidate or 0.0
    moved = "rose" if candidate > baseline else "fell"
    numbers = f"from {quantity(baseline, change.unit)} to {quantity(candidate, change.unit)}"
    telling = _telling(change.role, verdict, is_known)
    return f"{change.label} {moved} {numbers}" + (f": {telling[1]}" if telling else "")


WORDS: tuple[ChangeWord, ...] = (
    "improved", "regressed", "changed", "undecided", "unchanged", "not-comparable", "missing",
)  # fmt: skip
MOVED: frozenset[ChangeWord] = frozenset(("improved", "regressed", "changed"))
# What is compared with a ratio: 25 points of a percentage stand beside a factor of e, twice as many beside e squared.
POINTS = 25.0
MOST = 3.0  # a factor of 20, or from nothing to something: beyond it, how much more says no more


def by_importance(changes: Iterable[Change], bottlenecks: Iterable[Bottleneck | None] = ()) -> tuple[Change, ...]:
    """Return changes with the time first, then those that moved, then those that may have, then the rest.

    Of those that moved what explains a slowdown comes first, then what is work on a resource that binds either side
    (``bottlenecks``), then the rest, what moved furthest first; a trifle of a whole comes behind them. The others
    stay in their order.
    """
    binding = {key for one in bottlenecks if one for key in BINDING.get(one.group, ())}
    return tuple(sorted(changes, key=lambda one: _order(one, binding)))


def has_moved(change: Change) -> bool:
    """Return whether a metric changed beyond its noise."""
    return change.verdict in MOVED


def _order(change: Change, binding: set[str]) -> tuple[bool, int, bool, bool, bool, float]:
    first = change.metric != DURATION
    if not has_moved(change):
        return first, 1 + WORDS.index(change.verdict), False, False, False, 0.0
    explains = change.role == "explains"
    return first, 0, not explains, not change.is_material, change.metric not in binding, -_size(change)


def _size(change: Change) -> float:
    """Return how far a metric moved, 0 to MOST."""
    before, after = change.baseline or 0.0, change.candidate or 0.0
    if change.in_points:
        return min(abs(after - before) / POINTS, MOST)
    return min(abs(log(after / before)), MOST) if before > 0 and after > 0 else MOST
