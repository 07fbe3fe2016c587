"""Units of raw pages: each scaled unit leads to the base unit that the other export prints."""

from __future__ import annotations

import pytest

from ncu_assist.ncu.csv_page import base_unit

# What reports of 2025.3.1 print by default, and what the same columns have with --print-units base. The values of the
# recorded exports are held against the report in test_ncu_csv_export.py.
RECORDED = {
    "%": "%",
    "%/Kbyte": "%/byte",
    "%/register": "%/register",
    "Gbyte": "byte",
    "Gbyte/s": "byte/s",
    "Ghz": "hz",
    "Kbyte": "byte",
    "Kbyte/block": "byte/block",
    "Kbyte/cycle": "byte/cycle",
    "Mbyte": "byte",
    "Mbyte/s": "byte/s",
    "Mhz": "hz",
    "SM": "SM",
    "Tbyte": "byte",
    "Tbyte/s": "byte/s",
    "byte/sector": "byte/sector",
    "inst/cycle": "inst/cycle",
    "register/thread": "register/thread",
    "sector/ms": "sector/s",
    "sector/ns": "sector/s",
    "sector/us": "sector/s",
    "us": "ns",
}
SCALES = {
    "Tbyte/s": 1e12,
    "Mhz": 1e6,
    "us": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "usecond": 1e3,
    "msecond": 1e6,
    "second": 1e9,
    "sector/us": 1e6,
    "sector/ns": 1e9,
    "Gbyte/second": 1e9,
    "%/Kbyte": 1e3,  # ncu's own arithmetic
}


@pytest.mark.parametrize("unit", RECORDED)
def test_a_scaled_unit_leads_to_the_one_that_the_base_export_prints(unit: str) -> None:
    assert base_unit(unit)[0] == RECORDED[unit]
    assert base_unit(RECORDED[unit]) == (RECORDED[unit], 0)


@pytest.mark.parametrize("unit", SCALES)
def test_a_scale_is_a_power_of_ten(unit: str) -> None:
    assert 10.0 ** base_unit(unit)[1] == SCALES[unit]


@pytest.mark.parametrize(
    ("unit", "base"), [("usecond", "nsecond"), ("second", "nsecond"), ("byte/second", "byte/second")]
)
def test_older_spellings_stay_what_they_are(unit: str, base: str) -> None:
    assert base_unit(unit)[0] == base


@pytest.mark.parametrize(
    "unit", ["", "warp", "Kinst", "mbyte", "Kibyte", "fortnight", "inst/fortnight", "a/b/c", "/", "K"]
)
def test_an_unknown_unit_is_left_alone(unit: str) -> None:
    assert base_unit(unit) == (unit, 0)
