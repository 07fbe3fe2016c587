"""How much a fix can win before the next limit is reached."""

from __future__ import annotations

from ncu_assist.diff.resources import PARTS, SM_PARTS
from ncu_assist.rules.base import Finding
from ncu_assist.rules.facts import Facts

# No kernel keeps a unit busy all the time: a copy of 128 MB reaches 76 % of ncu's DRAM peak, one of 4 GB 88 %, a loop
# of nothing but FMA 85 to 95 % of its pipe (ncu_facts.md; diagnoses.md, at-compute-roofline).
REACHABLE = 0.9
LEAST_SHARE = 0.02  # of the time that anything takes: launching, the first loads, the last stores


def bounded_ns(finding: Finding, facts: Facts) -> float:
    """Return the most time that a fix can save: the other resources keep the work that it does not take off them."""
    others = [facts.busy(one) for one in (*PARTS, *SM_PARTS) if one.name not in finding.relieves]
    floor = max([LEAST_SHARE, *(busy / REACHABLE for busy in others)])
    return max(0.0, facts.duration_ns * (1.0 - floor))
