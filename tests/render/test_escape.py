"""Text from outside cannot steer a terminal or rich."""

from __future__ import annotations

import pytest

from ncu_assist.render.escape import one_line, plain, whole_clauses


@pytest.mark.parametrize(
    "character", ["\x1b", "\x00", "\x07", "\x9b", "\r", "\b", "\u202e", "\u2066", "\u200b", "\ud800"]
)
def test_what_steers_or_hides_is_spelled_out(character: str) -> None:
    assert character not in plain(f"a{character}b")
    assert plain(f"a{character}b").startswith("a\\")


def test_ordinary_text_stays() -> None:
    text = "void k<float, 4>(float*)  µs ▲ 日本\n\tx"
    assert plain(text) == text
    assert one_line(text) == "void k<float, 4>(float*) µs ▲ 日本 x"


def test_a_long_line_is_cut() -> None:
    assert one_line("x" * 300, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("it waits; more stages would not help", 80, "it waits; more stages would not help"),
        ("it waits; more stages would not help", 25, "it waits …"),
        ("it waits; and; more stages would not help", 25, "it waits; and …"),
        ("more stages would not help", 13, "more stages …"),
    ],
)
def test_a_clause_is_whole_or_left_out(text: str, limit: int, shown: str) -> None:
    assert whole_clauses(text, limit) == shown
    assert len(shown) <= limit
