"""Launches of different kernels in every view: sums of all, ratios of one launch that is named; impossible values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import Run
from factories import launch, make_run, metrics_frame, save_run

from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.pipeline.opened_reports import bare_reports
from ncu_assist.rules.model.resources import bottleneck_of_launch
from ncu_assist.store import Store

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TORCH = Path(__file__).parents[1] / "data" / "torch_full_h200_2025.3.1.ncu-rep.zst"
HIT_RATE, STORES = "lts__t_sector_hit_rate.pct", "lts__t_sector_op_write_hit_rate.pct"


@pytest.fixture
def printed_ratios(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import printed_ratios

    return printed_ratios


def test_show_names_the_launch_that_ratios_are_of(run: Run, recorded: Path) -> None:
    text = " ".join(run("show", "v0", "--workload", "b64_d96").out.split())
    alone = "launch 35 alone, elementwise_kernel: the longest of 2 of a kernel that takes 55 % of the time"
    assert f"Speed of light of {alone}" in text
    assert f"Warp states of {alone}" in text
    assert re.search(r"L2 Hit Rate [\d.]+ % launch 35", text)
    assert re.search(r"DRAM bytes 1\.00 GB (?!launch)", text)
    assert "70.9 %" not in text  # long scoreboard over different kernels, by time


@pytest.mark.slow
def test_json_has_no_ratio_of_different_kernels_but_that_of_each_launch(run: Run, recorded: Path) -> None:
    shown = run("show", "v0", "--workload", "b64_d96", "--json").json
    cycles = shown["metrics"]["warp_cycles_per_instruction"]
    assert (cycles["value"], cycles["note"]) == (None, "n/a (per launch)")
    own = [one["index"] for one in shown["launches"] if one["workload"] == "b64_d96"]
    assert sorted(map(int, cycles["per_launch"])) == sorted(own)
    assert shown["stalls"] == {}
    assert sorted(map(int, shown["stalls_per_launch"])) == sorted(own)
    assert shown["metrics"]["dram_bytes"]["value"] > 1e9
    assert shown["metrics"]["dram_bytes"]["per_launch"] is None
    assert shown["bound_by"] is None
    single = run("show", "v7", "--json").json
    assert single["stalls_per_launch"] is None
    assert {one["per_launch"] for one in single["metrics"].values()} == {None}


def test_a_gate_has_nothing_to_compare_of_different_kernels(run: Run, recorded: Path) -> None:
    words = ("gate", "lightning_decode/v1", "--against", "v0", "--workload", "b64_d96", "--fail-on", "l2_hit_rate:-1pt")
    answer = run(*words)
    assert answer.code == 4
    assert "n/a (per launch)" in " ".join(answer.out.split())
    assert run(*words[:-1], "dram_bytes:1%").code == 3  # sums compare


@pytest.mark.slow
def test_a_diff_says_what_of_different_kernels_stands_per_launch(run: Run, recorded: Path) -> None:
    told = run("diff", "lightning_decode/v0", "lightning_decode/v7").out
    assert "missing" not in told
    rows = [line for line in told.splitlines() if line.endswith("per launch")]
    assert len([line for line in rows if line.startswith("Stall: ")]) == 5
    assert any(line.startswith("Achieved Occupancy") for line in rows)
    assert any(line.startswith("Executed Instructions") and line.endswith("improved") for line in told.splitlines())
    markdown = run("diff", "lightning_decode/v0", "lightning_decode/v7", "--format", "markdown").out
    assert ("missing" in markdown, "| per launch |" in markdown) == (False, True)


@pytest.mark.slow
def test_a_prompt_says_which_launch_a_counter_is_of(run: Run, recorded: Path) -> None:
    text = run("suggest", "v0", "--dry-run").out
    rows = [line for line in text.splitlines() if "launch 35 alone" in line]
    assert any("DRAM Throughput" in line for line in rows)
    assert not any("DRAM bytes" in line for line in rows)


def test_history_names_the_launch_that_binds(run: Run, recorded: Path) -> None:
    steps = run("history", "lightning_decode", "--workload", "b64_d96", "--json").json
    text = json.dumps(steps)
    assert '"bottleneck_launch": 35' in text


@pytest.mark.slow
def test_every_printed_ratio_of_a_chain_is_that_of_its_counters(printed_ratios: Any, recorded: Path) -> None:
    store, tally = Store(recorded / "reports"), printed_ratios.Tally()
    (chain,) = store.runs("lightning_decode", "v0_torch_eager")
    printed_ratios.hold_run(chain, store, tally, "b64_d96")
    assert tally.wrong == []
    assert tally.held["json"] > 500
    assert tally.held["show"] > 10


@pytest.mark.slow
def test_every_printed_ratio_of_a_page_is_that_of_its_counters(printed_ratios: Any) -> None:
    tally = printed_ratios.Tally()
    (report,) = bare_reports([TORCH.name], [TORCH], None)
    printed_ratios.hold_run(report, None, tally)
    assert tally.wrong == []
    assert tally.held["page"] > 500


def test_a_ratio_that_is_off_is_found(printed_ratios: Any) -> None:
    tables = {0: {HIT_RATE: 50.0, "lts__t_sectors_lookup_hit.sum": 5.0, "lts__t_sectors.sum": 10.0}}
    tables[1] = {HIT_RATE: 90.0, "lts__t_sectors_lookup_hit.sum": 81.0, "lts__t_sectors.sum": 90.0}
    side = printed_ratios.Side([launch(0, duration_ns=9.0), launch(1, duration_ns=1.0)], tables)
    tally = printed_ratios.Tally()
    tally.hold(HIT_RATE, "86.0 %", side)
    assert tally.wrong == []
    tally.hold(HIT_RATE, "54.0 %", side)  # weighted by time
    tally.hold(HIT_RATE, "86.0 %", printed_ratios.Side([launch(0), launch(1, "other")], tables))
    assert len(tally.wrong) == 2


@pytest.fixture
def impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive with one run, whose L2 hit rate is 140 %, and 101 % for stores."""
    frame = metrics_frame({HIT_RATE: 140.0, STORES: 101.0})
    save_run(Store(tmp_path / "reports"), make_run(launches=(launch(),)), frame)
    (tmp_path / "kernels").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_impossible_value_is_shown_with_a_remark(run: Run, impossible: Path) -> None:
    assert "impossible value: 140.0 %" in run("show", "add_one/v1").out
    metrics = run("show", "add_one/v1", "--json").json["metrics"]
    assert (metrics["l2_hit_rate"]["value"], metrics["l2_hit_rate"]["note"]) == (None, "impossible value: 140.0 %")
    assert metrics["l2_hit_rate_store"]["value"] == 101.0  # noise of two passes
    run("report", "add_one")
    (page,) = (impossible / "reports" / "add_one").glob("v1_torch/*/report.html")
    assert "140 (impossible)" in page.read_text("utf-8")


