"""The numbers of a roofline: points of both sides by precision, operations a byte, the roofs above."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ncu_assist.analysis.run_view import RunView
from ncu_assist.analysis.yardstick import OPERATIONS
from ncu_assist.ceilings import Ceilings, chip_facts, dram_ceiling, dram_default
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.quantity import quantity
from ncu_assist.rules.model.dram import asked_bytes
from ncu_assist.rules.model.resources import BUSY_PERCENT, Bottleneck

NS_PER_S = 1e9
USUAL = "FP32"  # whose roof is drawn in any case


LANES = 32  # results of a warp's instruction
FMA = 2  # operations of a multiply-add


@dataclass(frozen=True)
class Precision:
    """One kind of operations: the key of its count, the rates that measure its ceiling, and what those count.

    ``chip_fp64``, ``chip_fma`` and ``chip_tensor`` are multiply-adds in ``ChipFacts``' rates: what is assumed where
    nothing was measured; all 0 where the table of chips says nothing of it.
    """

    label: str
    work: str
    rates: tuple[str, ...]
    operations: float  # of one unit of these rates
    chip_fp64: float = 0.0
    chip_fma: float = 0.0
    chip_tensor: float = 0.0


def _tensor(what: str, rates: tuple[str, ...], of_halves: float, of_fp64: float = 0.0) -> Precision:
    return Precision(f"Tensor {what}", f"tensor_ops_{what.lower()}", rates, 1.0, of_fp64, 0.0, of_halves)


# What tensor cores do of one type beside halves: NVIDIA's architecture papers of 8.0 and 9.0, dense.
PRECISIONS: tuple[Precision, ...] = (
    Precision("FP64", "fp64_flops", ("fp64",), FMA * LANES, chip_fp64=1.0),
    Precision("FP32", "fp32_flops", ("fma",), FMA * LANES, chip_fma=1.0),
    Precision("FP16", "fp16_flops", ("fp16",), 2 * FMA * LANES),  # HFMA2: pairs
    _tensor("FP64", ("mma_fp64", "wgmma_fp64"), 0.0, of_fp64=2.0),
    _tensor("TF32", ("mma_tf32", "wgmma_tf32"), 0.5),
    _tensor("BF16", ("mma_bf16", "wgmma_bf16", "mma_fp16", "wgmma_fp16"), 1.0),
    _tensor("FP16", ("mma_fp16", "wgmma_fp16", "mma_bf16", "wgmma_bf16"), 1.0),
    _tensor("FP8", ("mma_fp8", "wgmma_fp8"), 2.0),
    _tensor("INT8", ("mma_int8", "wgmma_int8"), 2.0),
)


@dataclass(frozen=True)
class Roof:
    """A limit: operations or bytes a second; ``measured`` on such a GPU, else assumed; ``why`` in words."""

    label: str
    per_second: float
    measured: bool
    why: str
    clock: float | None = None  # of the SMs, where it was measured and goes with them


@dataclass(frozen=True)
class RooflinePoint:
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


NOTABLE = 0.01  # of the operations needed: addresses and scalars come to less


def counted_operations(shown: RunView) -> tuple[float, list[tuple[str, float]]]:
    """Return the operations that the work needs, and those counted by precision, without what is no part of them.

    There are none but of work whose least time operations set, and without counters.
    """
    row, values = shown.row, shown.combined.values
    needed = (row.workload.flops or 0.0) if row and row.measure is OPERATIONS else 0.0
    counted = [(one.label, values[one.work] or 0.0) for one in PRECISIONS]
    return needed, [(label, count) for label, count in counted if needed and count >= NOTABLE * needed]


def is_counted(shown: RunView) -> bool:
    """Tell whether the report has the counters that points are made of."""
    values = shown.combined.values
    return bool(shown.combined.duration_ns) and any(values[one.work] is not None for one in PRECISIONS)


def points(shown: RunView) -> tuple[RooflinePoint, ...]:
    """Return a point for every precision that was used; none without floating-point or tensor work."""
    values, time = shown.combined.values, shown.combined.duration_ns
    found = []
    for one in PRECISIONS:
        operations = values[one.work]
        if not operations or not time:
            continue
        moved = values["dram_bytes"], l2_bytes(shown)
        of_dram, of_l2 = (operations / each if each else None for each in moved)
        found.append(RooflinePoint(one, operations, operations / time * NS_PER_S, of_dram, of_l2, roof(shown, one)))
    return tuple(found)


def l2_bytes(shown: RunView) -> float | None:
    """Return the bytes between L1 and L2."""
    sectors = shown.combined.values["l2_sectors_sm"]
    return None if sectors is None else SECTOR_BYTES * sectors


def roof(shown: RunView, precision: Precision) -> Roof | None:
    """Return the most that was measured of a precision on such a GPU, else what its table says; None for neither."""
    every = shown.ceilings.rates if shown.ceilings else ()
    found = [one for one in every if one.name in precision.rates and one.kind in ("pipe", "tensor")]
    if shown.ceilings and found:
        best = max(found, key=lambda one: one.per_second)
        why = f"{best.name.replace('_', ' ')} loop, {_where(shown.ceilings, best.source)}"
        if best.sm_clock_mhz:
            why += f" at {best.sm_clock_mhz:.0f} MHz"
        clock = best.sm_clock_mhz * 1e6 if best.sm_clock_mhz else None
        return Roof(precision.label, best.per_second * precision.operations, True, why, clock)
    return _assumed(shown, precision)


def _assumed(shown: RunView, precision: Precision) -> Roof | None:
    device, values = shown.run.device, shown.combined.values
    chip = chip_facts(device.compute_capability) if device else None
    count, clock = values["sm_count"], values["sm_clock"]
    if chip is None or not count or not clock:
        return None
    each = precision.chip_fp64 * chip.fp64 + precision.chip_fma * chip.fma
    each += precision.chip_tensor * (chip.tensor_fp16 or 0)
    why = f"peak of compute capability {chip.compute_capability} at {clock / 1e6:.0f} MHz, not measured"
    return Roof(precision.label, FMA * each * count * clock, False, why) if each else None


def dram_roof(shown: RunView) -> Roof | None:
    """Return what DRAM can deliver of this mix and number of bytes, as the rules take it; else the default, assumed."""
    facts, ceilings = shown.results.facts if shown.results else None, shown.ceilings
    if facts is not None and ceilings is not None:
        read, written = (asked / max(1, len(shown.combined.launches)) for asked in asked_bytes(facts))
        more = _up_to_measured(ceilings, read + written)
        found = dram_ceiling(ceilings, read * more, written * more)
        if found is not None:
            mix = f"{100 * read / (read + written):.0f} % reads, {quantity((read + written) * more, 'byte')}"
            short = f"; of {quantity(read + written, 'byte')} nothing was measured" if more > 1 else ""
            return Roof("DRAM", found.bytes_per_second, not found.assumed and more == 1, f"{mix}: {found.why}{short}")
    peak = dram_peak(shown)
    return _default(shown, peak) if peak else None


def _default(shown: RunView, peak: Roof) -> Roof:
    """Return what the kind of memory stands for where no curve answers: the least of what streams reached."""
    default = dram_default(shown.run.device.compute_capability if shown.run.device else "")
    return Roof("DRAM", default.low * peak.per_second, False, f"{default.why}: the least of that")


def _up_to_measured(ceilings: Ceilings, moved: float) -> float:
    """Return by how much bytes must grow to be as many as were measured: below, the start of a launch counts."""
    least = min((one.bytes for one in ceilings.dram if one.source == "ncu"), default=0)
    return max(1.0, least / moved) if moved > 0 else 1.0


def dram_peak(shown: RunView) -> Roof | None:
    """Return what ncu takes for 100 % of DRAM."""
    peak = shown.combined.values["dram_peak_bandwidth"]
    return Roof("DRAM peak", peak, False, "100 % of ncu's DRAM throughput; no kernel reaches it") if peak else None


def l2_roof(shown: RunView) -> Roof | None:
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


# Compilers load constants with HFMA2. Kernels of the fault gallery that compute nothing in halves have no HADD2 and no
# HMUL2, and at most 54 HFMA2 a thread; one that multiplies matrices of halves has 17,000.
A_THREAD = 64
OPERATIONS_OF_HFMA2 = 4
ONLY_CONSTANTS = f"at most {A_THREAD} HFMA2 a thread and no HADD2 or HMUL2: compilers load constants so"


@dataclass(frozen=True)
class RooflineNumbers:
    """The points of the run and of the baseline, the roofs of bandwidths and of operations.

    ``main`` is the point nearest to its roof, of equals the one with the most operations; ``binding`` is that roof, the
    lowest, which need not be what binds: ``bound`` is.
    """

    points: tuple[RooflinePoint, ...]
    before: tuple[RooflinePoint, ...]
    trifles: tuple[RooflinePoint, ...]  # of the run, that are not drawn
    slopes: tuple[Roof, ...]
    flats: tuple[Roof, ...]
    main: RooflinePoint
    binding: Roof | None
    bound: Bottleneck | None = None
    clock: float | None = None  # of the SMs in the run

    @property
    def binds(self) -> bool:
        """Whether the lowest roof is what binds: that says the bottleneck, which is the same one everywhere."""
        group = self.bound.group if self.bound else ""
        return self.is_near and group == ("DRAM" if self.binding == self.dram else "SM")

    @property
    def is_near(self) -> bool:
        """Whether the main point is so near to its roof that this can be what binds; NVIDIA's bound for a busy unit."""
        return 100.0 * (share_of(self.main, self.dram) or 0.0) >= BUSY_PERCENT

    @property
    def dram(self) -> Roof | None:
        return next((one for one in self.slopes if one.label == "DRAM"), None)

    @property
    def roofs(self) -> tuple[Roof, ...]:
        return (*self.slopes, *self.flats)


