"""Axes: places of values, round ticks, texts that do not touch."""

from __future__ import annotations

import pytest

from ncu_assist.quantity import duration
from ncu_assist.render.html.charts import GAP, LINE_GAP, TEXT_WIDTH, Axis, linear_axis, log_axis


def test_a_linear_axis_starts_at_zero_and_ends_round() -> None:
    axis = linear_axis([3.0, 87.0], 100, 600)
    assert (axis.low, axis.high) == (0, 100)
    assert [tick.text for tick in axis.ticks] == ["0", "20", "40", "60", "80", "100"]
    assert [axis.at(0), axis.at(50), axis.at(100), axis.at(1000), axis.at(-5)] == [100, 350, 600, 600, 100]
    assert axis.holds(87)
    assert not axis.holds(101)


def test_a_linear_axis_holds_negative_values() -> None:
    axis = linear_axis([-12.0, 30.0], 0, 600)
    assert axis.low <= -12
    assert axis.high >= 30
    assert any(tick.text == "0" for tick in axis.ticks)


def test_a_log_axis_has_a_decade_at_equal_lengths() -> None:
    axis = log_axis([0.03, 700.0], 0, 600)
    assert (axis.low, axis.high) == (0.02, 1000)
    lengths = {round(axis.at(v * 10) - axis.at(v), 1) for v in (0.1, 1.0, 10.0)}
    assert len(lengths) == 1
    assert axis.at(0) == axis.at(-1) == 0


def test_a_vertical_axis_goes_up() -> None:
    axis = log_axis([1.0, 100.0], 300, 20)
    assert axis.at(1) == 300
    assert axis.at(100) == 20
    assert axis.ticks[0].at > axis.ticks[-1].at


@pytest.mark.parametrize("end", [120.0, 300.0, 700.0])
@pytest.mark.parametrize("values", [[1e3, 9.3e8], [73_664.0, 80_000.0], [0.0, 5.5e5], [5.0], [1e-7, 2.0]])
def test_texts_do_not_touch(values: list[float], end: float) -> None:
    for make in (linear_axis, log_axis):
        axis = make(values, 0.0, end, duration)
        assert axis.ticks
        for one, other in zip(axis.ticks, axis.ticks[1:], strict=False):
            assert other.at - one.at >= (len(one.text) + len(other.text)) / 2 * TEXT_WIDTH + GAP
        upright = make(values, end, 0.0, duration)
        assert all(a.at - b.at >= LINE_GAP for a, b in zip(upright.ticks, upright.ticks[1:], strict=False))


@pytest.mark.parametrize("values", [[], [0.0], [float("nan")], [float("inf")], [7.0, 7.0]])
def test_an_axis_of_nearly_nothing_still_is_one(values: list[float]) -> None:
    for axis in (linear_axis(values, 0, 500), log_axis(values, 0, 500)):
        assert axis.low < axis.high
        assert len(axis.ticks) > 1


def test_a_value_is_held_within_the_axis() -> None:
    assert Axis("log", 1, 10, 0, 100).at(1e9) == 100
