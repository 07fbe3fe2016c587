"""The order of findings that every format shares, and numbers that are none."""

from __future__ import annotations

import pytest
from made_facts import gallery

from ncu_assist.rules import RULES, Diagnosis, Finding, Ranked, diagnose
from ncu_assist.rules.model.of_run import blames_lines


def ranked(rule: str, severity: str = "info", **changes: object) -> Ranked:
    return Ranked(Finding(rule=rule, message="", saved_ns=0.0, evidence=(), **changes), 0.0, 1.0, severity)  # type: ignore[arg-type]


def test_a_remark_is_never_the_diagnosis() -> None:
    found = Diagnosis((ranked("unexplained"), ranked("tail-effect"), ranked("low-occupancy")), ())
    assert found.first is found.findings[0]
    assert [one.finding.rule for one in found.remarks] == ["tail-effect", "low-occupancy"]
    assert found.further == ()


def test_that_nothing_is_explained_is_no_remark_behind_a_finding() -> None:
    found = Diagnosis((ranked("l2-bound", "high"), ranked("tail-effect", "low"), ranked("unexplained")), ())
    assert [one.finding.rule for one in found.further] == ["tail-effect"]
    assert found.remarks == ()


def test_lines_are_blamed_only_for_what_a_line_can_help() -> None:
    assert blames_lines(ranked("uncoalesced-global-load", "high", waste="sectors_excessive"))
    assert blames_lines(ranked("l2-bound", "low", stalls=("long_scoreboard",)))
    assert not blames_lines(ranked("tail-effect", "high"))
    assert not blames_lines(ranked("at-dram-roofline", "info", stalls=("long_scoreboard",)))
    assert not blames_lines(ranked("unexplained", "low", stalls=("sleeping",)))


@pytest.mark.parametrize("key", ["waves_per_sm", "dram_bytes_read", "dram_bytes_write", "duration", "sm_count"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.0])
def test_numbers_that_are_none_are_survived(key: str, value: float) -> None:
    assert diagnose(gallery("load_struct_member", **{key: value}), RULES).findings
