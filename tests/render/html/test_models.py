"""Badges, terms, tables, bars, provenance: what the models say before any template does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import make_run, metrics_frame, save_run
from sections import models

from ncu_assist.analysis.diff.lines import LineChange, LineChanges
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.charts import Bar, heat_level, length
from ncu_assist.render.html.diff_changes import changed_table
from ncu_assist.render.html.page import provenance
from ncu_assist.render.html.run_diagnosis import diagnosis_section
from ncu_assist.render.html.source_pair import SourcePair
from ncu_assist.render.html.source_view import SourceView
from ncu_assist.render.table import Cell, Column, Table, Term, number
from ncu_assist.render.terminal.diagnosis import diagnosis_lines
from ncu_assist.render.words.terms import source_badge, term_of, verdict_badge
from ncu_assist.render.words.why import why_lines
from ncu_assist.store import Store
from ncu_assist.verdict import Verdict


def test_a_term_says_what_the_catalogue_does() -> None:
    term = term_of("dram_throughput")
    assert term.name.startswith(("dram__", "gpu__dram"))
    assert term.meaning
    assert term_of("dram_throughput", "DRAM").label == "DRAM"
    assert "waits for" in term_of("long_scoreboard").meaning
    assert " = " in term_of("sector_efficiency_load").name
    assert term_of("no_such_key") == Term("no_such_key")


def test_badges_have_a_sign_and_a_tone() -> None:
    faster = Verdict("faster", None, "interval-above-1", 1.78, 1.7, 1.8, 100)
    badge = verdict_badge(faster)
    assert badge
    assert (badge.text, badge.tone) == ("▲ 1.78x faster", "good")
    assert verdict_badge(None) is None
    assert source_badge("imported").tone == "unsure"


def test_columns_that_nobody_filled_are_left_out() -> None:
    rows = ((Cell("a"), Cell(), number("1", 1.0)), (Cell("b"), Cell(), Cell()))
    table = Table("t", "T", (Column("x"), Column("y"), Column("z")), rows).without_empty()
    assert [column.title for column in table.columns] == ["x", "z"]
    assert [len(row) for row in table.rows] == [2, 2]


def test_shares_are_held_within_the_drawing() -> None:
    assert [length(share) for share in (None, -1, 0.5, 0.123456, 7)] == ["0", "0", "50", "12.35", "100"]
    assert Bar(Term("x"), 0.25, "25 %").width == "25"


def test_heat_goes_from_nothing_to_eight() -> None:
    assert [heat_level(share, 10) for share in (0, 1e-9, 5, 10, 20)] == [0, 1, 4, 8, 8]
    assert heat_level(1, 0) == 0


def test_provenance_lists_each_run_once_and_hashes_all(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path)
    one, other = (save_run(store, make_run(version=version)) for version in ("v1_a", "v2_b"))
    made = provenance([other, one, one])
    assert [digest for _, digest in made.origins] == [one.run.digest, other.run.digest]
    assert made.count == 2
    assert made == provenance([one, other])
    assert provenance([one], [one, other]).digest == made.digest != provenance([one]).digest


def test_the_evidence_of_a_finding_is_the_same_number_on_a_page_and_a_terminal(tmp_path: Path) -> None:
    """Blocks and threads are counted: 8192 of them are not 8.19 k of a unit."""
    counts = {"launch__grid_size": 8192.0, "launch__thread_count": 65536.0}
    stored = save_run(Store(tmp_path / "reports"), make_run(), metrics_frame(counts))
    shown = gather(stored)
    assert shown.results is not None
    first, *others = shown.results.diagnosis.findings
    counted = replace(first, finding=replace(first.finding, evidence=("grid_size", "threads")))
    told = replace(shown.results, diagnosis=replace(shown.results.diagnosis, findings=(counted, *others)))
    part = models([diagnosis_section(replace(shown, results=told), {}, SourceView())]).diagnosis
    assert part.first is not None
    assert [fact.text for fact in part.first.evidence] == ["8192", "65536"]
    text = " ".join(" ".join(diagnosis_lines(told)).split())
    assert "Grid Size 8192" in text
    assert "Threads 65536" in text


@pytest.mark.parametrize(("assumed", "said"), [(True, "at a ceiling, assumed"), (False, "done")])
def test_what_is_assumed_is_not_called_done(tmp_path: Path, assumed: bool, said: str) -> None:
    stored = save_run(Store(tmp_path / "reports"), make_run(), metrics_frame({"launch__grid_size": 8192.0}))
    shown = gather(stored)
    assert shown.results is not None
    first, *others = shown.results.diagnosis.findings
    full = replace(first, finding=replace(first.finding, is_done=True, assumed=assumed))
    told = replace(shown.results, diagnosis=replace(shown.results.diagnosis, findings=(full, *others)))
    part = models([diagnosis_section(replace(shown, results=told), {}, SourceView())]).diagnosis
    assert part.first is not None
    assert part.first.severity.text == said


def test_a_line_that_a_side_did_not_read_is_neither_new_nor_gone() -> None:
    line = LineCost("/src/a.cu", 7, "x = y;", 4e4, 0.4, 1000)
    found = LineChanges((LineChange("not-read", line, None, 0.0, False),), durations_ns=(1e5, 5e4))
    (row,) = changed_table(found, ("v1", "v2"), SourcePair()).rows
    assert [cell.text for cell in row] == ["a.cu:7", "40 µs", "not read", "-", "-", "not read"]
    assert {cell.tone for cell in row} == {Cell().tone}
    assert why_lines(None, found, ("v1", "v2")) == []
