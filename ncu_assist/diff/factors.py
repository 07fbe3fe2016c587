"""The change of a time as a product: work on one resource, the rate at which it was done, the clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Literal

from ncu_assist.diff.resources import LATENCY, Resource
from ncu_assist.frame import Combined

Kind = Literal["launches", "work", "warps", "latency", "rate", "clock"]
TAKES_TIME: frozenset[Kind] = frozenset(("launches", "work", "latency"))  # more of it is more time; of the rest, less
SHORT: dict[Kind, tuple[Kind, ...]] = {
    "work": ("launches", "work"),
    "rate": ("rate", "warps", "latency"),
    "clock": ("clock",),
}
NS_PER_S = 1e9
# Of what a resource could do. One that did less took at most that part of the time, whatever became of it: below it a
# finding is a remark (line_changes.MATERIAL).
USED = 0.02


@dataclass(frozen=True)
class Factor:
    """One factor of the time on both sides; ``gain`` is what it makes of baseline time over candidate time."""

    kind: Kind
    label: str
    unit: str
    baseline: float
    candidate: float

    @property
    def gain(self) -> float:
        """Return above 1 where the candidate gains by it."""
        ratio = self.baseline / self.candidate
        return ratio if self.kind in TAKES_TIME else 1 / ratio


@dataclass(frozen=True)
class Factors:
    """Both sides' time as launches times work of each over rate over clock, on one resource.

    The gains of ``parts`` multiply to the time of the baseline over that of the candidate. ``busy`` is the resource's
    share of what it could do, in percent, on each side: None where that was not counted, as for latency.
    """

    resource: str
    parts: tuple[Factor, ...]
    busy: tuple[float | None, float | None]

    def of(self, kind: Kind) -> Factor | None:
        """Return the factor of a kind; None where the product has none."""
        return next((part for part in self.parts if part.kind == kind), None)

    @property
    def in_short(self) -> tuple[Factor, ...]:
        """Return the same product as work of all launches, rate, and clock where the resource has one."""
        found = {kind: [part for part in self.parts if part.kind in kinds] for kind, kinds in SHORT.items()}
        work = found["work"][-1]
        all_work = [prod(getattr(part, side) for part in found["work"]) for side in ("baseline", "candidate")]
        rates = [_rate(found["rate"], side) for side in ("baseline", "candidate")]
        unit = _unit(work.unit, has_clock=bool(found["clock"]))
        whole = replace(work, baseline=all_work[0], candidate=all_work[1])
        return whole, Factor("rate", "rate", unit, *rates), *found["clock"]


@dataclass(frozen=True)
class _Side:
    """One side's time in its parts: seconds = launches * work / (rate * clock); without a clock that is 1 a second."""

    launches: int
    work: float  # of a launch
    rate: float  # a cycle
    clock_hz: float
    warps: float | None  # in flight on the whole GPU, mean over the time


def factors(resource: Resource, baseline: Combined, candidate: Combined) -> Factors | None:
    """Return the product on a resource; None where its work is not known of both sides, or one hardly uses it.

    ``rate`` is work over cycles of the resource's own clock, or over seconds where it has none. Of latency it is what
    Little's law gives: warps in flight over the cycles that each takes for an instruction.
    """
    before, after = _side(resource, baseline), _side(resource, candidate)
    if before is None or after is None:
        return None
    if any(
        use is not None and use < USED for use in (_use(resource, baseline, before), _use(resource, candidate, after))
    ):
        return None
    own = resource.share(baseline.values), resource.share(candidate.values)
    return Factors(resource.name, tuple(_parts(resource, before, after)), own)


def _use(resource: Resource, combined: Combined, side: _Side) -> float | None:
    """Return the part that a side used of what the resource could do, 0 to 1; None where that is not known."""
    if resource.work and resource.units:  # it shares its pipe with others: only its own work tells of it
        units = known(combined, resource.units)
        return side.rate / units if units else None
    share = resource.share(combined.values)
    return None if share is None else share / 100.0


def _parts(resource: Resource, before: _Side, after: _Side) -> list[Factor]:
    parts = []
    if before.launches != after.launches:
        parts.append(Factor("launches", "launches", "", before.launches, after.launches))
    parts.append(Factor("work", resource.label, resource.unit, before.work, after.work))
    if resource.name == LATENCY and before.warps and after.warps:
        parts.append(Factor("warps", "warps in flight", "warp", before.warps, after.warps))
        waits = before.warps / before.rate, after.warps / after.rate
        parts.append(Factor("latency", "cycles an instruction", "cycle", *waits))
    else:
        parts.append(Factor("rate", "rate", _unit(resource.unit, bool(resource.clock)), before.rate, after.rate))
    clock = Factor("clock", "clock", "hz", before.clock_hz, after.clock_hz)
    return [*parts, clock] if resource.clock else parts


def _unit(work: str, has_clock: bool) -> str:
    """Return the unit of a rate: of its work a cycle, a second of what has no clock."""
    return f"{work or '1'}/{'cycle' if has_clock else 's'}"


def _side(resource: Resource, combined: Combined) -> _Side | None:
    nanoseconds, clock = known(combined, "duration"), known(combined, resource.clock) if resource.clock else 1.0
    if nanoseconds is None or clock is None:
        return None
    cycles = nanoseconds / NS_PER_S * clock
    work = known(combined, resource.work) if resource.work else _busy_cycles(resource, combined, cycles)
    if work is None or not all(number > 0 and isfinite(number) for number in (cycles, work)):
        return None
    return _Side(len(combined.launches), work / len(combined.launches), work / cycles, clock, _warps(combined))


def _rate(parts: list[Factor], side: str) -> float:
    """Return the rate on a side: itself, or warps in flight over the latency of each."""
    values = [float(getattr(part, side)) for part in parts]
    return prod(1 / value if part.kind in TAKES_TIME else value for part, value in zip(parts, values, strict=True))


def _busy_cycles(resource: Resource, combined: Combined, cycles: float) -> float | None:
    """Return the cycles that a resource was busy, all of its kind together, where no counter holds its work."""
    keys = (resource.busy, *(("sm_active_share",) if resource.while_active else ()))
    units = known(combined, resource.units) if resource.units else 1.0
    if units is None or any(known(combined, key) is None for key in keys):
        return None
    share = resource.share(combined.values)
    return None if share is None else share / 100.0 * cycles * units


def _warps(combined: Combined) -> float | None:
    warps, active, count = (known(combined, key) for key in ("achieved_warps", "sm_active_share", "sm_count"))
    return None if warps is None or active is None or count is None else warps * active / 100.0 * count


def known(combined: Combined, key: str) -> float | None:
    """Return a value that is of all launches; None where it is absent, or of some of them only."""
    value = combined.values.get(key)
    return None if value is None or combined.coverage(key) is not None else value