def test_an_impossible_value_is_no_evidence(run: Run, impossible: Path) -> None:
    shown = run("show", "add_one/v1", "--json").json["diagnosis"]
    evidence = {one["metric"]: one["value"] for finding in shown["findings"] for one in finding["evidence"]}
    assert evidence.get("l2_hit_rate") is None
    warned = {one["id"]: one["message"] for one in shown["warnings"]}
    assert "L2 Hit Rate 140.0 %" in warned["impossible-value"]
    assert run("explain", "impossible-value").code == 0


def test_an_impossible_throughput_binds_nothing() -> None:
    full = {key: ROWS[key].names[0] for key in ("l2_tags_busy", "dram_throughput", "memory_throughput")}  # type: ignore[union-attr]
    values = {full["l2_tags_busy"]: 140.0, full["dram_throughput"]: 80.0, full["memory_throughput"]: 80.0}
    found = bottleneck_of_launch(values)
    assert found
    assert (found.name, found.percent) == ("DRAM", 80.0)


def test_metrics_say_how_launches_combine(run: Run) -> None:
    rows = {row["key"]: row for row in run("metrics", "--json").json["metrics"]}
    assert (rows["l2_hit_rate"]["combine"], rows["l2_hit_rate"]["weights"]) == ("mean", ["l2_sectors"])
    assert rows["warp_cycles_per_instruction"]["weights"][0] == "instructions_issued"
    assert (rows["waves_per_sm"]["combine"], rows["dram_bytes_read"]["combine"]) == ("none", "sum")
    assert rows["registers"]["combine"] == "max"
    assert [key for key, row in rows.items() if row["over_kernels"] != ROWS[key].combine.over_kernels] == []
    assert "weighted by l2_sectors" in run("explain", "l2_hit_rate").out
