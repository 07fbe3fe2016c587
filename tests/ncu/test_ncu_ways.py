"""The further ways to know a key of the catalogue: the best first, from one launch alone, and said where only near."""

from __future__ import annotations

import pytest
from factories import launch, make_run, metrics_frame
from recorded_values import values_of
from unknown import lacking

from ncu_assist.frame import combine, combine_launches
from ncu_assist.ncu.catalogue.chips import in_report
from ncu_assist.ncu.catalogue.metric import CAPABILITY, NOISY, NOWHERE, SUM, Metric, Way, linked, over, same, times
from ncu_assist.ncu.catalogue.metric_doctor import spelled
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.rules.model.resources import bottleneck_of_launch

ALL_WAYS = [(key, way) for key, row in ROWS.items() for way in row.ways]


def row(key: str, *names: str, ways: tuple[Way, ...] = ()) -> Metric:
    return Metric(key, names, NOWHERE, key, "", None, NOISY, SUM, key, ways=ways)


def test_its_own_name_is_asked_first() -> None:
    count = CATALOGUE["sm_count"]
    both = {"launch__sm_count": 66.0, "device__attribute_multiprocessor_count": 132.0}
    assert count.value(both) == 66.0
    assert count.way(both) is None
    del both["launch__sm_count"]
    assert count.value(both) == 132.0
    assert not count.is_approximate(both)
    assert count.value({}) is None


def test_of_several_ways_the_best_that_the_launch_has_is_taken() -> None:
    cycles = CATALOGUE["sm_cycles_elapsed"]
    values = {"gpc__cycles_elapsed.max": 1010.0}
    assert cycles.value(values) == 1010.0
    assert cycles.is_approximate(values)
    values |= {"smsp__cycles_elapsed.avg.per_second": 1.5e9, "gpu__time_duration.sum": 700.0}
    assert cycles.value(values) == pytest.approx(1050.0)
    assert not cycles.is_approximate(values)
    values |= {"smsp__cycles_elapsed.sum": 4 * 10 * 1049.0, "launch__sm_count": 10.0}
    assert cycles.value(values) == pytest.approx(1049.0)


def test_what_it_needs_may_itself_be_known_another_way_and_says_so() -> None:
    share = {"sm__inst_issued.avg.pct_of_peak_sustained_active": 40.0, "sm__cycles_active.avg": 500.0}
    slots = CATALOGUE["issue_slots_busy"]
    assert slots.value({**share, "sm__cycles_elapsed.avg": 1000.0}) == 20.0
    assert not slots.is_approximate({**share, "sm__cycles_elapsed.avg": 1000.0})
    assert slots.value({**share, "gpc__cycles_elapsed.max": 1000.0}) == 20.0
    assert slots.is_approximate({**share, "gpc__cycles_elapsed.max": 1000.0})


def test_the_peak_of_dram_on_pascal_is_that_of_its_bus() -> None:
    """ncu 2019 counts transfers: 4.0 GHz of GDDR5 on 256 bits are 8 of them in a ns, and 256 GB/s."""
    values = {"dram__frequency": 8.008e9, "device__attribute_global_memory_bus_width": 256.0}
    assert CATALOGUE["dram_clock"].value(values) == 4.004e9
    assert ROWS["dram_peak_bandwidth"].value(values) == pytest.approx(256e9, rel=0.002)


@pytest.mark.parametrize(("major", "bytes_a_block"), [(6.0, 5120.0), (7.0, 5120.0), (8.0, None)])
def test_before_ampere_shared_memory_is_what_the_kernel_asked_for(major: float, bytes_a_block: float | None) -> None:
    values = {
        "launch__shared_mem_per_block_static": 4096.0, "launch__shared_mem_per_block_dynamic": 1024.0,
        "device__attribute_compute_capability_major": major, "device__attribute_compute_capability_minor": 0.0,
    }  # fmt: skip
    assert CATALOGUE["shared_memory"].value(values) == bytes_a_block


