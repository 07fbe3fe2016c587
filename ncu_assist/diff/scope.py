"""Which launches of two runs are held against each other, one by one and all together."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.diff.pairing import Paired, pair_launches
from ncu_assist.frame import Combined

NOTHING_IN_COMMON = "no-common-launch"


@dataclass(frozen=True)
class Scope:
    """The pairs of launches, and what is added up of each side; ``reason`` is the code of what forbids it, or empty."""

    paired: Paired
    totals: tuple[Combined, Combined]
    reason: str = ""


def scope(baseline: Combined, candidate: Combined) -> Scope:
    """Return what of two runs is compared.

    Two calls on a workload do the same work, whatever they launch, so all launches count. Foreign programs may have
    run for longer or shorter, so only launches in a pair do. Their place alone pairs no two programs: where nothing
    else does, nothing is compared, unless each launched one kernel, which is then the one to compare.
    """
    sides = baseline, candidate
    paired = pair_launches(baseline.launches, candidate.launches)
    if None not in (baseline.workload, candidate.workload) or not all(side.launches for side in sides):
        return Scope(paired, sides)
    if _is_by_place(paired) and (len(baseline.launches), len(candidate.launches)) != (1, 1):
        return Scope(Paired((), baseline.launches, candidate.launches), sides, NOTHING_IN_COMMON)
    before = baseline.only(one for pair in paired.pairs for one in pair.baseline)
    after = candidate.only(one for pair in paired.pairs for one in pair.candidate)
    return Scope(paired, (before, after))


def _is_by_place(paired: Paired) -> bool:
    return all(pair.confidence == "order" for pair in paired.pairs)
