"""``ncu-assist metrics``."""

from __future__ import annotations

import pytest
from commandline import Run

from ncu_assist.ncu.catalogue.rows import ROWS


def test_all_metrics_in_80_columns(run: Run) -> None:
    answer = run("metrics")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "gpu__time_duration.sum" in answer.out
    first_words = {line.split()[0] for line in answer.out.splitlines() if line and not line.startswith(" ")}
    assert set(ROWS) <= first_words


def test_a_pattern(run: Run) -> None:
    answer = run("metrics", "bank_conflict")
    assert answer.code == 0
    assert "bank_conflict_ways" in answer.out
    assert "= shared_wavefronts / shared_wavefronts_ideal" in answer.out
    assert "duration" not in answer.out


def test_json(run: Run) -> None:
    answer = run("metrics", "l2 hit rate", "--json").json
    assert answer["schema"] == "ncu-assist.metrics/1"
    assert [row["key"] for row in answer["metrics"]] == ["l2_hit_rate", "l2_hit_rate_load", "l2_hit_rate_store"]
    row = answer["metrics"][0]
    assert row["name"] == "lts__t_sector_hit_rate.pct"
    assert (row["section"], row["ncu_label"]) == ("Memory Workload Analysis", "L2 Hit Rate")
    assert (row["better"], row["exact"], row["combine"]) == (None, False, "mean")
    assert row["noise"] == {"chip": "gh100", "long": "within 5 %", "short": "wanders"}
    everything = run("metrics", "--json").json["metrics"]
    assert len(everything) == len(ROWS)


def test_a_chip_shows_its_spellings_and_what_it_lacks(run: Run) -> None:
    answer = run("metrics", "dram_bytes", "gmma", "--chip", "gb202")
    assert answer.code == 0
    assert "dram__bytes_op_read.sum" in answer.out
    assert "dram__bytes_read.sum" not in answer.out
    assert "not on gb202:" in answer.out
    assert "warps_gmma" in answer.out
    row = run("metrics", "dram_bytes_read", "--chip", "gb202", "--json").json["metrics"][0]
    assert row["name"] == "dram__bytes_op_read.sum"


@pytest.mark.parametrize(
    ("asked", "chip"),
    [
        ("rtx4090", "ad102"),
        ("NVIDIA GeForce RTX 4090", "ad102"),
        ("l40s", "ad102"),
        ("NVIDIA RTX 6000 Ada Generation", "ad102"),
        ("quadro rtx 6000", "tu102"),
        ("NVIDIA A100-SXM4-80GB", "ga100"),
        ("a6000", "ga102"),
        ("NVIDIA H100 80GB HBM3", "gh100"),
        ("H200", "gh100"),
        ("GB202", "gb202"),
        ("sm_89", "ad102"),
        ("compute_86", "ga102"),
        ("9.0a", "gh100"),
        ("CC 12.0", "gb202"),
    ],
)
def test_a_product_stands_for_its_chip(run: Run, asked: str, chip: str) -> None:
    assert run("metrics", "l2_hit_rate", "--chip", asked, "--json").json["chip"] == chip
    assert run("metrics", "l2_hit_rate", "--chip", asked).out.startswith(f"as spelled on {chip}\n")


@pytest.mark.parametrize(
    ("asked", "own", "nearest"),
    [
        ("L4", "ad104, of compute capability 8.9", "ad102"),
        ("Tesla T4", "tu104, of compute capability 7.5", "tu102"),
        ("V100", "gv100, of compute capability 7.0", "tu102"),
        ("GTX 1080", "gp104, of compute capability 6.1", "tu102"),
        ("NVIDIA GeForce RTX 3050", "ga106, of compute capability 8.6", "ga102"),
        ("NVIDIA GeForce RTX 2060 with Max-Q Design", "tu106, of compute capability 7.5", "tu102"),
        ("sm_61", "gp102, of compute capability 6.1", "tu102"),
        ("B300", "gb110, of compute capability 10.3", "gb100"),
        ("NVIDIA GB10", "gb20b, of compute capability 12.1", "gb202"),
        ("ad103", "ad103, of compute capability 8.9", "ad102"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "ga106, of compute capability 8.6", "ga102"),
    ],
)
def test_of_a_chip_that_was_not_recorded_the_nearest_answers_and_says_so(
    run: Run, asked: str, own: str, nearest: str
) -> None:
    said = " ".join(run("metrics", "l2_hit_rate", "--chip", asked).out.split())
    assert said.startswith(f"as spelled on {nearest}, the nearest chip: the names of {own}, were not recorded")
    answer = run("metrics", "l2_hit_rate", "--chip", asked, "--json").json
    assert (answer["chip"], answer["instead_of"]) == (nearest, own.split(",")[0])


