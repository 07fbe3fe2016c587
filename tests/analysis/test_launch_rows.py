"""Launches beside one another: groups, floors, winnable time, what pays; one alone is as among the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, STALL, launch, make_run, metrics_frame, save_run
from recorded_family import ROOT

from ncu_assist.analysis.launches import LaunchGroup, LaunchRow, launch_floor, launch_groups, narrowed, payoffs
from ncu_assist.analysis.run_view import RunView
from ncu_assist.launch_selection import selection_of
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.pipeline import showing
from ncu_assist.pipeline.opened_reports import bare_reports, named
from ncu_assist.pipeline.showing import gather
from ncu_assist.project import Project
from ncu_assist.render.json.run import show_json
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words.launches import (
    floor_units_words,
    launch_cells,
    launch_table,
    payoff_sentence,
    payoff_sentences,
)
from ncu_assist.rules import launch_bound
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.savings import START, busiest_unit
from ncu_assist.store import Store, StoredRun

DATA = Path(__file__).parents[1] / "data"
REPORTS = ("torch_full_h200_2025.3.1.ncu-rep.zst", "transpose_full_h200_2025.3.1.ncu-rep.zst")
SGEMM, RATE = "ampere_sgemm_128x64_tn", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed"
FAR = {"smsp__cycles_elapsed.avg": 1e5, "sm__cycles_elapsed.avg.per_second": 1.7e9}


def program(root: Path, *launches: dict[str, Any]) -> StoredRun:
    """Save a foreign program: each launch with its record's fields, and metrics under ``metrics``."""
    counters = [one.pop("metrics", {}) for one in launches]
    made = tuple(launch(i, **{"workload": None, "ranges": (), **one}) for i, one in enumerate(launches))
    times = [{"gpu__time_duration.sum": one.duration_ns, **more} for one, more in zip(made, counters, strict=True)]
    run = make_run(source="imported", workloads=(), checks=(), profile=None, launches=made)
    return save_run(Store(root / "reports"), run, metrics_frame(*times))


def shown(root: Path, *launches: dict[str, Any]) -> RunView:
    return gather(program(root, *launches))


def test_launches_of_one_kernel_and_shape_are_one_row(tmp_path: Path) -> None:
    view = shown(
        tmp_path,
        *({"kernel": "often", "duration_ns": 1e4} for _ in range(3)),
        {"kernel": "once", "duration_ns": 5e4, "ranges": ("outer", "inner")},
        {"kernel": "often", "duration_ns": 1e4},
        {"kernel": "often", "duration_ns": 1e4, "grid": (4, 2, 1)},
    )
    table = launch_table(view)
    cells = [[cell.text for cell in row] for row in table.rows]
    assert [row[:5] for row in cells] == [
        ["3", "once", "8", "50 µs", "50 %"],
        ["0-2, 4", "4 × often", "8", "40 µs", "40 %"],
        ["5", "often", "4x2", "10 µs", "10 %"],
    ]
    assert table.rows[0][1].note == "outer/inner"
    assert [row.launch.index for group in view.groups for row in group.rows] == [3, 0, 1, 2, 4, 5]


def test_many_shapes_of_one_kernel_are_one_row(tmp_path: Path) -> None:
    view = shown(tmp_path, *({"kernel": "k", "grid": (n, 1, 1), "duration_ns": 1e4} for n in range(1, 26)))
    (row,) = launch_table(view).rows
    assert [cell.text for cell in row[:5]] == ["0-24", "25 × k", "25 grids", "250 µs", "100 %"]


def test_a_row_names_the_ranges_that_all_of_it_share(tmp_path: Path) -> None:
    layers = [("step", f"layer {n}", "gemm") for n in range(25)]
    (row,) = launch_table(shown(tmp_path, *({"kernel": "k", "ranges": one, "duration_ns": 1e4} for one in layers))).rows
    assert row[1].note == "step"
    some = [*layers[:24], ()]
    (row,) = launch_table(shown(tmp_path / "some", *({"kernel": "k", "ranges": one} for one in some))).rows
    assert row[1].note == ""


