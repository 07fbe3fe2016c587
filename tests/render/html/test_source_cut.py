"""Which lines of a long text are shown."""

from __future__ import annotations

from ncu_assist.render.html.source_heat import LETTERS, cut_line, shown_regions, size_of


def one(_: int) -> int:
    return 100


def test_a_short_text_is_shown_whole() -> None:
    assert shown_regions(30, [3], one, 10_000) == [range(30)]
    assert shown_regions(0, [], one, 10_000) == []


def test_of_a_long_one_what_stands_around_the_hot_lines() -> None:
    assert shown_regions(1000, [500, 20], one, 100_000) == [range(8, 33), range(488, 513)]
    assert shown_regions(1000, [2, 26], one, 100_000) == [range(39)]


def test_less_stands_around_them_where_it_would_be_too_much() -> None:
    assert shown_regions(1000, [500, 20], one, 1900) == [range(16, 25), range(496, 505)]
    assert shown_regions(1000, [500, 20], one, 250) == [range(20, 21), range(500, 501)]


def test_the_hottest_stay_where_not_even_the_hot_ones_fit() -> None:
    assert shown_regions(1000, [500, 20, 30], one, 250) == [range(20, 21), range(500, 501)]
    assert shown_regions(1000, [500], one, 50) == []


def test_a_whole_text_that_is_too_long_is_cut_too() -> None:
    assert shown_regions(30, [15], one, 900) == [range(11, 20)]


def test_a_line_that_no_one_wrote_by_hand_is_cut() -> None:
    assert cut_line("x" * LETTERS) == "x" * LETTERS
    assert cut_line("x" * (LETTERS + 1234)) == "x" * LETTERS + " … 1,234 more letters"


def test_sizes_are_those_in_the_page() -> None:
    assert size_of("a < b\u202e") == len("a &lt; b\\u202e")
