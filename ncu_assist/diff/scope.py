"""Which launches of two runs are held against each other, one by one and all together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ncu_assist.diff.kernel_names import kernel_name
from ncu_assist.diff.pairing import Paired, pair_launches
from ncu_assist.diff.repeats import with_repeats
from ncu_assist.frame import Combined, combine_repeats
from ncu_assist.record import Launch

NOTHING_IN_COMMON = "no-common-launch"


@dataclass(frozen=True)
class Scope:
    """The pairs of launches, and what is added up of each side; ``reason`` is the code of what forbids it, or empty."""

    paired: Paired
    totals: tuple[Combined, Combined]
    compared: tuple[int, int]  # launches of either side; of a call that was repeated, those of the first
    reason: str = ""

    @property
    def is_one_kernel(self) -> bool:
        """Tell whether one pair holds every launch: then what is known of the runs is known of it."""
        return len(self.paired.pairs) == 1 and not self.paired.only_baseline and not self.paired.only_candidate


def scope(baseline: Combined, candidate: Combined) -> Scope:
    """Return what of two runs is compared.

    Two calls on a workload do the same work, whatever they launch, so all launches count. Foreign programs may have
    run for longer or shorter, so only launches in a pair do, as many on either side. Their place alone pairs no two
    programs: where nothing else does, nothing is compared, unless each launched one kernel, however often, which is
    then the one to compare.
    """
    sides = baseline, candidate
    paired = pair_launches(baseline.launches, candidate.launches)
    if None not in (baseline.workload, candidate.workload) or not all(side.launches for side in sides):
        return Scope(paired, sides, _counts(sides))
    if _is_by_place(paired) and not (_is_one_kernel(baseline) and _is_one_kernel(candidate)):
        return Scope(Paired((), baseline.launches, candidate.launches), sides, _counts(sides), NOTHING_IN_COMMON)
    repeated = with_repeats(paired)
    whole = Scope(repeated, sides, _counts(sides))
    if whole.is_one_kernel and repeated.pairs[0].repeats:
        return replace(whole, totals=(_as_repeats(baseline), _as_repeats(candidate)))
    before = baseline.only(one for pair in _as_often(repeated) for one in pair[0])
    after = candidate.only(one for pair in _as_often(repeated) for one in pair[1])
    return Scope(repeated, (before, after), _counts((before, after)))


def _counts(sides: tuple[Combined, Combined]) -> tuple[int, int]:
    return len(sides[0].launches), len(sides[1].launches)


def _as_repeats(combined: Combined) -> Combined:
    tables = {one.index: table for one, table in zip(combined.launches, combined.tables, strict=True)}
    return combine_repeats(combined.workload, [[one] for one in combined.launches], tables)


def _as_often(paired: Paired) -> Iterator[tuple[tuple[Launch, ...], tuple[Launch, ...]]]:
    """Yield the launches of both sides; of repeats as many as both have."""
    for pair in paired.pairs:
        least = min(len(pair.baseline), len(pair.candidate)) if pair.repeats else None
        yield pair.baseline[:least], pair.candidate[:least]


def _is_by_place(paired: Paired) -> bool:
    return all(pair.confidence == "order" for pair in paired.pairs)


def _is_one_kernel(combined: Combined) -> bool:
    return len({kernel_name(signature).base for signature in {one.signature for one in combined.launches}}) == 1
