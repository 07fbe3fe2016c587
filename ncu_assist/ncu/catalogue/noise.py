"""How far a metric strays when the same kernel is profiled again, from recorded repeats of each chip.

A deviation is the largest distance of any repeat from the median of its kernel, in the kernel that strays most. It has
two parts: relative to the value, of kernels that do what is counted; absolute, of kernels that hardly do. Percentages
stray in points. Short kernels have their own: below about 20 us a counter that needs several passes is put together
from launches that differ.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS

NoiseClass = Literal["exact", "within 0.01 %", "within 1 %", "within 5 %", "wanders", "unknown"]
Repeats = Literal["exact", "counted", "strays"]

DATA = Path(__file__).parent / "data"
REPEATED_CHIP = "gh100"  # of which repeats of several kernels were recorded
SHORT_NS = 20_000.0  # untouched kernels of 11 to 13 us moved by 7 to 12 % in a public pair of reports, 2 us by 9 %
NEGLIGIBLE = 0.01  # of the largest median: a kernel below it hardly does what is counted, and strays without meaning
# Most metrics of a long kernel stay below 1 %; what strays by more than 5 % cannot carry a comparison on its own.
LIMITS: tuple[tuple[float, NoiseClass], ...] = (
    (0.0, "exact"), (1e-4, "within 0.01 %"), (0.01, "within 1 %"), (0.05, "within 5 %"),
)  # fmt: skip
# What is counted while a kernel runs repeats exactly in most, but not where warps poll for their data or for a lock: a
# kernel of CUTLASS executed up to 0.007 % more instructions from launch to launch, and had 1,310,720 and 1,310,730 bank
# conflicts, in public reports.
COUNTED = 1e-4
# What compiler, launch and chip settle before a kernel runs, by ncu's name.
SETTLED, SETTLED_ROLLUP = ("launch__", "device__", "sm__maximum_"), ".peak_sustained"


@dataclass(frozen=True)
class Deviation:
    """How far a metric strays: ``relative`` of its value and ``absolute`` in its unit; points of a percentage."""

    relative: float
    absolute: float
    in_points: bool = False

    def of(self, value: float) -> float:
        """Return how far a value may be from what another repeat would give, in its unit."""
        return self.relative * abs(value) + self.absolute

    @property
    def share(self) -> float:
        """The same as a part of the value, of 100 for a percentage."""
        return self.absolute / 100 if self.in_points else self.relative


@dataclass(frozen=True)
class Recording:
    """Repeats of one chip. ``deviation``: by our key or ncu's name, of long and of short kernels; None: none did it."""

    chip: str
    gpu: str
    ncu: str
    launches: int
    deviation: dict[str, tuple[Deviation | None, Deviation | None]]

    def of(self, key: str, duration_ns: float) -> Deviation | None:
        """Return how far a metric strays in a kernel of this duration; None where no recorded kernel exercised it."""
        long, short = self.deviation.get(key, (None, None))
        return short if duration_ns < SHORT_NS else long


@functools.cache
def recording(chip: str) -> Recording | None:
    """Return the recorded repeats of a chip; None where there are none."""
    path = DATA / f"noise_{chip}.json.zst"
    if not path.is_file():
        return None
    import zstandard

    raw = json.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
    launches = sum(kernel["launches"] for kernel in raw["kernels"])
    return Recording(raw["chip"], raw["gpu"], raw["ncu"], launches, deviations(raw["deviation"]))


def deviations(raw: Mapping[str, Sequence[list[float] | None]]) -> dict[str, tuple[Deviation | None, Deviation | None]]:
    """Return the deviations of a recording as its file has them, of long and of short kernels."""
    return {key: (_deviation(long), _deviation(short)) for key, (long, short) in raw.items()}


def _deviation(raw: list[float] | None) -> Deviation | None:
    """Return what a file has as [relative, absolute], or [points] of a percentage."""
    if raw is None:
        return None
    return Deviation(0.0, raw[0], in_points=True) if len(raw) == 1 else Deviation(raw[0], raw[1])


def deviation_of(kernels: Sequence[Sequence[float]], unit: str) -> Deviation | None:
    """Return how far a metric strays, from what the repeats of each kernel had; None where none did what is counted."""
    exercised = [values for values in kernels if any(values)]
    if not exercised:
        return None
    found = [(abs(median(values)), spread(values)) for values in exercised]
    if unit == "%":
        return Deviation(0.0, max(strays for _, strays in found), in_points=True)
    floor = NEGLIGIBLE * max(middle for middle, _ in found)
    relative = max((strays / middle for middle, strays in found if middle and middle >= floor), default=0.0)
    absolute = max((strays for middle, strays in found if not middle or middle < floor), default=0.0)
    return Deviation(relative, absolute)


def spread(values: Sequence[float]) -> float:
    """Return the largest distance of a repeat from their median."""
    middle = median(values)
    return max(abs(value - middle) for value in values)


def repeats_as(key: str, chip: str = REPEATED_CHIP) -> Repeats:
    """Return how a key of the catalogue repeats in the same kernel.

    ``exact``: settled before it runs, and the same in every repeat of long and of short kernels that was recorded.
    ``counted``: by COUNTED, where the catalogue has it as a count of what the code does. All else ``strays``.
    """
    row = ROWS.get(key)
    if row is None or not row.exact:
        return "strays"
    known = recording(chip)
    seen = known.deviation.get(key, (None, None)) if known else (None, None)
    proven = all(strays is not None and strays.share == 0 and strays.absolute == 0 for strays in seen)
    parts = [row] if isinstance(row, Metric) else [CATALOGUE[need] for need in row.needs]
    names = [name for part in parts for name in part.names]
    settled = all(name.startswith(SETTLED) or name.endswith(SETTLED_ROLLUP) for name in names)
    return "exact" if proven and settled else "counted"


def noise_class(key: str, chip: str, duration_ns: float) -> NoiseClass:
    """Return how far a metric strays as a word."""
    known = recording(chip)
    strays = known.of(key, duration_ns) if known else None
    if strays is None:
        return "unknown"
    share = max(strays.share, COUNTED) if repeats_as(key, chip) == "counted" else strays.share
    return next((word for limit, word in LIMITS if share <= limit), "wanders")
