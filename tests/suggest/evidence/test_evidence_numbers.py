"""Numbers of the table: shown with three digits, apart from their unit."""

from __future__ import annotations

import pytest

from ncu_assist.suggest.evidence.gathering import as_shown, scale_of


@pytest.mark.parametrize(
    ("value", "unit", "number", "name"),
    [
        (220_864.0, "ns", 221.0, "µs"),
        (12.6868, "%", 12.7, "%"),
        (33_030_144.0, "sector", 33.0, "M sectors"),
        (1_270_000_000_000.0, "byte/s", 1.27, "TB/s"),
        (39_560.0, "byte/block", 39.6, "kB/block"),
        (30.0, "register/thread", 30.0, "registers/thread"),
        (4096.0, "", 4096.0, ""),
        (30.97, "sector", 31.0, "sectors"),
        (0.0, "", 0.0, ""),
        (26_100_000.0, "inst", 26.1, "M instructions"),
        (8_129_536.0, "", 8.13, "M"),
    ],
)
def test_a_value_is_shown(value: float, unit: str, number: float, name: str) -> None:
    scale, spelled = scale_of(value, unit)
    assert (as_shown(value, scale, unit), spelled) == (number, name)


def test_the_value_before_has_the_same_unit() -> None:
    scale, unit = scale_of(220_864.0, "ns")
    assert (as_shown(1_500_000.0, scale, "ns"), unit) == (1500.0, "µs")
