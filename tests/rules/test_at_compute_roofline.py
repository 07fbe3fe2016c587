"""Kernels that are done: the right pipe at its ceiling."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings
from made_facts import gallery, made, told

from ncu_assist.ceilings import Rate, Spread
from ncu_assist.rules import at_compute_roofline


@pytest.mark.parametrize(
    ("case", "pipe"),
    [
        ("healthy_tensor_rate", "tensor"),
        ("pipe_fma_unfused_fix", "fma"),
        ("tail_after_many_waves", "fma"),
        ("spill_outside_the_loop", "fma"),
    ],
)
def test_says_that_it_is_done(case: str, pipe: str) -> None:
    (ranked,) = told(at_compute_roofline, gallery(case)).findings
    assert ranked.finding.detail == {"pipe": pipe}
    assert ranked.severity == "info"
    assert ranked.finding.assumed, "no ceiling was measured"


@pytest.mark.parametrize(
    "case",
    [
        "pipe_fma_unfused",  # full, but of products and sums apart
        "barrier_every_step",  # issues much, of something else
        "tail_one_wave_and_eight",  # 78 % while active, half the time
        "tensor_straight_from_global",
    ],
)
def test_is_not_done(case: str) -> None:
    assert at_compute_roofline.find(gallery(case)) is None


def test_the_older_tensor_instruction_is_not_the_right_pipe() -> None:
    facts = gallery("healthy_tensor_rate", pipe_tensor_gmma=0.0)
    assert at_compute_roofline.find(facts) is None
    ampere = replace(facts, device=replace(facts.device, compute_capability="8.0"))
    assert at_compute_roofline.find(ampere) is not None, "which has no newer one"


def test_without_the_counts_it_cannot_answer() -> None:
    (silent,) = told(at_compute_roofline, gallery("pipe_fma_unfused_fix", without=("instructions",))).unanswered
    assert silent.missing == ("instructions",)


def test_a_measured_ceiling_is_not_assumed() -> None:
    facts = replace(gallery("tail_after_many_waves"), ceilings=ceilings())
    found = at_compute_roofline.find(facts)
    assert found is not None
    assert not found.assumed
    below = replace(gallery("spill_outside_the_loop", warps_long_scoreboard=50.0), ceilings=ceilings())
    assert at_compute_roofline.find(below) is None, "88 % of all issue slots, where the loop of FMA reached 97.5"


def test_a_loop_that_waits_for_nothing_but_its_pipe_is_done_at_what_such_loops_reach() -> None:
    facts = replace(gallery("spill_outside_the_loop"), ceilings=ceilings())
    assert next(iter(facts.combined.stalls)) in at_compute_roofline.ONLY_THE_PIPE
    assert at_compute_roofline.find(facts) is not None
    idle = replace(gallery("spill_outside_the_loop", sm_cycles_active=100_000.0), ceilings=ceilings())
    assert at_compute_roofline.find(idle) is None, "multiprocessors that rest are another fault"


def test_tensor_cores_are_held_against_the_rate_that_was_measured() -> None:
    known = ceilings()
    facts = gallery("healthy_tensor_rate")
    done = facts.value("tensor_ops_fp16") / facts.value("sm_cycles_elapsed") / facts.value("sm_count")
    for rate, is_done in ((done, True), (done / 0.9, False)):
        made = replace(known.rates[0], kind="tensor", name="wgmma_bf16", unit="op", per_cycle_per_sm=rate)
        measured = replace(facts, ceilings=replace(known, rates=(made,)))
        assert (at_compute_roofline.find(measured) is not None) == is_done


def test_a_chip_whose_best_instruction_has_no_counter_is_not_called_done() -> None:
    facts = gallery("healthy_tensor_rate")
    newer = replace(facts, device=replace(facts.device, compute_capability="10.0"))
    assert at_compute_roofline.find(newer) is None


@pytest.mark.parametrize(("of_it", "is_done"), [(0.99, True), (1.01, False)])
def test_a_product_as_fast_as_a_library_s_is_done(of_it: float, is_done: bool) -> None:
    facts = gallery("healthy_tensor_rate")
    done = facts.value("tensor_ops_fp16") / facts.duration_ns * 1e9
    rate = of_it * done / facts.value("sm_count") / facts.value("sm_clock")  # of the library, a cycle and SM
    loop, library = (
        Rate("tensor", name, "op", source, Spread(1e-3, 1e-3, 1e-3, 2), 1e15, value)
        for name, source, value in (("wgmma_bf16", "ncu", 1.2 * rate), ("matmul_bf16", "events", rate))
    )
    found = at_compute_roofline.find(replace(facts, ceilings=replace(ceilings(), rates=(loop, library))))
    assert (found is not None) == is_done
    if found:
        assert "as a library's is" in found.message
        assert not found.assumed


def test_doubles_are_done_where_the_work_needs_them() -> None:
    """A recurrence of doubles: 99 % of the FP64 pipe. As many made of floats are a choice, unless kernel.toml says."""
    counters = {
        "sm_cycles_active": 1000.0, "sm_cycles_elapsed": 1000.0, "sm_count": 1.0,
        "instructions": 1000.0, "fp64_fma_per_cycle": 0.9 * 32, "pipe_fp64_cycles": 90.0, "global_load_requests": 10.0,
    }  # fmt: skip
    for width, done in (8.0, [{"pipe": "fp64"}]), (4.0, []):
        sectors = {"bytes_per_sector_load": 32.0, "global_load_sectors": 10.0 * width}
        facts = made(**counters, **sectors)
        assert [one.finding.detail for one in told(at_compute_roofline, facts).findings] == done
        declared = replace(facts, dtype="float32", work={"fp64": 64_000})
        assert [one.finding.detail for one in told(at_compute_roofline, declared).findings] == [{"pipe": "fp64"}]
        assert told(at_compute_roofline, replace(declared, work={"fma": 64_000})).findings == ()
