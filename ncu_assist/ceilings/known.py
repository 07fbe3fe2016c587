"""What is known of a GPU, number by number, and where each is from: measured, computed, from a table, or assumed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ncu_assist.ceilings.chips import LANES, SCHEDULERS, bytes_in_flight, chip_facts, dram_default, memory_kind
from ncu_assist.ceilings.records import Ceilings, dram_ceiling, link_ceiling
from ncu_assist.ncu.catalogue.formulas import BITS, EDGES
from ncu_assist.record import Device

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
