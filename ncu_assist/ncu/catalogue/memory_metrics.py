"""The catalogue's rows on memory beyond the SM: DRAM, L2, and memory of the host."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import BITS, EDGES, NOT_APPLICABLE, SECTOR_BYTES, share
from ncu_assist.ncu.catalogue.metric import (
    A_SECOND,
    ATTRIBUTE,
    BY_L2_ELAPSED,
    BY_TIME,
    CAPABILITY,
    CHART,
    COMPARED,
    DOCUMENTED,
    EXACT,
    HARDWARE,
    HIGHER,
    LOWER,
    MEMORY,
    NOISY,
    NOT_AT_ALL,
    NOWHERE,
    OF_DEVICE,
    OF_ELAPSED,
    RELEASE_2019,
    SUM,
    TABLES,
    Metric,
    Way,
    added,
    mean_by,
    over,
    rate_times_time,
    same,
    times,
)


def _l2(
    key: str, end: str, label: str, meaning: str, lacking: tuple[str, ...] = (), ways: tuple[Way, ...] = ()
) -> Metric:
    """Return a row on sectors that L2 looked up; ``end`` is the end of ncu's name."""
    exact = end == "_srcunit_tex_op_red"  # partly written sectors meet in L1 or do not: writes stray by 0.01 %
    name = f"lts__t_sectors{end}.sum"
    return Metric(key, (name,), NOWHERE, label, "sector", LOWER, exact, SUM, meaning, lacking=lacking, ways=ways)


def _busy(key: str, name: str, label: str, meaning: str) -> Metric:
    """Return a row on one part of L2, of those that ncu's memory throughput is the largest of."""
    names = (f"lts__{name}.avg.pct_of_peak_sustained_elapsed",)
    return Metric(
        key, names, NOWHERE, label, "%", None, NOISY, BY_L2_ELAPSED, f"{meaning}, in percent of what L2 can do"
    )


def _host(key: str, end: str, label: str, meaning: str, ways: tuple[Way, ...], shown_as: str = "") -> Metric:
    """Return a row on sectors in memory of the host; Blackwell counts them in an L2 slice of their own."""
    names = tuple(f"{unit}__t_sectors_srcunit_tex_aperture_sysmem_{end}.sum" for unit in ("lts", "syslts"))
    section = CHART if shown_as else NOWHERE
    return Metric(key, names, section, label, "sector", LOWER, NOISY, SUM, meaning, shown_as, ways=ways)


SECTORS = f"{HARDWARE}: a sector is {SECTOR_BYTES} bytes"
OF_EACH_BIT = EDGES / BITS  # bytes a cycle of the bus; only near: an RTX 2080 Ti counts 384 bits of its 352
L2 = "lts__t_sectors_srcunit_tex"
HOST = "lts__t_sectors_srcunit_tex_aperture_sysmem"

