"""The ladder page on fusion: launches and bytes of each version, what fewer bytes allow and what was won."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ncu_assist.analysis.history import History
from ncu_assist.pipeline.pages.index import kernel_ladder
from ncu_assist.project import find_project
from ncu_assist.render.html.ladder_tables import traffic_table, traffic_words
from ncu_assist.render.table import Cell
from ncu_assist.render.words.history import in_l2_lines

pytestmark = pytest.mark.slow

PROJECT = find_project(Path(__file__).parents[3])


def ladder(kernel: str) -> History:
    return kernel_ladder(PROJECT, kernel).history


def test_a_chain_beside_one_launch() -> None:
    shown = ladder("add_relu")
    table = traffic_table(shown)
    assert table is not None
    rows = {row[0].text: row[1:] for row in table.rows}
    chain, fused = shown.cell(shown.rows[0]), shown.cell(shown.rows[-1])
    assert chain.combined is not None
    assert fused.combined is not None
    bytes_of = [cell.combined.values["dram_bytes"] or 0.0 for cell in (chain, fused) if cell.combined]
    launches, moved, needed, worth, won = rows[shown.rows[-1].version]
    assert (rows["v0_torch_eager"][0].text, launches.text) == ("2", "1")
    assert rows["v0_torch_eager"][3:] == (Cell(), Cell())
    assert float(moved.key) == bytes_of[1]
    assert fused.facts is not None
    assert float(needed.key) == pytest.approx(bytes_of[1] / (fused.facts.algorithmic_bytes or 0))
    assert float(worth.key) == pytest.approx(bytes_of[0] / bytes_of[1])
    assert float(won.key) == pytest.approx(fused.over(chain) or 0.0)
    assert 1.5 < float(worth.key) < 1.75  # five passes over DRAM, of which three are left


def test_single_launches_and_the_link_have_no_such_table() -> None:
    assert traffic_table(ladder("elementwise_add")) is None
    assert traffic_table(ladder("fast_h2d")) is None
    shown = ladder("add_relu")
    bare = replace(shown, rows=tuple(replace(one, cells=_uncounted(one.cells)) for one in shown.rows))
    assert traffic_table(bare) is None


def _uncounted(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return cells of runs that were timed, and not profiled."""
    return tuple(
        replace(cell, stored=replace(cell.stored, run=replace(cell.stored.run, launches=()))) if cell.stored else cell
        for cell in cells
    )


def test_where_operations_set_the_least_time_bytes_are_not_said_to_be_worth_anything() -> None:
    shown = ladder("gemm_bias_gelu")
    table = traffic_table(shown)
    assert table is not None
    assert [column.title for column in table.columns] == ["version", "launches", "DRAM bytes", "of needed"]
    assert {len(row) for row in table.rows} == {len(table.columns)}
    assert "Operations set the least time here" in traffic_words(shown)
    assert traffic_words(ladder("add_relu")).startswith("The speed-up that fewer bytes alone bring")


def test_notes_on_the_copy_name_no_workload_that_is_held_against_tensor_cores() -> None:
    said = " ".join(in_l2_lines(ladder("gemm_bias_gelu")))
    assert "small" in said
    assert "square4k" not in said