def test_no_estimate_promises_more_than_the_floor_beside_it(tmp_path: Path) -> None:
    """What a finding takes off DRAM is not needed: 86 of 100 µs of it, and 80 can be won."""
    busy = {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 73.0}
    (row,) = shown(tmp_path, {"duration_ns": 1e5, "metrics": busy}).launches
    assert row.results is not None
    assert row.floor is not None
    assert row.floor.times is not None
    assert row.floor.times < 1.5
    finding = Finding(rule="uncoalesced-global-load", message="", saved_ns=8e4, evidence=(), relieves=("DRAM",))
    ranked = Ranked(finding, 8e4, 5.0, "high")
    results = replace(row.results, diagnosis=replace(row.results.diagnosis, findings=(ranked,)))
    found = launch_floor(results)
    assert found is not None
    assert (found.by, found.times) == ("DRAM", pytest.approx(5.0))
    view = gather(narrowed(program(tmp_path / "two", {"duration_ns": 1e5, "metrics": busy}), selection_of("0")))
    assert "what its finding leaves if that is less; the gain of the finding is included" in " ".join(
        show_text(view).split()
    )


def test_there_is_no_floor_where_operations_may_set_it_and_were_not_counted(tmp_path: Path) -> None:
    """As ncu prints it by default. Of a chain of FMAs bytes alone would take a 500th; of a product SMs may be busy
    with loads alone."""
    sm, dram = (f"{unit}.avg.pct_of_peak_sustained_elapsed" for unit in ("sm__throughput", "dram__cycles_active"))
    counted = ({sm: 90, dram: 0.2}, {sm: 20, dram: 85}, {dram: 2}, {dram: 85})
    launches = ({"kernel": f"k{i}", "duration_ns": 1e5, "metrics": one} for i, one in enumerate(counted))
    found = [row.floor and row.floor.by for row in shown(tmp_path, *launches).launches]
    assert found == [None, "DRAM", None, "DRAM"]


