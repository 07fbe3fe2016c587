"""Metrics that no report holds and that follow from those it does: each a small formula over the catalogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ncu_assist.ncu.metric import Better, Combine
from ncu_assist.ncu.metrics import CATALOGUE

Values = Mapping[str, float]

SECTOR_BYTES = 32  # CUDA C++ Programming Guide, device memory accesses: the unit of traffic between L1, L2 and DRAM
NOT_APPLICABLE = math.nan


@dataclass(frozen=True)
class Derived:
    """One derived metric. ``needs`` are keys of the catalogue, in the order of the arguments of ``formula``."""

    key: str
    label: str
    unit: str
    meaning: str
    better: Better | None
    exact: bool
    combine: Combine
    needs: tuple[str, ...]
    formula: Callable[..., float]

    def value(self, values: Values) -> float | None:
        """Return the value from metrics by ncu's name: None where one is absent, NaN where it is not applicable.

        Not applicable is a ratio over traffic that there was none of, or that went through TMA.
        """
        numbers = [CATALOGUE[key].value(values) for key in self.needs]
        return None if any(number is None for number in numbers) else self.formula(*numbers)


def why_not_applicable(values: Values) -> str:
    """Return what to print for a ratio that is NaN: ``n/a (TMA)`` where TMA moved the data, else ``n/a``."""
    tma = sum(CATALOGUE[key].value(values) or 0.0 for key in ("tma_loads", "tma_stores"))
    return "n/a (TMA)" if tma > 0 else "n/a"


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else NOT_APPLICABLE


def _percent(above: float, below: float) -> float:
    return 100.0 * _ratio(above, below)


def _sector_efficiency(bytes_per_sector: float, requests: float) -> float:
    return 100.0 * bytes_per_sector / SECTOR_BYTES if requests > 0 else NOT_APPLICABLE


def _sum(first: float, second: float) -> float:
    return first + second


def _product(first: float, second: float) -> float:
    return first * second


_DERIVED = (
    Derived(
        "dram_bytes",
        "DRAM bytes",
        "byte",
        "bytes read from and written to DRAM",
        "lower",
        False,
        "sum",
        ("dram_bytes_read", "dram_bytes_write"),
        _sum,
    ),
    Derived(
        "dram_peak_bandwidth",
        "DRAM peak bandwidth",
        "byte/s",
        "what ncu takes for 100 % of DRAM: bytes a cycle times cycles a second",
        None,
        False,
        "first",
        ("dram_peak_bytes_per_cycle", "dram_clock"),
        _product,
    ),
    Derived(
        "sector_efficiency_load",
        "Sector efficiency, global loads",
        "%",
        "bytes that threads asked for, of all bytes in the sectors that they touched; 100 is coalesced",
        "higher",
        True,
        "time-mean",
        ("bytes_per_sector_load", "global_load_requests"),
        _sector_efficiency,
    ),
    Derived(
        "sector_efficiency_store",
        "Sector efficiency, global stores",
        "%",
        "bytes that threads wrote, of all bytes in the sectors that they touched; 100 is coalesced",
        "higher",
        True,
        "time-mean",
        ("bytes_per_sector_store", "global_store_requests"),
        _sector_efficiency,
    ),
    Derived(
        "sector_efficiency",
        "Sector efficiency, global",
        "%",
        "sectors that the bytes need, of those that the addresses touch; loads and stores together",
        "higher",
        True,
        "time-mean",
        ("global_sectors_ideal", "global_sectors_theoretical"),
        _percent,
    ),
    Derived(
        "sectors_per_request_load",
        "Sectors per request, global loads",
        "sector",
        "4 is ideal for 4 bytes a thread, 16 for 16 bytes a thread",
        "lower",
        False,
        "time-mean",
        ("global_load_sectors", "global_load_requests"),
        _ratio,
    ),
    Derived(
        "sectors_per_request_store",
        "Sectors per request, global stores",
        "sector",
        "4 is ideal for 4 bytes a thread, 16 for 16 bytes a thread",
        "lower",
        False,
        "time-mean",
        ("global_store_sectors", "global_store_requests"),
        _ratio,
    ),
    Derived(
        "bank_conflict_ways",
        "Bank conflict ways",
        "",
        "wavefronts over ideal wavefronts of shared memory; 1 is free of conflicts",
        "lower",
        True,
        "time-mean",
        ("shared_wavefronts", "shared_wavefronts_ideal"),
        _ratio,
    ),
    Derived(
        "excess_wavefront_share",
        "Excess wavefronts, shared memory",
        "%",
        "wavefronts that bank conflicts add, of all wavefronts of shared memory",
        "lower",
        True,
        "time-mean",
        ("shared_wavefronts_excessive", "shared_wavefronts"),
        _percent,
    ),
)

DERIVED: dict[str, Derived] = {derived.key: derived for derived in _DERIVED}
