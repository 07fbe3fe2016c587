"""Launches of one workload as one: sums, time-weighted means, and None for what is absent."""

from __future__ import annotations

import pytest
from factories import STALL, launch, make_run, metrics_frame

from ncu_assist.frame import Combined, Coverage, by_launch, combine
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES

RATE = "dram__bytes.sum.per_second"
DRAM = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
# All that tells how busy DRAM was.
NO_DRAM = {DRAM: None, **dict.fromkeys(("gpu__dram_throughput" + DRAM.removeprefix("dram__cycles_active"), RATE))}
LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"


def combined(*changes: dict[str, float | str | None], times: tuple[float | None, ...] | None = None) -> Combined:
    durations = times or (100_000.0,) * len(changes)
    launches = tuple(launch(i, duration_ns=duration) for i, duration in enumerate(durations))
    return combine(make_run(launches=launches), metrics_frame(*changes), "small")


def test_numbers_by_launch_leave_out_texts() -> None:
    tables = by_launch(metrics_frame({}, {DRAM: 1.0}))
    assert sorted(tables) == [0, 1]
    assert tables[1][DRAM] == 1.0
    assert "device__attribute_display_name" not in tables[0]
    assert by_launch(metrics_frame(defaults=False)) == {}


def test_one_launch_is_itself() -> None:
    found = combined({})
    assert found.values["dram_throughput"] == 83.0
    assert found.values["dram_bytes"] == 4e8
    assert found.values["registers"] == 32.0
    assert found.duration_ns == 100_000.0
    assert set(found.values) == set(OVER_LAUNCHES)


def test_bytes_and_durations_add_and_percentages_are_weighted_by_time() -> None:
    found = combined({DRAM: 90.0}, {DRAM: 50.0}, times=(300.0, 100.0))
    assert found.duration_ns == 400.0
    assert found.values["dram_bytes"] == 8e8
    assert found.values["dram_throughput"] == pytest.approx(80.0)


def test_launch_facts_take_the_largest() -> None:
    name = "launch__registers_per_thread"
    assert combined({name: 32}, {name: 96}).values["registers"] == 96


def test_what_is_absent_is_none_and_never_zero() -> None:
    found = combined({"dram__bytes_read.sum": None, "smsp__inst_executed.sum": None, **NO_DRAM})
    for key in ("dram_bytes_read", "dram_bytes", "instructions", "dram_throughput"):
        assert found.values[key] is None
    assert found.values["dram_bytes_write"] == 2e8


def test_a_sum_with_a_missing_part_is_no_sum() -> None:
    found = combined({}, {"smsp__inst_executed.sum": None})
    assert found.values["instructions"] is None


def test_a_mean_without_durations_is_none_unless_all_are_equal() -> None:
    missing = {"gpu__time_duration.sum": None}
    assert (
        combined({DRAM: 90.0, **missing}, {DRAM: 50.0, **missing}, times=(None, None)).values["dram_throughput"] is None
    )
    assert combined({**missing}, {**missing}, times=(None, None)).values["dram_throughput"] == 83.0
    assert combined({**missing}, times=(None,)).duration_ns is None


def test_ratios_of_sums_are_taken_after_adding() -> None:
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    found = combined({LOADS: 100, sectors: 400}, {LOADS: 300, sectors: 6000}, times=(1.0, 9.0))
    assert found.values["sectors_per_request_load"] == 6400 / 400


def test_a_launch_without_loads_does_not_pull_the_efficiency_down() -> None:
    found = combined({PER_SECTOR: 16.0}, {PER_SECTOR: 0.0, LOADS: 0.0}, times=(1.0, 99.0))
    assert found.values["sector_efficiency_load"] == 50.0
    assert "sector_efficiency_load" not in found.not_applicable


def test_a_ratio_over_no_traffic_is_not_applicable() -> None:
    plain = combined({PER_SECTOR: 0.0, LOADS: 0.0})
    assert plain.values["sector_efficiency_load"] is None
    assert plain.not_applicable["sector_efficiency_load"] == "n/a"
    tma = combined({PER_SECTOR: 0.0, LOADS: 0.0, "smsp__inst_executed_op_tma_ld.sum": 8.0})
    assert tma.not_applicable["sector_efficiency_load"] == "n/a (TMA)"
    assert "sector_efficiency_load" not in combined({}).not_applicable  # absent from the report: not the same


def test_only_launches_of_the_workload_count() -> None:
    launches = (launch(0, workload="small"), launch(1, workload="odd", duration_ns=7.0))
    run, metrics = make_run(launches=launches), metrics_frame({}, {DRAM: 10.0})
    assert combine(run, metrics, "odd").values["dram_throughput"] == 10.0
    assert combine(run, metrics, "odd").duration_ns == 7.0
    assert len(combine(run, metrics, None).launches) == 2
    none = combine(run, metrics, "nothing")
    assert none.launches == ()
    assert set(none.values.values()) == {None}


