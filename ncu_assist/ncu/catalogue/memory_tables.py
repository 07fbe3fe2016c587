"""The memory tables of ncu's window: which of ncu's metrics stand in them, by operation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES

OF_PEAK = ".pct_of_peak_sustained_elapsed"
Names = tuple[str, ...]  # of one value: keys of the catalogue or names of ncu, the first that is known counts
Operation = tuple[str, tuple[Names, ...]]


@dataclass(frozen=True)
class MemoryColumn:
    """A column: its unit as `quantity` takes it, and what it counts; ``rare``: shown only where it is not nothing."""

    title: str
    unit: str
    meaning: str
    rare: bool = False


@dataclass(frozen=True)
class OperationTable:
    """A table: what it shows, and by operation the names of each value that is counted."""

    id: str
    title: str
    columns: tuple[MemoryColumn, ...]
    operations: tuple[Operation, ...]


TOTAL = "Total"
INSTRUCTIONS = MemoryColumn("instructions", "", "instructions that warps executed")
REQUESTS = MemoryColumn("requests", "", "requests that came in: one of an instruction of a warp, or of one line of L1")
WAVEFRONTS = MemoryColumn("wavefronts", "", "passes that the requests took: more than requests where they collide")
SECTORS = MemoryColumn("sectors", "", f"pieces of {SECTOR_BYTES} bytes that the requests touched")
EACH = MemoryColumn("sectors/req", "", "sectors over requests: 4 bytes a lane side by side need 4, 16 bytes need 16")
PEAK = MemoryColumn("of peak", "%", "ncu's share of the peak rate of what the column before counts")
HITS = MemoryColumn("hit rate", "%", "sectors that were found there, of all")
BYTES = MemoryColumn("bytes", "byte", f"sectors times {SECTOR_BYTES} bytes")
RATE = MemoryColumn("throughput", "byte/s", "bytes over the time of the launch under ncu")
CONFLICTS = MemoryColumn(
    "raw bank conflicts", "", "passes above those that the accesses need; up to 2 % are arbitration between warps"
)
L1_MISSES = MemoryColumn(
    "misses", "", "sectors that were not found; stores and atomics go on to L2 whether found or not"
)
FROM_DEVICE = MemoryColumn("from device", "", "sectors that were not found in L2 and came from device memory")
FROM_HOST = MemoryColumn(
    "from host", "", "sectors that were not found in L2 and came from memory of the host", rare=True
)
FROM_PEER = MemoryColumn("from peer", "", "sectors that were not found in L2 and came from another GPU", rare=True)
MISSED = MemoryColumn("missed", "", "sectors that were not found")
FOUND = MemoryColumn("found", "", "sectors that were found")


def _shared(name: str, op: str, *instructions: str, wavefronts: str = "", conflicts: str = "") -> Operation:
    waves = f"l1tex__data_pipe_lsu_wavefronts_mem_shared{op}.sum"
    banks = f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared{op}.sum"
    return name, (
        instructions,
        tuple(filter(None, (wavefronts, waves))),
        (f"{waves}{OF_PEAK}",),
        tuple(filter(None, (conflicts, banks))),
    )


SHARED = OperationTable(
    "memory-shared",
    "Shared memory",
    (INSTRUCTIONS, WAVEFRONTS, PEAK, CONFLICTS),
    (
        _shared("Loads", "_op_ld", "shared_load_instructions", conflicts="bank_conflicts_load"),
        ("Matrix loads (ldmatrix; passes among loads)", (("matrix_loads",), (), (), ())),
        _shared("Stores", "_op_st", "shared_store_instructions", conflicts="bank_conflicts_store"),
        (
            "Matrix stores (stmatrix; passes among stores)",
            (("smsp__inst_executed_op_shared_stsm.sum",), (), (), ()),
        ),
        _shared("Asynchronous copies (cp.async)", "_op_ldgsts", "async_copies"),
        _shared("Atomics", "_op_atom", "shared_atomics", conflicts="bank_conflicts_atomic"),
        (
            "Matrix products out of shared memory (wgmma)",
            (("matrix_products",), (), (), ()),
        ),
        _shared(f"{TOTAL}, with what shares the path", "", "smsp__sass_inst_executed_op_shared.sum"),
    ),
)


def _l1(name: str, pattern: str, key: str = "", *instructions: str) -> Operation:
    """Return a row of L1; ``key`` begins the catalogue's keys of it, which are known under other names too."""
    sectors = f"l1tex__t_sectors_{pattern}"
    waves = f"l1tex__t_output_wavefronts_{pattern}.sum"
    return name, (
        instructions,
        ((f"{key}_requests",) if key else (f"l1tex__t_requests_{pattern}.sum",)),
        (waves,),
        (f"{waves}{OF_PEAK}",),
        ((f"{key}_sectors",) if key else (f"{sectors}.sum",)),
        (f"{sectors}_lookup_hit.sum",),
        (f"{sectors}_lookup_miss.sum",),
    )


