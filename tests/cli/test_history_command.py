"""``ncu-assist history``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from commandline import Run, plain_report
from kernel_folder import write_kernel
from recorded_family import copy_family

CELL_KEYS = {"median_ns", "copy_ns", "verdict", "reason", "speedup", "low", "high", "bottleneck", "percent"}
ROW_KEYS = {"version", "cells", "geomean", "worst"}


@pytest.mark.slow
def test_the_recorded_ladder(run: Run, recorded: Path) -> None:
    answer = run("history", "lightning_decode")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[:2] == ["lightning_decode on b64_d96", "recorded on NVIDIA H200, 2026-11-21"]
    assert max(map(len, lines)) <= 80
    v7 = next(line for line in lines if line.startswith("v7_registers_128bit"))
    assert "▲ 2.99x faster" in v7
    assert "DRAM" in v7
    assert answer.out.index("v9_streaming_hints") < answer.out.index("v10_row_groups")
    assert "\x1b" not in answer.out


@pytest.mark.slow
def test_a_version_that_is_faster_on_average_shows_where_it_is_slower(run: Run, recorded: Path) -> None:
    rows = {row["version"]: row for row in run("history", "--json").json["rows"]}
    v1 = rows["v1_triton_padded"]
    assert v1["geomean"] > 2
    assert v1["worst"]["speedup"] < 0.9
    assert {one["workload"] for one in v1["slower"]} == {f"b{n}_d96" for n in (1, 4, 16, 64, 256)}
    text = run("history").out
    line = [line for line in text.splitlines() if line.startswith("v1_triton_padded")][1]
    assert "▼" in line
    assert "5 of 10" in line


@pytest.mark.slow
def test_the_json_that_others_read(run: Run, recorded: Path) -> None:
    answer = run("history", "lightning_decode", "--json").json
    assert answer["schema"] == "ncu-assist.history/1"
    assert (len(answer["workloads"]), answer["shown_workload"], answer["source"]) == (10, "b64_d96", "recorded")
    assert [len(row["cells"]) for row in answer["rows"]] == [10] * 11
    assert all(set(row) >= ROW_KEYS for row in answer["rows"])
    cells = [cell for row in answer["rows"] for cell in row["cells"]]
    assert all(set(cell) >= CELL_KEYS for cell in cells)
    assert {cell["verdict"] for cell in answer["rows"][0]["cells"]} == {None}
    paired = [cell for cell in cells if cell["pairs"]]
    assert len(paired) == 100
    assert all(cell["low"] <= cell["speedup"] <= cell["high"] for cell in paired)


@pytest.mark.slow
def test_the_verdicts_are_those_of_diff(run: Run, recorded: Path) -> None:
    rows = {row["version"]: row for row in run("history", "--workload", "b16_d128", "--json").json["rows"]}
    (cell,) = rows["v7_registers_128bit"]["cells"]
    diff = run("diff", "v6", "v7", "--workload", "b16_d128", "--json").json
    assert (cell["verdict"], cell["speedup"]) == (diff["verdict"], pytest.approx(diff["speedup"]))
    assert cell["bottleneck"] == diff["bottleneck"]["candidate"]


def test_one_workload_has_one_table(run: Run, recorded: Path) -> None:
    answer = run("history", "--workload", "b64_d128")
    assert answer.out.startswith("lightning_decode on b64_d128\n")
    assert "geomean" not in answer.out


@pytest.mark.slow
def test_markdown(run: Run, recorded: Path) -> None:
    answer = run("history", "--format", "markdown")
    assert answer.out.startswith("### lightning_decode on b64_d96\n")
    assert "| v7_registers_128bit | 73.9 µs | ▲ 2.99x faster |" in answer.out
    assert "<details>" in answer.out


def test_two_formats_at_once(run: Run, recorded: Path) -> None:
    answer = run("history", "--format", "markdown", "--json")
    assert (answer.code, answer.out) == (2, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lightning_decod"], "did you mean 'lightning_decode'?"),
        (["--workload", "b64"], "did you mean 'b64_d"),
    ],
)
def test_names_that_mean_nothing(run: Run, recorded: Path, words: list[str], said: str) -> None:
    answer = run("history", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.slow
def test_what_is_missing_says_so_and_is_passed_over(run: Run, recorded: Path) -> None:
    kernels, reports = recorded / "kernels" / "lightning_decode", recorded / "reports" / "lightning_decode"
    source = kernels / "v4_shared_memory.cu"
    source.write_text(source.read_text() + "\nint more;\n")
    shutil.rmtree(reports / "v5_shared_padded")
    answer = run("history")
    assert answer.code == 0
    said = " ".join(answer.out.split())
    assert "v4_shared_memory: has changed since it was measured; the old run is lightning_decode/v4_shared" in said
    assert "v5_shared_padded not measured" in said
    assert "v6_coalesced_store: compared with v3_global_memory" in said


@pytest.mark.slow
def test_a_damaged_file_costs_one_version_and_not_the_history(run: Run, recorded: Path) -> None:
    (path,) = (recorded / "reports" / "lightning_decode" / "v6_coalesced_store").glob("*/samples.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    answer = run("history")
    assert answer.code == 0
    assert "v6_coalesced_store: its run is damaged: samples.parquet was changed" in " ".join(answer.out.split())
    assert "left out: reports/lightning_decode/v6_coalesced_store/" in answer.err
    assert re.search(r"^v7_\w+ +[\d.]+ µs", answer.out, re.MULTILINE)
    trend = run("trend", "lightning_decode")
    assert (trend.code, "v6_coalesced_store" in trend.out) == (0, False)
    assert "left out: reports/lightning_decode/v6_coalesced_store/" in trend.err


@pytest.mark.slow
def test_imported_reports(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain_report(tmp_path)
    for version in ("second", "first"):
        assert run("import", "mine.ncu-rep", "--kernel", "train", "--version", version).code == 0
    answer = run("history", "--json").json
    assert (answer["kernel"], answer["workloads"], answer["source"]) == ("train", [], "imported")
    (cell,) = answer["rows"][1]["cells"]
    assert cell["ncu_duration_ns"] > 0
    assert cell["verdict"] not in ("faster", "slower")
    text = run("history", "train").out
    assert "under ncu" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.slow
def test_the_runs_of_one_gpu(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_family(tmp_path, "gemm_bias_gelu")
    monkeypatch.chdir(tmp_path)
    newest, there = (run("history", *words, "--json").json for words in ([], ["--gpu", "h100"]))
    (other,) = newest["other_gpus"]
    medians = [{row["version"]: cell["median_ns"] for row in rows for cell in row["cells"][:1]} for rows in (
        newest["rows"], there["rows"])]  # fmt: skip
    assert there["other_gpus"] == []
    assert medians[0] != medians[1]
    assert medians[1] == {row["version"]: row["median_ns"] for row in other["rows"]}
    assert run("history", "--gpu", "H100").out.splitlines()[1].startswith("recorded on NVIDIA H100 80GB HBM3, ")
    answer = run("history", "--gpu", "T4")
    assert (answer.code, answer.out) == (2, "")
    assert (
        "'T4' fits no GPU model that gemm_bias_gelu was measured on: NVIDIA H100 80GB HBM3, NVIDIA H200" in answer.err
    )


def test_nothing_was_measured(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("history")
    assert (answer.code, answer.out) == (2, "")
    assert "nothing has been measured yet" in answer.err


def test_a_kernel_without_a_run_is_told_how_to_measure_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path)
    answer = run("history", "add_one")
    assert answer.code == 0
    assert answer.out.endswith("\n\ntry: ncu-assist profile add_one\n")
    assert "\n\n\n" not in answer.out


@pytest.mark.slow
def test_the_help_names_all_as_the_error_does(run: Run, recorded: Path) -> None:
    assert "--workload NAME|all" in run("history", "--help").out
    assert "all" in run("history", "--workload", "zz").err
    assert run("history", "--workload", "all").out == run("history").out


@pytest.mark.slow
def test_estimated_against_achieved_on_the_recorded_ladder(run: Run, recorded: Path) -> None:
    text = run("history", "lightning_decode").out
    start = text.index("faults gone or lessened since the parent")
    v6 = next(line for line in text[start:].splitlines() if line.startswith("v6_coalesced_store"))
    name, fault, estimated, achieved = v6.split()
    assert (name, fault, achieved) == ("v6_coalesced_store", "uncoalesced-global-store", "2.76x")
    assert float(estimated.removesuffix("x")) == pytest.approx(3.10, abs=0.05)
    assert "computed now, as the run of the parent keeps no findings" in text
    assert "achieved: in one bench, paired" in text
    rows = {row["version"]: row["prediction"] for row in run("history", "--json").json["rows"]}
    one = rows["v6_coalesced_store"]
    assert (one["source"], one["achieved_by"]) == ("computed now", "bench")
    assert one["estimated"]["low"] == pytest.approx(3.10, abs=0.05)
    assert one["achieved"] == pytest.approx(2.76, abs=0.005)
    assert rows["v0_torch_eager"] is None
    markdown = run("history", "--format", "markdown").out
    assert f"| v6_coalesced_store | uncoalesced-global-store | {estimated} | 2.76x |" in markdown


@pytest.mark.slow
def test_what_was_said_at_the_import_is_what_history_shows(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain_report(tmp_path)
    for version in ("second", "first"):
        assert run("import", "mine.ncu-rep", "--kernel", "train", "--version", version).code == 0
    assert run("verify").code == 0
    (_, row) = run("history", "--json").json["rows"]
    assert (row["prediction"]["source"], row["prediction"]["gone"]) == ("stored", [])
    (path,) = (tmp_path / "reports" / "train" / "second").glob("*/findings.json")
    path.write_bytes(path.read_bytes().replace(b"saved_ns", b"saved_nz", 1))
    answer = run("history")
    assert (answer.code, "second" in answer.out) == (0, False)
    assert "findings.json was changed" in answer.err
    assert run("verify").code == 7


@pytest.mark.slow
def test_many_versions_are_shown_page_by_page(run: Run, recorded: Path) -> None:
    """What is said of all versions is said on every page."""
    whole = run("history", "lightning_decode", "--json").json
    pages = [run("history", "lightning_decode", "--limit", "4", "--page", str(page), "--json") for page in (1, 2, 3)]
    assert [row for page in pages for row in page.json["rows"]] == whole["rows"]
    assert f"4 of {len(whole['rows'])} versions" in pages[1].err
    for page in pages:
        assert page.json["against_library"] == whole["against_library"]
        assert [len(one["rows"]) for one in page.json["other_gpus"]] == [len(page.json["rows"])] * len(
            whole["other_gpus"]
        )
    text = run("history", "lightning_decode", "--limit", "4", "--page", "2").out
    assert "v4" in text
    assert "v0_" not in text.partition("the fastest own version")[0]
    assert run("history", "lightning_decode", "--limit", "4", "--page", "99").code == 2
    assert run("history", "lightning_decode", "--page", "2").code == 2
