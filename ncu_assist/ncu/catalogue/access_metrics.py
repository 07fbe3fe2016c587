"""Memory accesses of the SM: global, local and shared memory, spills, clusters, TMA; and how else they are known."""

from __future__ import annotations

import math

from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.ncu.catalogue.metric import (
    BEFORE_HOPPER,
    BY_SM_ELAPSED,
    CAPABILITY,
    COMPARED,
    EXACT,
    HARDWARE,
    HIGHER,
    LOWER,
    MEMORY,
    NOISY,
    NOWHERE,
    RELEASE_2019,
    SECTION,
    SOURCE,
    SUM,
    TABLES,
    Better,
    Metric,
    Way,
    added,
    less,
    mean_by,
    same,
)

# What L1 looked up for loads, stores and atomics; textures are not in it.
L1_SECTORS = " + ".join(
    [
        *(f"global_{op}_sectors" for op in ("load", "store", "reduction", "atomic")),
        "local_load_sectors",
        "local_store_sectors",
    ]
)
VERBS = {"ld": "load", "st": "store", "red": "reduction", "atom": "atomic"}


def _l1(space: str, op: str, what: str, exact: bool) -> Metric:
    """Return a row on what L1 looked up: ``what`` is requests (one a warp's instruction) or sectors (32 bytes)."""
    verb = VERBS[op]
    key, name = f"{space}_{verb}_{what}", f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{op}.sum"
    label, unit = f"{space.capitalize()} {verb}s: {what}", "sector" if what == "sectors" else ""
    about = "spills, and arrays indexed at run time" if space == "local" else "that pass L1; TMA traffic does not"
    meaning = f"{what} of {space} {verb}s{':' if space == 'local' else ''} {about}"
    ways: tuple[Way, ...] = ()
    if op in ("ld", "st") and what == "sectors":
        ways = (added((f"{L1}_{space}_op_{op}_lookup_hit.sum", f"{L1}_{space}_op_{op}_lookup_miss.sum"), LOOKED_UP),)
    elif op in ("ld", "st"):
        ways = (same(f"{space}_{verb}_instructions", ONE_REQUEST, approximate=True),)
    return Metric(key, (name,), NOWHERE, label, unit, LOWER, exact, SUM, meaning, ways=ways)


def _shared(key: str, name: str, label: str, meaning: str, exact: bool, ways: tuple[Way, ...] = ()) -> Metric:
    return Metric(key, (f"l1tex__{name}.sum",), NOWHERE, label, "", LOWER, exact, SUM, meaning, ways=ways)


def _busy(key: str, name: str, label: str, meaning: str) -> Metric:
    """Return a row on one part of L1, of those that ncu's memory throughput is the largest of."""
    names = (f"l1tex__{name}.avg.pct_of_peak_sustained_elapsed",)
    return Metric(
        key, names, NOWHERE, label, "%", None, NOISY, BY_SM_ELAPSED, f"{meaning}, in percent of what L1 can do"
    )


def _bytes(
    key: str, name: str, label: str, meaning: str, lacking: tuple[str, ...] = (), ways: tuple[Way, ...] = ()
) -> Metric:
    better: Better | None = None if lacking else LOWER
    names = (f"l1tex__m_{name}.sum",)
    return Metric(key, names, NOWHERE, label, "byte", better, NOISY, SUM, meaning, lacking=lacking, ways=ways)


L1 = "l1tex__t_sectors_pipe_lsu_mem"
LOOKED_UP = f"{COMPARED}: a sector is found in L1 or it is not"
NO_ASYNC = f"{COMPARED}: the same but for copies to shared memory that pass by registers"
ARBITRATION = f"{COMPARED}: up to 2 % of it is arbitration"
ONE_REQUEST = f"{HARDWARE}: an instruction of a warp is one request"


def _hit_rate(space: str, op: str) -> tuple[Way, ...]:
    hit, miss = (f"{L1}_{space}_op_{op}_lookup_{what}.sum" for what in ("hit", "miss"))
    return (Way((hit, miss), _share, f"{hit} / ({hit} + {miss})", LOOKED_UP),)


ACCESSES = ("global_op_ld", "global_op_st", "local_op_ld", "local_op_st")