def roofline_numbers(shown: RunView, baseline: RunView | None = None) -> RooflineNumbers | None:
    """Return the scene of a run; None without floating-point or tensor work. Roofs are those of the run."""
    every, old = points(shown), points(baseline) if baseline else ()
    own = tuple(one for one in every if not is_only_constants(one, shown))
    if not own:
        return None
    seen = {one.precision.label for one in own}
    kept = (one for one in old if one.precision.label in seen or (baseline and not is_only_constants(one, baseline)))
    before = tuple(kept)
    dram, peak = dram_roof(shown), dram_peak(shown)
    used = {one.precision.label: one.roof for one in (*before, *own)}
    flats = [
        used[one.label] if one.label in used else roof(shown, one)
        for one in PRECISIONS
        if one.label in used or one.label == USUAL
    ]
    is_other = dram is not None and peak is not None and dram.per_second != peak.per_second
    slopes = (l2_roof(shown), peak if is_other else None, dram)
    main = max(own, key=lambda one: (round(share_of(one, dram) or 0.0, 3), one.operations))
    drawn = tuple(one for one in slopes if one), tuple(one for one in flats if one)
    trifles = tuple(one for one in every if one not in own)
    clock = shown.combined.values["sm_clock"]
    return RooflineNumbers(own, before, trifles, *drawn, main, binding_of(main, dram), shown.bottleneck, clock)


