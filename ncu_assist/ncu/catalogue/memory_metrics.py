"""The catalogue's rows on memory beyond the SM: DRAM, L2, and memory of the host."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.combining import BY_L2_ELAPSED, BY_TIME, NOT_AT_ALL, OF_DEVICE, SUM, mean_by
from ncu_assist.ncu.catalogue.metric import (
    CHART,
    EXACT,
    HIGHER,
    LOWER,
    MEMORY,
    NOISY,
    NOWHERE,
    TABLES,
    Metric,
)


def _l2(key: str, end: str, label: str, meaning: str, lacking: tuple[str, ...] = ()) -> Metric:
    """Return a row on sectors that L2 looked up; ``end`` is the end of ncu's name."""
    exact = end == "_srcunit_tex_op_red"  # partly written sectors meet in L1 or do not: writes stray by 0.01 %
    name = f"lts__t_sectors{end}.sum"
    return Metric(key, (name,), NOWHERE, label, "sector", LOWER, exact, SUM, meaning, lacking=lacking)


def _busy(key: str, name: str, label: str, meaning: str) -> Metric:
    """Return a row on one part of L2, of those that ncu's memory throughput is the largest of."""
    names = (f"lts__{name}.avg.pct_of_peak_sustained_elapsed",)
    return Metric(
        key, names, NOWHERE, label, "%", None, NOISY, BY_L2_ELAPSED, f"{meaning}, in percent of what L2 can do"
    )


def _host(key: str, end: str, label: str, meaning: str, shown_as: str = "") -> Metric:
    """Return a row on sectors in memory of the host; Blackwell counts them in an L2 slice of their own."""
    names = tuple(f"{unit}__t_sectors_srcunit_tex_aperture_sysmem_{end}.sum" for unit in ("lts", "syslts"))
    section = CHART if shown_as else NOWHERE
    return Metric(key, names, section, label, "sector", LOWER, NOISY, SUM, meaning, shown_as)


# fmt: off
MEMORY_METRICS: tuple[Metric, ...] = (
    Metric("dram_bandwidth", ("dram__bytes.sum.per_second",), CHART, "DRAM Bandwidth", "byte/s", HIGHER, NOISY, BY_TIME,
           "bytes read from and written to DRAM, a second"),
    Metric("dram_bytes_read", ("dram__bytes_read.sum", "dram__bytes_op_read.sum"), NOWHERE, "DRAM bytes read",
           "byte", LOWER, NOISY, SUM, "bytes read from DRAM"),
    Metric("dram_bytes_write", ("dram__bytes_write.sum", "dram__bytes_op_write.sum"), NOWHERE, "DRAM bytes written",
           "byte", LOWER, NOISY, SUM, "bytes written to DRAM; what L2 still holds at the end is not in it"),
    Metric("dram_peak_bytes_per_cycle", ("dram__bytes.sum.peak_sustained",), NOWHERE, "DRAM peak", "byte/cycle", None,
           EXACT, OF_DEVICE, "bytes that DRAM can move in one of its cycles"),
    Metric("dram_ceiling", ("ncu_assist__dram_ceiling_bytes_per_second",), NOWHERE, "DRAM ceiling", "byte/s", None,
           NOISY, NOT_AT_ALL,
           "what a plain kernel reached on this GPU with this mix and number of bytes; measured by us",
           given=True),
    Metric("l2_hit_rate", ("lts__t_sector_hit_rate.pct",), MEMORY, "L2 Hit Rate", "%", None, NOISY,
           mean_by("l2_sectors"),
           "sectors found in L2; where ncu flushes before (its default), reuse between kernels does not show"),
    Metric("l2_hit_rate_load", ("lts__t_sector_op_read_hit_rate.pct",), TABLES, "L2 Hit Rate For Loads", "%", None,
           NOISY, mean_by("l2_sectors_read"),
           "sectors of loads found in L2: says more than both together, as stores nearly always hit"),
    Metric("l2_hit_rate_store", ("lts__t_sector_op_write_hit_rate.pct",), TABLES, "L2 Hit Rate For Stores", "%",
           None, NOISY, mean_by("l2_sectors_write"), "sectors of stores found in L2; may print a little above 100"),
    Metric("l2_sectors", ("lts__t_sectors.sum",), CHART, "L2 Cache Sectors", "sector", LOWER, NOISY, SUM,
           "sectors that L2 looked up, for SMs, for its other half and for fills from DRAM"),
    _l2("l2_sectors_sm", "_srcunit_tex", "L2 sectors from L1", "sectors that L1 asked L2 for: loads, stores, atomics"),
    _l2("l2_sectors_read", "_srcunit_tex_op_read", "L2 sectors read", "sectors that L1 read from L2"),
    _l2("l2_sectors_write", "_srcunit_tex_op_write", "L2 sectors written", "sectors that L1 wrote to L2"),
    _l2("l2_sectors_reduction", "_srcunit_tex_op_red", "L2 sectors, reductions",
        "sectors of atomics whose result nobody reads"),
    _l2("l2_sectors_atomic", "_srcunit_tex_op_atom", "L2 sectors, atomics",
        "sectors of atomics that return a value, carried out in L2"),
    Metric("l2_sectors_missed", ("lts__t_sectors_srcunit_tex_lookup_miss.sum",), CHART, "L2 misses", "sector", LOWER,
           NOISY, SUM, "sectors that L1 asked for and L2 did not have",
           shown_as="Missed L2 Cache Sectors For TEX"),
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
          "Missed L2 Cache Sectors For TEX Accessing System Memory"),
    _host("host_sectors_read", "op_read_lookup_miss", "Host memory sectors read", "sectors of host memory read"),
    _host("host_sectors_write", "op_write", "Host memory sectors written", "sectors of host memory written"),
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
