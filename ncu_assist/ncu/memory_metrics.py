"""The catalogue's rows on memory: DRAM, L2, L1, shared and local memory."""

from __future__ import annotations

from ncu_assist.ncu.metric import MEMORY, SPEED, Metric, percent


def _count(key: str, name: str, label: str, unit: str, meaning: str, exact: bool) -> Metric:
    return Metric(key, (name,), label, MEMORY, unit, meaning, "lower", exact, "sum")


def _dram_bytes(key: str, op: str, label: str) -> Metric:
    names = (f"dram__bytes_{op}.sum", f"dram__bytes_op_{op}.sum")  # the second on GB202
    return Metric(key, names, label, MEMORY, "byte", f"bytes in DRAM's {op} direction", "lower", False, "sum")


def _global(key: str, what: str, op: str, unit: str, exact: bool) -> Metric:
    names = {"ld": "loads", "st": "stores"}
    meaning = f"{what} of global {names[op]} that pass L1; TMA traffic does not"
    name = f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
    return _count(key, name, f"Global {names[op]}: {what}", unit, meaning, exact)


MEMORY_METRICS: tuple[Metric, ...] = (
    Metric(
        "dram_bandwidth",
        ("dram__bytes.sum.per_second",),
        "DRAM Bandwidth",
        MEMORY,
        "byte/s",
        "bytes read from and written to DRAM, a second",
        "higher",
        False,
        "time-mean",
    ),
    _dram_bytes("dram_bytes_read", "read", "DRAM bytes read"),
    _dram_bytes("dram_bytes_write", "write", "DRAM bytes written"),
    Metric(
        "dram_peak_bytes_per_cycle",
        ("dram__bytes.sum.peak_sustained",),
        "DRAM peak",
        "",
        "byte/cycle",
        "bytes that DRAM can move in one of its cycles",
        None,
        True,
        "first",
    ),
    Metric(
        "dram_clock",
        ("dram__cycles_elapsed.avg.per_second",),
        "DRAM frequency",
        SPEED,
        "hz",
        "cycles of DRAM, a second",
        None,
        False,
        "first",
    ),
    percent(
        "l2_hit_rate",
        "lts__t_sector_hit_rate.pct",
        "L2 Hit Rate",
        MEMORY,
        "sectors found in L2; ncu flushes before, so reuse between kernels does not show",
        None,
    ),
    percent("l1_hit_rate", "l1tex__t_sector_hit_rate.pct", "L1/TEX Hit Rate", MEMORY, "sectors found in L1", None),
    _global("global_load_requests", "requests", "ld", "", True),
    _global("global_store_requests", "requests", "st", "", True),
    _global("global_load_sectors", "sectors", "ld", "sector", False),
    _global("global_store_sectors", "sectors", "st", "sector", False),
    Metric(
        "bytes_per_sector_load",
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",),
        "Bytes used per sector, global loads",
        MEMORY,
        "byte/sector",
        "bytes that threads asked for, of the 32 in each sector that they touched",
        "higher",
        True,
        "time-mean",
    ),
    Metric(
        "bytes_per_sector_store",
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",),
        "Bytes used per sector, global stores",
        MEMORY,
        "byte/sector",
        "bytes that threads wrote, of the 32 in each sector that they touched",
        "higher",
        True,
        "time-mean",
    ),
    _count(
        "global_sectors_theoretical",
        "memory_l2_theoretical_sectors_global",
        "Theoretical sectors, global",
        "sectors",
        "sectors that the addresses of global accesses touch",
        True,
    ),
    _count(
        "global_sectors_ideal",
        "memory_l2_theoretical_sectors_global_ideal",
        "Ideal sectors, global",
        "sectors",
        "sectors that the same bytes would need side by side",
        True,
    ),
    _count(
        "global_sectors_excessive",
        "derived__memory_l2_theoretical_sectors_global_excessive",
        "Excessive L2 sectors, global",
        "sector",
        "theoretical above ideal sectors: what uncoalesced accesses cost",
        True,
    ),
    _count(
        "shared_wavefronts",
        "memory_l1_wavefronts_shared",
        "Wavefronts, shared memory",
        "sectors",
        "passes through the banks of shared memory",
        True,
    ),
    _count(
        "shared_wavefronts_ideal",
        "memory_l1_wavefronts_shared_ideal",
        "Ideal wavefronts, shared memory",
        "sectors",
        "passes that the same accesses would need without bank conflicts",
        True,
    ),
    _count(
        "shared_wavefronts_excessive",
        "derived__memory_l1_wavefronts_shared_excessive",
        "Bank conflicts (wavefronts)",
        "",
        "passes above the ideal: what bank conflicts cost",
        True,
    ),
    _count(
        "bank_conflicts_load",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "Raw bank conflicts, shared loads",
        "",
        "conflicts counted by hardware; up to 2 % of them are arbitration between warps",
        False,
    ),
    _count(
        "bank_conflicts_store",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        "Raw bank conflicts, shared stores",
        "",
        "conflicts counted by hardware; up to 2 % of them are arbitration between warps",
        False,
    ),
    _count(
        "local_spilling_requests",
        "derived__local_spilling_requests",
        "Local Memory Spilling Requests",
        "",
        "registers spilled to local memory, apart from other local memory",
        True,
    ),
)
