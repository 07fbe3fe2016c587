"""The ladder page against floor, copy and peers, and its first findings beside those that were expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.analysis.history import History
from ncu_assist.analysis.yardstick import COPY, OPERATIONS
from ncu_assist.pipeline.pages.index import kernel_ladder
from ncu_assist.project import find_project
from ncu_assist.render.html.ladder import ladder_html
from ncu_assist.render.html.ladder_tables import diagnoses_table, expected, floor_tables
from ncu_assist.render.json.history import history_json
from ncu_assist.render.table import Cell, Table
from ncu_assist.render.words.verdicts import level_words

PROJECT = find_project(Path(__file__).parents[3])


@pytest.fixture(scope="module")
def rope() -> tuple[History, tuple[Table, ...]]:
    shown = kernel_ladder(PROJECT, "rope").history
    return shown, floor_tables(shown)


def row(table: Table, version: str) -> dict[str, Cell]:
    (found,) = (one for one in table.rows if one[0].text.startswith(f"{version}_"))
    return {column.title: cell for column, cell in zip(table.columns, found, strict=True)}


@pytest.mark.slow
def test_every_workload_has_a_table_the_one_shown_first(rope: tuple[History, tuple[Table, ...]]) -> None:
    shown, tables = rope
    assert [one.caption for one in tables] == list(shown.workloads)
    assert tables[0].caption == shown.shown
    assert all("; floor: " in one.note for one in tables)


def test_ratios_are_of_paired_samples_of_one_bench(rope: tuple[History, tuple[Table, ...]]) -> None:
    shown, (first, *_) = rope
    cells = {row.version: shown.cell(row) for row in shown.rows}
    ours, compiled = cells["v10_two_factors"], cells["v2_torch_compile"]
    assert ours.timing is not None
    assert compiled.timing is not None
    assert ours.floor is not None
    said = row(first, "v10")
    assert ours.stored is not None
    assert compiled.stored is not None
    verdict = verdict_by_time(compiled.stored, ours.stored, shown.shown, SampleReader())
    assert float(said["against v2"].key) == verdict.speedup != compiled.timing.median_ns / ours.timing.median_ns
    assert said["against v2"].text == "1.12x faster"
    assert row(first, "v3")["against v2"].text.endswith("x slower")
    assert float(said["of floor"].key) == ours.floor.ns / ours.timing.median_ns
    assert float(said["of copy"].key) == ours.share
    assert row(first, "v2")["against v2"] == Cell()  # of itself it says nothing


def test_a_peer_has_a_column_where_it_was_timed(rope: tuple[History, tuple[Table, ...]]) -> None:
    _, tables = rope
    named = {one.caption: [c.title for c in one.columns if c.title.startswith("against ")] for one in tables}
    assert named["s8k_f32"] == ["against v0", "against v2", "against v3"]
    assert named["s8k_bf16"] == [
        "against v0",
        "against v2",
        "against v3",
        "against v4",
    ]  # FlashInfer serves half types alone


def test_times_of_two_benches_have_no_ratio(rope: tuple[History, tuple[Table, ...]]) -> None:
    shown, _ = rope
    early, late = shown.cell(shown.rows[0]), shown.cell(shown.rows[-1])
    assert late.over(early)
    assert early.stored is not None
    run = early.stored.run
    assert run.bench is not None
    timings = tuple(replace(timing, bench_id="another") for timing in run.bench.timings)
    other = replace(early.stored, run=replace(run, bench=replace(run.bench, timings=timings)))
    assert late.over(replace(early, stored=other)) is None


@pytest.mark.slow
def test_history_as_json_says_the_same() -> None:
    rows = history_json(kernel_ladder(PROJECT, "rope").history)["rows"]
    assert [one["version"] for one in rows if one["is_peer"]] == [
        "v0_torch_eager",
        "v2_torch_compile",
        "v3_liger",
        "v4_flashinfer",
    ]
    cell = rows[-1]["cells"][0]
    assert cell["share_of_floor"] == pytest.approx(cell["floor_ns"] / cell["median_ns"])


@pytest.mark.slow
def test_the_first_finding_stands_beside_the_expected_one() -> None:
    ladder = kernel_ladder(PROJECT, "elementwise_add")
    table = diagnoses_table(ladder.history, ladder.tried)
    assert table is not None
    scalar = row(table, "v3")
    assert (scalar["first finding"].text, scalar["found"].text) == ("low-bytes-in-flight", "first")
    assert scalar["on"].text == "n26_f32"  # it does not serve the workload shown
    assert row(table, "v5")["on"] == Cell()


def test_what_a_comment_expects_is_the_rules_it_names_before_what_was_measured() -> None:
    comment = "Changes: `l2-bound` no more.\nexpected: `at-dram-roofline`, not `no-such-rule`.\nmeasured: `l1-bound`."
    assert expected(comment) == ("at-dram-roofline",)
    assert expected("Changes: nothing") == ()


@pytest.mark.slow
def test_what_was_expected_may_stand_behind_another_or_on_another_workload() -> None:
    ladder = kernel_ladder(PROJECT, "elementwise_add")
    table = diagnoses_table(ladder.history, ladder.tried)
    assert table is not None
    behind = row(table, "v7")["found"]
    assert (behind.text, behind.note) == ("also", "uncoalesced-global-load")
    ladder = kernel_ladder(PROJECT, "rope")
    table = diagnoses_table(ladder.history, ladder.tried)
    assert table is not None
    assert row(table, "v2")["found"].note == "l2-bound on s8k_bf16"


def test_an_estimate_is_no_more_than_the_floor_allows() -> None:
    ladder = kernel_ladder(PROJECT, "fast_h2d")
    table = diagnoses_table(ladder.history, ladder.tried)
    assert table is not None
    assert (row(table, "v6")["first finding"].text, row(table, "v6")["severity"].text) == ("host-link-bound", "medium")
    assert (row(table, "v6")["estimated"].text, row(table, "v6")["estimated"].note) == ("1.13x", "assumed")
    assert row(table, "v2")["estimated"].text == "4.17x"  # uncoalesced


def test_floors_of_several_gpus_are_told_apart(rope: tuple[History, tuple[Table, ...]]) -> None:
    shown, _ = rope
    last = shown.rows[-1]
    slower = tuple(replace(cell, floor=replace(cell.floor, per_second=1e12)) for cell in last.cells if cell.floor)
    (first, *_) = floor_tables(replace(shown, rows=(*shown.rows[:-1], replace(last, cells=slower))))
    assert "; floor of v0, v1, v2, v3, v5, v6, v7, v8, v9: 250 µs" in first.note
    assert "; floor of v10: 1.07 ms" in first.note


def test_a_share_stands_below_its_own_measure_only(rope: tuple[History, tuple[Table, ...]]) -> None:
    """Floors of one workload may differ by GPU: a share of a copy is no share of the tensor cores."""
    shown, _ = rope
    first, *others = shown.rows
    busy = tuple(replace(cell, floor=replace(cell.floor, kind="tensor")) for cell in first.cells if cell.floor)
    mixed = replace(shown, rows=(replace(first, cells=busy), *others))
    assert mixed.yardstick is OPERATIONS
    assert mixed.cell(others[-1]).share_of(mixed.yardstick) is None
    assert mixed.yardsticks == f"{COPY.what} or {OPERATIONS.what}"


def test_a_finding_that_nobody_expected_is_marked() -> None:
    ladder = kernel_ladder(PROJECT, "rope")
    shown = ladder.history
    table = diagnoses_table(shown, {"v10_two_factors": "expected: `tail-effect`"})
    assert table is not None
    assert row(table, "v10")["found"].text == "not found"
    assert diagnoses_table(shown, {}) is not None


@pytest.mark.slow
def test_what_no_verdict_calls_slower_stands_beside_the_fastest() -> None:
    state = kernel_ladder(PROJECT, "elementwise_add").state
    assert state is not None
    assert state.best is not None
    assert state.best.run.version == "v0_torch_add"
    assert "v12_shape_by_size" in state.same
    assert not {"v0_torch_add", "v5_scalar_f16", "v7_x8_strided"} & {*state.same, *state.unclear}
    assert level_words(("v4_x", "v12_y"), ("v8_z",)) == "the same as v4, v12, perhaps as v8"
    assert level_words((), ("v8_z",)) == "perhaps the same as v8"


@pytest.mark.slow
def test_a_family_on_two_chips_has_a_section_of_the_other_one() -> None:
    page = ladder_html(kernel_ladder(PROJECT, "gemm_bias_gelu"))
    section = page[page.index('id="others"') :]
    assert "<h3>Each version against its parent on NVIDIA H100 80GB HBM3</h3>" in section
    assert section.index("others-table") < section.index("others-library-0")
    assert 'id="others"' not in ladder_html(kernel_ladder(PROJECT, "rope"))


def test_severity_sorts_by_weight() -> None:
    ladder = kernel_ladder(PROJECT, "elementwise_add")
    table = diagnoses_table(ladder.history, ladder.tried)
    assert table is not None
    place = next(place for place, column in enumerate(table.columns) if column.title == "severity")
    assert table.columns[place].order == "number"
    keys = {row[place].text: float(row[place].key) for row in table.rows if row[place].key}
    order = ["info", "low", "medium", "high"]
    assert sorted(keys, key=lambda one: keys[one]) == [one for one in order if one in keys]
    assert {"info", "high"} <= {*keys}
