"""The time that a fix saves which takes work off some units of the memory system."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_assist.rules.bounds import loads
from ncu_assist.rules.facts import Facts

# What a kernel takes besides moving its bytes: streams of 32 and 64 MiB take 9.1 to 9.7 and 16.1 to 17.0 us on an H200,
# so 1.9 to 3.0 us besides their bytes; 0.7 to 3.1 us on an H100 (the first two sizes of each mix in ceilings/data).
START_NS = 2_500.0
SHARE = 0.02  # of the time, below which a finding is a remark (docs/sources.md): a start that is less changes no advice
NOISE = 0.008  # of the time: what repeats of one launch of 124 µs stray by (docs/sources.md, Noise)


def saved_ns(facts: Facts, left: Mapping[str, float]) -> float:
    """Return the time that is saved where units (names of diff.resources) keep only a part of their work, 0 to 1.

    The least of three: the time that the busiest of them spends on what goes away; what the busiest of the others
    leaves; what the busiest of them still needs for the rest, at the rate that it can reach.
    """
    time, limits = facts.duration_ns, loads(facts)
    others = max((load for name, load in limits.items() if name not in left), default=0.0)
    gone = max((min(1.0, limits.get(name, 0.0)) * (1.0 - part) for name, part in left.items()), default=0.0)
    rest = max((_rest(limits.get(name, 0.0), part) for name, part in left.items()), default=0.0)
    return max(0.0, min(time * gone, time * (1.0 - others), time * (1.0 - rest) - START_NS))


def assumes_start(facts: Facts) -> bool:
    """Return whether a saving rests on START_NS of other GPUs: nobody measured such a one, and the launch is short."""
    return facts.ceilings is None and facts.duration_ns * SHARE < START_NS * len(facts.combined.launches)


def filled(facts: Facts) -> dict[str, float]:
    """Return for each unit how busy it was, of what it can reach, 0 to 1; one busier than that is at its limit."""
    return {name: min(1.0, load) for name, load in loads(facts).items()}


def _rest(load: float, part: float) -> float:
    """Return the share of the time that a unit needs for a part of its work.

    One that did more than a kernel can be asked for did so with much work; with less it comes down to what others
    reach: large streams fill DRAM better than small ones.
    """
    return load * part / (1.0 + max(0.0, load - 1.0) * part)


def is_worth_saying(saved: float, facts: Facts) -> bool:
    """Return whether a saving is more than what repeats of the same launch stray by."""
    return saved > NOISE * facts.duration_ns
