"""Rule `constant-divergence`: where it fires, where not, and what it needs."""

from __future__ import annotations

import pytest
from made_facts import gallery, told

from ncu_assist.rules import constant_divergence


def test_fires() -> None:
    (ranked,) = told(constant_divergence, gallery("constant_by_kind")).findings
    assert ranked.finding.rule == "constant-divergence"
    assert ranked.severity == "high"


@pytest.mark.parametrize("case", ["pipe_fma_unfused_fix", "l1_column_filter"])
def test_does_not_fire(case: str) -> None:
    assert constant_divergence.find(gallery(case)) is None


def test_without_its_metrics_it_cannot_answer() -> None:
    (silent,) = told(constant_divergence, gallery("constant_by_kind", without=("constant_requests",))).unanswered
    assert silent.missing == ("constant_requests",)


def test_the_time_is_that_of_the_repeats() -> None:
    facts = gallery("constant_by_kind")
    instructions = facts.value("instructions")
    found, fewer = (
        constant_divergence.find(f) for f in (facts, gallery("constant_by_kind", constant_requests=instructions))
    )
    assert found is not None
    assert fewer is not None
    assert fewer.saved_ns < found.saved_ns
    assert constant_divergence.find(gallery("constant_by_kind", constant_requests=instructions / 5)) is None
