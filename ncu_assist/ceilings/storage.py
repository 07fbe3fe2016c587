"""Ceilings on disk: one JSON file a GPU in the archive, one a product in this package; and which of them cannot be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from math import isclose, isfinite
from pathlib import Path

import msgspec

from ncu_assist import schema
from ncu_assist.atomic import atomic_write
from ncu_assist.ceilings.chips import SCHEDULERS, WAVEFRONT_BYTES, memory_kind
from ncu_assist.ceilings.records import SCHEMA, Ceilings, Point, Rate, Spread
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.ncu.catalogue.chips import named_chip
from ncu_assist.ncu.catalogue.formulas import BITS, EDGES
from ncu_assist.quantity import quantity
from ncu_assist.record import Device, content_digest

FOLDER, FILE = "ceilings", "ceilings.json"
SHIPPED = Path(__file__).parent / "data"
HASH_DIGITS = 12  # of the GPU's hashed UUID in a folder's name
REPAIR = "ncu-assist ceilings"


READERS: schema.Readers[Ceilings] = {1: msgspec.json.Decoder(Ceilings).decode}


def encode(ceilings: Ceilings) -> bytes:
    """Return ceilings as JSON, the digest filled in."""
    sealed = replace(ceilings, digest=content_digest(msgspec.json.encode(ceilings)))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n"


def decode(data: bytes, name: str = FILE, hint: str = REPAIR) -> Ceilings:
    """Return the ceilings that ``encode`` wrote; raises DamagedData for anything that is not exactly that."""
    ceilings = schema.read(data, SCHEMA, READERS, name, hint)
    if ceilings.digest != content_digest(data):
        raise DamagedData(f"{name} was changed after it was written", hint)
    return ceilings


def path_of(reports: Path, device: Device) -> Path:
    """Return where the ceilings of a GPU are in an archive: where an older tool or driver wrote them, if it did."""
    digits = device.uuid_sha256[:HASH_DIGITS]
    written = sorted((reports / FOLDER).glob(f"*-{digits}/{FILE}")) if digits else []
    return written[0] if written else reports / FOLDER / f"{product(device.name)}-{digits or 'unknown'}" / FILE


def product(name: str) -> str:
    """Return a GPU's name as part of a file's name: 'NVIDIA H200' is 'nvidia-h200'."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def save(reports: Path, ceilings: Ceilings) -> Path:
    """Write ceilings, replacing older ones of this GPU, and return the file; it is there whole or not at all.

    Raises EnvironmentProblem where the disk refuses.
    """
    path = path_of(reports, ceilings.device)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(encode(ceilings))
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}", "free space there") from error
    return path


def stored(reports: Path) -> Iterator[Ceilings]:
    """Yield the ceilings in an archive, by folder; raises DamagedData at one that cannot be read."""
    for path in sorted((reports / FOLDER).glob(f"*/{FILE}")):
        yield decode(_bytes(path), f"{path.parent.name}/{path.name}")


def shipped(folder: Path = SHIPPED) -> Iterator[Ceilings]:
    """Yield the ceilings of known GPUs that come with the tool: recorded ones."""
    for path in sorted(folder.glob("*.json")):
        yield replace(decode(_bytes(path), path.name), origin="recorded")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedData(f"{path.name} cannot be read: {error.strerror}", REPAIR) from error


def ceilings_of(device: Device | None, reports: Path | None = None, data: Path = SHIPPED) -> Ceilings | None:
    """Return the ceilings measured on this GPU, else those of its model marked *recorded* or *imported*, else None.

    A report does not say which GPU of its model it is of; it gets the model's. ``reports`` is the archive, None where
    there is none. Raises DamagedData for a file that would answer and cannot be read.
    """
    if device is None:
        return None
    here = list(stored(reports)) if reports is not None else []
    own = [c for c in here if device.uuid_sha256 and c.device.uuid_sha256 == device.uuid_sha256]
    if own:
        return replace(_newest(own), origin="live")  # also one that was sent: it is of this very GPU
    alike = [replace(c, origin="recorded") if c.origin == "live" else c for c in here if _is_alike(c, device)]
    known = [c for c in shipped(data) if _is_alike(c, device)]
    found = alike or known
    return _newest(found) if found else None


def _is_alike(ceilings: Ceilings, device: Device) -> bool:
    """Return whether a GPU is of the model that was measured: same name, and as many multiprocessors if both say."""
    one, other = ceilings.device, device
    sizes = {one.sm_count, other.sm_count} - {None}
    return one.name.casefold() == other.name.casefold() and len(sizes) <= 1


def _newest(found: Iterable[Ceilings]) -> Ceilings:
    return max(found, key=lambda c: c.created)


CAPABILITY = re.compile(r"\d{1,2}\.\d")
SAME = 0.01  # a rate and the bytes over the time that it is said to be: both are written in full
EXACTLY = 1.02  # above what a cycle can do: clocks of two passes differ by as much (docs/sources.md, "Noise")
# The widest bus that a GPU with such a memory has, in bits: eight stacks of HBM (GB100), 16 chips of GDDR7 (GB202), the
# 256 bits of AGX Orin doubled. From NVIDIA's whitepapers.
WIDEST_BUS = {"HBM": 8192, "GDDR": 512, "LPDDR": 512}
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
    most = clock * 1e6 * EDGES * WIDEST_BUS[kind] / BITS
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
