"""Of a workload whose data lies in L2 no format gives a bandwidth: bytes over time would be no rate of DRAM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import DEVICE, WORKLOAD, make_run
from made import saved

from ncu_assist.analysis.archive import ArchiveState, KernelLadder, KernelState
from ncu_assist.analysis.history import History, HistoryCell, VersionRow
from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.analysis.run_view import in_l2, workload_row
from ncu_assist.pipeline.showing import gather
from ncu_assist.record import WorkloadFacts
from ncu_assist.render.html.index import kernels_table
from ncu_assist.render.html.ladder import ladder_html
from ncu_assist.render.html.ladder_chart import bandwidth_bars
from ncu_assist.render.html.run_verdict import tiles, workloads_table
from ncu_assist.render.json.history import history_json
from ncu_assist.render.json.run import show_json
from ncu_assist.render.json.versions import outcome_json
from ncu_assist.render.markdown.history import history_markdown
from ncu_assist.render.table import RunLinks
from ncu_assist.render.terminal.history import history_text
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.terminal.versions import outcome_text
from ncu_assist.render.words.floors import floor_words, no_rates
from ncu_assist.store import Store, StoredRun

MB = 1_000_000
L2 = DEVICE.l2_bytes or 0  # 62.9 MB


def facts(moved: int, written: int | None = None, host: int | None = None) -> WorkloadFacts:
    return replace(WORKLOAD, algorithmic_bytes=moved, written_bytes=written, host_bytes=host)


@pytest.mark.parametrize(
    ("moved", "written", "host", "kept"),
    [
        (12 * MB, 4 * MB, None, "all"),
        (L2, None, None, "all"),
        (L2 + 1, None, None, None),  # of an older run it is not known what is written
        (100 * MB, 33 * MB, None, "written"),
        (200 * MB, 67 * MB, None, None),
        (1000 * MB, 49 * MB, None, None),  # too little of the whole to matter
        (1000 * MB, 60 * MB, None, "written"),
        (12 * MB, 4 * MB, 8 * MB, None),  # the link to the host sets the pace
    ],
)
def test_what_lies_in_l2(moved: int, written: int | None, host: int | None, kept: str | None) -> None:
    assert in_l2(facts(moved, written, host), make_run()) == kept


def test_of_a_gpu_whose_l2_is_not_known_nothing_is_said_of_it() -> None:
    assert in_l2(facts(MB), make_run(device=None)) is None
    assert in_l2(facts(MB), make_run(device=replace(DEVICE, l2_bytes=None))) is None
    assert in_l2(None, make_run()) is None


def small(root: Path, version: str = "v1_small", of: WorkloadFacts | None = None) -> StoredRun:
    """Save a run that takes 1 µs for 12 MB: 12 TB/s, were that a rate."""
    return saved(root, version, 1e3, workloads=(of or facts(12 * MB, 4 * MB),))


def test_a_rate_is_given_where_dram_has_to_move_the_data(tmp_path: Path) -> None:
    stored = saved(tmp_path, "v0_large", 1e5, workloads=(facts(400 * MB, 134 * MB),))
    row = workload_row(stored.run, stored.run.workloads[0])
    assert row.bytes_per_second == pytest.approx(4e12, rel=0.01)
    assert no_rates([row]) == []
    assert "GB/s" in show_text(gather(stored), Style())


def test_the_table_of_all_versions_says_why_it_has_no_rates(tmp_path: Path) -> None:
    outcome = KernelOutcome("add_one", ("small",), "live", (VersionOutcome("v1_small", small(tmp_path)),))
    text = outcome_text(outcome, Style())
    assert "GB/s" not in text.splitlines()[4]
    assert "no GB/s: all 12 MB fit in L2 (62.9 MB), so bytes over time are no rate of DRAM" in " ".join(text.split())
    assert "12000" not in text
    workload = outcome_json(outcome, "bench")["versions"][0]["workloads"][0]
    assert (workload["bytes_per_second"], workload["in_l2"]) == (None, "all")
    assert workload["share_of_copy"] > 0


def test_a_run_says_it_on_a_terminal(tmp_path: Path) -> None:
    shown = gather(small(tmp_path))
    text = show_text(shown, Style())
    assert " in L2 " in next(line for line in text.splitlines() if line.startswith("small "))
    assert "in L2: all that is moved fits there (62.9 MB)" in text
    assert "floor: " in text
    assert show_json(shown)["workloads"][0]["bytes_per_second"] is None
    written = gather(small(tmp_path, "v2_half", facts(100 * MB, 33 * MB)))
    assert "writes in L2" in show_text(written, Style())


def test_a_run_says_it_on_its_page(tmp_path: Path) -> None:
    shown = gather(small(tmp_path))
    found = {tile.term.label: tile for tile in tiles(shown)}
    assert found["Effective bandwidth"].text == "in L2"
    assert found["Effective bandwidth"].note.startswith("all 12 MB fit in L2 (62.9 MB)")
    assert found["Of copy"].note.endswith("; all that is moved fits in L2, the copy's too")
    table = workloads_table(shown, {})
    rate = [column.title for column in table.columns].index("GB/s")
    assert table.rows[0][rate].text == "in L2"
    assert table.note.startswith("in L2: all that is moved fits there")


def test_the_floor_says_it(tmp_path: Path) -> None:
    stored = small(tmp_path)
    row = workload_row(stored.run, stored.run.workloads[0])
    assert "a device copy of the same bytes" in floor_words(row)
    assert floor_words(row).endswith("; all 12 MB fit in L2 (62.9 MB), so bytes over time are no rate of DRAM")
    half = small(tmp_path, "v2_half", facts(100 * MB, 33 * MB))
    words = floor_words(workload_row(half.run, half.run.workloads[0]))
    assert "; the 33 MB written fit in L2 (62.9 MB) and may stay there" in words


def test_the_ladder_and_the_history_say_it(tmp_path: Path) -> None:
    stored = small(tmp_path)
    history = History(
        "add_one", ("small",), "small", (VersionRow("v1_small", None, (HistoryCell("small", stored, None),)),)
    )
    line = "of copy on small: all that is moved fits in L2, the copy's too"
    assert line in history_text(history, Style())
    assert line in history_markdown(history)
    assert history_json(history)["rows"][0]["cells"][0]["in_l2"] == "all"
    bars = bandwidth_bars(history)
    assert bars is not None
    assert "B/s" not in bars.bars[0].text
    assert bars.caption == "Each version against a device copy of the same bytes on small"
    assert "no bandwidth: all 12 MB fit in L2" in bars.scale
    state = KernelState("add_one", "", "small", stored, None, None, stored, "live", 1, 1, "2026-11-21")
    page = ladder_html(KernelLadder(history, state, {}, (), ()))
    assert "of its time; all that is moved fits in L2, the copy&#39;s too" in page
    assert "TB/s" not in page
    rows = kernels_table(ArchiveState((state,), (stored,), ()), RunLinks(frozenset())).rows
    assert any(cell.note == "all that is moved fits in L2, the copy's too" for cell in rows[0])


def test_where_rates_are_of_operations_nothing_is_said_of_bytes() -> None:
    store = Store(Path(__file__).parents[2] / "reports")
    gemm, norm = (
        next(one for one in store.runs(kernel) if one.run.version.startswith("v1_"))
        for kernel in ("gemm_bias_gelu", "layernorm_dropout_residual")
    )
    shown = gather(gemm, store=store)
    assert any(row.in_l2 for row in shown.rows)
    assert no_rates(shown.rows) == []
    assert "writes in L2" not in show_text(shown, Style())
    assert no_rates(gather(norm, store=store).rows)
