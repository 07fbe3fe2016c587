"""Every metric of the catalogue by its key, those that reports hold and those that follow from them; and its bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ncu_assist.ncu.catalogue import formulas
from ncu_assist.ncu.catalogue.metric import (
    BY_SM_ELAPSED,
    BY_TIME,
    CAPABILITY,
    DOCUMENTED,
    EXACT,
    FORMULA,
    FORMULA_OF_DEVICE,
    HIGHER,
    IN_BOTH,
    LOWER,
    NOISY,
    SUM,
    Better,
    Combining,
    Metric,
    Way,
    rate_times_time,
    same,
    with_parts,
)
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS, ISSUED, STALL_METRICS, STALL_REASONS, TOLD_APART, in_ncu

Values = Mapping[str, float]


@dataclass(frozen=True)
class Derived:
    """One derived metric. ``needs`` are keys of the catalogue, in the order of the arguments of ``formula``.

    ``optional``: needs that count as 0 where a chip lacks them; of several one at least is there. ``words``: the
    formula, for people. ``ways``: how else it is known as a whole, where needs are absent; of a row without needs, how
    it is known.
    """

    key: str
    label: str
    unit: str
    better: Better | None
    exact: bool
    combine: Combining
    meaning: str
    needs: tuple[str, ...]
    formula: Callable[..., float]
    words: str
    optional: frozenset[str] = frozenset()
    ways: tuple[Way, ...] = field(default=(), repr=False)

    def value(self, values: Values) -> float | None:
        """Return the value from metrics by ncu's name: None where one is absent, NaN where it is not applicable.

        Not applicable is a ratio over traffic that there was none of, or whose bytes ncu does not count: what went
        through TMA or cp.async, or to shared memory by generic addresses.
        """
        found = self.of_parts({key: CATALOGUE[key].value(values) for key in self.needs})
        return found if found is not None or not self.ways else self.by_ways(values)

    def of_parts(self, parts: Mapping[str, float | None]) -> float | None:
        """Return the value from those of its needs, by key."""
        found = {key: parts.get(key) for key in self.needs}
        absent = [key for key, number in found.items() if number is None]
        if len(absent) == len(found) or not self.optional.issuperset(absent):
            return None
        if len(self.optional) > 1 and self.optional.issubset(absent):
            return None  # what no counter was collected of is not 0
        return self.formula(*(number or 0.0 for number in found.values()))

    def by_ways(self, values: Values) -> float | None:
        """Return the value where its needs are absent: as a whole, by another way."""
        return next((found for way in self.ways if (found := way.value(values)) is not None), None)

    def is_approximate(self, values: Values) -> bool:
        """Tell whether what ``value`` returns is near, and not the same: what it needs is derived from others."""
        if any(CATALOGUE[key].is_approximate(values) for key in self.needs):
            return True
        if not self.ways or self.of_parts({key: CATALOGUE[key].value(values) for key in self.needs}) is not None:
            return False
        return next((way.is_approximate(values) for way in self.ways if way.value(values) is not None), False)

    @property
    def every_name(self) -> frozenset[str]:
        """Return every name of ncu that it may be known by."""
        rows = (CATALOGUE[key].every_name for key in self.needs)
        return frozenset().union(*rows, *(way.every_name for way in self.ways))


def why_not_applicable(values: Values) -> str:
    """Return what to print for a ratio that is NaN: ``n/a (TMA)`` where TMA moved the data, else ``n/a``."""
    moved = {key: CATALOGUE[key].value(values) or 0.0 for key in ("tma_loads", "tma_stores", "async_copies")}
    if moved["tma_loads"] + moved["tma_stores"] > 0:
        return "n/a (TMA)"
    return "n/a (cp.async)" if moved["async_copies"] > 0 else "n/a"


def _flop_rows(precision: str, double: bool) -> tuple[Derived, Derived]:
    counts = (*(f"{precision}_{op}_per_cycle" for op in ("add", "mul", "fma")), "scheduler_cycles_elapsed")
    name, times = precision.upper(), "2 * " if double else ""
    caveat = "; HFMA2 that only loads a constant counts too" if double else ""
    work, per_byte = (formulas.half_flops, formulas.half_intensity) if double else (formulas.flops, formulas.intensity)
    add, mul, fma, cycles = counts
    words = f"{times}({add} + {mul} + 2 * {fma}) * {cycles}"
    return (
        Derived(f"{precision}_flops", f"{name} operations", "flop", None, NOISY, SUM,
                f"{name} operations outside the tensor cores; an FMA is two{caveat}", counts, work, words),
        Derived(f"intensity_{precision}", f"Arithmetic intensity, {name}", "flop/byte", None, NOISY, FORMULA,
                f"{name} operations a byte of DRAM traffic{caveat}", (*counts, *DRAM), per_byte,
                f"{precision}_flops / dram_bytes"),
    )  # fmt: skip


def _stall_row(reason: str) -> Derived:
    others = tuple(metric.key for metric in STALL_METRICS if metric.key != f"warps_{reason}")
    label = f"Stall: {reason.replace('_', ' ')}"
    meaning = f"share of warp states; waits for {STALL_REASONS[reason].waits_for}"
    needs = (f"warps_{reason}", *others)
    words = f"warps_{reason} / all warp states"
    row = (label, "%", STALL_REASONS[reason].better, NOISY, FORMULA, meaning, needs, formulas.share, words)
    return Derived(f"stall_{reason}", *row, optional=frozenset(others))


def _told_apart_row(reason: str) -> Derived:
    """Return the row of a wait that counters alone do not tell: of a launch by itself it has no value."""
    booked = BOOKED_AS[reason]
    meaning = f"share of warp states; waits for {TOLD_APART[reason].waits_for}"
    words = f"of warps_{booked} / all warp states, by the instruction that waits"
    row = (f"Stall: {in_ncu(reason)}", "%", TOLD_APART[reason].better, NOISY, FORMULA, meaning)
    return Derived(f"stall_{reason}", *row, (f"warps_{booked}",), formulas.untold, words)


DRAM = ("dram_bytes_read", "dram_bytes_write")
L2_PARTS = tuple(f"l2_{part}_busy" for part in ("lookups", "tags", "data", "output", "input"))
ROWS_OPENED = ("duration", "dram_bytes_read", "l2_sectors_read", "l2_sectors_write", "dram_peak_bytes_per_cycle")
OF_ROWS = (
    "rows opened * 4.6 ns / duration / (dram_peak_bytes_per_cycle / 8); a row for each sector of "
    "dram_bytes_read beyond l2_sectors_read, two beyond twice l2_sectors_read, of l2_sectors_write at most; "
    f"on 9.0 by {' and '.join(CAPABILITY)}"
)
OF_WAVEFRONTS = f"l1_data_pipe, twice that on 7.5 by {' and '.join(CAPABILITY)}"
L1_PARTS = ("l1_data_pipe", *(f"l1_{part}_busy" for part in ("requests", "writeback", "output", "fill")))
LINK = (
    "pcie_read_bandwidth", "pcie_write_bandwidth", "host_sectors_read", "host_sectors_write",
    "pcie_link_rate", "pcie_link_width",
)  # fmt: skip
TENSOR = tuple(f"tensor_ops_{what}" for what in ("fp16", "bf16", "tf32", "fp64", "fp8"))

# fmt: off
_TRAFFIC = (
    Derived("dram_bytes", "DRAM bytes", "byte", LOWER, NOISY, SUM, "bytes read from and written to DRAM",
            DRAM, formulas.total, "dram_bytes_read + dram_bytes_write",
            ways=(rate_times_time("dram_bandwidth"),)),
    Derived("dram_read_share", "DRAM reads", "%", None, NOISY, FORMULA,
            "reads of all DRAM bytes: the mix that a ceiling is looked up for",
            DRAM, formulas.share, "dram_bytes_read / dram_bytes"),
    Derived("dram_peak_bandwidth", "DRAM peak bandwidth", "byte/s", None, NOISY, FORMULA_OF_DEVICE,
            "what ncu takes for 100 % of DRAM: bytes a cycle times cycles a second",
            ("dram_peak_bytes_per_cycle", "dram_clock"), formulas.product, "dram_peak_bytes_per_cycle * dram_clock"),
    Derived("dram_rate", "DRAM bytes over time", "byte/s", HIGHER, NOISY, FORMULA,
            "DRAM bytes of all launches over their time: the throughput of a chain, long launches weigh more",
            ("duration", *DRAM), formulas.rate, "dram_bytes / duration",
            ways=(same("dram_bandwidth", DOCUMENTED),)),
    Derived("dram_of_ceiling", "DRAM, of the measured ceiling", "%", HIGHER, NOISY, FORMULA,
            "DRAM bandwidth against what a plain kernel reached here; absent where no ceiling was measured",
            ("dram_bandwidth", "dram_ceiling"), formulas.percent, "dram_bandwidth / dram_ceiling"),
    Derived("dram_rows_busy", "DRAM rows", "%", None, NOISY, BY_TIME,
            "time that DRAM opens rows, if sectors read alone or written in part need one each; HBM3 alone",
            (), formulas.untold, "rows opened * 4.6 ns / duration, in each pseudo-channel",
            ways=(Way((*ROWS_OPENED, *CAPABILITY), formulas.rows_busy, OF_ROWS, "benchmarks/scattered_reads.cu",
                      approximate=True),)),
    Derived("l2_rate", "L2 bytes over time", "byte/s", None, NOISY, FORMULA,
            "bytes between L1 and L2 of all launches over their time",
            ("duration", "l2_sectors_sm"), formulas.sector_rate, "32 * l2_sectors_sm / duration"),
    Derived("l2_busy", "L2, busiest part", "%", None, NOISY, FORMULA,
            "busiest part of L2 of those in ncu's memory throughput, in percent of its peak",
            L2_PARTS, formulas.largest, f"largest of {', '.join(L2_PARTS)}"),
    Derived("l1_data_busy", "L1 data pipe", "%", None, NOISY, BY_SM_ELAPSED,
            "cycles in which the data pipe of L1 moves wavefronts of global, local and shared memory, of all cycles",
            (), formulas.untold, OF_WAVEFRONTS,
            ways=(Way(("l1_data_pipe", *CAPABILITY), formulas.cycles_of_wavefronts, OF_WAVEFRONTS, IN_BOTH),
                  same("l1_data_pipe", "a wavefront a cycle, where the chip is not known", approximate=True))),
    Derived("l1_busy", "L1, busiest part", "%", None, NOISY, FORMULA,
            "busiest part of L1 of those in ncu's memory throughput, in percent of its peak",
            L1_PARTS, formulas.largest, f"largest of {', '.join(L1_PARTS)}"),
    Derived("host_bytes", "Host memory bytes", "byte", LOWER, NOISY, SUM,
            "bytes of host memory that the kernel read and wrote across PCIe or C2C",
            ("host_sectors_read", "host_sectors_write"), formulas.sector_bytes,
            "32 * (host_sectors_read + host_sectors_write)"),
    Derived("host_link_busy", "Host link", "%", None, NOISY, FORMULA,
            "bytes over PCIe to or from host memory, the busier way, of what its lanes carry; C2C is not in it",
            LINK, formulas.link_share,
            "larger of pcie_read_bandwidth, pcie_write_bandwidth / (pcie_link_rate * pcie_link_width / 8 * 128 / 130)"),
    Derived("bytes_in_flight", "Bytes in flight per SM", "byte", None, NOISY, FORMULA,
            "bytes of loads under way in an SM; a lower bound, as a warp that waits may wait for several loads",
            ("warps_long_scoreboard", "issued_per_cycle", "global_load_sectors", "global_load_requests"),
            formulas.bytes_in_flight,
            "Little's law: 4 schedulers * warps_long_scoreboard * issued_per_cycle * 32 * sectors_per_request_load"),
)
ASYNC = frozenset({"async_copies"})
_ACCESSES = (
    Derived("sector_efficiency_load", "Sector efficiency, global loads", "%", HIGHER, EXACT, FORMULA,
            "bytes that threads asked for, of all bytes in the sectors that they touched; 100 is coalesced",
            ("bytes_per_sector_load", "global_load_requests", "async_copies"), formulas.sector_efficiency,
            "bytes_per_sector_load / 32", ASYNC),
    Derived("sector_efficiency_store", "Sector efficiency, global stores", "%", HIGHER, EXACT, FORMULA,
            "bytes that threads wrote, of all bytes in the sectors that they touched; 100 is coalesced",
            ("bytes_per_sector_store", "global_store_requests"), formulas.sector_efficiency,
            "bytes_per_sector_store / 32"),
    Derived("sector_efficiency", "Sector efficiency, global", "%", HIGHER, EXACT, FORMULA,
            "sectors that the bytes need, of those that the addresses touch; loads and stores together",
            ("global_sectors_ideal", "global_sectors_theoretical"), formulas.percent,
            "global_sectors_ideal / global_sectors_theoretical"),
    Derived("global_load_bytes", "Global load bytes", "byte", LOWER, EXACT, SUM,
            "bytes of the sectors that global loads touched, found in L1 or not; TMA traffic is not in it",
            ("global_load_sectors",), formulas.sector_bytes, "32 * global_load_sectors"),
    Derived("global_store_bytes", "Global store bytes", "byte", LOWER, NOISY, SUM,
            "bytes of the sectors that global stores touched; TMA traffic is not in it",
            ("global_store_sectors",), formulas.sector_bytes, "32 * global_store_sectors"),
    Derived("sectors_per_request_load", "Sectors per request, global loads", "sector", None, EXACT, FORMULA,
            "4 is ideal for 4 bytes a thread, 16 for 16 bytes; see sectors_per_request_load_excess",
            ("global_load_sectors", "global_load_requests"), formulas.ratio,
            "global_load_sectors / global_load_requests"),
    Derived("sectors_per_request_store", "Sectors per request, global stores", "sector", None, NOISY, FORMULA,
            "4 is ideal for 4 bytes a thread, 16 for 16 bytes; see sectors_per_request_store_excess",
            ("global_store_sectors", "global_store_requests"), formulas.ratio,
            "global_store_sectors / global_store_requests"),
    Derived("sectors_per_request_load_ideal", "Ideal sectors per request, loads", "sector", None, EXACT, FORMULA,
            "sectors a request would touch if the bytes of its active threads lay side by side: 4 for 32 of 4 bytes",
            ("bytes_per_sector_load", "global_load_sectors", "global_load_requests", "async_copies"),
            formulas.ideal_sectors, "bytes_per_sector_load / 32 * sectors_per_request_load, at least 1", ASYNC),
    Derived("sectors_per_request_store_ideal", "Ideal sectors per request, stores", "sector", None, NOISY, FORMULA,
            "sectors a request would touch if what its active threads write lay side by side: 4 for 32 of 4 bytes",
            ("bytes_per_sector_store", "global_store_sectors", "global_store_requests"), formulas.ideal_sectors,
            "bytes_per_sector_store / 32 * sectors_per_request_store, at least 1"),
    Derived("sectors_per_request_load_excess", "Excess sectors per request, loads", "sector", LOWER, EXACT, FORMULA,
            "sectors a request touches beyond its ideal; 0 is coalesced, at any width of the access",
            ("bytes_per_sector_load", "global_load_sectors", "global_load_requests", "async_copies"),
            formulas.excess_sectors, "sectors_per_request_load - sectors_per_request_load_ideal", ASYNC),
    Derived("sectors_per_request_store_excess", "Excess sectors per request, stores", "sector", LOWER, NOISY, FORMULA,
            "sectors a request touches beyond its ideal; 0 is coalesced, at any width of the access",
            ("bytes_per_sector_store", "global_store_sectors", "global_store_requests"), formulas.excess_sectors,
            "sectors_per_request_store - sectors_per_request_store_ideal"),
    Derived("bank_conflict_ways", "Bank conflict ways", "", LOWER, EXACT, FORMULA,
            "wavefronts over ideal wavefronts of shared memory; 1 is free of conflicts",
            ("shared_wavefronts", "shared_wavefronts_ideal"), formulas.ratio,
            "shared_wavefronts / shared_wavefronts_ideal"),
    Derived("excess_wavefront_share", "Excess wavefronts, shared memory", "%", LOWER, EXACT, FORMULA,
            "wavefronts that bank conflicts add, of all wavefronts of shared memory",
            ("shared_wavefronts_excessive", "shared_wavefronts"), formulas.percent,
            "shared_wavefronts_excessive / shared_wavefronts"),
    Derived("local_requests_unspilled", "Local requests without spills", "", LOWER, EXACT, SUM,
            "accesses to local memory that no spill explains: arrays indexed at run time",
            ("local_load_requests", "local_store_requests", "local_spilling_requests"), formulas.unspilled,
            "local_load_requests + local_store_requests - local_spilling_requests"),
)
_USE = (
    Derived("sm_imbalance", "SM imbalance", "", LOWER, NOISY, FORMULA,
            "cycles of the SM that worked longest over the mean of all; 1 is even",
            ("sm_cycles_active_max", "sm_cycles_active"), formulas.ratio, "sm_cycles_active_max / sm_cycles_active"),
    Derived("sm_active_share", "SMs active", "%", HIGHER, NOISY, FORMULA,
            "cycles in which an SM had a warp, of all cycles",
            ("sm_cycles_active", "sm_cycles_elapsed"), formulas.percent, "sm_cycles_active / sm_cycles_elapsed"),
    Derived("sm_idle_share", "SMs idle", "%", LOWER, NOISY, FORMULA, "cycles in which an SM had no warp, of all cycles",
            ("sm_cycles_active", "sm_cycles_elapsed"), formulas.idle_share,
            "1 - sm_cycles_active / sm_cycles_elapsed"),
    Derived("last_wave_fill", "Last wave, filled", "%", HIGHER, EXACT, FORMULA,
            "blocks of the last wave, of those that fit; below one wave, of the only one",
            ("waves_per_sm",), formulas.last_wave, "waves_per_sm beyond whole waves"),
    Derived("occupancy_share", "Occupancy, achieved of theoretical", "%", None, NOISY, FORMULA,
            "warps that were active, of those that could have been",
            ("achieved_occupancy", "theoretical_occupancy"), formulas.percent,
            "achieved_occupancy / theoretical_occupancy"),
    Derived("idle_lane_share", "Idle lanes", "%", LOWER, EXACT, FORMULA,
            "lanes of a warp without a thread at work, through divergence or part-filled warps",
            ("threads_per_instruction",), formulas.idle_lanes, "1 - threads_per_instruction / 32"),
)
_ARITHMETIC = (
    *_flop_rows("fp64", False), *_flop_rows("fp32", False), *_flop_rows("fp16", True),
    Derived("tensor_flops", "Tensor-core operations", "flop", None, EXACT, SUM,
            "floating-point operations of the tensor cores, padding included", TENSOR, formulas.total,
            " + ".join(TENSOR), frozenset(TENSOR)),
    Derived("intensity_tensor", "Arithmetic intensity, tensor cores", "flop/byte", None, NOISY, FORMULA,
            "tensor-core operations a byte of DRAM traffic", (*DRAM, *TENSOR), formulas.tensor_intensity,
            "tensor_flops / dram_bytes", frozenset(TENSOR)),
)
# fmt: on
_STALLS = (
    *(_stall_row(name) for name in STALL_REASONS if name != ISSUED),
    *(_told_apart_row(name) for name in TOLD_APART),
)


def _linked(row: Derived) -> Derived:
    return replace(row, ways=tuple(with_parts(way, CATALOGUE) for way in row.ways)) if row.ways else row


DERIVED_GROUPS: dict[str, tuple[Derived, ...]] = {  # in the groups of the catalogue
    "Memory": tuple(map(_linked, _TRAFFIC)),
    "Accesses": tuple(map(_linked, _ACCESSES)),
    "Arithmetic": tuple(map(_linked, _ARITHMETIC)),
    "Warps": tuple(map(_linked, _USE)),
    "Warp states": _STALLS,
}

STALL_SHARES: dict[str, Derived] = {derived.key: derived for derived in _STALLS}
ALL_DERIVED: dict[str, Derived] = {derived.key: derived for group in DERIVED_GROUPS.values() for derived in group}
# What is combined over launches; the shares of stall reasons are an open set that `frame` combines by itself.
DERIVED: dict[str, Derived] = {key: derived for key, derived in ALL_DERIVED.items() if key not in STALL_SHARES}

__all__ = ["ALL_DERIVED", "DERIVED", "DERIVED_GROUPS", "STALL_SHARES", "Derived", "why_not_applicable"]


Row = Metric | Derived

# The one place to look a key up: what reports hold first, then what follows from it. No key is in both.
ROWS: dict[str, Row] = {**CATALOGUE, **ALL_DERIVED}
# Of these, what `frame` combines over launches row by row; the shares of stall reasons are an open set that it combines
# together.
OVER_LAUNCHES: dict[str, Row] = {key: row for key, row in ROWS.items() if key not in STALL_SHARES}

WHOLE = 100.0
# Above and below a ratio comes from two passes, in each of which a counter strays by up to 1 % in a long kernel
# (docs/sources.md, Noise): beyond both together it is no noise.
STRAYS = 0.02
# A ratio may divide by what a rate of ours was measured at, and exceed it.
NO_PART_OF_A_WHOLE = ("dram_of_ceiling",)


def most(row: Row) -> float | None:
    """Return the largest value that a metric can have; None where nothing bounds it."""
    if isinstance(row, Metric) and row.most is not None:
        return row.most
    return WHOLE if row.unit == "%" and row.key not in NO_PART_OF_A_WHOLE else None


def is_impossible(row: Row, value: float) -> bool:
    """Tell whether no hardware can have this value: more than the whole, or less than nothing, beyond noise.

    NVIDIA's own values can be, where their counters were taken in different passes.
    """
    limit = most(row)
    return value < 0 if limit is None else not -STRAYS * limit <= value <= (1 + STRAYS) * limit
