"""What in ceilings from elsewhere cannot be: times, units and rates that no such GPU has, or another chip's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from math import isclose, isfinite

from ncu_assist.ceilings.chips import SCHEDULERS, WAVEFRONT_BYTES
from ncu_assist.ceilings.defaults import memory_kind
from ncu_assist.ceilings.records import Ceilings, Point, Rate, Spread
from ncu_assist.ncu.catalogue.chips import named_chip
from ncu_assist.quantity import quantity

CAPABILITY = re.compile(r"\d{1,2}\.\d")
SAME = 0.01  # a rate and the bytes over the time that it is said to be: both are written in full
EXACTLY = 1.02  # above what a cycle can do: clocks of two passes differ by as much (docs/sources.md, "Noise")
# The widest bus that a GPU with such a memory has, in bits: eight stacks of HBM (GB100), 16 chips of GDDR7 (GB202), the
# 256 bits of AGX Orin doubled. From NVIDIA's whitepapers.
WIDEST_BUS = {"HBM": 8192, "GDDR": 512, "LPDDR": 512}
EDGES = 2  # DRAM moves data at both edges of its clock
LARGE = 1 << 30  # bytes; what is smaller may come from L2 in part
UNITS = {"pipe": "inst", "shared": "byte", "tensor": "op"}


def problems(ceilings: Ceilings) -> tuple[str, ...]:
    """Return what cannot be in words, one a line of what is wrong; empty where all of it is possible."""
    found = [*_device(ceilings), *_dram(ceilings)]
    for what, points in (("dram", ceilings.dram), ("l2", ceilings.l2), ("link", ceilings.link)):
        for point in points:
            found += [f"{what} {point.name}, {quantity(point.bytes, 'byte')}: {words}" for words in _point(point)]
        found += [f"{what}: {name} is there twice" for name in _twice(points)]
    for rate in ceilings.rates:
        found += [f"{rate.kind} {rate.name}: {words}" for words in _rate(rate, ceilings)]
    return tuple(found)


def _device(ceilings: Ceilings) -> Iterator[str]:
    device = ceilings.device
    if not device.name.strip():
        yield "no GPU is named"
    if not CAPABILITY.fullmatch(device.compute_capability):
        yield f"'{device.compute_capability}' is no compute capability"
    chip = named_chip(device.name)
    if chip is not None and chip.compute_capability != device.compute_capability:
        yield f"{device.name} has compute capability {chip.compute_capability}, not {device.compute_capability}"
    sizes = {"multiprocessors": device.sm_count, "bytes of L2": device.l2_bytes, "bytes": device.memory_bytes}
    yield from (f"a GPU with {size} {what}" for what, size in sizes.items() if size is not None and size <= 0)
    try:
        datetime.fromisoformat(ceilings.created)
    except ValueError:
        yield f"'{ceilings.created}' is no time (ISO 8601)"
    if not ceilings.dram:
        yield "nothing of DRAM was measured"


def _dram(ceilings: Ceilings) -> Iterator[str]:
    """Yield large streams that are faster than the widest bus of this kind of memory at the clock that was counted."""
    clock, kind = ceilings.conditions.memory_clock_mhz, memory_kind(ceilings.device.compute_capability)
    if not clock or kind is None:
        return
    most = clock * 1e6 * EDGES * WIDEST_BUS[kind] / 8
    for point in ceilings.dram:
        if point.bytes >= LARGE and point.bytes_per_second > EXACTLY * most:
            rate, bound = (quantity(one, "byte/s") for one in (point.bytes_per_second, most))
            yield f"dram {point.name}, {quantity(point.bytes, 'byte')}: {rate}, {kind} at {clock:.0f} MHz has {bound}"


def _point(point: Point) -> Iterator[str]:
    if min(point.read_bytes, point.write_bytes) < 0 or point.read_bytes + point.write_bytes != point.bytes:
        yield f"{point.read_bytes} read and {point.write_bytes} written are not {point.bytes}"
    if point.bytes <= 0:
        yield "moves nothing"
    yield from _spread(point.seconds)
    known = point.seconds.median > 0 and isfinite(point.bytes_per_second)
    if known and not isclose(point.bytes / point.seconds.median, point.bytes_per_second, rel_tol=SAME):
        seconds = f"{point.seconds.median:g} s"
        yield f"{quantity(point.bytes, 'byte')} in {seconds} are not {point.bytes_per_second:g} byte/s: other units?"
    if not known or point.bytes_per_second <= 0:
        yield f"{point.bytes_per_second:g} byte/s is no rate"


def _spread(seconds: Spread) -> Iterator[str]:
    if not 0 < seconds.q1 <= seconds.median <= seconds.q3 or not isfinite(seconds.q3):
        yield f"times of {seconds.q1:g}, {seconds.median:g} and {seconds.q3:g} s are no quartiles"
    if seconds.count < 1:
        yield f"{seconds.count} samples"


def _rate(rate: Rate, ceilings: Ceilings) -> Iterator[str]:
    yield from _spread(rate.seconds)
    if rate.unit != UNITS[rate.kind]:
        yield f"is in {UNITS[rate.kind]}, not in {rate.unit}"
    if not (isfinite(rate.per_second) and rate.per_second > 0):
        yield f"{rate.per_second:g} a second is no rate"
    most = {"pipe": SCHEDULERS, "shared": WAVEFRONT_BYTES}.get(rate.kind)
    cycle = rate.per_cycle_per_sm
    if cycle is not None and (cycle <= 0 or (most is not None and cycle > EXACTLY * most)):
        yield f"{cycle:g} {rate.unit} a cycle and SM, where there are {most} at most"
    if rate.pct_of_peak is not None and not 0 < rate.pct_of_peak <= 100 * EXACTLY:
        yield f"{rate.pct_of_peak:g} % of its peak"
    clock, count = rate.sm_clock_mhz, ceilings.device.sm_count
    if cycle and clock and count and not isclose(cycle * clock * 1e6 * count, rate.per_second, rel_tol=CLOCK_STRAYS):
        yield f"{cycle:g} a cycle and SM at {clock:.0f} MHz on {count} SMs are not {rate.per_second:g} a second"


CLOCK_STRAYS = 0.2  # the clock of a run changes under load, and what is timed has a start; other units differ by 1000


def _twice(points: tuple[Point, ...]) -> list[str]:
    keys = [(point.name, point.bytes, point.source, point.footprint_bytes) for point in points]
    return sorted({f"{one[0]} of {quantity(one[1], 'byte')} under {one[2]}" for one in keys if keys.count(one) > 1})
