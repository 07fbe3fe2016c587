"""Further ways to know what moved beyond the multiprocessors: DRAM, L2 and memory of the host."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import NOT_APPLICABLE, SECTOR_BYTES, share
from ncu_assist.ncu.catalogue.metric import Way
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


OF_PEAK = ".avg.pct_of_peak_sustained_elapsed"
SLICE_CYCLES = "lts__cycles_elapsed.sum"
CAPABILITY = ("device__attribute_compute_capability_major", "device__attribute_compute_capability_minor")
WITH_HBM = ((6.0, 0.0), (7.0, 0.0), (8.0, 0.0), (9.0, 0.0), (10.0, 0.0))  # whose checks are stored beside the data
FILLED = f"{COMPARED}: a slice of L2 takes a sector a cycle from memory; GDDR with ECC reads more than it hands on"


def _share_of(percent: float, whole: float) -> float:
    return percent / 100.0 * whole


def _filled(percent: float, cycles: float, has_ecc: float, major: float, minor: float) -> float:
    """Return the bytes that L2 got from DRAM: what DRAM read, but for GDDR with ECC, which reads its checks too."""
    if has_ecc and (major, minor) not in WITH_HBM:
        return NOT_APPLICABLE
    return SECTOR_BYTES * _share_of(percent, cycles)


def _rest(bandwidth: float, duration_ns: float, read: float) -> float:
    return max(0.0, bandwidth * duration_ns * A_SECOND - read)


def _hit_rate(op: str) -> tuple[Way, ...]:
    hit, miss = (f"{L2}_{op}_lookup_{what}.sum" for what in ("hit", "miss"))
    words = f"100 * {hit} / ({hit} + {miss})"
    return (Way((hit, miss), share, words, f"{COMPARED}: a sector is found in L2 or it is not", approximate=True),)


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
        Way(("lts__d_sectors_fill_device" + OF_PEAK, SLICE_CYCLES, "device__attribute_ecc_enabled", *CAPABILITY),
            _filled,
            f"{SECTOR_BYTES} * lts__d_sectors_fill_device{OF_PEAK} / 100 * {SLICE_CYCLES}; not of GDDR, by "
            f"{' and '.join(CAPABILITY)}, with device__attribute_ecc_enabled", FILLED, approximate=True),
    ),
    "dram_bytes_write": (
        times(("dram__sectors_write.sum",), SECTORS, factor=SECTOR_BYTES),
        times(("dram__bytes_write.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
        same("dram__write_bytes", RELEASE_2019),
        Way(("dram_bandwidth", "duration", "dram_bytes_read"), _rest, "dram_bandwidth * duration - dram_bytes_read",
            f"{DOCUMENTED}: the rest of what moved", approximate=True),
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
        added((f"{L2}_op_read_lookup_hit.sum", f"{L2}_op_read_lookup_miss.sum"), COMPARED, approximate=True),
        times((f"{L2}_op_read.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
        over(("l1_bytes_from_l2",), (), f"{COMPARED}: what L1 receives is what it reads", factor=1 / SECTOR_BYTES,
             approximate=True),
    ),
    "l2_sectors_write": (
        added((f"{L2}_op_write_lookup_hit.sum", f"{L2}_op_write_lookup_miss.sum"), COMPARED, approximate=True),
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
    "l2_clock": (
        over(("lts__cycles_elapsed.avg",), ("duration",), RATE_TIMES_TIME, factor=1 / A_SECOND),
    ),
    "l2_hit_rate_store": _hit_rate("op_write"),
    "l2_sectors_missed": (
        added(tuple(f"{L2}_aperture_{where}_lookup_miss.sum" for where in ("device", "sysmem", "peer")), COMPARED,
              approximate=True),
    ),
    "host_sectors_missed": (
        added(tuple(f"{HOST}_op_{op}_lookup_miss.sum" for op in ("read", "write")), COMPARED, approximate=True),
    ),
    "host_sectors_read": (
        times((f"{HOST}_op_read_lookup_miss.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND,
              approximate=True),
        Way(("lts__d_sectors_fill_sysmem" + OF_PEAK, SLICE_CYCLES), _share_of,
            f"lts__d_sectors_fill_sysmem{OF_PEAK} / 100 * {SLICE_CYCLES}", FILLED, approximate=True),
    ),
    "host_sectors_write": (
        same(f"{HOST}_op_write_lookup_miss.sum", COMPARED, approximate=True),
        times((f"{HOST}_op_write_lookup_miss.sum.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND,
              approximate=True),
    ),
}
# fmt: on
