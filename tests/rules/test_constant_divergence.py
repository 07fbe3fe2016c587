"""Rule `constant-divergence`: where it fires, where not, and what it needs."""

from __future__ import annotations

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import constant_divergence
from ncu_assist.rules.model.savings import START_NS


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


@pytest.mark.parametrize(("cycles_each", "kept"), [(2.0, 1 / 8), (10.0, 1 / 36), (1.0, 1 / 8)])
def test_a_read_for_every_fourth_instruction_stays_without_its_misses(cycles_each: float, kept: float) -> None:
    """Two requests an instruction, each of two cycles where the small cache has it; what misses takes longer."""
    counted = {"constant_requests": 2e6, "instructions": 1e6, "shared_wavefronts_all": 0.0, "pipe_adu": 90.0}
    cycles = {"sm_count": 100.0, "sm_cycles_elapsed": cycles_each * 2e4, "sm_cycles_active": cycles_each * 2e4}
    found = constant_divergence.find(made(**counted, **cycles))
    assert found is not None
    assert found.saved_ns == pytest.approx((1 - kept) * 100_000)
    (ranked,) = told(constant_divergence, made(**counted, **cycles)).findings
    assert ranked.saved_ns == pytest.approx(min(found.saved_ns, 100_000 - START_NS))
