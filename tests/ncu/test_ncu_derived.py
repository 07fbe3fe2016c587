"""Derived metrics on recorded reports, against values worked out by hand from what the programs do."""

from __future__ import annotations

import math
import re

import pytest
from recorded_values import Values, launches, values_of

from ncu_assist.ncu.catalogue import formulas
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED, why_not_applicable
from ncu_assist.ncu.catalogue.stalls import STALL, TOLD_APART

LOADS, STORES = (f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st"))


def value(key: str, values: Values) -> float:
    found = ALL_DERIVED[key].value(values)
    assert found is not None, key
    return found


def test_a_strided_store_shows() -> None:
    naive = values_of("transpose", "transpose_naive")
    assert value("sector_efficiency_load", naive) == 100.0
    assert value("sector_efficiency_store", naive) == 12.5  # 4 of 32 bytes
    assert value("sector_efficiency", naive) == pytest.approx(200 / 9)  # 4 + 4 sectors ideal, 4 + 32 touched
    assert value("sectors_per_request_load", naive) == 4.0
    assert value("sectors_per_request_store", naive) == pytest.approx(32, rel=0.02)
    assert value("sectors_per_request_load_ideal", naive) == 4.0  # 32 threads of 4 bytes
    assert value("sectors_per_request_store_ideal", naive) == pytest.approx(4, rel=0.02)
    assert value("dram_peak_bandwidth", naive) == pytest.approx(4.81e12, rel=0.01)


def test_the_ideal_follows_the_width_of_the_access() -> None:
    wide = values_of("repeats", "stream_copy")  # float4: 32 threads of 16 bytes are 16 sectors
    assert value("sectors_per_request_load", wide) == value("sectors_per_request_load_ideal", wide) == 16.0
    assert value("sectors_per_request_store_ideal", wide) == 16.0
    random = values_of("repeats", "random_gather")  # 32 threads, each in a sector of its own
    assert value("sectors_per_request_load", random) == 32.0
    assert value("sectors_per_request_load_ideal", random) == 4.0
    assert value("sector_efficiency_load", random) == 12.5
    assert value("sectors_per_request_load_excess", wide) == value("sectors_per_request_store_excess", wide) == 0.0
    assert value("sectors_per_request_load_excess", random) == 28.0
    assert value("global_load_bytes", wide) == 2**28
    assert formulas.excess_sectors(4.0, 10.0, 10.0) == 0.0
    assert formulas.ideal_sectors(4.0, 10.0, 10.0) == 1.0  # one value for the whole warp still takes a sector


def test_bank_conflicts_show() -> None:
    shared = values_of("transpose", "transpose_shared")
    assert value("bank_conflict_ways", shared) == 16.5  # loads 32-way, stores free of conflicts
    assert value("excess_wavefront_share", shared) == pytest.approx(100 * 31 / 33)
    assert value("dram_bytes", shared) == 4197376.0


def test_traffic() -> None:
    copy = values_of("repeats", "stream_copy")  # 256 MiB read, and written as far as L2 let go of it
    assert copy["dram__bytes_read.sum"] == pytest.approx(2**28, rel=1e-3)
    assert value("dram_read_share", copy) == pytest.approx(52.3, abs=0.3)
    assert value("dram_rate", copy) == pytest.approx(copy["dram__bytes.sum.per_second"], rel=0.01)
    assert value("l2_rate", copy) == pytest.approx(2 * 2**28 / copy["gpu__time_duration.sum"] * 1e9)
    assert value("host_bytes", copy) == 0.0


def test_the_busiest_part_of_a_cache() -> None:
    """ncu's own L2 throughput is 93 % in a copy that DRAM bounds at 87 %; parts of its memory throughput say less."""
    copy = values_of("repeats", "stream_copy")
    assert copy["lts__throughput.avg.pct_of_peak_sustained_elapsed"] > 90
    assert value("l2_busy", copy) == copy["lts__d_sectors.avg.pct_of_peak_sustained_elapsed"] < 60
    memory = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
    gather = values_of("repeats", "random_gather")  # a tag a sector
    assert value("l2_busy", gather) == gather[memory] > 90
    conflicts = values_of("repeats", "transpose_unpadded")
    assert value("l1_busy", conflicts) == conflicts[memory] > 80


def test_bytes_in_flight_agree_with_the_latency_that_they_imply() -> None:
    """Little's law: bytes in flight over the rate of loads is the time that a load takes, about a microsecond."""
    copy = values_of("repeats", "stream_copy")
    in_flight = value("bytes_in_flight", copy)
    warps = 4 * copy["smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"]
    assert in_flight == pytest.approx(warps * copy["smsp__issue_active.avg.per_cycle_active"] * 512)  # 16 bytes * 32
    loads_per_ns_and_sm = 2**28 / copy["gpu__time_duration.sum"] / 132
    assert 500 < in_flight / loads_per_ns_and_sm < 2000
    assert value("bytes_in_flight", values_of("repeats", "chain_of_fma")) < 100


def test_arithmetic_is_what_the_program_does() -> None:
    threads = 132 * 8 * 256
    chain = values_of("repeats", "chain_of_fma")  # 4 chains of 4096 FMA, then 3 + 3 additions
    assert value("fp32_flops", chain) == pytest.approx(threads * (4 * 4096 * 2 + 6), rel=0.03)
    assert value("fp64_flops", chain) == 0.0
    assert value("intensity_fp32", chain) == pytest.approx(value("fp32_flops", chain) / value("dram_bytes", chain))
    scale = values_of("repeats", "small_scale")
    assert value("fp32_flops", scale) == pytest.approx(64 * 256)  # one multiplication a thread
    product = values_of("library", "nvjet")  # 512^3 in fp16, computed in tiles of 64 x 48: 8 x 11 of 12 launched
    assert value("tensor_flops", product) == 96 * 64 * 48 * 512 * 2
    assert value("intensity_tensor", product) == pytest.approx(301989888 / value("dram_bytes", product))


def test_tensor_operations_need_one_type_that_the_chip_has() -> None:
    known = {"sm__ops_path_tensor_src_int8.sum": 1.0}
    assert ALL_DERIVED["tensor_flops"].value(known) is None  # integers are no floating point
    assert ALL_DERIVED["tensor_flops"].value({"sm__ops_path_tensor_src_fp64.sum": 8.0}) == 8.0
    moved = {"dram__bytes_read.sum": 4.0, "dram__bytes_write.sum": 0.0}
    assert ALL_DERIVED["intensity_tensor"].value(moved) is None  # nobody counted operations: not 0 of them
    assert ALL_DERIVED["intensity_tensor"].value({**moved, "sm__ops_path_tensor_src_fp64.sum": 8.0}) == 2.0


def test_how_evenly_and_how_fully_the_gpu_is_used() -> None:
    scale = values_of("repeats", "small_scale")  # 64 blocks of 8 that fit on each of 132 SMs
    assert value("last_wave_fill", scale) == pytest.approx(100 * 64 / (8 * 132))
    assert value("sm_idle_share", scale) > 80
    assert value("sm_active_share", scale) == pytest.approx(100 - value("sm_idle_share", scale))
    assert value("last_wave_fill", values_of("repeats", "chain_of_fma")) == 100.0  # one whole wave
    assert value("sm_imbalance", values_of("repeats", "chain_of_fma")) == pytest.approx(1, abs=0.01)
    assert value("idle_lane_share", values_of("repeats", "histogram")) > 10
    assert formulas.last_wave(62.25) == 25.0


def test_local_memory_without_spills() -> None:
    assert formulas.unspilled(10, 6, 4) == 12
    assert formulas.unspilled(1, 1, 4) == 0.0
    assert value("local_requests_unspilled", values_of("repeats", "histogram")) == 0.0


def test_stall_shares_add_up_to_all_but_the_warps_that_issue() -> None:
    for _, values in launches("transpose"):
        states = {match.group(1): value for name, value in values.items() if (match := STALL.fullmatch(name))}
        shares = {key: value(key, values) for key in ALL_DERIVED if key.startswith("stall_")}
        shares = {key: share for key, share in shares.items() if key.removeprefix("stall_") not in TOLD_APART}
        assert len(shares) == len(states) - 1
        assert sum(shares.values()) == pytest.approx(100 - 100 * states["selected"] / sum(states.values()))
        assert shares["stall_drain"] == pytest.approx(100 * states["drain"] / sum(states.values()))
    older = {name: v for name, v in launches("transpose")[0][1].items() if "gmma" not in name}
    assert value("stall_wait", older) > 0  # a chip without the reason still has the others' shares
    assert ALL_DERIVED["stall_gmma"].value(older) is None


def test_a_ceiling_is_given_or_absent() -> None:
    copy = values_of("repeats", "stream_copy")
    derived = ALL_DERIVED["dram_of_ceiling"]
    assert derived.value(copy) is None
    known = {**copy, CATALOGUE["dram_ceiling"].names[0]: 4.2e12}
    assert derived.value(known) == pytest.approx(100 * copy["dram__bytes.sum.per_second"] / 4.2e12)


def test_a_ratio_without_traffic_is_not_applicable_and_an_absent_metric_is_none() -> None:
    naive = values_of("transpose", "transpose_naive")
    assert math.isnan(value("bank_conflict_ways", naive))
    assert why_not_applicable(naive) == "n/a"
    for derived in ALL_DERIVED.values():
        assert derived.value({}) is None
    quiet = {**naive, STORES: 0.0}
    per_request = (f"sectors_per_request_store{end}" for end in ("", "_ideal", "_excess"))
    for key in ("sector_efficiency_store", *per_request):
        assert math.isnan(value(key, quiet))


def test_traffic_around_l1_is_named() -> None:
    product = values_of("library", "nvjet")
    assert math.isnan(value("sectors_per_request_load", product))
    assert why_not_applicable(product) == "n/a (TMA)"
    convolution = values_of("library", "sm80_xmma_fprop")  # loads through cp.async: requests, but no bytes counted
    assert convolution[LOADS] > 0
    assert math.isnan(value("sector_efficiency_load", convolution))
    assert math.isnan(value("sectors_per_request_load_ideal", convolution))
    assert why_not_applicable(convolution) == "n/a (cp.async)"


def test_every_formula_needs_what_the_catalogue_has_and_answers_on_a_real_kernel() -> None:
    copy = {**values_of("repeats", "stream_copy"), CATALOGUE["dram_ceiling"].names[0]: 4.2e12}
    for key, derived in ALL_DERIVED.items():
        if key.endswith("_flops") and key != "tensor_flops":
            assert set(derived.needs) == set(re.findall(r"[a-z]\w+", derived.words)), key
        assert set(derived.needs) <= set(CATALOGUE), key
        assert derived.optional <= set(derived.needs), key
        assert derived.words
        assert derived.value(copy) is not None, key


def test_the_link_to_the_host_by_hand() -> None:
    """32 GT/s on 16 lanes are 64 GB/s, of which 128 of 130 bits are data: 63.015 GB/s."""
    assert formulas.link_share(55.1e9, 7e9, 5e6, 0.0, 32_000, 16) == pytest.approx(100 * 55.1 / 63.0154, rel=1e-5)
    assert formulas.link_share(3e9, 6e9, 9.0, 9.0, 8_000, 8) == pytest.approx(100 * 6 / 7.87692, rel=1e-5)
    assert formulas.link_share(0.0, 13e9, 0.0, 0.0, 32_000, 16) == 0.0  # what the driver writes is not the kernel's
    assert formulas.link_share(10e9, 13e9, 9.0, 0.0, 32_000, 16) == pytest.approx(100 * 10 / 63.0154, rel=1e-5)


@pytest.mark.parametrize(("rate", "width"), [(0, 0), (32_000, 0), (2_500, 16), (64_000, 16), (8_000, 16)])
def test_a_link_of_no_known_rate_has_no_share(rate: float, width: float) -> None:
    """At rest a link reports less than it runs at: 55 GB/s do not fit through PCIe 3.0."""
    assert math.isnan(formulas.link_share(55e9, 0.0, 9.0, 0.0, rate, width))


def test_a_kernel_that_leaves_the_host_alone_does_not_load_the_link() -> None:
    naive = values_of("transpose", "transpose_naive")
    assert value("host_link_busy", naive) == 0.0
    without = {name: number for name, number in naive.items() if "link_rate" not in name}
    assert ALL_DERIVED["host_link_busy"].value(without) is None


@pytest.mark.parametrize(
    ("bytes_per_sector", "requests", "async_copies", "share"),
    [
        (16.0, 100.0, 0.0, 50.0),
        (8.0, 100.0, 40.0, 25.0),
        (8.0, 100.0, 99.0, None),  # of the one load that is no cp.async
        (127.5, 100.0, 0.0, None),  # generic loads of wmma, most of them of shared memory
        (32.0, 100.0, 0.0, 100.0),
        (32.5, 100.0, 0.0, None),  # as softmax's v8, which stores to shared memory of other blocks
        (0.0, 100.0, 0.0, None),
    ],
)
def test_efficiency_only_where_the_bytes_are_known(
    bytes_per_sector: float, requests: float, async_copies: float, share: float | None
) -> None:
    found = formulas.sector_efficiency(bytes_per_sector, requests, async_copies)
    assert found == pytest.approx(share) if share is not None else math.isnan(found)
    ideal = formulas.ideal_sectors(bytes_per_sector, 400.0, requests, async_copies)
    assert math.isnan(ideal) == (share is None)
