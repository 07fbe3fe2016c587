"""A table is data: the same cells on a terminal, on a page and in a comment."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given
from rich.cells import cell_len

from ncu_assist.render.html.page import Head, page, provenance, table_section
from ncu_assist.render.markdown import printed as markdown
from ncu_assist.render.table import Badge, Cell, Column, Link, Table, Term, number, percent
from ncu_assist.render.terminal.style import Style, printed, to_text

COLUMNS = (Column("version"), Column("median", "right", "number"), Column("vs parent", wraps=True), Column("diff"))
ROWS = (
    (Cell("v0", link=Link("v0", "v0/report.html")), number("2 µs", 2000.0), Cell(), Cell()),
    (Cell("v1"), number("1 µs", 1000.0), Cell(badge=Badge("▲ 2.00x faster", "good"), note="on small"), Cell()),
)
MADE = Table("t", "T", COLUMNS, ROWS)


def test_three_printers_print_the_same_cells() -> None:
    shown = MADE.without_empty()
    assert markdown(shown)[2:] == ["| v0 | 2 µs | - |", "| v1 | 1 µs | ▲ 2.00x faster on small |"]
    lines = to_text([printed(shown)], Style()).splitlines()
    assert lines[0].split() == ["version", "median", "vs", "parent"]
    assert lines[2].split() == ["v1", "1", "µs", "▲", "2.00x", "faster", "on", "small"]
    html = page(Head("T", "", (), provenance(())), [table_section("t", "T", shown)])
    assert '<a href="v0/report.html">v0</a>' in html
    assert 'data-key="1000">1 µs' in html
    assert "▲ 2.00x faster</span>" in html
    assert "on small</span>" in html


def test_a_table_without_rows_is_no_section() -> None:
    empty = Table("t", "Nothing is here", COLUMNS, ())
    assert "Nothing is here" not in page(Head("T", "", (), provenance(())), [table_section("t", "T", empty)])


def test_columns_are_picked_by_their_titles_in_their_order() -> None:
    picked = MADE.only("median", "version", "no such column")
    assert [column.title for column in picked.columns] == ["median", "version"]
    assert [len(row) for row in picked.rows] == [2, 2]
    assert "median" not in [column.title for column in MADE.without("median").columns]


def test_a_cell_says_in_words_what_stands_in_it() -> None:
    assert Cell("x", badge=Badge("b"), note="n").words == "b n"
    assert Cell(term=Term("label", "name")).words == "label"
    assert (percent(None), percent(1.02).text) == (Cell(), "102 %")


def test_in_80_columns_a_column_breaks_between_words_and_not_into_letters() -> None:
    words = "one of several words that take more than a line"
    wide = Table(
        "t",
        "T",
        (Column("version"), Column("median", "right"), Column("vs parent", wraps=True), Column("bound by", wraps=True)),
        ((Cell("v12_quite_a_long_name_xx"), Cell("1.23 ms"), Cell(words), Cell(words)),),
    )
    lines = to_text([printed(wide)], Style()).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("v12_quite_a_long_name_xx  1.23 ms  ")
    assert set(" ".join(lines[1:]).split()) <= {"v12_quite_a_long_name_xx", "1.23", "ms", *words.split()}


def test_a_very_long_name_breaks_and_leaves_the_others_whole() -> None:
    long = Table("t", "T", (Column("version"), Column("median", "right")), ((Cell("x" * 200), Cell("1.23 ms")),))
    lines = to_text([printed(long)], Style()).splitlines()
    assert max(map(len, lines)) <= 80
    assert "1.23 ms" in lines[1]


def test_a_figure_stays_whole_where_its_cell_breaks() -> None:
    columns = (
        Column("version"),
        Column("median", "right"),
        Column("vs parent", wraps=True),
        Column("of copy", "right"),
        Column("bound by", wraps=True),
    )
    row = ("v8_angles_for_all_heads", "not served", "▲ 1.028x unclear", "100 %", "FMA heavy pipe 65 % (#13)")
    lines = to_text([printed(Table("t", "T", columns, (tuple(map(Cell, row)),)))], Style()).splitlines()
    assert max(map(len, lines)) <= 80
    assert "65 % (#13)" in " ".join(lines)


LETTERS = st.text(st.sampled_from("abc µ%é漢_-:/.,1 "), max_size=60).map(str.strip)


@given(st.data(), st.integers(1, 7), st.integers(26, 120))
def test_no_letter_of_a_cell_is_lost_at_any_width(data: st.DataObject, columns: int, width: int) -> None:
    """Each column has letters of its own, so that what was printed can be told apart."""
    heads = [
        Column(
            data.draw(LETTERS, "title"), data.draw(st.sampled_from(("left", "right"))), wraps=data.draw(st.booleans())
        )
        for _ in range(columns)
    ]
    rows = data.draw(st.lists(st.tuples(*[LETTERS] * columns), min_size=1, max_size=4))
    made = Table("t", "T", tuple(heads), tuple(tuple(map(Cell, row)) for row in rows))
    text = to_text([printed(made)], Style(width))
    assert max(map(cell_len, text.splitlines())) <= width
    every = "".join([*(one.title for one in heads), *(one for row in rows for one in row)])
    assert sorted("".join(text.split())) == sorted("".join(every.split()))
