"""The time that a fix saves which takes work off some units of the memory system."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_assist.rules.bounds import loads
from ncu_assist.rules.facts import Facts

# What a kernel takes besides moving its bytes: copies of 128 and 512 MB take 35 and 123 µs, so 30 and 120 µs at the
# rate of large ones, 4268 GB/s, and 3 to 5 µs besides (ncu_facts.md, "Ceilings measured on that H200").
START_NS = 4_000.0
NOISE = 0.008  # of the time: what repeats of one launch of 124 µs stray by (ncu_facts.md, "Measuring")


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
