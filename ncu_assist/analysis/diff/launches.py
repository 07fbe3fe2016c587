"""Paired launches to what differs in each pair: its time, and its counters where the time changed most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ncu_assist.analysis.diff.changes import changes, side_by_side
from ncu_assist.analysis.diff.flagging import with_roles
from ncu_assist.analysis.diff.noise import NoiseModel
from ncu_assist.analysis.diff.pairing import LaunchPair
from ncu_assist.analysis.diff.records import Change, LaunchDiff
from ncu_assist.analysis.diff.timing import CLOCK, HZ_PER_MHZ
from ncu_assist.frame import Combined, combine_launches, combine_repeats
from ncu_assist.frame.columns import Values
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.record import Launch
from ncu_assist.rules.model.resources import bottleneck
from ncu_assist.verdict import Verdict, compare_durations, compare_unpaired

DETAILED = 12  # pairs whose counters are compared too; of a program of thousands that would take seconds
Tables = Mapping[int, Values]


@dataclass(frozen=True)
class _Timed:
    """A pair and the times of its sides, of each repeat."""

    pair: LaunchPair
    baseline_ns: tuple[float, ...] | None
    candidate_ns: tuple[float, ...] | None

    @property
    def middles(self) -> tuple[float | None, float | None]:
        before, after = self.baseline_ns, self.candidate_ns
        return median(before) if before else None, median(after) if after else None

    @property
    def moved_ns(self) -> float:
        """How much the time changed, all repeats together; an unknown change sorts after all known ones."""
        before, after = self.middles
        if before is None or after is None or self.candidate_ns is None:
            return -1.0
        return abs(after - before) * len(self.candidate_ns)


def launch_diffs(
    pairs: Sequence[LaunchPair], tables: tuple[Tables, Tables], forbidden: Verdict | None, noise: NoiseModel
) -> tuple[LaunchDiff, ...]:
    """Return a comparison for each pair, the largest change of time first; ``tables`` are what by_launch returns.

    Several launches of a side compare as `frame` combines them, repeats as samples that are not paired. A pair
    of single launches has one duration a side, so its verdict is unclear at best; ``forbidden`` is the verdict where
    the runs cannot be compared at all.
    """
    timed = [_Timed(p, _times(p, p.baseline, tables[0]), _times(p, p.candidate, tables[1])) for p in pairs]
    timed.sort(key=lambda one: -one.moved_ns)
    verdicts = [forbidden or time_verdict(one.pair, tables, (one.baseline_ns, one.candidate_ns)) for one in timed]
    return tuple(
        _launch_diff(one, verdict, _changes(one.pair, tables, verdict, noise) if place < DETAILED else ())
        for place, (one, verdict) in enumerate(zip(timed, verdicts, strict=True))
    )


def time_verdict(
    pair: LaunchPair, tables: tuple[Tables, Tables], times: tuple[tuple[float, ...] | None, tuple[float, ...] | None]
) -> Verdict:
    """Return which side of a pair is faster, from the durations of its launches under ncu."""
    if not pair.repeats:
        mhz_of_both = [_mean_mhz(side, table) for side, table in _both(pair, tables)]
        return compare_durations(*(sum(side) if side else None for side in times), *mhz_of_both)
    clocks = [[CATALOGUE[CLOCK].value(table.get(one.index, {})) for one in side] for side, table in _both(pair, tables)]
    known = [[hz / HZ_PER_MHZ for hz in side if hz is not None] for side in clocks]
    mhz = [side if len(side) == len(all_) else None for side, all_ in zip(known, clocks, strict=True)]
    return compare_unpaired(times[0] or (), times[1] or (), mhz[0], mhz[1])


def _mean_mhz(launches: Sequence[Launch], tables: Tables) -> float | None:
    """Return the SM clock of launches under ncu, weighted by their time; None where that of one is not known."""
    cycles = total = 0.0
    for one in launches:
        hertz, time = CATALOGUE[CLOCK].value(tables.get(one.index, {})), _time(one, tables)
        if not hertz or not time:
            return None
        cycles, total = cycles + hertz / HZ_PER_MHZ * time, total + time
    return cycles / total if total else None


def total_ns(launches: Sequence[Launch], tables: Tables) -> float | None:
    """Return the time of launches together, under ncu; None where that of one is not known."""
    times = [_time(one, tables) for one in launches]
    known = [time for time in times if time is not None]
    return sum(known) if known and len(known) == len(times) else None


def _time(launch: Launch, tables: Tables) -> float | None:
    return (
        launch.duration_ns
        if launch.duration_ns is not None
        else CATALOGUE["duration"].value(tables.get(launch.index, {}))
    )


def _times(pair: LaunchPair, launches: Sequence[Launch], tables: Tables) -> tuple[float, ...] | None:
    """Return the time of each repeat, of a chain that of all its launches; None where one is not known."""
    if not pair.repeats:
        whole = total_ns(launches, tables)
        return None if whole is None else (whole,)
    known = [time for one in launches if (time := _time(one, tables)) is not None]
    return tuple(known) if len(known) == len(launches) else None


def _launch_diff(timed: _Timed, verdict: Verdict, told: tuple[Change, ...]) -> LaunchDiff:
    pair = timed.pair
    one_to_one = pair.repeats or len(pair.baseline) == len(pair.candidate) == 1
    return LaunchDiff(
        kernel=max(pair.candidate, key=lambda launch: launch.duration_ns or 0.0).kernel,
        pairing=pair.confidence if one_to_one else "sum",
        pair=pair,
        baseline_ns=timed.middles[0],
        candidate_ns=timed.middles[1],
        verdict=verdict,
        changes=told,
    )


def _changes(
    pair: LaunchPair, tables: tuple[Tables, Tables], verdict: Verdict, noise: NoiseModel
) -> tuple[Change, ...]:
    before, after = (_combined(pair, side, table) for side, table in _both(pair, tables))
    if verdict.verdict == "not-comparable":
        return side_by_side(before, after)
    return with_roles(changes(before, after, noise), verdict, bottleneck(after.values))


def _combined(pair: LaunchPair, launches: Sequence[Launch], tables: Tables) -> Combined:
    if pair.repeats:
        return combine_repeats(None, [[one] for one in launches], tables)
    return combine_launches(None, launches, [tables.get(one.index, {}) for one in launches])


def _both(pair: LaunchPair, tables: tuple[Tables, Tables]) -> tuple[tuple[tuple[Launch, ...], Tables], ...]:
    return (pair.baseline, tables[0]), (pair.candidate, tables[1])
