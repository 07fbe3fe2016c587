"""How far metrics stray on one model of GPU, learned from runs whose calls were profiled several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ncu_assist.frame import Combined
from ncu_assist.ncu.catalogue.chips import chip_of
from ncu_assist.ncu.catalogue.noise import (
    COUNTED,
    REPEATED_CHIP,
    SHORT_NS,
    Deviation,
    Recording,
    deviation_of,
    recording,
    spread,
)
from ncu_assist.record import Run

LEAST_REPEATS = 3  # two that happen to be alike would make anything exact


class LearnedNoise:
    """The deviations of metrics by size class of kernel, each worked out when it is asked for."""

    def __init__(self, repeated: Sequence[Combined]) -> None:
        self._repeated = [one for one in repeated if one.repeats >= LEAST_REPEATS and one.typical_ns is not None]
        self._known: dict[tuple[str, bool], Deviation | None] = {}

    def __bool__(self) -> bool:
        return bool(self._repeated)

    def of(self, key: str, unit: str, duration_ns: float) -> Deviation | None:
        """Return how far a metric strays in a kernel of this duration; None where no repeated kernel exercised it."""
        short = duration_ns < SHORT_NS
        if (key, short) not in self._known:
            alike = [one for one in self._repeated if ((one.typical_ns or 0.0) < SHORT_NS) == short]
            columns = [one.samples(key) for one in alike]
            whole = [column for column, one in zip(columns, alike, strict=True) if len(column) == one.repeats]
            self._known[key, short] = deviation_of(whole, unit)
        return self._known[key, short]


Distance = Literal["within", "near", "beyond"]

# Of the metrics that do not repeat exactly, most stay below 1 % in a long kernel and half of them in a short one
# (docs/sources.md, Noise): no recording of few kernels proves less than half of that for the next kernel. Ratios of a
# short kernel are put together from passes that differ: one of 2 us had 39 % of a stall in one process, 14 in the next.
FLOOR, SHORT_FLOOR, SHORT_POINTS = 0.005, 0.05, 10.0
UNKNOWN_FACTOR = 2.0  # times the floor, where no recorded kernel did what is counted
WITHIN, BEYOND = 2.0, 4.0  # both sides stray, each as far as any repeat that was recorded; twice that is a change
ENOUGH_REPEATS = 5  # of both sides: how far they stray counts alone, from LEAST_REPEATS of a side on too
EXACT = 1e-9  # of a value: what is left of a ratio of two exact counts in float64
# A printed page has two decimals, so bytes per sector are right to 0.005 of 32 and an efficiency to 0.016 points.
ROUNDED = 0.02


@dataclass(frozen=True)
class MetricReading:
    """One metric on both sides: its value, what each repeat had, and the duration of the shorter kernel if known.

    ``exact`` and ``counted`` are the catalogue's ``repeats_as``.
    """

    key: str
    unit: str
    exact: bool
    baseline: float
    candidate: float
    samples: tuple[Sequence[float], Sequence[float]] = ((), ())
    duration_ns: float | None = None
    whole: float = 0.0  # what the value is a part of, where that is known
    counted: bool = False
    apart: float = 0.0  # how far two counts of it in one launch differ, which are of different passes

    @property
    def larger(self) -> float:
        return max(abs(self.baseline), abs(self.candidate))

    @property
    def is_short(self) -> bool:
        return self.duration_ns is not None and self.duration_ns < SHORT_NS

    @property
    def floor(self) -> float:
        """The least noise of what is not exact, in its unit."""
        if self.unit == "%":
            return SHORT_POINTS if self.is_short else 100 * FLOOR
        return (SHORT_FLOOR if self.is_short else FLOOR) * max(self.larger, self.whole)


@dataclass(frozen=True)
class NoiseModel:
    """What is known of how far metrics stray: from the package, and from repeated runs of this model of GPU.

    ``rounded``: values were printed, and lost their last digits.
    """

    recording: Recording | None
    rounded: bool = False
    learned: LearnedNoise | None = None

    def amount(self, reading: MetricReading) -> float:
        """Return how far one side may stray, in the unit of the metric; what is exact does not.

        That is what recorded repeats of such kernels strayed, or the two kernels' own where they were repeated.
        """
        rounding = ROUNDED if self.rounded else 0.0
        if reading.exact:
            return max(rounding, EXACT * reading.larger) / WITHIN
        own = [spread(side) for side in reading.samples if len(side) >= LEAST_REPEATS]
        if reading.counted:
            smaller = min(abs(reading.baseline), abs(reading.candidate))  # what a kernel does not do strays by nothing
            return max(COUNTED * smaller, rounding / WITHIN, *own)
        if all(len(side) >= ENOUGH_REPEATS for side in reading.samples):
            return max(reading.floor, *own)
        return max(reading.floor, self._recorded(reading), rounding, reading.apart, *own)

    def beyond(self, reading: MetricReading) -> float:
        """Return how far apart two values are at most that may be noise, in the unit of the metric."""
        return (WITHIN if reading.exact or reading.counted else BEYOND) * self.amount(reading)

    def distance(self, reading: MetricReading) -> Distance:
        """Return whether the values are as near as repeats are, farther apart, or too far for noise."""
        moved = abs(reading.candidate - reading.baseline)
        if moved <= WITHIN * self.amount(reading):
            return "within"
        return "near" if moved <= self.beyond(reading) else "beyond"

    def _recorded(self, reading: MetricReading) -> float:
        size = reading.duration_ns if reading.duration_ns is not None else SHORT_NS
        known = [
            self.recording.of(reading.key, size) if self.recording else None,
            self.learned.of(reading.key, reading.unit, size) if self.learned else None,
        ]
        amounts = [one.of(reading.larger) for one in known if one is not None]
        return max(amounts, default=UNKNOWN_FACTOR * reading.floor)


def noise_model(*runs: Run, learned: LearnedNoise | None = None) -> NoiseModel:
    """Return what is known for the GPU of these runs; H200's repeats stand in for a chip of which nothing is known."""
    capabilities = [run.device.compute_capability for run in runs if run.device]
    chip = chip_of(capabilities[-1]) if capabilities else None
    known = recording(chip.name) if chip else None
    stand_in = None if learned else recording(REPEATED_CHIP)
    return NoiseModel(known or stand_in, any(run.rounded for run in runs), learned)
