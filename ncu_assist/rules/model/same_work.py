"""Launches that do the same work: one function in one shape that gives every unit as much to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ncu_assist.rules.base import LEAST_WORTH
from ncu_assist.rules.model.diagnosis import Diagnosis, Ranked
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import PARTS, SM_PARTS

# What a launch takes besides its grid and block: with other numbers it is another one, however much it does.
TAKES = ("registers", "shared_memory")


def same_work(launches: Sequence[Facts]) -> tuple[tuple[int, ...], ...]:
    """Return the places of launches that do the same work, each with its own facts; one that nobody counted is alone.

    Two do if each unit works as long for them, but for what a finding must win to be more than a remark, 2 % of the
    time. Their times may differ by more: those of short launches do so without a cause (`noise`). Where code takes
    other ways with other data, units have more or less to do.
    """
    alike: dict[object, list[int]] = {}
    for place, facts in enumerate(launches):
        (launch,) = facts.combined.launches
        shape = (launch.workload, launch.signature or launch.kernel, launch.grid, launch.block)
        alike.setdefault((*shape, *map(facts.get, TAKES)), []).append(place)
    return tuple(group for places in alike.values() for group in _by_work(launches, places))


def _by_work(launches: Sequence[Facts], places: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield groups of these launches: those that do as much as the one whose time is in the middle of what is left."""
    work = {place: _work_ns(launches[place]) for place in places}
    left = sorted(places, key=lambda place: launches[place].duration_ns)
    while left:
        middle = left[(len(left) - 1) // 2]
        most = LEAST_WORTH * launches[middle].duration_ns
        same = {one for one in left if one == middle or _is_same(work[one], work[middle], most)}
        yield tuple(sorted(same))
        left = [one for one in left if one not in same]


def _work_ns(facts: Facts) -> tuple[float, ...]:
    """Return how long each unit worked."""
    return tuple(facts.duration_ns * facts.busy(unit) for unit in (*PARTS, *SM_PARTS))


def _is_same(one: tuple[float, ...], other: tuple[float, ...], most_ns: float) -> bool:
    return any(other) and max(abs(own - its) for own, its in zip(one, other, strict=True)) <= most_ns


def scaled(diagnosis: Diagnosis, times: float) -> Diagnosis:
    """Return a diagnosis for a launch that does the same work in so many times the time."""
    return replace(diagnosis, findings=tuple(_scaled(one, times) for one in diagnosis.findings))


def _scaled(one: Ranked, times: float) -> Ranked:
    finding = one.finding
    finding = replace(finding, saved_ns=finding.saved_ns * times, whole_ns=finding.whole_ns * times)
    return replace(one, finding=finding, saved_ns=one.saved_ns * times)
