"""What a GPU reached when it was measured: curves of bandwidth, also between sizes, rates of pipes, conditions.

And all that is known of a GPU, number by number: measured, computed, from a table, or assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal

from ncu_assist.ceilings.chips import (
    LANES,
    SCHEDULERS,
    SECTOR_BYTES,
    bytes_in_flight,
    chip_facts,
    dram_default,
    memory_kind,
)
from ncu_assist.ncu.catalogue.formulas import BITS, EDGES
from ncu_assist.quantity import quantity
from ncu_assist.record import Device, Toolchain

SCHEMA = "ncu-assist.ceilings/1"

Under = Literal["ncu", "events"]
Origin = Literal["live", "recorded", "imported"]


@dataclass(frozen=True)
class Spread:
    """Repeated times in short, in seconds."""

    median: float
    q1: float
    q3: float
    count: int


@dataclass(frozen=True)
class Point:
    """One point of a curve: bytes moved in how long.

    ``bytes_per_second`` follows from the median. ``counted_…`` is what ncu's counters say reached DRAM, None under
    events. ``footprint_bytes`` is the buffer that was read again and again, None for a stream.
    """

    name: str
    read_bytes: int
    write_bytes: int
    bytes: int
    source: Under
    seconds: Spread
    bytes_per_second: float
    counted_read_bytes: float | None = None
    counted_write_bytes: float | None = None
    footprint_bytes: int | None = None
    sm_clock_mhz: float | None = None
    way: int = 0  # of memory.cu


@dataclass(frozen=True)
class Rate:
    """What one pipe reached. ``unit`` is inst (of a warp), byte, or op (one multiplication or addition).

    ``pct_of_peak`` is ncu's for ``metric``, while SMs are active; both None under events.
    """

    kind: Literal["pipe", "shared", "tensor"]
    name: str
    unit: Literal["inst", "byte", "op"]
    source: Under
    seconds: Spread
    per_second: float
    per_cycle_per_sm: float | None
    pct_of_peak: float | None = None
    metric: str | None = None
    sm_clock_mhz: float | None = None


@dataclass(frozen=True)
class Stage:
    """One part of the measurement; ``problem`` is empty if all of it was done."""

    name: str
    seconds: float
    problem: str = ""


@dataclass(frozen=True)
class Conditions:
    """How it was measured. ``ncu_flags`` are those of `profile`; clocks in MHz as ncu counted them, medians.

    ``probes_sha256`` is of the kernels and the plan that measured; empty in older files.
    """

    toolchain: Toolchain
    ncu_flags: tuple[str, ...] = ()
    clock_control: str | None = None
    cache_control: str | None = None
    flush: str | None = None  # before each sample under events
    empty_seconds: float | None = None  # an empty kernel between the same events
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: tuple[float, float] | None = None
    throttle_reasons: tuple[str, ...] | None = None
    probes_sha256: str = ""


@dataclass(frozen=True)
class Ceilings:
    """All that was measured on one GPU. ``origin``: shipped ones are recorded, those sent imported."""

    device: Device
    created: str  # ISO 8601, UTC
    tool: str  # version of ncu-assist
    conditions: Conditions
    dram: tuple[Point, ...] = ()
    l2: tuple[Point, ...] = ()
    link: tuple[Point, ...] = ()
    rates: tuple[Rate, ...] = ()
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()
    origin: Origin = "live"
    schema: str = SCHEMA
    digest: str = ""  # over this record without the digest itself

    @property
    def where(self) -> str:
        """Which GPU was measured, as seen from the one that they are asked for."""
        return "this GPU" if self.origin == "live" else f"another {self.device.name}"

    def rate(self, kind: str, name: str, source: Under) -> Rate | None:
        """Return what a pipe reached, None where it was not measured."""
        return next((r for r in self.rates if (r.kind, r.name, r.source) == (kind, name, source)), None)


@dataclass(frozen=True)
class Ceiling:
    """A bandwidth that this GPU can reach; ``assumed`` where it was not measured for just this, ``why`` in words."""

    bytes_per_second: float
    assumed: bool
    why: str


SAME_SHARE = 1e-3  # of all bytes: streams are cut to whole blocks, which shifts size and mix by less


Curve = tuple[Point, ...]  # of one mix, by bytes moved


@dataclass(frozen=True)
class RateAtSize:
    """A curve at one number of bytes: its share of reads there, its rate, and what had to be assumed."""

    share: float
    bytes_per_second: float
    assumed: str


def dram_ceiling(
    ceilings: Ceilings, read_bytes: float, write_bytes: float, under: Under = "ncu", counted: bool = False
) -> Ceiling | None:
    """Return the bandwidth that a kernel can reach which moves so many bytes from and to DRAM.

    Between sizes linear in the logarithm of bytes, between mixes linear in the share of reads. Outside what was
    measured the nearest point answers, marked as assumed. None where nothing was measured so, or nothing is moved.
    ``counted``: the bytes are those that ncu counted at DRAM, not those that the kernel asked for, and the answer is
    too. What a small kernel wrote is still in L2 when it ends: fewer bytes reach DRAM than were written.
    """
    moved = read_bytes + write_bytes
    curves = dram_curves(ceilings, under, counted)
    if not curves or moved <= 0:
        return None
    share = read_bytes / moved
    rates = sorted((_at_size(curve, moved) for curve in curves), key=lambda one: one.share)
    low = next((p for p in reversed(rates) if p.share <= share + SAME_SHARE), rates[0])
    high = next((p for p in rates if p.share >= share - SAME_SHARE), rates[-1])
    reasons = [*_outside_mixes(rates, share), *[words for words in (low.assumed, high.assumed) if words][:1]]
    rate = _between(low, high, share)
    return Ceiling(rate, bool(reasons), "; ".join([f"measured on {ceilings.where} under {under}", *reasons]))


def dram_curves(ceilings: Ceilings, under: Under, counted: bool = False) -> list[Curve]:
    """Return the curves measured so, those with more reads last; ``counted`` as in ``dram_ceiling``."""
    mixes: dict[str, list[Point]] = {}
    points = [point for point in ceilings.dram if point.source == under and point.bytes > 0]
    for point in _as_counted(points) if counted else points:
        mixes.setdefault(point.name, []).append(point)
    curves = [tuple(sorted(points, key=lambda p: p.bytes)) for points in mixes.values()]
    return sorted(curves, key=lambda curve: _share(curve[-1]))


def _as_counted(points: Iterable[Point]) -> Iterable[Point]:
    for point in points:
        read, written = point.counted_read_bytes, point.counted_write_bytes
        if read is not None and written is not None and read + written > 0:
            moved = read + written
            rate = moved / point.seconds.median
            yield replace(
                point, read_bytes=int(read), write_bytes=int(written), bytes=int(moved), bytes_per_second=rate
            )


def _share(point: Point) -> float:
    return point.read_bytes / point.bytes


def _at_size(curve: Curve, moved: float) -> RateAtSize:
    """Return a curve at so many bytes; beyond either end that end. The blocks of streams make ends a little uneven."""
    first, last = curve[0].bytes, curve[-1].bytes
    words = ""
    if moved < first * (1 - SAME_SHARE):
        return _below(curve, moved)
    if moved > last * (1 + SAME_SHARE):
        words = f"more than {quantity(last, 'byte')} were not measured: the rate at that size"
    left = next((p for p in reversed(curve) if p.bytes <= moved), curve[0])
    right = next((p for p in curve if p.bytes >= moved), curve[-1])
    weight = log(moved / left.bytes) / log(right.bytes / left.bytes) if left.bytes < right.bytes else 0.0
    rate = left.bytes_per_second + (right.bytes_per_second - left.bytes_per_second) * weight
    return RateAtSize(_share(left) + (_share(right) - _share(left)) * weight, rate, words)


def _below(curve: Curve, moved: float) -> RateAtSize:
    """Return a curve below its first point: a start and then a time for each byte, as the first two points have it."""
    first, second = curve[0], curve[min(1, len(curve) - 1)]
    words = f"fewer than {quantity(first.bytes, 'byte')} were not measured"
    seconds, further = (point.bytes / point.bytes_per_second for point in (first, second))
    each = (further - seconds) / (second.bytes - first.bytes) if second.bytes > first.bytes else 0.0
    start = max(0.0, seconds - each * first.bytes) if each > 0 else 0.0
    rate = moved / (start + (seconds - start) * moved / first.bytes)
    return RateAtSize(_share(first), rate, f"{words}: the start of the first two sizes, then their rate")


def _between(low: RateAtSize, high: RateAtSize, share: float) -> float:
    width = high.share - low.share
    weight = min(1.0, max(0.0, (share - low.share) / width)) if width > SAME_SHARE else 0.0
    return low.bytes_per_second + (high.bytes_per_second - low.bytes_per_second) * weight


def _outside_mixes(rates: Sequence[RateAtSize], share: float) -> list[str]:
    if rates[0].share - SAME_SHARE <= share <= rates[-1].share + SAME_SHARE:
        return []
    return [f"no mix with {100 * share:.0f} % reads was measured: that of the nearest mix"]


COPY_ENGINE = "host_to_device"
SECTORS = "zero_copy_sectors"  # a kernel that reads a sector of every line: each is a request of its own


def link_ceiling(ceilings: Ceilings | None) -> Ceiling | None:
    """Return the rate at which the copy engine fetches pinned memory of the host, None where nobody measured it.

    Nothing was seen to be faster: kernels that read the same memory reached 0.92 of it on an H200 and an H100.
    """
    points = [point for point in ceilings.link if point.name == COPY_ENGINE] if ceilings else []
    if ceilings is None or not points:
        return None
    rate = max(point.bytes_per_second for point in points)
    return Ceiling(rate, ceilings.origin != "live", f"measured on {ceilings.where}")


def most_requests(ceilings: Ceilings | None) -> float | None:
    """Return how many reads a second of a kernel the link carries, None where nobody measured it.

    However small they are: requests of one sector do not fill the link with bytes.
    """
    points = [point for point in ceilings.link if point.name == SECTORS] if ceilings else []
    return max((point.bytes_per_second / SECTOR_BYTES for point in points), default=None)


TABLE = "NVIDIA's table of arithmetic throughput"
PAPERS = "NVIDIA's architecture papers"
ATTRIBUTES = "memory clock x bus width x 2, from the report's device attributes"
CCCL = "NVIDIA's tuning constant in CCCL"
LARGE = 4 << 30  # bytes, of which a copy reads half: long enough for its start not to count
UNSAID = "the report does not say clock and bus width"
NOBODY = "nobody measured such a GPU: ncu-assist ceilings"
PER_CYCLE = "inst/cycle/SM"
MIXES = {"read only": (LARGE, 0), "copy": (LARGE // 2, LARGE // 2), "written only": (0, LARGE)}


@dataclass(frozen=True)
class KnownRate:
    """One number of a GPU; ``value`` is None where nobody knows it, ``most`` the upper end of a range."""

    what: str
    value: float | None
    unit: str
    source: str
    assumed: bool = False
    most: float | None = None


@dataclass(frozen=True)
class KnownGpu:
    """A GPU, the run or report that it is of, the ceilings that answer for it, and all that is known by number."""

    reference: str
    device: Device
    ceilings: Ceilings | None
    rates: tuple[KnownRate, ...]


def attribute_peak(bus_bits: float, clock_khz: float, compute_capability: str) -> float | None:
    """Return DRAM's peak in bytes a second by the device's attributes; None where they do not say it.

    A GPU that shares the memory of its host (all with LPDDR) gives its own clock in place of the memory's: 1,377 MHz on
    a Xavier, whose 137 GB/s are 256 bits at 2,133 MHz.
    """
    if memory_kind(compute_capability) == "LPDDR":
        return None
    return bus_bits / BITS * clock_khz * 1e3 * EDGES or None


def known_rates(device: Device, ceilings: Ceilings | None, dram_peak: float | None) -> tuple[KnownRate, ...]:
    """Return what is known of a GPU; ``dram_peak`` in bytes a second, None where the report does not say it."""
    return (*_dram(device, ceilings, dram_peak), *_caches(ceilings), *_pipes(device, ceilings))


def _dram(device: Device, ceilings: Ceilings | None, peak: float | None) -> Iterator[KnownRate]:
    is_shared = memory_kind(device.compute_capability) == "LPDDR"
    unknown = "a GPU in the memory of its host: its attributes do not say that memory's clock" if is_shared else UNSAID
    yield KnownRate("DRAM peak", peak, "byte/s", ATTRIBUTES if peak else unknown)
    curves = [(mix, dram_ceiling(ceilings, *moved)) for mix, moved in MIXES.items()] if ceilings else []
    for mix, found in curves:
        if found is not None:
            yield KnownRate(f"DRAM, {mix}", found.bytes_per_second, "byte/s", found.why, found.assumed)
    if not any(found for _, found in curves):
        default = dram_default(device.compute_capability)
        ends = (peak * default.low, peak * default.high) if peak else (100 * default.low, 100 * default.high)
        yield KnownRate("DRAM, streams", ends[0], "byte/s" if peak else "%", default.why, True, ends[1])
    needed = bytes_in_flight(device.name, device.compute_capability)
    yield KnownRate("bytes in flight an SM", needed, "byte", CCCL if needed else _no_row(device))


def _caches(ceilings: Ceilings | None) -> Iterator[KnownRate]:
    reads = [one for one in ceilings.l2 if one.source == "ncu"] if ceilings else []
    best = max(reads, key=lambda one: one.bytes_per_second, default=None)
    where = f"measured on {ceilings.where}" if ceilings else ""
    yield KnownRate("L2 reads", best.bytes_per_second if best else None, "byte/s", where if best else NOBODY)
    link = link_ceiling(ceilings)
    yield KnownRate("host to device", link.bytes_per_second if link else None, "byte/s", link.why if link else NOBODY)


def _pipes(device: Device, ceilings: Ceilings | None) -> Iterator[KnownRate]:
    """Yield rates in warp instructions a cycle and SM, as measured where that was done, else the nominal ones."""
    chip = chip_facts(device.compute_capability)
    nominal = {"fma": chip.fma, "fp64": chip.fp64, "imad": chip.imad, "xu": chip.xu} if chip else {}
    for name in ("fma", "fp64", "imad", "xu"):
        rate = ceilings.rate("pipe", name, "ncu") if ceilings else None
        if rate is not None and rate.per_cycle_per_sm and ceilings is not None:
            yield KnownRate(name, rate.per_cycle_per_sm, PER_CYCLE, f"measured on {ceilings.where}")
            continue
        results = nominal.get(name)
        source = f"{TABLE}; a loop of it reaches 85 to 95 %" if results else _no_row(device)
        yield KnownRate(name, results / LANES if results else None, PER_CYCLE, source, bool(results))
    yield KnownRate("issue slots", SCHEDULERS, PER_CYCLE, "CUDA Programming Guide")
    tensor = ceilings.rate("tensor", "matmul_bf16", "events") if ceilings else None
    if tensor is not None and tensor.per_cycle_per_sm and ceilings is not None:
        yield KnownRate("bf16 product", tensor.per_cycle_per_sm, "op/cycle/SM", f"measured on {ceilings.where}")
    elif chip and chip.tensor_fp16:
        yield KnownRate("tensor cores, halves", 2.0 * chip.tensor_fp16, "op/cycle/SM", f"{PAPERS}, nominal", True)
    else:
        yield KnownRate("tensor cores, halves", None, "op/cycle/SM", _no_row(device))


def _no_row(device: Device) -> str:
    return f"no table here has compute capability {device.compute_capability or 'of an unnamed GPU'}"
