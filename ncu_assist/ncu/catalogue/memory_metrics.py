"""The catalogue's rows on memory beyond the SM: DRAM, L2, and memory of the host."""

from __future__ import annotations

import math

from ncu_assist.ncu.catalogue.formulas import BITS, EDGES, NOT_APPLICABLE, SECTOR_BYTES, share
from ncu_assist.ncu.catalogue.metric import (
    A_SECOND,
    ATTRIBUTE,
    BEFORE_HOPPER,
    BY_L2_ELAPSED,
    BY_SM_ELAPSED,
    BY_TIME,
    CAPABILITY,
    CHART,
    DOCUMENTED,
    EXACT,
    HARDWARE,
    HIGHER,
    IN_BOTH,
    LOWER,
    MEMORY,
    NOISY,
    NOT_AT_ALL,
    NOWHERE,
    OF_DEVICE,
    OF_ELAPSED,
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


def _l2_busy(key: str, name: str, label: str, meaning: str) -> Metric:
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
FILLED = f"{IN_BOTH}: a slice of L2 takes a sector a cycle from memory; GDDR with ECC reads more than it hands on"


def _share_of(percent: float, whole: float) -> float:
    return percent / 100.0 * whole


def _filled(percent: float, cycles: float, has_ecc: float, major: float, minor: float) -> float:
    """Return the bytes that L2 got from DRAM: what DRAM read, but for GDDR with ECC, which reads its checks too."""
    if has_ecc and (major, minor) not in WITH_HBM:
        return NOT_APPLICABLE
    return SECTOR_BYTES * _share_of(percent, cycles)


def _rest(bandwidth: float, duration_ns: float, read: float) -> float:
    return max(0.0, bandwidth * duration_ns * A_SECOND - read)


def _l2_hit_rate(op: str) -> tuple[Way, ...]:
    hit, miss = (f"{L2}_{op}_lookup_{what}.sum" for what in ("hit", "miss"))
    words = f"100 * {hit} / ({hit} + {miss})"
    return (Way((hit, miss), share, words, f"{IN_BOTH}: a sector is found in L2 or it is not", approximate=True),)


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
           "sectors of all reads found in L2, counted in passes of their own; those of L1's loads alone are in the "
           "memory tables"),
    Metric("l2_hit_rate_store", ("lts__t_sector_op_write_hit_rate.pct",), TABLES, "L2 Hit Rate For Stores", "%",
           None, NOISY, mean_by("l2_sectors_write"), "sectors of stores found in L2; may print a little above 100",
           ways=_l2_hit_rate("op_write")),
    Metric("l2_sectors", ("lts__t_sectors.sum",), CHART, "L2 Cache Sectors", "sector", LOWER, NOISY, SUM,
           "sectors that L2 looked up, for SMs, for its other half and for fills from DRAM",
           ways=(added(("lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"), IN_BOTH, approximate=True),
                 rate_times_time("lts__t_sectors.sum.per_second"))),
    _l2("l2_sectors_sm", "_srcunit_tex", "L2 sectors looked up for L1",
        "sectors that L2 looked up for loads, stores and atomics; one lookup may answer several SMs",
        ways=(added((f"{L2}_lookup_hit.sum", f"{L2}_lookup_miss.sum"), IN_BOTH, approximate=True),
              rate_times_time(f"{L2}.sum.per_second"))),
    _l2("l2_sectors_read", "_srcunit_tex_op_read", "L2 sectors looked up, reads",
        "sectors that L2 looked up for reads of L1, not what L1 received: one lookup may answer several SMs",
        ways=(added((f"{L2}_op_read_lookup_hit.sum", f"{L2}_op_read_lookup_miss.sum"), IN_BOTH, approximate=True),
              rate_times_time(f"{L2}_op_read.sum.per_second"),
              over(("l1_bytes_from_l2",), (), f"{IN_BOTH}: what L1 receives is what it reads", factor=1 / SECTOR_BYTES,
                   approximate=True))),
    _l2("l2_sectors_write", "_srcunit_tex_op_write", "L2 sectors written", "sectors that L1 wrote to L2",
        ways=(added((f"{L2}_op_write_lookup_hit.sum", f"{L2}_op_write_lookup_miss.sum"), IN_BOTH, approximate=True),
              rate_times_time(f"{L2}_op_write.sum.per_second"))),
    _l2("l2_sectors_reduction", "_srcunit_tex_op_red", "L2 sectors, reductions",
        "sectors of atomics whose result nobody reads",
        ways=(rate_times_time(f"{L2}_op_red.sum.per_second"),)),
    _l2("l2_sectors_atomic", "_srcunit_tex_op_atom", "L2 sectors, atomics",
        "sectors of atomics that return a value, carried out in L2",
        ways=(added((f"{L2}_op_atom_dot_alu.sum", f"{L2}_op_atom_dot_cas.sum"), IN_BOTH),)),
    Metric("l2_sectors_missed", ("lts__t_sectors_srcunit_tex_lookup_miss.sum",), CHART, "L2 misses", "sector", LOWER,
           NOISY, SUM, "sectors that L1 asked for and L2 did not have",
           shown_as="Missed L2 Cache Sectors For TEX",
           ways=(added(tuple(f"{L2}_aperture_{where}_lookup_miss.sum" for where in ("device", "sysmem", "peer")),
                       IN_BOTH, approximate=True),)),
    _l2_busy("l2_lookups_busy", "t_sectors", "L2 lookups", "sectors looked up"),
    _l2_busy("l2_tags_busy", "t_tag_requests", "L2 tags", "tags looked up: scattered accesses need one a sector"),
    _l2_busy("l2_data_busy", "d_sectors", "L2 data", "sectors read from or written to its data banks"),
    _l2_busy("l2_output_busy", "lts2xbar_cycles_active", "L2 output",
          "cycles in which it sent to the crossbar, towards the SMs"),
    _l2_busy("l2_input_busy", "xbar2lts_cycles_active", "L2 input",
          "cycles in which it received from the crossbar, from the SMs"),
    _l2("l2_sectors_other_half", "_srcunit_ltcfabric", "L2 sectors between halves",
        "sectors that one half of L2 asked the other for, on chips with two", ("tu102", "ga102", "ad102", "gb202")),
    _host("host_sectors_missed", "lookup_miss", "Host memory sectors", "sectors of host memory over PCIe or C2C",
          shown_as="Missed L2 Cache Sectors For TEX Accessing System Memory",
          ways=(added(tuple(f"{HOST}_op_{op}_lookup_miss.sum" for op in ("read", "write")), IN_BOTH,
                      approximate=True),)),
    _host("host_sectors_read", "op_read_lookup_miss", "Host memory sectors read", "sectors of host memory read",
          ways=(rate_times_time(f"{HOST}_op_read_lookup_miss.sum.per_second", approximate=True),
                Way(("lts__d_sectors_fill_sysmem" + OF_ELAPSED, SLICE_CYCLES), _share_of,
                    f"lts__d_sectors_fill_sysmem{OF_ELAPSED} / 100 * {SLICE_CYCLES}", FILLED, approximate=True))),
    _host("host_sectors_write", "op_write", "Host memory sectors written", "sectors of host memory written",
          ways=(same(f"{HOST}_op_write_lookup_miss.sum", IN_BOTH, approximate=True),
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


def _l1_busy(key: str, name: str, label: str, meaning: str) -> Metric:
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
LOOKED_UP = f"{IN_BOTH}: a sector is found in L1 or it is not"
NO_ASYNC = f"{IN_BOTH}: the same but for copies to shared memory that pass by registers"
ARBITRATION = f"{IN_BOTH}: up to 2 % of it is arbitration"
ONE_REQUEST = f"{HARDWARE}: an instruction of a warp is one request"


def _l1_hit_rate(space: str, op: str) -> tuple[Way, ...]:
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


def _used_of(ideal: float, touched: float) -> float:
    return SECTOR_BYTES * ideal / touched if touched > 0 else math.nan


def _by_instruction(verb: str) -> Way:
    """Return the way by the sectors of the instructions of one kind, which the reader of reports adds up."""
    touched = f"memory_l2_theoretical_sectors_global:{verb}"
    ideal = f"memory_l2_theoretical_sectors_global_ideal:{verb}"
    return Way(
        (ideal, touched),
        _used_of,
        f"{SECTOR_BYTES} * {ideal} / {touched}",
        f"{SECTION}: Source Counters, summed over the instructions that are {verb}s",
        approximate=True,
    )


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
           ways=_l1_hit_rate("global", "ld")),
    _l1("global", "ld", "requests", EXACT), _l1("global", "st", "requests", EXACT),
    _l1("global", "red", "requests", EXACT), _l1("global", "atom", "requests", EXACT),
    _l1("global", "ld", "sectors", EXACT), _l1("global", "st", "sectors", NOISY),
    _l1("global", "red", "sectors", EXACT), _l1("global", "atom", "sectors", NOISY),
    Metric("bytes_per_sector_load", ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",), TABLES,
           "Bytes used per sector, global loads", "byte/sector", HIGHER, EXACT, mean_by("global_load_sectors"),
           "bytes that threads asked for, of the 32 in each sector that they touched",
           shown_as="Average Bytes Per Sector For Global Loads",
           ways=(_by_instruction("load"),
                 Way(("global_sectors_ideal", "global_sectors_theoretical", *BOTH), _used,
                     USED_BY_BOTH, ALIKE, approximate=True),)),
    Metric("bytes_per_sector_store", ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",), TABLES,
           "Bytes used per sector, global stores", "byte/sector", HIGHER, EXACT, mean_by("global_store_sectors"),
           "bytes that threads wrote, of the 32 in each sector that they touched",
           shown_as="Average Bytes Per Sector For Global Stores",
           ways=(_by_instruction("store"),
                 Way(("global_sectors_ideal", "global_sectors_theoretical", *BOTH), _used_by_stores,
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
                     "sm_cycles_elapsed * sm_count", f"{IN_BOTH}: one, two or four sectors a cycle, by chip"),)),
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
           ways=_l1_hit_rate("local", "ld")),
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
    _l1_busy("l1_data_pipe", "data_pipe_lsu_wavefronts", "L1 data pipe, wavefronts",
             "wavefronts of global, local and shared memory, one a cycle"),
    _l1_busy("l1_requests_busy", "lsuin_requests", "L1 input", "instructions that enter L1"),
    # Counted on an H200: 1.3 cycles a load of 4.3 sectors, 4.3 of 16, 2.9 of 9.5, 9.1 of 30.7.
    _l1_busy("l1_writeback_busy", "lsu_writeback_active", "L1 writeback",
             "data returned to registers (a cycle or so for each four sectors a global load touches)"),
    _l1_busy("l1_output_busy", "m_l1tex2xbar_req_cycles_active", "L1 output", "requests and data sent to L2"),
    _l1_busy("l1_fill_busy", "m_xbar2l1tex_read_sectors", "L1 fill", "sectors received from L2"),
)
# fmt: on

ACCESS_METRICS = (*GLOBAL, *LOCAL, *SHARED)
