"""Numbers as people read them."""

from __future__ import annotations

import pytest

from ncu_assist.quantity import duration, number_of, quantity, times_as_fast


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (83.04, "%", "83.0 %"),
        (-0.04, "%", "0.0 %"),
        (-0.06, "%", "-0.1 %"),
        (4.29e12, "byte/s", "4.29 TB/s"),
        (4e8, "byte", "400 MB"),
        (0.0, "byte", "0 B"),
        (93_210.0, "ns", "93.2 µs"),
        (1_234_567.0, "inst", "1.23 M"),
        (32.0, "register/thread", "32"),
        (4.25, "sector", "4.25"),
        (4.397e14, "flop/s", "440 TFLOP/s"),
        (1.1e12, "flop", "1.10 TFLOP"),
        (0.1234, "", "0.123"),
        (-2_000.0, "", "-2 k"),
        (999.96e9, "byte/s", "1.00 TB/s"),
        (9.996, "sector", "10.0"),
        (0.9996, "sector", "1.00"),
    ],
)
def test_a_quantity_has_three_digits_and_its_unit(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_durations() -> None:
    shown = [duration(ns) for ns in (0.0, 512.0, 9_312.0, 999_960.0, 2.5e6, 1.5e9)]
    assert shown == ["0 ns", "512 ns", "9.31 µs", "1.00 ms", "2.50 ms", "1.50 s"]


@pytest.mark.parametrize(
    ("estimate", "text"), [(1.0426, "1.043x"), (1.126, "1.13x"), (9.87, "9.87x"), (26.49, "26x"), (50.0, "50x")]
)
def test_an_estimate_has_no_digits_that_say_nothing(estimate: float, text: str) -> None:
    assert times_as_fast(estimate) == text


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "run", "0 runs"),
        (1, "run", "1 run"),
        (2, "more pair", "2 more pairs"),
        (1, "launch", "1 launch"),
        (3, "launch", "3 launches"),
        (2, "pass", "2 passes"),
        (1024, "byte", "1024 bytes"),
    ],
)
def test_a_number_with_its_noun(count: int, noun: str, text: str) -> None:
    assert number_of(count, noun) == text
