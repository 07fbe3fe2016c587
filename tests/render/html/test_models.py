"""Badges, terms, tables, bars, provenance: what the models say before any template does."""

from __future__ import annotations

from factories import make_run, save_run

from ncu_assist.render.html.badge import source_badge, verdict_badge
from ncu_assist.render.html.bars import Bar, heat_level, length
from ncu_assist.render.html.head import provenance
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.html.term import Term, term_of
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
    assert [origin.digest for origin in made.origins] == [one.run.digest, other.run.digest]
    assert made.count == 2
    assert made == provenance([one, other])
    assert provenance([one], [one, other]).digest == made.digest != provenance([one]).digest
