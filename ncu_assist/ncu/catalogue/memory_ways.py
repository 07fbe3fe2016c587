"""Further ways to know what moved beyond the multiprocessors: DRAM, L2 and memory of the host."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.ncu.catalogue.ways import (
    ATTRIBUTE,
    COMPARED,
    DOCUMENTED,
    HARDWARE,
    RELEASE_2019,
    Ways,
    added,
    over,
    same,
    times,
)

A_SECOND = 1e-9  # a rate is a second, a duration in ns
RATE_TIMES_TIME = f"{DOCUMENTED}: .per_second times the time"
SECTORS = f"{HARDWARE}: a sector is {SECTOR_BYTES} bytes"
DOUBLE_RATE = 2.0 / 8  # bytes a cycle on each bit of the bus: DRAM moves data at both edges of its clock
OPS = f"{COMPARED}: reads, writes, reductions and atomics are all that L1 asks L2 for"
L2 = "lts__t_sectors_srcunit_tex"
HOST = "lts__t_sectors_srcunit_tex_aperture_sysmem"


# fmt: off
MEMORY_WAYS: Ways = {
    "dram_peak_bytes_per_cycle": (
        times(("device__attribute_global_memory_bus_width",), f"{ATTRIBUTE}; {HARDWARE}: DRAM moves data at both edges",
              factor=DOUBLE_RATE, approximate=True),  # an RTX 2080 Ti counts 384 bits of its 352
    ),
    "dram_bytes_read": (
        times(("dram__sectors_read.sum",), SECTORS, factor=SECTOR_BYTES),
        times(("dram__bytes_read.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
        same("dram__read_bytes", RELEASE_2019),
    ),
    "dram_bytes_write": (
        times(("dram__sectors_write.sum",), SECTORS, factor=SECTOR_BYTES),
        times(("dram__bytes_write.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
        same("dram__write_bytes", RELEASE_2019),
    ),
    "dram_bandwidth": (
        over(("dram__bytes.sum",), ("duration",), DOCUMENTED, factor=1 / A_SECOND),
        times(("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram_peak_bytes_per_cycle", "dram_clock"),
              f"{DOCUMENTED}: its share of the peak", factor=0.01),
        times(("dram__cycles_active.avg.pct_of_peak_sustained_elapsed", "dram_peak_bytes_per_cycle", "dram_clock"),
              f"{DOCUMENTED}: its share of the peak", factor=0.01),
        same("dram__bytes_per_sec", RELEASE_2019),
    ),
    "l2_sectors_sm": (
        added((f"{L2}_lookup_hit.sum", f"{L2}_lookup_miss.sum"), COMPARED, approximate=True),
        times((f"{L2}.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
    ),
    "l2_sectors_read": (
        times((f"{L2}_op_read.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
    ),
    "l2_sectors_write": (
        times((f"{L2}_op_write.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
    ),
    "l2_sectors_reduction": (
        times((f"{L2}_op_red.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
    ),
    "l2_sectors_atomic": (added((f"{L2}_op_atom_dot_alu.sum", f"{L2}_op_atom_dot_cas.sum"), COMPARED),),
    "l2_sectors": (
        added(("lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"), COMPARED, approximate=True),
        times(("lts__t_sectors.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
    ),
    "l2_hit_rate": (same("lts__request_total_sectors_hitrate_pct", RELEASE_2019),),
    "host_sectors_read": (
        times((f"{HOST}_op_read_lookup_miss.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND,
              approximate=True),
    ),
    "host_sectors_write": (
        same(f"{HOST}_op_write_lookup_miss.sum", COMPARED, approximate=True),
        times((f"{HOST}_op_write_lookup_miss.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND,
              approximate=True),
    ),
}
# fmt: on