def test_nothing_follows_from_nothing() -> None:
    assert CATALOGUE["bytes_per_sector_load"].value(dict.fromkeys(CATALOGUE["global_sectors_ideal"].names, 0.0)) is None
    none = {"memory_l2_theoretical_sectors_global": 0.0, "memory_l2_theoretical_sectors_global_ideal": 0.0}
    assert CATALOGUE["bytes_per_sector_load"].value(none) is None
    assert (
        CATALOGUE["l1_hit_rate_load"].value({"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum": 5.0}) is None
    )


def test_a_name_without_a_value_is_no_answer() -> None:
    values = {"launch__sm_count": float("nan"), "device__attribute_multiprocessor_count": 132.0}
    assert CATALOGUE["sm_count"].value(values) == 132.0


@pytest.mark.parametrize(("key", "way"), ALL_WAYS, ids=[f"{key}: {way.words}" for key, way in ALL_WAYS])
def test_a_way_says_its_formula_and_its_source(key: str, way: Way) -> None:
    assert way.source
    for need in way.needs:
        assert need in way.words
    assert key not in way.needs
    assert len(way.parts) == len(way.needs)


@pytest.mark.parametrize("key", [key for key, metric in CATALOGUE.items() if metric.ways])
def test_exact_ways_agree_with_the_name_where_a_launch_has_both(key: str) -> None:
    """Of what a full report of an H200 holds: a copy, transposes, reductions and others."""
    metric = CATALOGUE[key]
    for program, kernel in (
        ("transpose", "transpose_naive"),
        ("transpose", "transpose_shared"),
        ("repeats", "stream_copy"),
    ):
        values = values_of(program, kernel)
        own = metric.value(values)
        assert own is not None
        for way in metric.ways:
            found = way.value(values)
            if found is not None and not way.is_approximate(values):
                assert found == pytest.approx(own, rel=1e-9), way.words


def test_a_full_report_of_the_release_that_the_names_are_of_needs_no_other_way() -> None:
    values = values_of("transpose", "transpose_shared")
    assert [key for key, metric in CATALOGUE.items() if metric.way(values) is not None] == []


def test_over_launches_a_derived_value_combines_as_its_key_does() -> None:
    """5 of 10 and 30 of 20 sectors' worth: a ratio is weighted by its own denominator, however each part is known."""
    names = ("memory_l2_theoretical_sectors_global_ideal", "memory_l2_theoretical_sectors_global")
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
    none = {f"l1tex__t_{what}_pipe_lsu_mem_global_op_st.sum": 0.0 for what in ("sectors", "requests")}
    requests = sectors.replace("sectors", "requests") + ".sum"
    first = {names[0]: 5.0, names[1]: 10.0, f"{sectors}_lookup_hit.sum": 4.0, f"{sectors}_lookup_miss.sum": 6.0}
    first |= {requests: 2.0, **none}
    second = {names[0]: 30.0, names[1]: 30.0, f"{sectors}.sum": 30.0, requests: 6.0, **none}
    found = combine_launches("small", [launch(0), launch(1)], [first, second])
    assert found.values["global_load_sectors"] == 40.0
    assert found.values["bytes_per_sector_load"] == pytest.approx(32 * 35 / 40)
    assert found.is_approximate("bytes_per_sector_load")
    assert found.is_approximate("sector_efficiency_load")
    assert not found.is_approximate("global_load_sectors")


