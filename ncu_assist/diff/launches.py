"""Paired launches to what differs in each pair: its time, and its counters where the time changed most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ncu_assist.columns import Values
from ncu_assist.diff.changes import changes, side_by_side
from ncu_assist.diff.flagging import with_roles
from ncu_assist.diff.pairing import LaunchPair
from ncu_assist.diff.records import Change, LaunchDiff
from ncu_assist.frame import combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.record import Launch
from ncu_assist.verdict import Verdict, compare_durations

DETAILED = 12  # pairs whose counters are compared too; of a program of thousands that would take seconds
Tables = Mapping[int, Values]


@dataclass(frozen=True)
class _Timed:
    pair: LaunchPair
    baseline_ns: float | None
    candidate_ns: float | None

    @property
    def moved_ns(self) -> float:
        """How much the time changed; an unknown change sorts after all known ones."""
        if self.baseline_ns is None or self.candidate_ns is None:
            return -1.0
        return abs(self.candidate_ns - self.baseline_ns)


def launch_diffs(
    pairs: Sequence[LaunchPair], tables: tuple[Tables, Tables], forbidden: Verdict | None, rounded: bool = False
) -> tuple[LaunchDiff, ...]:
    """Return a comparison for each pair, the largest change of time first; ``tables`` are what by_launch returns.

    Several launches of a side compare as sums and time-weighted means. A pair has one duration a side, so its verdict
    is unclear at best; ``forbidden`` is the verdict where the runs cannot be compared at all. ``rounded`` as in
    ``changes``.
    """
    timed = [_Timed(p, total_ns(p.baseline, tables[0]), total_ns(p.candidate, tables[1])) for p in pairs]
    timed.sort(key=lambda one: -one.moved_ns)
    verdicts = [forbidden or compare_durations(one.baseline_ns, one.candidate_ns) for one in timed]
    return tuple(
        _launch_diff(one, verdict, _changes(one.pair, tables, verdict, rounded) if place < DETAILED else ())
        for place, (one, verdict) in enumerate(zip(timed, verdicts, strict=True))
    )


def total_ns(launches: Sequence[Launch], tables: Tables) -> float | None:
    """Return the time of launches together, under ncu; None where that of one is not known."""
    times = [
        one.duration_ns if one.duration_ns is not None else CATALOGUE["duration"].value(tables.get(one.index, {}))
        for one in launches
    ]
    known = [time for time in times if time is not None]
    return sum(known) if known and len(known) == len(times) else None


def _launch_diff(timed: _Timed, verdict: Verdict, told: tuple[Change, ...]) -> LaunchDiff:
    pair = timed.pair
    one_to_one = len(pair.baseline) == len(pair.candidate) == 1
    return LaunchDiff(
        kernel=max(pair.candidate, key=lambda launch: launch.duration_ns or 0.0).kernel,
        pairing=pair.confidence if one_to_one else "sum",
        pair=pair,
        baseline_ns=timed.baseline_ns,
        candidate_ns=timed.candidate_ns,
        verdict=verdict,
        changes=told,
    )


def _changes(pair: LaunchPair, tables: tuple[Tables, Tables], verdict: Verdict, rounded: bool) -> tuple[Change, ...]:
    sides = (pair.baseline, tables[0]), (pair.candidate, tables[1])
    combined = [combine_launches(None, side, [table.get(one.index, {}) for one in side]) for side, table in sides]
    if verdict.verdict == "not-comparable":
        return side_by_side(combined[0], combined[1])
    return with_roles(changes(combined[0], combined[1], rounded), verdict)
