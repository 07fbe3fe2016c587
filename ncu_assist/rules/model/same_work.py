"""Launches that do the same work: one function in one shape that gives every unit as much to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ncu_assist.record import Launch
from ncu_assist.rules.base import LEAST_WORTH
from ncu_assist.rules.model.diagnosis import Diagnosis, Ranked
from ncu_assist.rules.model.dram import link_load
from ncu_assist.rules.model.facts import Facts, once
from ncu_assist.rules.model.resources import PARTS, SM_PARTS

# What a launch takes besides its grid and block: with other numbers it is another one, however much it does.
TAKES = ("registers", "shared_memory")
# Launches of one shape that are asked what all of that shape have: each takes some milliseconds to judge, and twenty
# tell which side of a threshold most are on.
MOST_ASKED = 20


@dataclass(frozen=True)
class SameWork:
    """Launches that do the same work: their places, and the one whose time was in the middle of what was left."""

    places: tuple[int, ...]
    typical: Facts

    def takes_in(self, facts: Facts) -> bool:
        """Tell whether a launch does this work, too."""
        own, its, most = _work_ns(facts), _work_ns(self.typical), LEAST_WORTH * self.typical.duration_ns
        return _shape(facts) == _shape(self.typical) and _is_same(own, its, most)


def asked(launches: Iterable[Launch], about: Iterable[Launch]) -> list[Launch]:
    """Return which of all launches are asked what those have that it is ``about``: some of each of their shapes.

    So a launch is told the same whether all are shown or it alone. They are spread over the run, as launches that take
    long are no sample of all.
    """
    wanted, alike = {_launch_shape(one) for one in about}, dict[object, list[Launch]]()
    for one in launches:
        if (shape := _launch_shape(one)) in wanted:
            alike.setdefault(shape, []).append(one)
    return [one for own in alike.values() for one in _spread(own)]


def _spread(launches: Sequence[Launch]) -> Sequence[Launch]:
    count = len(launches)
    return launches if count <= MOST_ASKED else [launches[n * count // MOST_ASKED] for n in range(MOST_ASKED)]


def same_work(launches: Sequence[Facts]) -> tuple[SameWork, ...]:
    """Return which launches do the same work, each with its own facts; one that nobody counted is alone.

    Two do if each unit works as long for them, but for what a finding must win to be more than a remark, 2 % of the
    time. Their times may differ by more: those of short launches do so without a cause (`noise`). Where code takes
    other ways with other data, units have more or less to do.
    """
    alike: dict[object, list[int]] = {}
    for place, facts in enumerate(launches):
        alike.setdefault(_shape(facts), []).append(place)
    return tuple(group for places in alike.values() for group in _by_work(launches, places))


def _shape(facts: Facts) -> tuple[object, ...]:
    (launch,) = facts.combined.launches
    return (*_launch_shape(launch), *map(facts.get, TAKES))


def _launch_shape(launch: Launch) -> tuple[object, ...]:
    return launch.workload, launch.signature or launch.kernel, launch.grid, launch.block


def _by_work(launches: Sequence[Facts], places: list[int]) -> Iterator[SameWork]:
    """Yield groups of these launches: those that do as much as the one whose time is in the middle of what is left."""
    left = sorted(places, key=lambda place: launches[place].duration_ns)
    while left:
        middle = left[(len(left) - 1) // 2]
        found = SameWork((), launches[middle])
        same = {one for one in left if one == middle or found.takes_in(launches[one])}
        yield replace(found, places=tuple(sorted(same)))
        left = [one for one in left if one not in same]


@once
def _work_ns(facts: Facts) -> tuple[float, ...]:
    """Return how long each unit worked, the link to the host among them."""
    shares = (link_load(facts), *(facts.busy(unit) for unit in (*PARTS, *SM_PARTS)))
    return tuple(facts.duration_ns * share for share in shares)


def _is_same(one: tuple[float, ...], other: tuple[float, ...], most_ns: float) -> bool:
    return any(other) and max(abs(own - its) for own, its in zip(one, other, strict=True)) <= most_ns


def scaled(diagnosis: Diagnosis, times: float) -> Diagnosis:
    """Return a diagnosis for a launch that does the same work in so many times the time."""
    return replace(diagnosis, findings=tuple(_scaled(one, times) for one in diagnosis.findings))


def _scaled(one: Ranked, times: float) -> Ranked:
    finding = one.finding
    finding = replace(finding, saved_ns=finding.saved_ns * times, whole_ns=finding.whole_ns * times)
    return replace(one, finding=finding, saved_ns=one.saved_ns * times)
