"""Versions that fetch from the host are held against the copy engine, wherever others are against a device copy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import BENCH_ID, DEVICE, make_run, samples_frame, times, timing

from ncu_assist.analysis.archive import KernelLadder
from ncu_assist.analysis.history import History, HistoryCell, VersionRow
from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.analysis.yardstick import COPY, LINK, OPERATIONS, share, yardstick, yardstick_ns
from ncu_assist.pipeline.history import Floors
from ncu_assist.pipeline.showing import gather
from ncu_assist.record import Bench, Timing, WorkloadFacts
from ncu_assist.render.html.ladder import ladder_html, ladder_sections
from ncu_assist.render.html.run_verdict import tiles, workloads_table
from ncu_assist.render.json.history import history_json
from ncu_assist.render.json.versions import outcome_json
from ncu_assist.render.markdown.history import history_markdown
from ncu_assist.render.table import RunLinks
from ncu_assist.render.terminal.history import history_text
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.terminal.versions import outcome_text
from ncu_assist.store import Store, StoredRun, samples_parquet

H200 = replace(DEVICE, name="NVIDIA H200", sm_count=132)
HOSTED = WorkloadFacts("small", "uint8", {"n": 1}, 348_160_000, 0, 171_966_464)
TIMING = Timing("small", BENCH_ID, 10, 0, 4e6, 4e6, 4e6, 4e6, None, None, None)


def run_of(tmp_path: Path, version: str, median_ns: float) -> StoredRun:
    samples = samples_frame(times(median_ns, 1), version=version)
    made = replace(timing(samples), copy_ns=None, link_ns=3.1e6)
    run = make_run(version=version, workloads=(HOSTED,), launches=(), profile=None)
    bench = Bench(BENCH_ID, "read", 100, None, None, (made,))
    return Store(tmp_path).save(replace(run, bench=bench), {"samples.parquet": samples_parquet(samples)})


def product(tmp_path: Path, version: str, median_ns: float) -> StoredRun:
    """A run of a product of matrices of 8192 x 8192 in bfloat16 on an H200, beside which a copy was timed."""
    samples = samples_frame(times(median_ns, 1), version=version)
    made = replace(timing(samples), copy_ns=1e5)
    facts = WorkloadFacts("small", "bfloat16", {"n": 8192}, 3 * 2 * 8192**2, 2 * 8192**3, None, 2 * 8192**2)
    run = make_run(version=version, workloads=(facts,), launches=(), profile=None, device=H200)
    bench = Bench(BENCH_ID, "read", 100, None, None, (made,))
    return Store(tmp_path).save(replace(run, bench=bench), {"samples.parquet": samples_parquet(samples)})


@pytest.fixture
def history(tmp_path: Path) -> History:
    runs = [run_of(tmp_path, "v0_mapped", 4e6), run_of(tmp_path, "v1_bulk", 3.4e6)]
    steps = tuple(VersionRow(one.run.version, None, (HistoryCell("small", one, None),)) for one in runs)
    return History("add_one", ("small",), "small", steps)


@pytest.mark.parametrize(
    ("beside", "measure", "of_it"),
    [({"copy_ns": 2e6}, COPY, 0.5), ({"link_ns": 3e6}, LINK, 0.75), ({"copy_ns": 2e6, "link_ns": 3e6}, COPY, 0.5)],
)
def test_the_one_that_was_timed_counts(beside: dict[str, float], measure: object, of_it: float) -> None:
    timed = replace(TIMING, **beside)
    assert yardstick([None, timed]) is measure
    assert share(timed) == of_it


def test_without_one_there_is_no_share() -> None:
    assert (yardstick([None, TIMING]), yardstick_ns(TIMING), share(TIMING), share(None)) == (COPY, None, None, None)
    assert share(replace(TIMING, median_ns=0.0, copy_ns=1.0)) is None


def test_every_table_says_of_link_and_rates_of_what_crosses(history: History) -> None:
    stored = [cell.stored for row in history.rows for cell in row.cells if cell.stored]
    outcome = KernelOutcome(
        "add_one", ("small",), "live", tuple(VersionOutcome(one.run.version, one) for one in stored)
    )
    shown = gather(stored[1])
    for text in (outcome_text(outcome, Style()), show_text(shown, Style()), history_text(history, Style())):
        assert "of link" in text
        assert "of copy" not in text
        assert "91 %" in text
    assert "50.6" in show_text(shown, Style())
    assert "| of link |" in history_markdown(history)
    row = outcome_json(outcome, "bench")["versions"][1]["workloads"][0]
    assert row["share_of_copy"] is None
    assert row["share_of_link"] == pytest.approx(0.91, abs=0.005)
    assert row["bytes_per_second"] == pytest.approx(50.6e9, rel=0.01)
    cell = history_json(history)["rows"][1]["cells"][0]
    assert (cell["link_ns"], cell["share_of_copy"]) == (3.1e6, None)
    assert cell["share_of_link"] == pytest.approx(0.91, abs=0.005)


def test_every_page_does(history: History) -> None:
    stored = history.rows[1].cells[0].stored
    assert stored is not None
    shown = gather(stored)
    assert [tile.term.label for tile in tiles(shown)][:3] == ["Median time", "From the host", "Of link"]
    titles = [column.title for column in workloads_table(shown, {}).columns]
    assert titles[titles.index("GB/s") + 1] == "of link"
    ladder = KernelLadder(history, None, {}, (stored,), ())
    page = {one.id: one.model for one in ladder_sections(ladder, RunLinks(frozenset()))}
    assert "of link" in [column.title for column in page["steps"]["table"].columns]
    assert history.yardsticks == LINK.what
    assert "host" in page["bandwidth"].scale
    assert history.yardstick is LINK
    assert "of link" in ladder_html(ladder)


def test_operations_are_held_against_their_own_rate_everywhere(tmp_path: Path) -> None:
    """A copy of the operands would take a fifteenth of the time: that says nothing of a product."""
    stored = [product(tmp_path, "v0_library", 1.5e6), product(tmp_path, "v1_ours", 2.5e6)]
    floors = Floors(tmp_path)
    standings = [HistoryCell("small", one, None, floor=floors.of(one, "small")) for one in stored]
    steps = tuple(VersionRow(one.run.version, None, (at,)) for one, at in zip(stored, standings, strict=True))
    history = History("add_one", ("small",), "small", steps)
    outcome = KernelOutcome(
        "add_one", ("small",), "live", tuple(VersionOutcome(one.run.version, one) for one in stored)
    )
    shown = gather(stored[1], store=Store(tmp_path))
    for text in (outcome_text(outcome, Style()), show_text(shown, Style()), history_text(history, Style())):
        assert "of floor" in text
        assert "of copy" not in text
        assert "46 %" in text  # 1.14 of 2.5 ms at 963 TFLOP/s
    assert "439.7" in show_text(shown, Style())  # TFLOP/s
    assert [tile.term.label for tile in tiles(shown)][2:4] == ["Operations", "Of floor"]
    titles = [column.title for column in workloads_table(shown, {}).columns]
    assert titles[titles.index("TFLOP/s") + 1] == "of floor"
    ladder = KernelLadder(history, None, {}, tuple(stored), ())
    page = {one.id: one.model for one in ladder_sections(ladder, RunLinks(frozenset()))}
    assert history.yardsticks == OPERATIONS.what
    assert page["bandwidth"].caption.startswith("Operations a second")
    assert "440 TFLOP/s" in page["bandwidth"].bars[1].text
    assert [column.title for column in page["floors"][0].columns] == ["version", "time", "of floor"]
    cell = history_json(history)["rows"][1]["cells"][0]
    assert cell["share_of_copy"] == pytest.approx(0.04, abs=0.001)
    assert cell["share_of_floor"] == pytest.approx(0.457, abs=0.005)