SLICE_CYCLES = "lts__cycles_elapsed.sum"
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
MEMORY_METRICS: tuple[Metric, ...] = (
    Metric("dram_bandwidth", ("dram__bytes.sum.per_second",), CHART, "DRAM Bandwidth", "byte/s", HIGHER, NOISY, BY_TIME,
           "bytes read from and written to DRAM, a second",
           ways=(over(("dram__bytes.sum",), ("duration",), DOCUMENTED, factor=1 / A_SECOND),
                 times(("gpu__dram_throughput" + OF_ELAPSED, "dram_peak_bytes_per_cycle", "dram_clock"),
                       f"{DOCUMENTED}: its share of the peak", factor=0.01),
                 times(("dram__cycles_active" + OF_ELAPSED, "dram_peak_bytes_per_cycle", "dram_clock"),
                       f"{DOCUMENTED}: its share of the peak", factor=0.01),
                 same("dram__bytes_per_sec", RELEASE_2019))),
    Metric("dram_bytes_read", ("dram__bytes_read.sum", "dram__bytes_op_read.sum"), NOWHERE, "DRAM bytes read",
           "byte", LOWER, NOISY, SUM, "bytes read from DRAM",
           ways=(times(("dram__sectors_read.sum",), SECTORS, factor=SECTOR_BYTES),
                 rate_times_time("dram__bytes_read.sum.per_second"),
                 same("dram__read_bytes", RELEASE_2019),
                 Way(("lts__d_sectors_fill_device" + OF_ELAPSED, SLICE_CYCLES, "device__attribute_ecc_enabled",
                      *CAPABILITY), _filled,
                     f"{SECTOR_BYTES} * lts__d_sectors_fill_device{OF_ELAPSED} / 100 * {SLICE_CYCLES}; not of GDDR, by "
                     f"{' and '.join(CAPABILITY)}, with device__attribute_ecc_enabled", FILLED, approximate=True))),
    Metric("dram_bytes_write", ("dram__bytes_write.sum", "dram__bytes_op_write.sum"), NOWHERE, "DRAM bytes written",
           "byte", LOWER, NOISY, SUM, "bytes written to DRAM; what L2 still holds at the end is not in it",
           ways=(times(("dram__sectors_write.sum",), SECTORS, factor=SECTOR_BYTES),
                 rate_times_time("dram__bytes_write.sum.per_second"),
                 same("dram__write_bytes", RELEASE_2019),
                 Way(("dram_bandwidth", "duration", "dram_bytes_read"), _rest,
                     "dram_bandwidth * duration - dram_bytes_read", f"{DOCUMENTED}: the rest of what moved",
                     approximate=True))),
    Metric("dram_peak_bytes_per_cycle", ("dram__bytes.sum.peak_sustained",), NOWHERE, "DRAM peak", "byte/cycle", None,
           EXACT, OF_DEVICE, "bytes that DRAM can move in one of its cycles",
           ways=(times(("device__attribute_global_memory_bus_width",),
                       f"{ATTRIBUTE}; {HARDWARE}: DRAM moves data at both edges",
                       factor=OF_EACH_BIT, approximate=True),)),
    Metric("dram_ceiling", ("ncu_assist__dram_ceiling_bytes_per_second",), NOWHERE, "DRAM ceiling", "byte/s", None,
           NOISY, NOT_AT_ALL,
           "what a plain kernel reached on this GPU with this mix and number of bytes; measured by us",
           given=True),
    Metric("l2_hit_rate", ("lts__t_sector_hit_rate.pct",), MEMORY, "L2 Hit Rate", "%", None, NOISY,
           mean_by("l2_sectors"),
           "sectors found in L2; where ncu flushes before (its default), reuse between kernels does not show",
           ways=(same("lts__request_total_sectors_hitrate_pct", RELEASE_2019),)),
    Metric("l2_hit_rate_load", ("lts__t_sector_op_read_hit_rate.pct",), TABLES, "L2 Hit Rate For Loads", "%", None,
           NOISY, mean_by("l2_sectors_read"),
           "sectors of loads found in L2: says more than both together, as stores nearly always hit"),
    Metric("l2_hit_rate_store", ("lts__t_sector_op_write_hit_rate.pct",), TABLES, "L2 Hit Rate For Stores", "%",
           None, NOISY, mean_by("l2_sectors_write"), "sectors of stores found in L2; may print a little above 100",
           ways=_hit_rate("op_write")),
    Metric("l2_sectors", ("lts__t_sectors.sum",), CHART, "L2 Cache Sectors", "sector", LOWER, NOISY, SUM,
           "sectors that L2 looked up, for SMs, for its other half and for fills from DRAM",
           ways=(added(("lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"), COMPARED, approximate=True),
                 rate_times_time("lts__t_sectors.sum.per_second"))),
    _l2("l2_sectors_sm", "_srcunit_tex", "L2 sectors looked up for L1",
        "sectors that L2 looked up for loads, stores and atomics; one lookup may answer several SMs",
        ways=(added((f"{L2}_lookup_hit.sum", f"{L2}_lookup_miss.sum"), COMPARED, approximate=True),
              rate_times_time(f"{L2}.sum.per_second"))),
    _l2("l2_sectors_read", "_srcunit_tex_op_read", "L2 sectors looked up, reads",
        "sectors that L2 looked up for reads of L1, not what L1 received: one lookup may answer several SMs",
        ways=(added((f"{L2}_op_read_lookup_hit.sum", f"{L2}_op_read_lookup_miss.sum"), COMPARED, approximate=True),
              rate_times_time(f"{L2}_op_read.sum.per_second"),
              over(("l1_bytes_from_l2",), (), f"{COMPARED}: what L1 receives is what it reads", factor=1 / SECTOR_BYTES,
                   approximate=True))),
    _l2("l2_sectors_write", "_srcunit_tex_op_write", "L2 sectors written", "sectors that L1 wrote to L2",
        ways=(added((f"{L2}_op_write_lookup_hit.sum", f"{L2}_op_write_lookup_miss.sum"), COMPARED, approximate=True),
              rate_times_time(f"{L2}_op_write.sum.per_second"))),
    _l2("l2_sectors_reduction", "_srcunit_tex_op_red", "L2 sectors, reductions",
        "sectors of atomics whose result nobody reads",
        ways=(rate_times_time(f"{L2}_op_red.sum.per_second"),)),
    _l2("l2_sectors_atomic", "_srcunit_tex_op_atom", "L2 sectors, atomics",
        "sectors of atomics that return a value, carried out in L2",
        ways=(added((f"{L2}_op_atom_dot_alu.sum", f"{L2}_op_atom_dot_cas.sum"), COMPARED),)),
    Metric("l2_sectors_missed", ("lts__t_sectors_srcunit_tex_lookup_miss.sum",), CHART, "L2 misses", "sector", LOWER,
           NOISY, SUM, "sectors that L1 asked for and L2 did not have",
           shown_as="Missed L2 Cache Sectors For TEX",
           ways=(added(tuple(f"{L2}_aperture_{where}_lookup_miss.sum" for where in ("device", "sysmem", "peer")),
                       COMPARED, approximate=True),)),
    _busy("l2_lookups_busy", "t_sectors", "L2 lookups", "sectors looked up"),
    _busy("l2_tags_busy", "t_tag_requests", "L2 tags", "tags looked up: scattered accesses need one a sector"),
    _busy("l2_data_busy", "d_sectors", "L2 data", "sectors read from or written to its data banks"),
    _busy("l2_output_busy", "lts2xbar_cycles_active", "L2 output",
          "cycles in which it sent to the crossbar, towards the SMs"),
    _busy("l2_input_busy", "xbar2lts_cycles_active", "L2 input",
          "cycles in which it received from the crossbar, from the SMs"),
    _l2("l2_sectors_other_half", "_srcunit_ltcfabric", "L2 sectors between halves",
        "sectors that one half of L2 asked the other for, on chips with two", ("tu102", "ga102", "ad102", "gb202")),
    _host("host_sectors_missed", "lookup_miss", "Host memory sectors", "sectors of host memory over PCIe or C2C",
          shown_as="Missed L2 Cache Sectors For TEX Accessing System Memory",
          ways=(added(tuple(f"{HOST}_op_{op}_lookup_miss.sum" for op in ("read", "write")), COMPARED,
                      approximate=True),)),
    _host("host_sectors_read", "op_read_lookup_miss", "Host memory sectors read", "sectors of host memory read",
          ways=(rate_times_time(f"{HOST}_op_read_lookup_miss.sum.per_second", approximate=True),
                Way(("lts__d_sectors_fill_sysmem" + OF_ELAPSED, SLICE_CYCLES), _share_of,
                    f"lts__d_sectors_fill_sysmem{OF_ELAPSED} / 100 * {SLICE_CYCLES}", FILLED, approximate=True))),
    _host("host_sectors_write", "op_write", "Host memory sectors written", "sectors of host memory written",
          ways=(same(f"{HOST}_op_write_lookup_miss.sum", COMPARED, approximate=True),
                rate_times_time(f"{HOST}_op_write_lookup_miss.sum.per_second", approximate=True))),
    Metric("pcie_read_bandwidth", ("pcie__read_bytes.sum.per_second",), CHART, "PCIe read bandwidth", "byte/s", None,
           NOISY, BY_TIME, "bytes over PCIe in the direction that the GPU reads, a second; other traffic counts too"),
    Metric("pcie_write_bandwidth", ("pcie__write_bytes.sum.per_second",), CHART, "PCIe write bandwidth", "byte/s",
           None, NOISY, BY_TIME, "bytes over PCIe in the direction that the GPU writes, a second"),
    Metric("pcie_link_rate", ("device__attribute_gpu_pci_ext_gpu_link_rate",), NOWHERE, "PCIe link rate", "", None,
           EXACT, OF_DEVICE, "million transfers a second on each lane, of the GPU's link: 32,000 for PCIe 5.0"),
    Metric("pcie_link_width", ("device__attribute_gpu_pci_ext_gpu_link_width",), NOWHERE, "PCIe link width", "", None,
           EXACT, OF_DEVICE, "lanes of the GPU's link"),
    Metric("l2_persisting_size", ("launch__persisting_l2_cache_size",), MEMORY, "L2 Persisting Size", "byte", None,
           EXACT, OF_DEVICE, "part of L2 set aside for data that is to stay"),
)
# fmt: on
