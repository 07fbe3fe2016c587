"""What a history shows: no average without its worst case, 80 columns, nothing hostile."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, WORKLOAD, launch
from made import EVIL, saved, wrong
from schemas import held

from ncu_assist.analysis.history import History, HistoryCell, OtherGpu, Sweep, VersionRow
from ncu_assist.pipeline.history import history
from ncu_assist.project import Project
from ncu_assist.record import WorkloadFacts
from ncu_assist.render.json.history import history_json
from ncu_assist.render.markdown.history import history_markdown
from ncu_assist.render.terminal.history import history_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words.history import history_notes, others_legend, slower_on
from ncu_assist.render.words.history_tables import other_gpus_table
from ncu_assist.render.words.terms import against
from ncu_assist.store import StoredRun
from ncu_assist.verdict import Likely, Verdict, Word, not_comparable

LONG = "v12_quite_a_long_name_xx"  # 24 letters
NAMES = ("small", "odd", "large_and_wide")


def verdict(speedup: float, word: Word | None = None) -> Verdict:
    word = word or ("faster" if speedup > 1.005 else "slower" if speedup < 0.995 else "same")
    reason = {"unclear": "interval-across", "same": "interval-inside"}.get(word, "interval-beyond")
    return Verdict(word, None, reason, speedup, speedup * 0.99, speedup * 1.01, 100)


def likely(speedup: float, word: Likely) -> Verdict:
    return Verdict("unclear", word, "one-sample", speedup, None, None, 0)


def run_of(root: Path, version: str, median_ns: float | None = 1e5, **changes: Any) -> StoredRun:
    """Save a run that was timed and profiled on the first workload alone; the others are of its record only."""
    workloads = (WORKLOAD, *(WorkloadFacts(name, "float32", {"n": 10}, 80, None) for name in NAMES[1:]))
    return saved(root, version, median_ns, **{"workloads": workloads, **changes})


def step(stored: StoredRun | None, before: str | None, *verdicts: Verdict | None, **changes: Any) -> VersionRow:
    compared = before if stored else None
    cells = tuple(HistoryCell(name, stored, one, before=compared) for name, one in zip(NAMES, verdicts, strict=False))
    version = stored.run.version if stored else changes.pop("version")
    return VersionRow(version, before, cells, **changes)


def history_of(*steps: VersionRow) -> History:
    return History("add_one", NAMES[: len(steps[0].cells)], "small", steps)


@pytest.fixture
def ladder(tmp_path: Path) -> History:
    """v1 is faster on average and slower on one workload; v2 has no run; the worst of v12 is doubtful."""
    v0, v1, v12 = run_of(tmp_path, "v0_torch", 2e5), run_of(tmp_path, "v1_fused"), run_of(tmp_path, LONG)
    return history_of(
        step(v0, None, None, None, None),
        step(v1, "v0_torch", verdict(2.0), verdict(0.5), verdict(8.0)),
        step(None, None, None, None, None, version="v2_new", missing="not measured"),
        step(v12, "v1_fused", verdict(1.0), verdict(0.8, "unclear"), verdict(0.9)),
    )


def row(text: str, version: str, table: int = 0) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"{version} ")][table].split()[1:]


def test_a_geometric_mean_hides_no_regression(ladder: History) -> None:
    shown = {row.version: row for row in ladder.rows}
    v1 = shown["v1_fused"]
    assert v1.geomean == pytest.approx(2.0)  # of 2, 0.5 and 8
    assert v1.worst is not None
    assert (v1.worst.workload, v1.worst.speedup) == ("odd", 0.5)
    assert [cell.workload for cell in v1.slower] == ["odd"]
    text = history_text(ladder, Style())
    assert row(text, "v1_fused", 1) == ["2.00x", "faster", "▼", "2.00x", "slower", "on", "1", "of", "3"]
    assert "odd" in [line.strip() for line in text.splitlines()]  # below it: that column wraps
    assert row(text, "v0_torch", 1) == ["-", "-", "-"]


def test_a_doubtful_worst_case_does_not_hide_a_known_one(ladder: History) -> None:
    text = history_text(ladder, Style())
    cells = " ".join(row(text, LONG, 1))
    assert cells.startswith("1.12x slower ? unclear (1.25x 1 of 3, 1.11x on")
    for part in ("slower) on odd", "large_and_wide"):  # in columns that wrap
        assert part in text
    assert "1 of 3, 1.11x on large_and_wide" in history_markdown(ladder)
    answer = history_json(ladder)["rows"][3]
    assert answer["worst"] == {"workload": "odd", "speedup": 0.8, "verdict": "unclear"}
    assert answer["slower"] == [{"workload": "large_and_wide", "speedup": 0.9}]


def test_of_several_slower_workloads_the_worst_is_named(tmp_path: Path) -> None:
    v0, v1 = run_of(tmp_path, "v0_torch"), run_of(tmp_path, "v1_fused")
    found = step(v1, "v0_torch", verdict(0.9), verdict(0.8), verdict(0.7, "unclear"))
    row = history_of(step(v0, None, None, None, None), found).rows[1]
    assert [cell.workload for cell in row.slower] == ["odd", "small"]
    assert slower_on(row) == "2 of 3, 1.25x on odd"


def test_the_first_table(ladder: History) -> None:
    text = history_text(ladder, Style())
    assert text.startswith("add_one on small\nmeasured on NVIDIA H200, 2026-11-21\n")
    assert row(text, "v0_torch") == ["200", "µs", "-", "0", "%", "DRAM", "83", "%"]
    assert row(text, "v1_fused")[2:5] == ["▲", "2.00x", "faster"]
    assert row(text, "v2_new") == ["not", "measured", "-", "-", "-"]
    assert "v2_new: not measured" not in text  # the table says it
    assert f"{LONG}: compared with v1_fused, the nearest that it builds on with a time" in " ".join(text.split())


def test_80_columns_and_whole_names(ladder: History) -> None:
    text = history_text(ladder, Style())
    assert max(map(len, text.splitlines())) <= 80
    assert all(line == line.rstrip() for line in text.splitlines())
    assert sum(line.startswith(f"{LONG} ") for line in text.splitlines()) == 2
    assert "\x1b" not in text
    assert "\x1b[" in history_text(ladder, Style(80, True))


def test_verdicts_in_a_few_letters() -> None:
    told = [
        (None, "-"),
        (verdict(1.78), "▲ 1.78x faster"),
        (verdict(0.5), "▼ 2.00x slower"),
        (verdict(1.001), "= same (1.001x faster)"),
        (verdict(0.99, "unclear"), "? unclear (1.010x slower)"),
        (verdict(1.0, "unclear"), "? unclear"),
        (likely(1.78, "faster"), "? likely 1.78x faster"),
        (likely(0.5, "slower"), "? likely 2.00x slower"),
        (Verdict("unclear", None, "no-samples", None, None, None, 0), "? unclear"),
        (not_comparable("other-device"), "≠ not comparable"),
    ]
    for one, words in told:
        assert against(one) == words


def test_what_a_table_cannot_say(tmp_path: Path) -> None:
    v0 = run_of(tmp_path, "v0_torch")
    broken = wrong(run_of(tmp_path, "v1_wrong", None), "element 7 is nan")
    elsewhere = run_of(tmp_path, "v2_moved", device=replace(DEVICE, name="NVIDIA H100"), source="recorded")
    older = replace(elsewhere, run=replace(elsewhere.run, created="2026-11-01T00:00:00Z"))
    steps = (
        step(v0, None, None),
        step(broken, "v0_torch", None),
        step(older, "v0_torch", not_comparable("other-device")),
    )
    shown = history_of(*steps)
    told = list(history_notes(shown))
    assert told == [
        "v1_wrong: check failed on small: element 7 is nan",
        "v2_moved: compared with v0_torch, the nearest that it builds on with a time",
        "v2_moved: not comparable with v0_torch: the two were measured on different GPUs",
        "v2_moved: recorded on NVIDIA H100, 2026-11-01",
    ]
    assert row(history_text(shown, Style()), "v1_wrong")[0] == "FAILED"
    assert shown.rows[2].geomean is None


def test_clocks_that_differ_are_named(tmp_path: Path) -> None:
    steps = (
        step(run_of(tmp_path, "v0_torch"), None, None),
        step(run_of(tmp_path, "v1_fused"), "v0_torch", replace(verdict(1.1), clocks_mhz=(1755.0, 1980.2))),
    )
    shown = history_of(*steps)
    assert "v1_fused: SM clocks on small: 1980 MHz, before 1755 MHz\n" in history_text(shown, Style())
    assert history_json(shown)["rows"][1]["cells"][0]["clocks_mhz"] == [1755.0, 1980.2]


def test_one_sample_a_side_is_in_no_average(tmp_path: Path) -> None:
    launches = (launch(workload=None),)
    runs = [saved(tmp_path, v, None, workloads=(), checks=(), launches=launches, source="imported") for v in ("a", "b")]
    steps = (
        VersionRow("a", None, (HistoryCell(None, runs[0], None),)),
        VersionRow("b", "a", (HistoryCell(None, runs[1], likely(1.78, "faster")),)),
    )
    shown = History("train", (None,), None, steps)
    assert shown.rows[1].geomean is None
    text = history_text(shown, Style())
    assert text.startswith("train\nimported 2026-11-21, measured on NVIDIA H200, unverified\n")
    assert row(text, "b")[:6] == ["100", "µs", "?", "likely", "1.78x", "faster"]
    assert "under ncu" in text
    assert "of copy" not in text
    cell = history_json(shown)["rows"][1]["cells"][0]
    assert (cell["workload"], cell["median_ns"], cell["ncu_duration_ns"]) == (None, None, 100_000.0)
    assert "under ncu" in history_markdown(shown)


def test_json_holds_every_cell(ladder: History) -> None:
    answer = json.loads(json.dumps(history_json(ladder), allow_nan=False))
    assert answer["schema"] == "ncu-assist.history/1"
    assert (answer["kernel"], answer["workloads"], answer["shown_workload"]) == ("add_one", list(NAMES), "small")
    v1 = answer["rows"][1]
    assert [cell["workload"] for cell in v1["cells"]] == list(NAMES)
    assert set(v1["cells"][0]) >= {"median_ns", "copy_ns", "verdict", "reason", "speedup", "low", "high", "percent"}
    assert v1["cells"][0]["verdict"] == "faster"
    assert v1["cells"][0]["share_of_copy"] == pytest.approx(50 / 1e5, rel=0.01)
    assert (v1["geomean"], v1["compared"]) == (pytest.approx(2.0), 3)
    assert (answer["rows"][2]["missing"], answer["rows"][2]["run"]) == ("not measured", None)


def test_markdown_is_one_table_with_the_rest_folded(ladder: History) -> None:
    text = history_markdown(ladder)
    tables = [line for line in text.splitlines() if line.startswith("| ---")]
    assert len(tables) == 2
    assert "| v1_fused | 100 µs | ▲ 2.00x faster |" in text.replace("99.9 µs", "100 µs")
    assert "▼ 2.00x slower on odd | 1 of 3 |" in text
    assert text.index("<details>") > text.index("| v1_fused")


def test_nothing_hostile(tmp_path: Path) -> None:
    v0 = saved(tmp_path, "v0_torch")
    hostile = step(None, None, None, version=EVIL, missing="its run is damaged: <b>|`@all` \x1b[2J")
    shown = replace(history_of(step(v0, None, None), hostile), kernel=EVIL)
    assert "\x1b" not in history_text(shown, Style())
    markdown = history_markdown(shown)
    assert "\x1b" not in markdown
    assert "<b>" not in markdown
    assert "@all" not in markdown
    body = next(line for line in markdown.splitlines() if line.startswith("| evil"))
    assert body.count(" | ") == 4


def test_nothing_was_measured() -> None:
    shown = history_of(step(None, None, None, version="v0_torch", missing="not measured"))
    text = history_text(shown, Style())
    assert row(text, "v0_torch") == ["not", "measured"]
    answer = history_json(shown)
    assert (answer["source"], answer["rows"][0]["cells"][0]["verdict"]) == (None, None)
    assert history_markdown(shown).startswith("### add_one on small")


@pytest.fixture
def two_ladders(tmp_path: Path) -> History:
    """v1 serves the first workload, v2 the second, v12 both; large_and_wide is a point of a sweep of v2."""
    v0, v1 = run_of(tmp_path, "v0_torch", 2e5), run_of(tmp_path, "v1_float")
    v2, v12 = run_of(tmp_path, "v2_half"), run_of(tmp_path, LONG)
    not_it = {"served": False}
    steps = (
        VersionRow(
            "v0_torch",
            None,
            (
                HistoryCell("small", v0, None),
                HistoryCell("odd", v0, None),
                HistoryCell(NAMES[2], None, None),
            ),
        ),
        VersionRow(
            "v1_float",
            "v0_torch",
            (
                HistoryCell("small", v1, verdict(2.0)),
                HistoryCell("odd", None, None, **not_it),
                HistoryCell(NAMES[2], None, None),
            ),
            dtypes=("float32",),
        ),
        VersionRow(
            "v2_half",
            "v0_torch",
            (
                HistoryCell("small", None, None, **not_it),
                HistoryCell("odd", v2, verdict(3.0)),
                HistoryCell(NAMES[2], v2, None),
            ),
            dtypes=("float16",),
        ),
        VersionRow(
            LONG,
            "v1_float",
            (
                HistoryCell("small", v12, verdict(1.5), before="v1_float"),
                HistoryCell("odd", v12, verdict(0.5), before="v2_half"),
                HistoryCell(NAMES[2], None, None, **not_it),
            ),
        ),
    )
    sweep = Sweep("v2_half", "n", ((10, steps[2].cells[1]), (20, steps[2].cells[2])))
    return History("add_one", NAMES, "small", steps, (sweep,), {NAMES[2]: ("v2",)})


def test_a_version_of_another_dtype_is_not_missing(two_ladders: History) -> None:
    text = history_text(two_ladders, Style())
    assert row(text, "v2_half")[:2] == ["not", "served"]
    assert "\nv2_half: serves float16 only\n" in text
    assert "v1_float: not measured on" not in text.replace("not measured on large", "")
    assert max(map(len, text.splitlines())) <= 80
    answer = history_json(two_ladders)
    assert [cell["served"] for cell in answer["rows"][2]["cells"]] == [False, True, True]


def test_what_each_workload_is_compared_with(two_ladders: History) -> None:
    told = list(history_notes(two_ladders))
    assert f"{LONG}: compared with v2_half on odd" in told
    assert f"{LONG}: compared with v1_float, the nearest that it builds on that serves small" in told
    row_of_last = history_json(two_ladders)["rows"][3]
    assert [cell["before"] for cell in row_of_last["cells"]] == ["v1_float", "v2_half", None]


def test_a_sweep_has_a_table_of_its_own(two_ladders: History) -> None:
    text = history_text(two_ladders, Style())
    assert "\nall 2 workloads, each version against its parent\n" in text
    lines = text.splitlines()
    start = lines.index("n of v2_half: float32")
    assert lines[start + 1].split() == ["n", "median", "of", "copy"]
    assert [line.split()[0] for line in lines[start + 2 : start + 4]] == ["10", "20"]
    assert "each point was timed on its own" in text
    found = history_json(two_ladders)["sweeps"]
    assert [(one["version"], one["axis"], [p["value"] for p in one["points"]]) for one in found] == [
        ("v2_half", "n", [10, 20])
    ]
    markdown = history_markdown(two_ladders)
    assert "n of v2_half: float32" in markdown
    assert "| large" not in markdown  # no column or row of the ladder


def test_a_workload_for_some_versions_that_is_no_sweep_is_said(two_ladders: History) -> None:
    told = list(history_notes(replace(two_ladders, sweeps=())))
    assert f"{NAMES[2]} is for v2 only" in told


H100 = "NVIDIA H100 80GB HBM3"


@pytest.fixture(scope="module")
def two_chips() -> History:
    """The family that was recorded on an H200 with counters, and on an H100 with times alone."""
    return history(Project(Path(__file__).parents[2]), "gemm_bias_gelu")


@pytest.mark.slow
def test_a_family_on_two_chips(two_chips: History) -> None:
    text = history_text(two_chips, Style())
    assert "recorded on NVIDIA H200, " in text.splitlines()[1]  # what stands above is as without the other GPU
    below = text[text.index(f"each version against its parent on {H100}") :]
    assert row(below, "v12_wgmma") == ["1.46", "ms", "▲", "1.58x", "faster", "78", "%"]
    assert "bench 51cfdfc4ed2a; floor: 1.13 ms" in " ".join(below.split())
    libraries = below[below.index(f"the fastest own version against the fastest library on {H100}") :]
    assert row(libraries, "few_rows")[:3] == ["?", "unclear", "(1.013x"]  # which medians alone would call faster
    assert "57.9 µs" in libraries
    assert "58.4 µs" in libraries
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.slow
def test_a_family_on_two_chips_in_markdown_and_json(two_chips: History) -> None:
    markdown = history_markdown(two_chips)
    assert f"<summary>Each version against its parent on {H100}</summary>" in markdown
    assert "| v12_wgmma | 1.46 ms | ▲ 1.58x faster | 78 % |" in markdown
    answer = held(json.loads(json.dumps(history_json(two_chips))))
    (other,) = answer["other_gpus"]
    assert (other["gpu"], other["bench_id"], len(other["rows"])) == (H100, "51cfdfc4ed2a", 19)
    times = {one["version"]: one["median_ns"] for one in other["rows"]}
    assert times["v1_cublaslt_epilogue"] / times["v18_tile_by_size"] == pytest.approx(0.987, abs=0.0005)
    assert not any(one["another_source"] for one in other["rows"])
    shown = [row["cells"][0]["reference"] for row in answer["rows"]]
    assert not {one["reference"] for one in other["rows"]} & set(shown)


def test_of_several_other_gpus_each_has_its_column_and_what_changed_is_said(ladder: History) -> None:
    run = next(cell.stored.run for row in ladder.rows for cell in row.cells if cell.stored)
    cells = tuple(replace(ladder.cell(row), verdict=None) for row in ladder.rows)
    others = tuple(OtherGpu(name, "b1", run, cells, (LONG,), ()) for name in ("NVIDIA A100", EVIL))
    made = replace(ladder, others=others)
    table = other_gpus_table(made)
    assert table.caption == "Each version against its parent on other GPUs"
    assert table.columns[1].title == "NVIDIA A100"
    assert [cell.text for cell in table.rows[3][1:4]] == ["another source", "-", "-"]
    assert "another source: what NVIDIA A100 timed as v12 is not the source shown here" in list(others_legend(made))
    assert "\x1b" not in history_text(made, Style())
    assert other_gpus_table(ladder).rows == ()
    assert "no verdict is between two GPUs" not in history_text(ladder, Style())
