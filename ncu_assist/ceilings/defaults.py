"""What DRAM can reach where nobody measured such a GPU, by its kind of memory. All that rests on it is *assumed*."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MemoryKind = Literal["HBM", "GDDR", "LPDDR"]

# Which memory a compute capability comes with (NVIDIA's architecture whitepapers and list of CUDA GPUs): the chips of
# data centres that end in 0 have HBM, those of the Jetson, Drive and Spark boards LPDDR, all others GDDR.
HBM = ("6.0", "7.0", "8.0", "9.0", "10.0", "10.3")
LPDDR = ("5.3", "6.2", "7.2", "8.7", "10.1", "11.0", "12.1")
# The time that a launch spends before and after DRAM is busy. Streams of 32 to 256 MiB take that much longer than their
# bytes at the rate of 4 GiB, up to 3.2 µs on an H200 and an H100 (the curves under ncu that come with the tool).
START_NS = 3000.0


@dataclass(frozen=True)
class DramDefault:
    """What large streams reached on GPUs with this kind of memory, as shares of DRAM's peak, 0 to 1.

    ``seen_on``: the products; empty where none was read of, and the least of the other kinds stands in. Read from 236
    public reports of 49 repositories (docs/sources.md, "Rates"), not measured by us.
    """

    kind: str
    low: float
    high: float
    seen_on: tuple[str, ...]

    def share(self, duration_ns: float) -> float:
        """Return what a launch of this duration can reach: the least of what streams reached, but for its start."""
        return self.low * max(0.0, 1.0 - START_NS / duration_ns) if duration_ns > 0 else 0.0

    @property
    def why(self) -> str:
        """Where it is from, in words."""
        if not self.seen_on:
            return f"no stream over {self.kind} was seen: that of other memory, {self._range}"
        return f"streams over {self.kind} reach {self._range} on {', '.join(self.seen_on)}"

    @property
    def _range(self) -> str:
        return f"{100 * self.low:.0f} to {100 * self.high:.0f} %"


_GDDR = DramDefault("GDDR", 0.91, 0.96, ("T4", "GTX 1660 SUPER", "A40", "RTX 4090"))
_HBM = DramDefault("HBM", 0.89, 0.95, ("V100", "A100", "H100"))
_LPDDR = DramDefault("LPDDR", 0.89, 0.96, ())
_UNKNOWN = DramDefault("memory of an unknown kind", 0.89, 0.96, ())
DRAM_DEFAULTS: dict[MemoryKind, DramDefault] = {"HBM": _HBM, "GDDR": _GDDR, "LPDDR": _LPDDR}


def memory_kind(compute_capability: str) -> MemoryKind | None:
    """Return the kind of DRAM that GPUs of a compute capability such as '8.6' have; None where that is not said."""
    if not compute_capability:
        return None
    return "HBM" if compute_capability in HBM else "LPDDR" if compute_capability in LPDDR else "GDDR"


def dram_default(compute_capability: str) -> DramDefault:
    """Return what stands in for a curve of DRAM that nobody measured."""
    kind = memory_kind(compute_capability)
    return DRAM_DEFAULTS[kind] if kind else _UNKNOWN
