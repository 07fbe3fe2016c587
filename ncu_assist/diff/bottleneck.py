"""Which resource a kernel keeps busiest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan

from ncu_assist.diff.resources import (
    LATENCY,
    LINK,
    MEMORY,
    PARTS,
    RESOURCES,
    SM,
    SM_PARTS,
    WHOLES,
    Resource,
    Values,
    refined,
)
from ncu_assist.ncu.catalogue.possible import is_impossible
from ncu_assist.ncu.catalogue.rows import ROWS

BUSY_PERCENT = 60.0  # NVIDIA's SpeedOfLight rule: below it on all units, latency is the likely limit
# A throughput of ncu's is the largest of its parts, of which we know most. A part this near to it is what it is of,
# also over several launches, where the mean of the largest is above the mean of any part.
NEARLY = 0.9


@dataclass(frozen=True)
class Bottleneck:
    """The busiest resource and its share of peak, in percent; ``latency`` when none is busy."""

    name: str
    percent: float

    @property
    def group(self) -> str:
        """Return what it belongs to: DRAM, L2, L1, shared memory, SM, memory, host link, latency."""
        return RESOURCES[self.name].group if self.name in RESOURCES else self.name


def bottleneck(values: Mapping[str, float | None]) -> Bottleneck | None:
    """Return what the catalogue's throughputs say, as fine as they do; None where too few were collected to say it."""
    memory = _memory(values)
    found = [one for one in (memory, _busiest((SM,), values), _busiest((LINK,), values)) if one]
    if not found:
        return None
    resource, percent = max(found, key=lambda one: one[1])
    if percent < BUSY_PERCENT:
        return Bottleneck(LATENCY, percent) if memory else None  # else it may be busy: nobody looked
    return Bottleneck(_finer(resource, percent, values).name, percent)


def bottleneck_of_launch(values: Mapping[str, float]) -> Bottleneck | None:
    """Return what ``bottleneck`` does, from the values of one launch by ncu's name."""
    return bottleneck(_OfLaunch(values))


class _OfLaunch(Mapping[str, float | None]):
    """The values of a launch by key, looked up when they are asked for: a program has thousands of launches."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> float | None:
        found = ROWS[key].value(self._values)
        return None if found is None or isnan(found) or is_impossible(ROWS[key], found) else found

    def __iter__(self) -> Iterator[str]:
        return iter(ROWS)

    def __len__(self) -> int:
        return len(ROWS)


def _memory(values: Values) -> tuple[Resource, float] | None:
    """Return the busiest part of the memory; a whole only where it is busier than all its parts that are known."""
    best = _busiest(PARTS, values)
    all_of_it = MEMORY.share(values)
    if best and all_of_it is not None and best[1] >= NEARLY * all_of_it:
        return best
    for whole in WHOLES:
        percent = whole.share(values)
        if percent is not None and (best is None or best[1] < NEARLY * percent):
            best = whole, percent
    return best


def _finer(resource: Resource, percent: float, values: Values) -> Resource:
    """Return the part of the SM that is as busy as the SM is said to be, and what the data pipe of L1 is busy with."""
    part = _busiest(SM_PARTS, values) if resource is SM else None
    return part[0] if part and part[1] >= NEARLY * percent else refined(resource, values)


def _busiest(resources: tuple[Resource, ...], values: Values) -> tuple[Resource, float] | None:
    shares = [(one, share) for one in resources if (share := one.share(values)) is not None]
    return max(shares, key=lambda found: found[1]) if shares else None