def test_text_json_and_page_speak_of_the_same_launch(tmp_path: Path) -> None:
    """Most of the time goes to what cannot win anything, most of what can be won to another."""
    busy = {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 93.0, "gpu__time_duration.sum": 1e6}
    few = {"launch__grid_size": 1.0, "launch__block_size": 256.0, "launch__sm_count": 132.0}
    few |= {"launch__waves_per_multiprocessor": 0.001, "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 1.0}
    view = shown(
        tmp_path,
        {"kernel": "busy", "duration_ns": 1e6, "metrics": busy},
        {"kernel": "few", "duration_ns": 9e5, "metrics": few},
    )
    told = show_json(view)
    assert told["focus"] == 1
    assert (told["diagnosis"]["kernel"], told["diagnosis"]["launches"]) == ("few", [1])
    assert told["diagnosis"]["findings"] == told["launches"][1]["findings"]
    assert (view.results and view.counted.results) is not None
    assert [one.index for one in view.counted.combined.launches] == [1]
    assert "Diagnosis: grid-underfill" in show_text(view)


def test_the_floor_is_by_bytes_or_operations(tmp_path: Path) -> None:
    half = {
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 30.0,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 5.0,
    }
    view = shown(tmp_path, {"duration_ns": 1e5, "metrics": half})
    floor = view.launches[0].floor
    assert floor is not None
    assert (floor.by, floor.of_workload) == ("DRAM", False)
    assert floor.times == pytest.approx(1e5 / floor.ns)
    assert 2.0 < floor.times < 4.0
    assert launch_table(view).rows[0][-1].text == f"{floor.times:.2f}x"


def test_the_floor_and_near_ceiling_speak_of_one_ceiling_of_dram(tmp_path: Path) -> None:
    """*Which is at most 13 % of the time* beside *1.09x to floor* were 95 % of the ceiling and the ceiling."""
    busy = {f"{unit}.avg.pct_of_peak_sustained_elapsed": 80.0 for unit in ("dram__cycles_active", "dram__throughput")}
    busy["sm__throughput.avg.pct_of_peak_sustained_elapsed"] = 5.0
    (row,) = shown(tmp_path, {"duration_ns": 1e6, "metrics": busy}).launches
    assert row.results is not None
    busiest = busiest_unit(row.results.facts)
    assert busiest is not None
    assert row.floor is not None
    assert (busiest.name, row.floor.by) == ("DRAM", "DRAM")
    assert row.floor.times == pytest.approx(1.0 / busiest.reached)


def test_no_floor_is_shorter_than_the_start_of_a_launch(tmp_path: Path) -> None:
    """0.3 of 10.5 µs are work; one of 1.8 µs is as short as it gets, and only fusing it spares that."""
    idle = {f"{unit}.avg.pct_of_peak_sustained_elapsed": 3.0 for unit in ("sm__throughput", "dram__cycles_active")}
    view = shown(
        tmp_path, *({"kernel": f"k{took:.0f}", "duration_ns": took, "metrics": idle} for took in (10500, 1800))
    )
    long, short = (row.floor for row in view.launches)
    assert long is not None
    assert short is not None
    assert (long.by, long.by_finding) == (START, False)
    assert 2_500 <= long.ns < 3_000
    assert (short.by_finding, short.ns) == (True, pytest.approx(launch_bound.WORK_NS))
    assert "floor set by: start in launch 0" in " ".join(show_text(view).split())


def test_equal_launches_have_a_floor_of_one_unit_where_two_need_as_long(tmp_path: Path) -> None:
    """The FMA pipe and the ALU pipe are busy as long, but for noise."""
    pipes = "sm__inst_executed_pipe_{}.avg.pct_of_peak_sustained_active"
    near = {
        "dram__bytes_read.sum": 1e4, "dram__bytes_write.sum": 1e4, "sm__cycles_active.avg": 1e5,
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 1.0, "sm__cycles_elapsed.avg": 1e5,
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 1.0,
    }  # fmt: skip
    shares = [(20.3, 20.0), (20.3, 20.0), (20.0, 20.3), (20.3, 20.0)]
    counted = [near | {pipes.format("fma"): fma, pipes.format("alu"): alu} for fma, alu in shares]
    stored = program(tmp_path, *({"duration_ns": 1e5, "metrics": one} for one in counted))
    view = gather(stored)
    assert [row.floor and row.floor.by for row in view.launches] == ["FMA pipe"] * 4
    assert floor_units_words(view.groups) == "floor set by: FMA pipe in all 4 launches"
    (alone,) = gather(narrowed(stored, selection_of("2"))).launches
    assert alone.floor == view.launches[2].floor


def test_launches_whose_floor_one_unit_sets_are_numbered_and_the_rest_counted(tmp_path: Path) -> None:
    idle = {f"{unit}.avg.pct_of_peak_sustained_elapsed": 3.0 for unit in ("sm__throughput", "dram__cycles_active")}
    made = [{"kernel": f"k{place}", "duration_ns": 10500, "metrics": dict(idle)} for place in range(20)]
    near = {"kernel": "near", "duration_ns": 2000, "metrics": dict(idle)}  # at its floor: nothing is told of it
    rows = shown(tmp_path, *made, near).launches
    assert floor_units_words(launch_groups(rows)) == (
        "floor set by: start in launches 0, 1, 2, 3, 4, 5, 6, 7 and 12 more"
    )
    assert floor_units_words(launch_groups(rows[:2])) == "floor set by: start in launches 0, 1"
    assert floor_units_words(launch_groups(rows[:20])) == "floor set by: start in all 20 launches"
    assert floor_units_words(launch_groups([rows[0], rows[-1]])) == "floor set by: start in launch 0"


def test_short_launches_together_are_a_chain(tmp_path: Path) -> None:
    """One alone gains nothing from a CUDA graph; several of a report are what a graph is for."""
    idle = {f"{unit}.avg.pct_of_peak_sustained_elapsed": 3.0 for unit in ("sm__throughput", "dram__cycles_active")}
    made = [{"kernel": f"k{place}", "duration_ns": 3e3, "metrics": dict(idle)} for place in range(3)]
    (several,) = shown(tmp_path / "several", *map(dict, made)).payoffs
    (one,) = shown(tmp_path / "one", made[0]).payoffs
    assert (several.advice, one.advice) == (launch_bound.CHAIN, launch_bound.SINGLE)


@pytest.mark.parametrize(("asked", "by", "times"), [(4.0, "tensor cores", 10.0), (1.0, "DRAM", 1.0)])
def test_a_product_that_fetches_its_tiles_again_needs_its_operations_alone(
    tmp_path: Path, asked: float, by: str, times: float
) -> None:
    """SMs ask L2 for four times what comes from DRAM: it comes several times. Asked for once, it is needed."""
    counted = {
        "pipe_tensor_cycles": 9.0,
        "tensor_ops_fp16": 1e12,
        "dram_throughput": 90.0,
        "dram_bytes_read": 1e9,
        "dram_bytes_write": 0.0,
    }
    counted |= {"l2_sectors_read": asked * 1e9 / 32, "sm_cycles_active": 1e5, "sm_cycles_elapsed": 1e5}
    metrics = {CATALOGUE[key].names[0]: value for key, value in counted.items()}
    (row,) = shown(tmp_path, {"duration_ns": 1e7, "metrics": metrics}).launches
    assert row.results is not None
    floor = launch_floor(replace(row.results, diagnosis=replace(row.results.diagnosis, findings=())))
    assert floor is not None
    assert (floor.by, floor.times) == (by, pytest.approx(times, rel=0.05))


def test_the_focus_has_the_most_time_to_win(tmp_path: Path) -> None:
    bad = {
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 4.0,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 3_200_000.0,
        "lts__throughput.avg.pct_of_peak_sustained_elapsed": 80.0,
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 20.0,
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 20.0,
    }
    view = shown(
        tmp_path, {"kernel": "long", "duration_ns": 2e5}, {"kernel": "bad", "duration_ns": 1e5, "metrics": bad}
    )
    assert view.focus is view.launches[1]
    assert (view.launches[0].winnable_ns, view.focus.winnable_ns) == (
        0.0,
        view.focus.first and view.focus.first.saved_ns,
    )
    assert view.detail.combined.launches == (view.focus.launch,)
    text = show_text(view, Style())
    assert "\nLaunch 1, bad, the most to win of 2 (--launch N: another)\n" in text
    (payoff,) = view.payoffs
    assert (payoff.kernel, payoff.launches, payoff.share) == ("bad", (1,), pytest.approx(1 / 3))
    assert payoff_sentences(view)[0].startswith(f"bad takes 33 % of the time; {payoff.rule}: {payoff.advice}: up to ")
    figured = replace(payoff, figures="8.48 waves (of blocks) now")
    assert f": {payoff.advice} (8.48 waves (of blocks) now): up to " in payoff_sentence(figured)
    assert payoff_sentence(figured, figures=False) == payoff_sentences(view)[0]  # a brief screen's diagnosis has them


@pytest.mark.parametrize(("took", "focus"), [(2e6, 0), (9e4, 1)])
def test_the_focus_is_what_nothing_explains_if_most_of_the_time_is_its(tmp_path: Path, took: float, focus: int) -> None:
    """Of 2 ms more is above the floor than the other can win of its 100 µs; 90 are not most of the time."""
    idle = {f"{unit}.avg.pct_of_peak_sustained_elapsed": 40.0 for unit in ("sm__throughput", "dram__cycles_active")}
    idle |= {"launch__grid_size": 1e5, "launch__waves_per_multiprocessor": 100.0}
    idle |= {STALL.format("barrier"): 0.0}
    few = {"launch__grid_size": 1.0, "launch__sm_count": 132.0, "launch__waves_per_multiprocessor": 0.001}
    few |= dict.fromkeys(list(idle)[:2], 0.1)
    view = shown(
        tmp_path,
        {"kernel": "long", "duration_ns": took, "metrics": idle},
        {"kernel": "few", "duration_ns": 1e5, "metrics": few},
    )
    assert view.launches[0].unexplained_ns
    assert view.focus is view.launches[focus]
    assert ("the farthest above its floor of 2" in " ".join(show_text(view).split())) == (focus == 0)


def advised(row: LaunchRow, advice: str, saved_ns: float, rule: str = "low-occupancy", figures: str = "") -> LaunchRow:
    """Return a launch whose first finding gives this advice."""
    assert row.results is not None
    finding = Finding(rule=rule, message="", saved_ns=saved_ns, evidence=(), advice=advice, figures=figures)
    ranked = Ranked(finding, saved_ns, 2.0, "high")
    return replace(row, results=replace(row.results, diagnosis=replace(row.results.diagnosis, findings=(ranked,))))


def test_the_advice_for_one_shape_is_not_given_to_another(tmp_path: Path) -> None:
    """A sweep over block sizes: what names a block size is for launches of that size, what does not is for all."""
    blocks, busy = (256, 64, 256, 64, 32), {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 50.0}
    made = ({"kernel": "k", "duration_ns": 1e5, "block": (one, 1, 1), "metrics": dict(busy)} for one in blocks)
    rows = shown(tmp_path, *made).launches
    sweep = [advised(row, f"__launch_bounds__({row.launch.block[0]}, 2)", 100.0 * row.launch.block[0]) for row in rows]
    found = payoffs(sweep)
    assert [(one.advice[18:-4], one.launches) for one in found] == [("256", (0, 2)), ("64", (1, 3)), ("32", (4,))]
    assert payoff_sentence(found[0]).startswith("2 launches of k (#0, 2) take 40 % of the time; low-occupancy: ")
    (one,) = payoffs([advised(row, "keep fewer values a thread", 1e4) for row in rows])
    assert payoff_sentence(one).startswith("5 launches of k take 100 % of the time; low-occupancy: ")
    # launches of one shape are advised by the worst of them, whatever the next lower counter says of another
    (one,) = payoffs([advised(rows[0], "this", 2e4), advised(rows[2], "that", 1e4)])
    assert (one.advice, one.launches) == ("this", (0, 2))


def test_figures_of_one_kernel_are_not_told_of_several(tmp_path: Path) -> None:
    """*13 launches of 5 kernels … (up to 4.10x, then the instruction issue is at 100 %)* was true of one."""
    names = ("k", "k", "other")
    rows = shown(tmp_path, *({"kernel": name, "duration_ns": 2e3, "metrics": dict(FAR)} for name in names)).launches
    made = [advised(row, "put the chain into a CUDA graph", 1e3, "launch-bound", "up to 4.10x") for row in rows]
    assert [payoffs(some)[0].figures for some in (made[:2], made)] == ["up to 4.10x", ""]


@pytest.mark.parametrize("rule", ["debug-build", "another-rule-about-builds"])
def test_a_build_without_optimisation_pays_for_all_its_kernels(tmp_path: Path, rule: str) -> None:
    """Whatever else is first: rebuilding wins 61 us of both kernels, and the faults that come first 11 of them."""
    busy = {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 50.0}
    view = shown(tmp_path, *({"kernel": name, "duration_ns": 1e5, "metrics": dict(busy)} for name in ("a", "b")))
    of_one = {"advice": "compile it", "figures": "up to 2.00x, then the DRAM is at 100 % of what it can reach"}
    rebuild = Finding(rule=rule, message="", saved_ns=0.0, evidence=(), assumed=True, of_build=True, **of_one)

    def unoptimised(row: LaunchRow, saved_ns: float) -> LaunchRow:
        assert row.results is not None
        found = (*row.results.diagnosis.findings, Ranked(rebuild, saved_ns, 2.0, "high"))
        return replace(row, results=replace(row.results, diagnosis=replace(row.results.diagnosis, findings=found)))

    a, b = (advised(row, "keep fewer values", saved) for row, saved in zip(view.launches, (1e4, 1e3), strict=True))
    of_both, of_a, of_b = payoffs([unoptimised(a, 6e4), unoptimised(b, 1e3)])
    assert (of_both.rule, of_both.launches, of_both.wins) == (rule, (0, 1), (6e4, 1e3))
    assert (of_both.of_build, of_a.of_build, of_b.of_build) == (True, False, False)
    said = payoff_sentence(of_both)
    assert said == (
        f"2 launches of 2 kernels take 100 % of the time; {rule}: compile it: "
        "up to 61 µs less (30 % of all time), assumed"
    )
    assert [(one.kernel, one.winnable_ns, one.assumed) for one in (of_a, of_b)] == [
        ("a", 1e4, False),
        ("b", 1e3, False),
    ]


def test_floats_of_a_library_could_be_tf32(tmp_path: Path) -> None:
    product = {**FAR, RATE: 128.0 * DEVICE.sm_count, "smsp__inst_executed.sum": 5e7} if DEVICE.sm_count else {}
    product |= {
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 5.0,
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 5.0,
        "device__attribute_multiprocessor_count": 132.0,
        "launch__sm_count": 132.0,
    }
    one = {"kernel": SGEMM, "signature": SGEMM, "duration_ns": 1e5, "metrics": product}
    other = {"kernel": "mine", "signature": "mine(float *)", "duration_ns": 2e4, "metrics": product}
    view = shown(tmp_path, dict(one), dict(one), other)
    assert [row.other_format_ns > 5e4 for row in view.launches] == [True, True, False]
    first = payoff_sentences(view)[0]
    assert first.startswith(
        "2 × float32 matrix product of cuBLAS take 91 % of the time; no-tensor-core: multiply in bfloat16"
    )
    assert "TF32" in first
    assert first.endswith("assumed")


def test_what_idles_is_not_done_sooner_in_another_format() -> None:
    """A float32 convolution of 57 blocks: its units work for a fifth of its time at most."""
    name = "library_full_h200_2025.3.1.ncu-rep.zst"
    (report,) = bare_reports([name], [DATA / name], None)
    view = gather(report, every=True)
    convolution = next(row for row in view.launches if "fprop" in row.launch.kernel)
    assert convolution.library
    assert convolution.library.number_format == "float32"
    assert convolution.other_format_ns < 0.2 * (convolution.launch.duration_ns or 0.0)
    ids = {one.finding.rule for row in view.launches if row.results for one in row.results.diagnosis.findings}
    assert {one.rule for one in view.payoffs} <= ids


def test_the_longest_are_judged_and_the_rest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = program(tmp_path, *({"kernel": f"k{n}", "duration_ns": 1e4 + n} for n in range(4)))
    monkeypatch.setattr(showing, "MOST_JUDGED", 3)
    view = gather(stored)
    assert [row.judged for row in view.launches] == [False, True, True, True]
    assert "the 1 shortest launches (25 % of the time) were not judged: --json judges all" in show_text(view)
    every = show_json(gather(stored, every=True))
    assert (every["launches_not_judged"], every["launches_profiled"]) == (0, 4)
    assert all(one["judged"] for one in every["launches"])


@pytest.mark.parametrize("name", REPORTS)
def test_a_launch_alone_has_the_figures_that_it_has_among_the_others(name: str) -> None:
    (report,) = bare_reports([name], [DATA / name], None)
    every = show_json(gather(report, every=True))
    among = {row.launch.index: row for row in gather(report).launches}
    for one in every["launches"]:
        view = gather(narrowed(report, selection_of(str(one["index"]))), every=True)
        alone = show_json(view)
        assert alone["launches"] == [one]
        assert alone["focus"] == one["index"]
        assert alone["diagnosis"]["findings"] == one["findings"]
        assert alone["bound_by"] == one["bound_by"]
        assert launch_table(view).rows == (launch_cells(LaunchGroup((among[one["index"]],))),)
        for metric, told in every["metrics"].items():
            each = (told["per_launch"] or {}).get(str(one["index"]))
            assert each is None or each == pytest.approx(alone["metrics"][metric]["value"], rel=1e-12)
        if every["focus"] == one["index"]:
            below = show_text(gather(report), Style()).partition("--launch N: another)\n")[2]
            assert below.partition("\nmore:")[0].strip() in show_text(view, Style())


def test_a_launch_near_a_threshold_is_told_the_same_alone(tmp_path: Path) -> None:
    """How long the mean multiprocessor rests decides between `tail-effect` and none: by itself the second has it."""
    counted = {
        "waves_per_sm": 2.4, "grid_size": 1024, "sm_count": 72, "block_size": 128, "dram_throughput": 20,
        "l1_writeback_busy": 38, "issue_slots_busy": 30, "sm_cycles_active_max": 100, "sm_cycles_elapsed": 100,
        "memory_throughput": 40,
    }  # fmt: skip
    of_launch = [counted | {"sm_cycles_active": mean} for mean in (97.9, 97.3, 97.9, 97.8)]
    no_barrier = {STALL.format("barrier"): 0.0}
    metrics = [{CATALOGUE[key].names[0]: value for key, value in one.items()} | no_barrier for one in of_launch]
    stored = program(tmp_path / "all", *({"duration_ns": 1e5, "metrics": one} for one in metrics))
    every = gather(stored)
    assert [row.first and row.first.finding.rule for row in every.launches] == ["unexplained"] * 4
    alone = gather(narrowed(stored, selection_of("1")))
    assert alone.launches[0].results == every.launches[1].results
    assert alone.results == alone.launches[0].results
    by_itself = gather(program(tmp_path / "one", {"duration_ns": 1e5, "metrics": metrics[1]}))
    assert by_itself.results
    assert by_itself.results.diagnosis.findings[0].finding.rule == "tail-effect"


def test_a_diagnosis_of_some_launches_of_a_row_says_of_how_many() -> None:
    (stored,) = named(Project(ROOT), ("lightning_decode_deferred/v4",), None)
    view = gather(stored)
    row = launch_table(view).rows[0]
    (payoff,) = (one for one in view.payoffs if one.rule == "barrier-stall")
    assert row[6].text == f"barrier-stall ({len(payoff.rows)} of 15)"
