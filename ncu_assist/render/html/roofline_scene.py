"""What a roofline shows, before it has a place: points of both sides, roofs, and which of them binds."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.quantity import quantity
from ncu_assist.render.html.roofline_numbers import (
    USUAL,
    Point,
    Roof,
    dram_peak,
    dram_roof,
    l2_roof,
    points,
    roof,
)
from ncu_assist.render.precisions import PRECISIONS
from ncu_assist.rules.model.resources import BUSY_PERCENT, Bottleneck

# Compilers load constants with HFMA2. Kernels of the fault gallery that compute nothing in halves have no HADD2 and no
# HMUL2, and at most 54 HFMA2 a thread; one that multiplies matrices of halves has 17,000.
A_THREAD = 64
OPERATIONS_OF_HFMA2 = 4
ONLY_CONSTANTS = f"at most {A_THREAD} HFMA2 a thread and no HADD2 or HMUL2: compilers load constants so"


@dataclass(frozen=True)
class Scene:
    """The points of the run and of the baseline, the roofs of bandwidths and of operations.

    ``main`` is the point nearest to its roof, of equals the one with the most operations; ``binding`` is that roof, the
    lowest, which need not be what binds: ``bound`` is.
    """

    points: tuple[Point, ...]
    before: tuple[Point, ...]
    trifles: tuple[Point, ...]  # of the run, that are not drawn
    slopes: tuple[Roof, ...]
    flats: tuple[Roof, ...]
    main: Point
    binding: Roof | None
    bound: Bottleneck | None = None

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


def scene_of(shown: Shown, baseline: Shown | None = None) -> Scene | None:
    """Return the scene of a run; None without floating-point or tensor work. Roofs are those of the run."""
    every, old = points(shown), points(baseline) if baseline else ()
    own = tuple(one for one in every if not is_trifle(one, shown))
    if not own:
        return None
    seen = {one.precision.label for one in own}
    kept = (one for one in old if one.precision.label in seen or (baseline and not is_trifle(one, baseline)))
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
    return Scene(own, before, trifles, *drawn, main, binding_of(main, dram), shown.bottleneck)


def is_trifle(point: Point, shown: Shown) -> bool:
    """Tell whether the pairs of halves are so few, and of such a kind, that they may only load constants."""
    values = shown.combined.values
    if point.precision.label != "FP16" or values["fp16_add_per_cycle"] or values["fp16_mul_per_cycle"]:
        return False
    return point.operations <= A_THREAD * OPERATIONS_OF_HFMA2 * (values["threads"] or 0.0)


def share_of(point: Point, dram: Roof | None) -> float | None:
    """Return how much of what its roofs allow a point reaches, 1 for all; None where no roof is known."""
    limit = point.limit(dram)
    return point.per_second / limit if limit else None


def binding_of(point: Point, dram: Roof | None) -> Roof | None:
    """Return the lower of the roofs above a point."""
    if dram is None or not point.of_dram:
        return point.roof
    return point.roof if point.roof and point.roof.per_second < dram.per_second * point.of_dram else dram


def unit_of(label: str) -> str:
    """Return what a precision counts: integers of the tensor cores are no floating point."""
    return "OP" if "INT" in label else "FLOP"


def rate_of(roof: Roof) -> str:
    """Return what a roof allows, e.g. ``4.33 TB/s``."""
    is_bandwidth = roof.label.startswith(("DRAM", "L2"))
    return quantity(roof.per_second, "B/s" if is_bandwidth else f"{unit_of(roof.label)}/s")


def name_of(roof: Roof) -> str:
    """Return what a roof is called; an assumed one says so."""
    return f"{roof.label} {rate_of(roof)}{'' if roof.measured else ' assumed'}"


def label_of(point: Point) -> str:
    """Return what stands at a point, e.g. ``FP32 2.78 TFLOP/s``."""
    return f"{point.precision.label} {quantity(point.per_second, unit_of(point.precision.label) + '/s')}"


def hint_of(point: Point) -> str:
    """Return a point in words."""
    near = [(value, where) for value, where in ((point.of_dram, "DRAM"), (point.of_l2, "L2")) if value]
    return ", ".join([label_of(point), *(f"{quantity(value, '')} per byte of {where}" for value, where in near)])