@pytest.mark.parametrize(
    ("loads", "stores", "ideal", "used"),
    [
        ((4.0, 1.0), (32.0, 1.0), 8.0, (32.0, 4.0)),  # a transpose of 4-byte elements: the stores are scattered
        ((32.0, 1.0), (4.0, 1.0), 8.0, (4.0, 32.0)),  # the other way round
        ((16.0, 1.0), (4.0, 1.0), 20.0, (32.0, 32.0)),  # 16 bytes a thread are read, 4 written: both coalesced
        ((32.0, 1.0), (32.0, 1.0), 8.0, (4.0, 4.0)),  # both scattered
        ((64.0, 2.0), (0.0, 0.0), 16.0, (8.0, None)),  # loads alone
    ],
)
def test_bytes_a_sector_of_loads_and_stores_from_both_together(
    loads: tuple[float, float], stores: tuple[float, float], ideal: float, used: tuple[float, float | None]
) -> None:
    values = {"memory_l2_theoretical_sectors_global_ideal": ideal}
    values["memory_l2_theoretical_sectors_global"] = loads[0] + stores[0]
    for op, (sectors, requests) in (("ld", loads), ("st", stores)):
        values[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"] = sectors
        values[f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"] = requests
    assert tuple(CATALOGUE[f"bytes_per_sector_{verb}"].value(values) for verb in ("load", "store")) == used


def test_what_l1_receives_follows_from_its_share_of_a_rate_that_is_the_chips() -> None:
    values = {"l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_elapsed": 50.0, "launch__sm_count": 10.0}
    values |= {"sm__cycles_elapsed.avg": 1000.0, "device__attribute_compute_capability_major": 8.0}
    received = CATALOGUE["l1_bytes_from_l2"]
    assert received.value({**values, "device__attribute_compute_capability_minor": 6.0}) == 32 * 5000
    assert received.value({**values, "device__attribute_compute_capability_minor": 0.0}) == 2 * 32 * 5000
    assert received.value({**values, "device__attribute_compute_capability_minor": 7.0}) is None, "a chip not seen"


def test_what_dram_read_follows_from_what_l2_was_filled_with_but_for_gddr_with_ecc() -> None:
    values = {"lts__d_sectors_fill_device.avg.pct_of_peak_sustained_elapsed": 50.0, "lts__cycles_elapsed.sum": 1000.0}
    values |= dict.fromkeys(("device__attribute_compute_capability_major",), 8.0)
    read = CATALOGUE["dram_bytes_read"]
    a40 = {**values, "device__attribute_compute_capability_minor": 6.0}
    a100 = {**values, "device__attribute_compute_capability_minor": 0.0}
    assert read.value({**a40, "device__attribute_ecc_enabled": 0.0}) == 32 * 500
    assert read.value({**a40, "device__attribute_ecc_enabled": 1.0}) is None
    assert read.value({**a100, "device__attribute_ecc_enabled": 1.0}) == 32 * 500
    assert read.is_approximate({**a100, "device__attribute_ecc_enabled": 1.0})


def test_stall_shares_come_from_samples_where_warp_states_were_not_counted() -> None:
    samples = {f"smsp__pcsamp_warps_issue_stalled_{name}": 10.0 for name in ("wait", "selected", "barrier")}
    others = {"smsp__warps_active.avg.per_cycle_active": 4.0, "smsp__issue_active.avg.per_cycle_active": 0.5}
    table = {**samples, **others, "smsp__pcsamp_sample_count": 30.0}
    found = combine_launches("small", [launch(0)], [table])
    assert found.stalls == pytest.approx({"barrier": 100 / 3, "wait": 100 / 3})
    assert found.values["warps_wait"] == pytest.approx(8 / 3)
    assert found.is_approximate("warps_wait")


def test_a_derived_metric_is_known_as_a_whole_where_its_parts_are_not() -> None:
    rate = {"dram__bytes.sum.per_second": 2e12}
    times_ns = [launch(0, duration_ns=100.0), launch(1, duration_ns=300.0)]
    tables = [{**rate, "gpu__time_duration.sum": 100.0}, {**rate, "gpu__time_duration.sum": 300.0}]
    found = combine_launches("small", times_ns, tables)
    assert found.values["dram_bytes"] == pytest.approx(2e12 * 400e-9)
    assert found.values["dram_bytes_read"] is None
    assert not found.is_approximate("dram_bytes")


def test_what_a_launch_has_by_name_is_not_approximate() -> None:
    found = combine(make_run(launches=(launch(0),)), metrics_frame({}), "small")
    assert not any(found.is_approximate(key) for key in ("dram_bytes", "duration", "registers", "dram_throughput"))


def test_the_names_behind_a_key_are_those_of_the_way() -> None:
    names = ("sm__inst_issued.avg.pct_of_peak_sustained_active", "sm__cycles_active.avg", "smsp__cycles_elapsed.avg")
    assert spelled("issue_slots_busy", in_report(names)) == names
    assert spelled("issue_slots_busy", in_report(["sm__cycles_active.avg"])) == ()
    assert spelled("dram_bytes", in_report(["dram__bytes.sum.per_second", "gpu__time_duration.sum"])) == (
        "dram__bytes.sum.per_second",
        "gpu__time_duration.sum",
    )


def test_ways_that_need_each_other_are_refused() -> None:
    a, b = row("a", "u__a", ways=(same("b", "x"),)), row("b", "u__b", ways=(times(("a", "a"), "x"),))
    with pytest.raises(ValueError, match="need each other: a -> b -> a"):
        linked({"a": a, "b": b})


def test_a_quotient_over_nothing_is_none() -> None:
    made = linked({"a": row("a", "u__a", ways=(over(("u__b",), ("u__c",), "x", factor=2.0),))})["a"]
    assert made.value({"u__b": 3.0, "u__c": 4.0}) == 1.5
    assert made.value({"u__b": 3.0, "u__c": 0.0}) is None


def test_what_must_go_for_a_key_to_be_unknown() -> None:
    values = values_of("transpose", "transpose_shared")
    for key in ("sm_cycles_elapsed", "shared_wavefronts", "dram_throughput", "instructions"):
        left = lacking(key, values)
        assert CATALOGUE[key].value(left) is None
        assert CATALOGUE["registers"].value(left) is not None


RANDOM_SECTORS = 132 * 8 * 4 * 256 * 64  # single sectors that one launch of benchmarks/scattered_reads.cu reads


@pytest.mark.parametrize(
    ("read", "written", "beyond", "rows"),
    [
        (RANDOM_SECTORS, 0, RANDOM_SECTORS, 1.0),  # each comes with a neighbour
        (RANDOM_SECTORS, 0, 0, 0.0),  # pieces of two sectors and more: nothing is read that nobody asked for
        (0, RANDOM_SECTORS / 2, RANDOM_SECTORS / 2, 1.0),  # written in part: filled and written back
        (RANDOM_SECTORS, RANDOM_SECTORS, 0, 0.0),  # both in whole
        (2 * RANDOM_SECTORS, 0, 2 * RANDOM_SECTORS, 0.0),  # more rows than DRAM can open: they lie in the same ones
    ],
)
def test_sectors_at_random_places_are_bound_by_rows_of_dram(
    read: float, written: float, beyond: float, rows: float
) -> None:
    """1.69 ms of an H200, whose DRAM was 54 % busy."""
    values = {
        "duration": 1.693e6, "dram_bytes_read": 32.0 * (read + beyond), "l2_sectors_read": read,
        "l2_sectors_write": written, "dram_peak_bytes_per_cycle": 1504.0,
        "memory_throughput": 54.3, "sm_throughput": 14.0, "dram_throughput": 54.3,
    }  # fmt: skip
    launch = {CATALOGUE[key].names[0]: value for key, value in values.items()}
    hopper, ampere = (launch | dict(zip(CAPABILITY, chip, strict=True)) for chip in ((9.0, 0.0), (8.0, 0.0)))
    assert ROWS["dram_rows_busy"].value(hopper) == pytest.approx(100.0 * rows, rel=0.02)
    assert ROWS["dram_rows_busy"].value(ampere) is None
    found = [bottleneck_of_launch(one) for one in (hopper, ampere)]
    assert [one and one.name for one in found] == ["DRAM rows" if rows else "latency", "latency"]


@pytest.mark.parametrize(("chip", "busy"), [((7.0, 5.0), 92.0), ((7.0, 0.0), 46.0), ((8.0, 6.0), 46.0), ((), 46.0)])
def test_a_wavefront_takes_two_cycles_of_the_data_pipe_on_turing(chip: tuple[float, ...], busy: float) -> None:
    passed = {CATALOGUE["l1_data_pipe"].names[0]: 46.0, **dict(zip(CAPABILITY, chip, strict=False))}
    row = ROWS["l1_data_busy"]
    assert row.value(passed) == busy
    assert row.is_approximate(passed) is not bool(chip)
    memory = passed | {CATALOGUE[key].names[0]: 46.0 for key in ("memory_throughput", "sm_throughput")}
    found = bottleneck_of_launch(memory)
    assert found is not None
    assert (found.name, found.percent) == (("L1 data pipe", 92.0) if busy > 60 else ("latency", 46.0))