@pytest.mark.parametrize(
    ("asked", "said", "command"),
    [
        ("rtx409", "did you mean 'rtx4090'?", "metrics l2_hit_rate --chip rtx4090"),
        ("RTX 1050 Laptop GPU", "there is no chip 'RTX 1050 Laptop GPU'", "metrics"),
        ("b301", "there is no chip 'b301'; known: tu102,", "metrics"),
        ("sm_52", "the compute capabilities 6.1, 7.0, 7.2, 7.5, 8.0,", "metrics"),
    ],
)
def test_no_chip_answers_for_one_that_nobody_knows(run: Run, asked: str, said: str, command: str) -> None:
    answer = run("metrics", "l2_hit_rate", "--chip", asked)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.endswith(f"try: ncu-assist {command}\n")


def test_a_metric_that_is_asked_for_shows_every_way_to_know_it(run: Run) -> None:
    out = run("metrics", "sm_count").out
    assert "    else device__attribute_multiprocessor_count\n        (attribute of the device)" in out
    assert "else about cycles" in run("metrics", "sm_cycles_elapsed").out
    assert "else" not in run("metrics").out, "the whole list has the names alone"
    ways = run("metrics", "issue_slots_busy", "--json").json["metrics"][0]["ways"]
    assert [way["approximate"] for way in ways] == [False, False, True, True, True]
    assert ways[1]["formula"] == "sm__issue_active.avg.pct_of_peak_sustained_elapsed"
    assert ways[1]["source"].startswith("CUDA C++ Programming Guide")
    assert "else" in run("explain", "sm_count").out


def test_a_chip_shows_the_ways_that_it_has_the_names_for(run: Run) -> None:
    def formulas(chip: str) -> list[str]:
        rows = run("metrics", "pipe_fp64", "--chip", chip, "--json").json["metrics"]
        return [way["formula"] for row in rows if row["key"] == "pipe_fp64" for way in row["ways"]]

    assert any("fp64_op_fp64" in formula for formula in formulas("ga102"))
    assert not any("fp64_op_fp64" in formula for formula in formulas("gh100"))


def test_ncus_names_outside_the_catalogue(run: Run) -> None:
    answer = run("metrics", "nvlrx")
    assert "outside the catalogue" in answer.out
    assert "nvlrx__bytes.sum" in answer.out
    many = run("metrics", "lts__t_requests", "--chip", "gh100")
    assert "more; --json has all" in many.out
    assert max(map(len, many.out.splitlines())) <= 80
    names = run("metrics", "lts__t_requests", "--chip", "gh100", "--json").json["names"]
    assert len(names) > 100
    assert names[0]["kind"] == "Counter"
    assert "sum" in names[0]["rollups"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dram__bytes_rd.sum"], "use dram__bytes_read.sum"),
        (["dram__bytes_read.summ", "--chip", "gb203"], "metrics dram__bytes_op_read.sum --chip gb202"),
        (["durration"], "ncu-assist metrics duration"),
        (["sm_efficiency"], "try: ncu-assist metrics sm_active_share"),
        (["tensor_core_usage"], "try: ncu-assist metrics tensor"),
        (["nothing at all"], "no metric matches 'nothing at all'"),
        (["sm__inst_executed_pipe_fp32.avg.pct_of_peak_sustained_active"], "sm__inst_executed_pipe_fma.avg"),
        (["\x1b[31m"], "\\x1b[31m"),
    ],
)
def test_wrongly_typed(run: Run, words: list[str], said: str) -> None:
    answer = run("metrics", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in " ".join(answer.err.split())
    assert "\x1b" not in answer.err