def test_stalls_are_shares_of_all_warp_states_largest_first() -> None:
    found = combined(
        {STALL.format("long_scoreboard"): 3.0, STALL.format("barrier"): 6.0, STALL.format("selected"): 1.0}
    )
    assert found.stalls == {"barrier": 60.0, "long_scoreboard": 30.0}
    assert list(found.stalls) == ["barrier", "long_scoreboard"]
    names = {STALL.format(reason): None for reason in ("long_scoreboard", "barrier", "selected")}
    assert combined(dict(names)).stalls == {}


def test_a_value_says_of_how_many_launches_it_is() -> None:
    none, tma = {PER_SECTOR: 0.0, LOADS: 0.0}, {"smsp__inst_executed_op_tma_ld.sum": 8.0}
    found = combined({PER_SECTOR: 16.0}, {**none, **tma}, none, {**NO_DRAM, PER_SECTOR: None, LOADS: None})
    assert found.values["sector_efficiency_load"] == 50.0
    assert found.coverage("sector_efficiency_load") == Coverage(1, 4, ("n/a (TMA)", "n/a", "absent"))
    assert found.coverage("dram_throughput") == Coverage(3, 4, ("absent",))
    assert found.coverage("registers") is None  # of all
    assert found.coverage("sector_efficiency_store") is None
    assert combined(none, none).coverage("sector_efficiency_load") is None  # there is no value
    assert combined({}, {}, times=(1.0, None)).coverage("duration") is None


def test_some_of_the_launches() -> None:
    found = combined({DRAM: 90.0}, {DRAM: 50.0}, {DRAM: 10.0}, times=(300.0, 100.0, 600.0))
    some = found.only([found.launches[1], found.launches[0]])
    assert [one.index for one in some.launches] == [0, 1]
    assert (some.duration_ns, some.workload) == (400.0, "small")
    assert some.values["dram_throughput"] == pytest.approx(80.0)


def test_means_of_unlike_launches_hang_on_their_times() -> None:
    found = combined({DRAM: 90.0, PER_SECTOR: 32.0}, {DRAM: 50.0, PER_SECTOR: 32.0})
    assert found.is_weighted("dram_throughput")
    assert not found.is_weighted("sector_efficiency_load")
    assert not found.is_weighted("dram_bytes")
    assert not found.is_weighted("sectors_per_request_load")  # of sums


def repeated(*values: float, name: str = DRAM) -> Combined:
    launches = tuple(launch(i, repeat=i) for i in range(len(values)))
    return combine(make_run(launches=launches), metrics_frame(*[{name: value} for value in values]), "small")


def test_repeats_of_the_same_work_do_not_add_up() -> None:
    found = repeated(80.0, 90.0, 70.0)
    assert (len(found.launches), found.repeats) == (1, 3)
    assert found.values["dram_throughput"] == 80.0  # the median
    assert found.duration_ns == 100_000.0
    assert found.samples("dram_throughput") == [80.0, 90.0, 70.0]
    assert found.named(DRAM) == 80.0


def test_stall_shares_of_repeats_are_medians() -> None:
    found = repeated(1.0, 8.0, 2.0, name=STALL.format("barrier"))
    alone = [repeated(value, name=STALL.format("barrier")).stalls["barrier"] for value in (1.0, 8.0, 2.0)]
    assert found.stalls["barrier"] == sorted(alone)[1]
    assert found.samples("stall_barrier") == alone


def test_a_value_that_a_repeat_lacks_is_none() -> None:
    launches = (launch(0), launch(1, repeat=1))
    found = combine(make_run(launches=launches), metrics_frame({}, NO_DRAM), "small")
    assert found.values["dram_throughput"] is None
    assert found.samples("dram_throughput") == [83.0]


def test_a_call_that_launched_other_kernels_is_no_repeat() -> None:
    launches = (launch(0), launch(1, "other", repeat=1), launch(2, repeat=2))
    found = combine(make_run(launches=launches), metrics_frame({}, {}, {}), "small")
    assert found.repeats == 2


def test_the_typical_launch_is_what_the_time_goes_to() -> None:
    assert combined({}, {}, {}, times=(1e3, 1e3, 1e5)).typical_ns == pytest.approx(98_058.8, rel=1e-4)
    assert combined({}, {}, times=(4e3, 4e3)).typical_ns == 4e3
    assert combined({"gpu__time_duration.sum": None}, times=(None,)).typical_ns is None