_LSU, _TEX = "pipe_lsu_mem", "pipe_tex_mem"
L1 = OperationTable(
    "memory-l1",
    "L1/TEX cache",
    (INSTRUCTIONS, REQUESTS, WAVEFRONTS, PEAK, SECTORS, EACH, HITS, BYTES, L1_MISSES),
    (
        _l1("Global loads", f"{_LSU}_global_op_ld", "global_load", "global_load_instructions"),
        _l1("Global stores", f"{_LSU}_global_op_st", "global_store", "global_store_instructions"),
        _l1("Global reductions", f"{_LSU}_global_op_red", "global_reduction", "global_reductions"),
        _l1("Global atomics", f"{_LSU}_global_op_atom", "global_atomic", "global_atomics"),
        _l1("Local loads", f"{_LSU}_local_op_ld", "local_load", "local_load_instructions"),
        _l1("Local stores", f"{_LSU}_local_op_st", "local_store", "local_store_instructions"),
        *(
            _l1(f"Cluster {what}", f"{_LSU}_dshared_op_{op}")
            for what, op in (("loads", "ld"), ("stores", "st"), ("atomics", "atom"))
        ),
        (
            "TMA loads",
            (("tma_loads",), (), (), (), ("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",), (), ()),
        ),
        (
            "TMA stores",
            (("tma_stores",), (), (), (), ("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",), (), ()),
        ),
        _l1("Texture", f"{_TEX}_texture", "", "smsp__inst_executed_op_texture.sum"),
        *(
            _l1(f"Surface {what}", f"{_TEX}_surface_op_{op}", "", f"smsp__inst_executed_op_surface_{op}.sum")
            for what, op in (("loads", "ld"), ("stores", "st"), ("reductions", "red"), ("atomics", "atom"))
        ),
    ),
)


def _l2(name: str, unit: str, op: str = "", key: str = "", hit_rate: str = "") -> Operation:
    """Return a row of L2; ``unit`` is who asks, ``op`` for what."""
    sectors = f"lts__t_sectors{unit}"
    return name, (
        (f"lts__t_requests{unit}{op}.sum",),
        ((key,) if key else (f"{sectors}{op}.sum",)),
        (f"{sectors}{op}.avg{OF_PEAK}", f"{sectors}{op}.sum{OF_PEAK}"),
        ((hit_rate,) if hit_rate else ()),
        (f"{sectors}{op}_lookup_hit.sum",),
        (f"{sectors}{op}_lookup_miss.sum",),
        *((f"{sectors}_aperture_{where}{op}_lookup_miss.sum",) for where in ("device", "sysmem", "peer")),
    )


_SM = "_srcunit_tex"
L2 = OperationTable(
    "memory-l2",
    "L2 cache",
    (REQUESTS, SECTORS, PEAK, EACH, HITS, BYTES, RATE, FROM_DEVICE, FROM_HOST, FROM_PEER),
    (
        _l2("Loads of L1", _SM, "_op_read", "l2_sectors_read"),
        _l2("Stores of L1", _SM, "_op_write", "l2_sectors_write"),
        _l2("Reductions", _SM, "_op_red", "l2_sectors_reduction"),
        _l2("Atomics", _SM, "_op_atom_dot_alu"),
        _l2("Atomic compare-and-swap", _SM, "_op_atom_dot_cas"),
        _l2("Instructions and constants (GCC)", "_srcunit_gcc"),
        _l2("The other half of L2", "_srcunit_ltcfabric"),
        _l2(TOTAL, "", "", "l2_sectors", "l2_hit_rate"),
    ),
)


def _evicted(name: str, policy: str) -> Operation:
    return name, tuple((f"lts__t_sectors{_SM}_evict_{policy}_lookup_{found}.sum",) for found in ("hit", "miss"))


EVICTIONS = OperationTable(
    "memory-evictions",
    "L2 cache by eviction policy, of what L1 asked for",
    (SECTORS, FOUND, MISSED, HITS),
    (
        _evicted("Normal", "normal"),
        _evicted("Evict first", "first"),
        _evicted("Evict last", "last"),
        _evicted("Demoted", "normal_demote"),
    ),
)


DRAM = OperationTable(
    "memory-dram",
    "Device memory",
    (SECTORS, PEAK, BYTES, RATE),
    (
        *(
            (
                what,
                (
                    (f"dram__sectors_{op}.sum",),
                    (f"dram__bytes_{op}.sum{OF_PEAK}", f"dram__bytes_op_{op}.sum{OF_PEAK}"),
                    (f"dram_bytes_{op}",),
                ),
            )
            for what, op in (("Reads", "read"), ("Writes", "write"))
        ),
        (TOTAL, ((), ("dram__cycles_active.avg" + OF_PEAK,), ("dram_bytes",))),
    ),
)
MEMORY_TABLES = (SHARED, L1, L2, EVICTIONS, DRAM)
TABLE_NAMES = frozenset(
    name for table in MEMORY_TABLES for _, counted in table.operations for name in chain.from_iterable(counted)
)
