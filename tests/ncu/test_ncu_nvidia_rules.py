"""NVIDIA's rules, explained: every one that a recorded report names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_assist.ncu.catalogue.lookup import NVIDIA_RULES
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED
from ncu_assist.ncu.report import read_report

REPORTS = sorted((Path(__file__).parent.parent / "data").glob("*.ncu-rep.zst"))


def test_there_are_reports() -> None:
    assert len(REPORTS) >= 10


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name.split(".")[0])
def test_every_rule_of_a_recorded_report_is_explained(path: Path) -> None:
    found = read_report(path).rules[["rule", "section"]].drop_duplicates()
    for rule, section in found.itertuples(index=False, name=None):
        assert NVIDIA_RULES[rule].section == section


@pytest.mark.parametrize("name", NVIDIA_RULES)
def test_a_rule_says_what_it_finds_and_where_to_look(name: str) -> None:
    rule = NVIDIA_RULES[name]
    assert rule.finds.endswith(".")
    assert rule.finds.count(". ") <= 2
    assert rule.look_at
    assert [key for key in rule.look_at if key not in CATALOGUE and key not in ALL_DERIVED] == []
