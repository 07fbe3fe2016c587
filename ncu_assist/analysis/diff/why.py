"""The change of a time as a product: work on one resource, the rate at which it was done, the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, log, prod, sqrt
from typing import Literal

from ncu_assist.analysis.diff.noise import MetricReading, NoiseModel
from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.frame import Combined
from ncu_assist.rules.model.pipes import ASKED_AGAIN
from ncu_assist.rules.model.resources import LATENCY, RESOURCES, Bottleneck, Resource, bottleneck
from ncu_assist.rules.redundant_traffic import MARGIN
from ncu_assist.verdict import Verdict

Kind = Literal["launches", "work", "warps", "latency", "rate", "clock"]
TAKES_TIME: frozenset[Kind] = frozenset(("launches", "work", "latency"))  # more of it is more time; of the rest, less
SHORT: dict[Kind, tuple[Kind, ...]] = {
    "work": ("launches", "work"),
    "rate": ("rate", "warps", "latency"),
    "clock": ("clock",),
}
DRAM = "DRAM"
NS_PER_S = 1e9
# Of what a resource could do. One that did less took at most that part of the time, whatever became of it: below it a
# finding is a remark (lines.MATERIAL).
USED = 0.02


@dataclass(frozen=True)
class Factor:
    """One factor of the time on both sides; ``gain`` is what it makes of baseline time over candidate time."""

    kind: Kind
    label: str
    unit: str
    baseline: int | float  # launches are whole
    candidate: int | float

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


UNKNOWN_NOISE = NoiseModel(None)


@dataclass(frozen=True)
class BoundBy:
    """What a side is bound by; ``stall`` is the reason that most warps wait for, where that is latency.

    ``stalls`` are the shares of all reasons. ``has_wgmma``: among waits that ncu books as barriers may be others.
    """

    bottleneck: Bottleneck
    stall: str | None = None
    stalls: Mapping[str, float] = field(default_factory=dict, repr=False)
    has_wgmma: bool = False


@dataclass(frozen=True)
class Why:
    """The time under ncu of both sides, explained.

    ``time_ratio`` is the baseline's duration over the candidate's, all launches together. ``factors`` has the product
    on what binds the candidate, then on what bound the baseline where that is another resource; each is of the whole
    change, for resources work at the same time and shares of them do not add up. Either may be absent: where counters
    are, or where a side does nothing on the resource. ``speedup`` is the bench's, None without one; ``expected`` its
    interval, widened by ``noise``: how far a ratio of two durations of such kernels strays under ncu, as a share.
    ``by_verdict`` is the ratio that a verdict on the same durations has, where it is the same but for which median was
    taken: one change is told by one number. ``l2_reuse`` is how often SMs read from L2, on average, what DRAM brought
    there: None where it is no answer (see ``_l2_reuse``).
    """

    baseline: BoundBy | None
    candidate: BoundBy | None
    time_ratio: float
    launches: tuple[int, int]
    factors: tuple[Factors, ...]
    speedup: float | None = None
    expected: tuple[float, float] | None = None
    noise: float = 0.0
    of_kernels: tuple[bool, bool] = (False, False)  # whose launches are of different kernels, which no limit is of
    l2_reuse: tuple[float, float] | None = None
    by_verdict: float | None = None

    @property
    def told_ratio(self) -> float:
        """Return the ratio of times that is shown."""
        return self.by_verdict or self.time_ratio

    @property
    def bound_changed(self) -> bool:
        """Return whether the two sides are bound by different resources."""
        names = [limit.bottleneck.name for limit in (self.baseline, self.candidate) if limit]
        return len(set(names)) == 2

    @property
    def agrees(self) -> bool | None:
        """Return whether the times under ncu tell the ratio that the bench saw.

        None without a bench, and where they do not contradict it, but no change at all would not have done so either.
        """
        if self.expected is None:
            return None
        low, high = self.expected
        if not low <= self.time_ratio <= high:
            return False
        return None if low <= 1 <= high else True

    @property
    def main(self) -> Factors | None:
        """Return the product on what binds the candidate, else on what bound the baseline; None without any."""
        return self.on(self.candidate) or self.on(self.baseline)

    def on(self, limit: BoundBy | None) -> Factors | None:
        """Return the product on what a side is bound by; None where there is none."""
        name = limit.bottleneck.name if limit else ""
        return next((one for one in self.factors if one.resource == name), None)


def why(
    baseline: Combined, candidate: Combined, bench: Verdict | None = None, noise: NoiseModel = UNKNOWN_NOISE
) -> Why | None:
    """Return what explains the time of the candidate; None where a duration or both bottlenecks are not known.

    ``bench`` is the verdict on times without a profiler, ``noise`` what is known of how far those under ncu stray.
    """
    before, after = baseline.duration_ns, candidate.duration_ns
    limits = _limit(baseline), _limit(candidate)
    if not before or not after or before < 0 or after < 0 or limits == (None, None):
        return None
    names = dict.fromkeys(limit.bottleneck.name for limit in reversed(limits) if limit)
    resources = [RESOURCES[name] for name in names if not RESOURCES[name].is_coarse]
    found = [made for one in resources if (made := factors(one, baseline, candidate)) is not None]
    launches = len(baseline.launches), len(candidate.launches)
    strays = _strays(baseline, candidate, noise)
    speedup = bench.speedup if bench else None
    kernels = baseline.is_of_kernels, candidate.is_of_kernels
    expected, reuse = _expected(bench, strays), _l2_reuse(baseline, candidate) if DRAM in names else None
    return Why(*limits, before / after, launches, tuple(found), speedup, expected, strays, kernels, reuse)


def _l2_reuse(baseline: Combined, candidate: Combined) -> tuple[float, float] | None:
    """Return how often SMs read from L2 what DRAM brought there, where that made most of the change in what it brought.

    None where SMs asked for more or less instead, and where neither side shares what comes: blocks that read the same
    data hit in L2 as far as they run together, so it is their order, or what L2 holds, that changed.
    """
    sides = [[known(side, key) for key in ("l2_sectors_read", "dram_bytes_read")] for side in (baseline, candidate)]
    is_mixed = baseline.is_of_kernels or candidate.is_of_kernels
    if is_mixed or not all(value and value > 0 for side in sides for value in side):
        return None
    (asked, came), (asked_after, came_after) = ((SECTOR_BYTES * (one or 0.0), other or 0.0) for one, other in sides)
    reuse, change = (asked / came, asked_after / came_after), abs(log(came_after / came))
    is_it = max(reuse) >= ASKED_AGAIN and change > log(1 + MARGIN) and abs(log(asked_after / asked)) < change / 2
    return reuse if is_it else None


def _strays(baseline: Combined, candidate: Combined, noise: NoiseModel) -> float:
    """Return how far the ratio of two durations of such kernels strays: each by itself, so their squares add up."""
    before, after = baseline.duration_ns or 0.0, candidate.duration_ns or 0.0
    typical = [ns for side in (baseline, candidate) if (ns := side.typical_ns) is not None]
    samples = baseline.samples("duration"), candidate.samples("duration")
    reading = MetricReading("duration", "ns", False, before, after, samples, min(typical, default=None))
    return sqrt(2) * noise.amount(reading) / reading.larger


def _expected(bench: Verdict | None, strays: float) -> tuple[float, float] | None:
    """Return between what the ratio under ncu is where it tells what the bench saw; None without a bench."""
    if bench is None or bench.speedup is None:
        return None
    return (bench.low or bench.speedup) / (1 + strays), (bench.high or bench.speedup) * (1 + strays)


def _limit(combined: Combined) -> BoundBy | None:
    found = bottleneck(combined.values)
    if found is None:
        return None
    stall = next(iter(combined.stalls), None) if found.name == LATENCY else None
    return BoundBy(found, stall, combined.stalls, bool(combined.values["pipe_tensor_gmma"]))
