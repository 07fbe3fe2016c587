"""Rows of steps tell how far they are; who shows it listens above."""

from __future__ import annotations

import pytest

from ncu_assist.steps import steps, teller, told_to


def test_a_row_tells_before_each_step_and_at_the_end() -> None:
    told: list[tuple[str, int, int]] = []
    with told_to(lambda *said: told.append(said)):
        assert list(steps("reading", ["a", "b"])) == ["a", "b"]
    assert told == [("reading", 0, 2), ("reading", 1, 2), ("reading", 2, 2)]
    assert list(steps("reading", ["c"])) == ["c"]  # nobody listens any more
    assert len(told) == 3


def test_a_row_within_a_row_tells_nothing() -> None:
    told: list[str] = []
    with told_to(lambda what, _done, _total: told.append(what)):
        for _ in steps("outer", [1, 2]):
            list(steps("inner", [1, 2, 3]))
        list(steps("after", [1]))
    assert told == ["outer"] * 3 + ["after"] * 2


def test_a_row_that_ends_early_is_over() -> None:
    told: list[tuple[str, int, int]] = []
    with told_to(lambda *said: told.append(said)):
        with pytest.raises(ZeroDivisionError):
            [1 / (2 - number) for number in steps("dividing", [1, 2, 3])]
        teller("counted", 5)(3)
    assert told[-2:] == [("dividing", 3, 3), ("counted", 3, 5)]
