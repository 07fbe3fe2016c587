"""How far a metric strays when the same kernel is profiled again, from recorded repeats of each chip.

A deviation is the largest distance of any repeat from the median of its kernel, in the kernel that strays most:
relative to the median, for percentages in points of 100. Kernels that hardly do what is counted are left out. Short
kernels have their own: below about 20 us a counter that needs several passes is put together from launches that differ.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

NoiseClass = Literal["exact", "within 1 %", "within 5 %", "wanders", "unknown"]

DATA = Path(__file__).parent / "data"
SHORT_NS = 20_000.0  # untouched kernels of 11 to 13 us moved by 7 to 12 % in a public pair of reports, 2 us by 9 %
# Most metrics of a long kernel stay below 1 %; what strays by more than 5 % cannot carry a comparison on its own.
LIMITS: tuple[tuple[float, NoiseClass], ...] = ((0.0, "exact"), (0.01, "within 1 %"), (0.05, "within 5 %"))


@dataclass(frozen=True)
class Recording:
    """Repeats of one chip; ``deviation`` by our key: of long and of short kernels, None where none exercised it."""

    chip: str
    gpu: str
    ncu: str
    launches: int
    deviation: dict[str, tuple[float | None, float | None]]


@functools.cache
def recording(chip: str) -> Recording | None:
    """Return the recorded repeats of a chip; None where there are none."""
    path = DATA / f"noise_{chip}.json"
    if not path.is_file():
        return None
    raw = json.loads(path.read_text(encoding="utf-8"))
    launches = sum(kernel["launches"] for kernel in raw["kernels"])
    deviation = {key: (long, short) for key, (long, short) in raw["deviation"].items()}
    return Recording(raw["chip"], raw["gpu"], raw["ncu"], launches, deviation)


def deviation(key: str, chip: str, duration_ns: float) -> float | None:
    """Return how far this metric strays in a kernel of this duration; None where no recording exercised it."""
    known = recording(chip)
    long, short = known.deviation.get(key, (None, None)) if known else (None, None)
    return short if duration_ns < SHORT_NS else long


def noise_class(key: str, chip: str, duration_ns: float) -> NoiseClass:
    """Return the same as a word."""
    strays = deviation(key, chip, duration_ns)
    if strays is None:
        return "unknown"
    return next((word for limit, word in LIMITS if strays <= limit), "wanders")
