"""How much a fix can win before the next limit is reached."""

from __future__ import annotations

from ncu_assist.diff.resources import PARTS, SM_PARTS
from ncu_assist.rules.base import Finding
from ncu_assist.rules.dram import asked_share, fill
from ncu_assist.rules.facts import Facts

# No kernel keeps a unit busy all the time: a loop of nothing but FMA its pipe 85 to 95 % (diagnoses.md,
# at-compute-roofline). What DRAM can be asked for depends on mix and size: rules.dram.
REACHABLE = 0.9
START = "start"  # of a kernel: what relieves it of that is fused with its neighbours
LEAST_SHARE = 0.02  # of the time that anything takes: launching, the first loads, the last stores


def bounded_ns(finding: Finding, facts: Facts) -> float:
    """Return the most time that a fix can save: the other resources keep the work that it does not take off them.

    A fix that spares the start of a kernel leaves DRAM the time for its bytes, not that of a kernel of this size.
    """
    kept = loads(facts)
    if START in finding.relieves:
        kept["DRAM"] = asked_share(facts) / REACHABLE
    others = [load for name, load in kept.items() if name not in finding.relieves]
    return max(0.0, facts.duration_ns * (1.0 - max([LEAST_SHARE, *others])))


def loads(facts: Facts) -> dict[str, float]:
    """Return how busy each unit (names of diff.resources) was, of what a kernel can ask of it; 1 is at its limit."""
    found: dict[str, float] = {}
    for one in (*PARTS, *SM_PARTS):
        load = fill(facts) if one.name == "DRAM" else facts.busy(one) / REACHABLE
        found[one.name] = max(load, found.get(one.name, 0.0))
    return found