def is_only_constants(point: RooflinePoint, shown: RunView) -> bool:
    """Tell whether the pairs of halves are so few, and of such a kind, that they may only load constants."""
    values = shown.combined.values
    if point.precision.label != "FP16" or values["fp16_add_per_cycle"] or values["fp16_mul_per_cycle"]:
        return False
    return point.operations <= A_THREAD * OPERATIONS_OF_HFMA2 * (values["threads"] or 0.0)


def share_of(point: RooflinePoint, dram: Roof | None) -> float | None:
    """Return how much of what its roofs allow a point reaches, 1 for all; None where no roof is known."""
    limit = point.limit(dram)
    return point.per_second / limit if limit else None


OFF_CLOCK = 0.05  # of the clock at which a ceiling was measured: ceilings of two H200 differ by less (docs/sources.md)


def clock_factor(one: Roof, clock: float | None) -> float:
    """Return how high a roof is at a clock of the SMs, 1 for as it was measured: nearly there, or without a clock."""
    factor = clock / one.clock if clock and one.clock else 1.0
    return factor if abs(factor - 1) > OFF_CLOCK else 1.0


def share_at_clock(scene: RooflineNumbers) -> float | None:
    """Return what the main point reaches of its roofs at the clock it ran at; None where that is no other number."""
    roof = scene.main.roof
    if roof is None or scene.binding != roof or (factor := clock_factor(roof, scene.clock)) == 1.0:
        return None
    return share_of(replace(scene.main, roof=replace(roof, per_second=factor * roof.per_second)), scene.dram)


def binding_of(point: RooflinePoint, dram: Roof | None) -> Roof | None:
    """Return the lower of the roofs above a point."""
    if dram is None or not point.of_dram:
        return point.roof
    return point.roof if point.roof and point.roof.per_second < dram.per_second * point.of_dram else dram