def _share(*parts: float) -> float:
    """Return the first half of some sectors, those that were found, of all of them, in percent."""
    hit, whole = sum(parts[: len(parts) // 2]), sum(parts)
    return 100.0 * hit / whole if whole > 0 else math.nan


ALIKE = f"{SECTION}: Source Counters, loads and stores together; taken as of one width where both are scattered"
BOTH = ("global_load_sectors", "global_load_requests", "global_store_sectors", "global_store_requests")
USED_BY_BOTH = (
    f"{SECTOR_BYTES} * sectors that a request needs over those that it touches, of global_sectors_ideal in "
    f"global_sectors_theoretical by {', '.join(BOTH)}"
)
# Sectors that an L1 takes from L2 in a cycle, by compute capability: bytes received over cycles and ncu's share of the
# peak, the same to 15 digits in every launch of a public or own report that holds all three.
FILL_SECTORS = {(7.0, 5.0): 1.0, (8.0, 0.0): 2.0, (8.0, 6.0): 1.0, (8.0, 9.0): 1.0, (9.0, 0.0): 4.0}
FILL = "l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_elapsed"


def _used_by_stores(ideal: float, touched: float, *both: float) -> float:
    return _used(ideal, touched, *both[2:], *both[:2])


def _used(ideal: float, touched: float, sectors: float, requests: float, others: float, other_requests: float) -> float:
    """Return the bytes used of each sector of one kind of access, where only both kinds together are known.

    A request of either kind needs as many sectors as one of the other, but no more than it touches: so accesses that
    are all coalesced come out so whatever their widths, and of a copy that scatters its stores only the stores are bad.
    """
    if min(sectors, requests, touched) <= 0:
        return math.nan
    left = ideal * (sectors + others) / touched
    kinds = sorted((s / r, r) for s, r in ((sectors, requests), (others, other_requests)) if s > 0 and r > 0)
    every, each = sum(count for _, count in kinds), 0.0
    for most, count in kinds:
        each = left / every
        if each <= most:
            break
        left, every, each = left - most * count, every - count, most
    return SECTOR_BYTES * min(1.0, each * requests / sectors)


def _none_of_none(*requests: float) -> float:
    return math.nan if any(requests) else 0.0


def _received(percent: float, cycles: float, count: float, major: float, minor: float) -> float:
    """Return the bytes that L1 received; NaN for a chip whose rate was not read off a report."""
    return FILL_SECTORS.get((major, minor), math.nan) * SECTOR_BYTES * percent / 100.0 * cycles * count


# fmt: off
GLOBAL: tuple[Metric, ...] = (
    Metric("l1_hit_rate", ("l1tex__t_sector_hit_rate.pct",), MEMORY, "L1/TEX Hit Rate", "%", None, NOISY,
           mean_by(L1_SECTORS),
           "sectors found in L1",
           ways=(Way(tuple(f"{L1}_{what}_lookup_{found}.sum" for found in ("hit", "miss") for what in ACCESSES),
                      _share,
                     " + ".join(f"{L1}_{what}_lookup_hit.sum" for what in ACCESSES) + " over the same with "
                     + ", ".join(f"{L1}_{what}_lookup_miss.sum" for what in ACCESSES), LOOKED_UP, approximate=True),
                 same("tex__hitrate_pct", RELEASE_2019))),
    Metric("l1_hit_rate_load", ("l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",), TABLES,
           "L1TEX Hit Rate For Global Loads", "%", None, NOISY, mean_by("global_load_sectors"),
           "sectors of global loads found in L1",
           ways=_hit_rate("global", "ld")),
    _l1("global", "ld", "requests", EXACT), _l1("global", "st", "requests", EXACT),
    _l1("global", "red", "requests", EXACT), _l1("global", "atom", "requests", EXACT),
    _l1("global", "ld", "sectors", EXACT), _l1("global", "st", "sectors", NOISY),
    _l1("global", "red", "sectors", EXACT), _l1("global", "atom", "sectors", NOISY),
    Metric("bytes_per_sector_load", ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",), TABLES,
           "Bytes used per sector, global loads", "byte/sector", HIGHER, EXACT, mean_by("global_load_sectors"),
           "bytes that threads asked for, of the 32 in each sector that they touched",
           shown_as="Average Bytes Per Sector For Global Loads",
           ways=(Way(("global_sectors_ideal", "global_sectors_theoretical", *BOTH), _used,
                     USED_BY_BOTH, ALIKE, approximate=True),)),
    Metric("bytes_per_sector_store", ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",), TABLES,
           "Bytes used per sector, global stores", "byte/sector", HIGHER, EXACT, mean_by("global_store_sectors"),
           "bytes that threads wrote, of the 32 in each sector that they touched",
           shown_as="Average Bytes Per Sector For Global Stores",
           ways=(Way(("global_sectors_ideal", "global_sectors_theoretical", *BOTH), _used_by_stores,
                     USED_BY_BOTH, ALIKE, approximate=True),)),
    Metric("global_sectors_theoretical", ("memory_l2_theoretical_sectors_global",), SOURCE,
           "Theoretical sectors, global", "sector", LOWER, EXACT, SUM,
           "sectors that the addresses of global accesses touch", shown_as="L2 Theoretical Sectors Global",
           ncu_unit="sectors",
           ways=(same("memory_l2_transactions_global", RELEASE_2019),)),
    Metric("global_sectors_ideal", ("memory_l2_theoretical_sectors_global_ideal",), SOURCE, "Ideal sectors, global",
           "sector", LOWER, EXACT, SUM, "sectors that the same bytes would need side by side",
           shown_as="L2 Theoretical Sectors Global Ideal", ncu_unit="sectors"),
    Metric("global_sectors_excessive", ("derived__memory_l2_theoretical_sectors_global_excessive",), SOURCE,
           "Excessive L2 sectors, global", "sector", LOWER, EXACT, SUM,
           "theoretical above ideal sectors: what uncoalesced accesses cost",
           shown_as="L2 Theoretical Sectors Global Excessive",
           ways=(less("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal", SECTION),)),
    _bytes("l1_bytes_from_l2", "xbar2l1tex_read_bytes", "Bytes from L2 to L1",
           "bytes that SMs got over the crossbar, those of TMA and of clusters too; one lookup may answer several",
           ways=(Way((FILL, "sm_cycles_elapsed", "sm_count", *CAPABILITY), _received,
                     f"{SECTOR_BYTES} * sectors a cycle by {' and '.join(CAPABILITY)} * {FILL} / 100 * "
                     "sm_cycles_elapsed * sm_count", f"{COMPARED}: one, two or four sectors a cycle, by chip"),)),
    _bytes("l1_bytes_to_l2", "l1tex2xbar_write_bytes", "Bytes from L1 to L2",
           "bytes that SMs sent over the crossbar, those of TMA and of clusters too"),
    _bytes("tma_load_bytes", "xbar2l1tex_read_bytes_mem_global_op_tma_ld", "TMA load bytes",
           "bytes from global to shared memory through TMA", BEFORE_HOPPER),
    _bytes("tma_store_bytes", "l1tex2xbar_write_bytes_mem_global_op_tma_st", "TMA store bytes",
           "bytes from shared to global memory through TMA", BEFORE_HOPPER),
    _bytes("cluster_bytes_read", "xbar2l1tex_read_bytes_mem_dshared", "Cluster bytes in",
           "bytes that SMs got from the shared memory of others in the cluster", BEFORE_HOPPER),
    _bytes("cluster_bytes_write", "l1tex2xbar_write_bytes_mem_dshared", "Cluster bytes out",
           "bytes that SMs sent to the shared memory of others in the cluster", BEFORE_HOPPER),
)

LOCAL: tuple[Metric, ...] = (
    _l1("local", "ld", "requests", EXACT), _l1("local", "st", "requests", EXACT),
    _l1("local", "ld", "sectors", NOISY), _l1("local", "st", "sectors", NOISY),
    Metric("local_hit_rate_load", ("l1tex__t_sector_pipe_lsu_mem_local_op_ld_hit_rate.pct",), TABLES,
           "L1TEX Hit Rate For Local Loads", "%", None, NOISY, mean_by("local_load_sectors"),
           "sectors of local loads found in L1",
           ways=_hit_rate("local", "ld")),
    Metric("local_spilling_requests", ("derived__local_spilling_requests",), MEMORY,
           "Local Memory Spilling Requests", "", LOWER, EXACT, SUM,
           "requests to store and load spilled registers, apart from other local memory",
           ways=(Way(("local_load_requests", "local_store_requests"), _none_of_none,
                     "0 where local_load_requests and local_store_requests are 0",
                     f"{SECTION}: spills are local memory"),)),
    Metric("local_spilling_share", ("derived__local_spilling_requests_pct",), MEMORY,
           "Local Memory Spilling Request Overhead", "%", LOWER, EXACT,
           mean_by("local_load_requests + local_store_requests"),
           "requests of spills, of all requests to L1"),
    Metric("spill_instructions", ("sass__inst_executed_register_spilling",), NOWHERE, "Spill instructions", "inst",
           LOWER, EXACT, SUM, "executed loads and stores that the compiler added because registers ran out"),
)

SHARED: tuple[Metric, ...] = (
    Metric("shared_wavefronts", ("memory_l1_wavefronts_shared",), SOURCE, "Wavefronts, shared memory", "",
           LOWER, EXACT, SUM, "passes through the banks of shared memory", shown_as="L1 Wavefronts Shared",
           ncu_unit="sectors",
           ways=(added(("shared_wavefronts_load", "shared_wavefronts_store"), NO_ASYNC, approximate=True),
                 same("memory_shared_transactions", RELEASE_2019))),
    Metric("shared_wavefronts_ideal", ("memory_l1_wavefronts_shared_ideal",), SOURCE,
           "Ideal wavefronts, shared memory", "", LOWER, EXACT, SUM,
           "passes that the same accesses would need without bank conflicts", shown_as="L1 Wavefronts Shared Ideal",
           ncu_unit="sectors",
           ways=(less("shared_wavefronts", "shared_wavefronts_excessive", SECTION),)),
    Metric("shared_wavefronts_excessive", ("derived__memory_l1_wavefronts_shared_excessive",), SOURCE,
           "Bank conflicts (wavefronts)", "", LOWER, EXACT, SUM,
           "passes above the ideal: what bank conflicts cost", shown_as="L1 Wavefronts Shared Excessive",
           ways=(less("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal", SECTION),
                 same("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", ARBITRATION, approximate=True),
                 added(("bank_conflicts_load", "bank_conflicts_store"), ARBITRATION, approximate=True))),
    _shared("bank_conflicts_load", "data_bank_conflicts_pipe_lsu_mem_shared_op_ld", "Raw bank conflicts, shared loads",
            "conflicts counted by hardware; up to 2 % of them are arbitration between warps", NOISY,
            ways=(same("sm__shmem_ld_bank_conflict_sum", RELEASE_2019),)),
    _shared("bank_conflicts_store", "data_bank_conflicts_pipe_lsu_mem_shared_op_st",
            "Raw bank conflicts, shared stores",
            "conflicts counted by hardware; up to 2 % of them are arbitration between warps", NOISY,
            ways=(same("sm__shmem_st_bank_conflict_sum", RELEASE_2019),)),
    _shared("bank_conflicts_atomic", "data_bank_conflicts_pipe_lsu_mem_shared_op_atom",
            "Raw bank conflicts, shared atomics", "conflicts of atomics on shared memory, counted by hardware", NOISY),
    _shared("shared_wavefronts_all", "data_pipe_lsu_wavefronts_mem_shared", "Shared wavefronts, hardware",
            "passes counted by hardware; includes stores and loads of L1 that share the path", NOISY),
    _shared("shared_wavefronts_load", "data_pipe_lsu_wavefronts_mem_shared_op_ld", "Shared load wavefronts, hardware",
            "passes of shared loads, counted by hardware", NOISY),
    _shared("shared_wavefronts_store", "data_pipe_lsu_wavefronts_mem_shared_op_st",
            "Shared store wavefronts, hardware", "passes of shared stores, counted by hardware", NOISY),
    _busy("l1_data_pipe", "data_pipe_lsu_wavefronts", "L1 data pipe", "wavefronts of global, local and shared memory"),
    _busy("l1_requests_busy", "lsuin_requests", "L1 input", "instructions that enter L1"),
    _busy("l1_writeback_busy", "lsu_writeback_active", "L1 writeback", "data returned to registers"),
    _busy("l1_output_busy", "m_l1tex2xbar_req_cycles_active", "L1 output", "requests and data sent to L2"),
    _busy("l1_fill_busy", "m_xbar2l1tex_read_sectors", "L1 fill", "sectors received from L2"),
)
# fmt: on

ACCESS_METRICS = (*GLOBAL, *LOCAL, *SHARED)
