"""The numbers of a roofline: operations of every precision used, operations a byte, and the roofs above them."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ceilings import Ceilings, chip_facts, dram_ceiling
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.quantity import quantity
from ncu_assist.render.precisions import FMA, PRECISIONS, Precision
from ncu_assist.rules.model.dram import asked_bytes

NS_PER_S = 1e9
USUAL = "FP32"  # whose roof is drawn in any case


@dataclass(frozen=True)
class Roof:
    """A limit: operations or bytes a second; ``measured`` on such a GPU, else assumed; ``why`` in words."""

    label: str
    per_second: float
    measured: bool
    why: str


@dataclass(frozen=True)
class Point:
    """What a kernel did of one precision; intensities are operations a byte, None where no byte was moved."""

    precision: Precision
    operations: float
    per_second: float
    of_dram: float | None
    of_l2: float | None
    roof: Roof | None

    def limit(self, dram: Roof | None) -> float | None:
        """Return the operations a second that the roofs above this intensity allow."""
        slope = dram.per_second * self.of_dram if dram and self.of_dram else None
        known = [one for one in (slope, self.roof.per_second if self.roof else None) if one]
        return min(known) if known else None


def is_counted(shown: Shown) -> bool:
    """Tell whether the report has the counters that points are made of."""
    values = shown.combined.values
    return bool(shown.combined.duration_ns) and any(values[one.work] is not None for one in PRECISIONS)


def points(shown: Shown) -> tuple[Point, ...]:
    """Return a point for every precision that was used; none without floating-point or tensor work."""
    values, time = shown.combined.values, shown.combined.duration_ns
    found = []
    for one in PRECISIONS:
        operations = values[one.work]
        if not operations or not time:
            continue
        of_dram, of_l2 = (_over(operations, moved) for moved in (values["dram_bytes"], l2_bytes(shown)))
        found.append(Point(one, operations, operations / time * NS_PER_S, of_dram, of_l2, roof(shown, one)))
    return tuple(found)


def l2_bytes(shown: Shown) -> float | None:
    """Return the bytes between L1 and L2."""
    sectors = shown.combined.values["l2_sectors_sm"]
    return None if sectors is None else SECTOR_BYTES * sectors


def _over(operations: float, moved: float | None) -> float | None:
    return operations / moved if moved else None


def roof(shown: Shown, precision: Precision) -> Roof | None:
    """Return the most that was measured of a precision on such a GPU, else what its table says; None for neither."""
    every = shown.ceilings.rates if shown.ceilings else ()
    found = [one for one in every if one.name in precision.rates and one.kind in ("pipe", "tensor")]
    if shown.ceilings and found:
        best = max(found, key=lambda one: one.per_second)
        why = f"{best.name.replace('_', ' ')} loop, {_where(shown.ceilings, best.source)}"
        if best.sm_clock_mhz:
            why += f" at {best.sm_clock_mhz:.0f} MHz"
        return Roof(precision.label, best.per_second * precision.operations, True, why)
    return _assumed(shown, precision)


def _assumed(shown: Shown, precision: Precision) -> Roof | None:
    device, values = shown.run.device, shown.combined.values
    chip = chip_facts(device.compute_capability) if device else None
    count, clock = values["sm_count"], values["sm_clock"]
    if chip is None or not count or not clock:
        return None
    each = precision.chip_fp64 * chip.fp64 + precision.chip_fma * chip.fma
    each += precision.chip_tensor * (chip.tensor_fp16 or 0)
    why = f"peak of compute capability {chip.compute_capability} at {clock / 1e6:.0f} MHz, not measured"
    return Roof(precision.label, FMA * each * count * clock, False, why) if each else None


def dram_roof(shown: Shown) -> Roof | None:
    """Return what DRAM can deliver of this mix and number of bytes, as the rules take it; else ncu's peak, assumed."""
    facts, ceilings = shown.told.facts if shown.told else None, shown.ceilings
    if facts is not None and ceilings is not None:
        read, written = (asked / max(1, len(shown.combined.launches)) for asked in asked_bytes(facts))
        more = _up_to_measured(ceilings, read + written)
        found = dram_ceiling(ceilings, read * more, written * more)
        if found is not None:
            mix = f"{100 * read / (read + written):.0f} % reads, {quantity((read + written) * more, 'byte')}"
            short = f"; of {quantity(read + written, 'byte')} nothing was measured" if more > 1 else ""
            return Roof("DRAM", found.bytes_per_second, not found.assumed and more == 1, f"{mix}: {found.why}{short}")
    peak = dram_peak(shown)
    return Roof("DRAM", peak.per_second, False, peak.why) if peak else None


def _up_to_measured(ceilings: Ceilings, moved: float) -> float:
    """Return by how much bytes must grow to be as many as were measured: below, the start of a launch counts."""
    least = min((one.bytes for one in ceilings.dram if one.source == "ncu"), default=0)
    return max(1.0, least / moved) if moved > 0 else 1.0


def dram_peak(shown: Shown) -> Roof | None:
    """Return what ncu takes for 100 % of DRAM."""
    peak = shown.combined.values["dram_peak_bandwidth"]
    return Roof("DRAM peak", peak, False, "100 % of ncu's DRAM throughput; no kernel reaches it") if peak else None


def l2_roof(shown: Shown) -> Roof | None:
    """Return the most that was measured of L2; None where nobody did."""
    ceilings = shown.ceilings
    if ceilings is None or not ceilings.l2:
        return None
    best = max(ceilings.l2, key=lambda one: one.bytes_per_second)
    kept = f"{quantity(best.footprint_bytes, 'byte')} read again and again, " if best.footprint_bytes else ""
    return Roof("L2", best.bytes_per_second, True, kept + _where(ceilings, best.source))


def _where(ceilings: Ceilings, source: str) -> str:
    where = "this GPU" if ceilings.origin == "live" else f"another {ceilings.device.name}"
    return f"measured on {where} under {source}"
