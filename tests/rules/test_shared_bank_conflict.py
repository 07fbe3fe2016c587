"""Bank conflicts: where the data pipe is busy with them, and where they hide, are few, or belong to atomics."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import shared_bank_conflict as rule


@pytest.mark.parametrize("name", ["shared_stride_of_16", "compound_conflicts_and_divergence"])
def test_sixteen_passes_for_one_cost_most_of_the_time(name: str) -> None:
    (found,) = told(rule, gallery(name)).findings
    assert found.severity == "high"
    assert found.finding.waste == "wavefronts_excessive"


def test_the_estimate_is_near_the_time_that_the_repair_took() -> None:
    (found,) = told(rule, gallery("shared_stride_of_16")).findings
    assert found.estimated_speedup == pytest.approx(9.47, rel=0.28)  # measured; the logarithm within 0.25


def test_conflicts_hide_behind_dram() -> None:
    assert told(rule, gallery("shared_stride_of_16", l1_data_pipe=40.0, dram_throughput=86.0)).findings == ()
    assert told(rule, gallery("compound_strided_and_conflicts")).findings == ()


@pytest.mark.parametrize(
    ("passes", "dtype", "padding"),
    [(1.0, "float32", "one element"), (1.0, "bfloat16", "4 bytes"), (2.5, "bfloat16", "16 bytes")],
)
def test_a_padding_keeps_accesses_aligned(passes: float, dtype: str, padding: str) -> None:
    facts = gallery("shared_stride_of_16")
    accesses = sum(facts.value(key) for key in rule.ACCESSES)
    facts = replace(gallery("shared_stride_of_16", shared_wavefronts_ideal=passes * accesses), dtype=dtype)
    (found,) = told(rule, facts).findings
    assert f"by {padding}," in found.finding.advice


def test_conflicts_of_atomics_are_not_padded_away() -> None:
    assert gallery("atomic_shared_bins").value("shared_wavefronts_excessive") > 5e6
    assert told(rule, gallery("atomic_shared_bins")).findings == ()


def test_two_percent_are_arbitration() -> None:
    wavefronts = gallery("shared_stride_of_16").value("shared_wavefronts")
    few, more = ({"shared_wavefronts_excessive": share * wavefronts} for share in (0.019, 0.1))
    assert told(rule, gallery("shared_stride_of_16", **few)).findings == ()
    assert told(rule, gallery("shared_stride_of_16", **more)).findings


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS


def test_excess_without_wavefronts_is_nothing_to_divide_by() -> None:
    facts = gallery("shared_stride_of_16", shared_wavefronts=0.0)
    assert told(rule, facts).findings == ()


@pytest.mark.parametrize(("waits", "saved"), [(90.0, 0.8 * 0.5 / 0.9), (10.0, 0.1 * 0.8)])
def test_where_no_unit_is_busy_conflicts_cost_what_warps_wait_for_shared_memory(waits: float, saved: float) -> None:
    found = rule.find(made(
        shared_wavefronts=1e6, shared_wavefronts_excessive=8e5, bank_conflicts_load=8e5, bank_conflicts_store=0.0,
        bank_conflicts_atomic=0.0, l1_data_pipe=50.0, sm_cycles_elapsed=200_000.0, sm_count=10.0,
        warps_short_scoreboard=waits, warps_long_scoreboard=100.0 - waits,
    ))  # fmt: skip
    assert found is not None
    assert found.saved_ns == pytest.approx(saved * 100_000, rel=0.02)
