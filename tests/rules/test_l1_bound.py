"""L1 at its limit through loads that hit: not shuffles, not spills, not beside DRAM, not uncoalesced."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import gallery, made, told

from ncu_assist.ceilings import ceilings_of
from ncu_assist.record import Device
from ncu_assist.rules import RULES, Facts, diagnose
from ncu_assist.rules import l1_bound as rule


def test_a_load_for_each_sum_keeps_l1_busy() -> None:
    (found,) = told(rule, gallery("l1_column_filter")).findings
    assert found.severity == "high"
    assert found.finding.detail == {"pipe": "lsu"}
    assert found.estimated_speedup == pytest.approx(2.56, rel=0.28)  # measured; the logarithm within 0.25


@pytest.mark.parametrize("name", ["local_stack", "healthy_float_product"])
def test_l1_that_is_not_at_its_limit_is_not_named(name: str) -> None:
    assert told(rule, gallery(name)).findings == ()


@pytest.mark.parametrize("name", ["pipe_lsu_shuffles", "shared_stride_of_16"])
def test_l1_busy_with_something_else_gives_way_to_who_knows_with_what(name: str) -> None:
    (alone,) = told(rule, gallery(name)).findings
    assert alone.finding.unless_known
    assert rule.ID not in [one.finding.rule for one in diagnose(gallery(name), RULES).findings]


PRODUCT = {  # of a chip with 10 SMs: 80 wavefronts of 100 cycles, 0.8 for each of 100 multiply-adds of a warp
    "l1_data_pipe": 80.0, "sm_cycles_elapsed": 1000.0, "sm_count": 10.0, "shared_wavefronts_all": 8000.0,
    "shared_wavefronts": 8000.0, "shared_wavefronts_excessive": 0.0, "instructions": 20_000.0,
    "fp32_fma_per_cycle": 320.0, "dram_throughput": 5.0,
}  # fmt: skip


def test_shared_memory_without_conflicts_is_named_with_what_a_larger_tile_leaves() -> None:
    (ranked,) = told(rule, made(**PRODUCT)).findings
    assert ranked.finding.detail == {"path": "shared memory"}
    left = 0.25 * 10_000 / 8000  # a quarter of a wavefront for each of 10,000 multiply-adds
    assert ranked.saved_ns == pytest.approx(100_000 * (1 - left))


def test_conflicts_stay_and_are_another_rule_s() -> None:
    some = told(rule, made(**PRODUCT | {"shared_wavefronts_excessive": 4000.0})).findings
    none = told(rule, made(**PRODUCT)).findings
    assert some[0].saved_ns < none[0].saved_ns


def test_the_way_back_is_filled_by_what_most_wavefronts_are() -> None:
    (ranked,) = told(rule, made(**PRODUCT | {"l1_writeback_busy": 85.0})).findings
    assert ranked.finding.detail == {"path": "shared memory"}
    few = PRODUCT | {"l1_writeback_busy": 85.0, "shared_wavefronts_all": 1000.0, "shared_wavefronts": 1000.0}
    (ranked,) = told(rule, made(**few)).findings
    assert ranked.finding.detail == {"path": "write-back"}


def test_a_load_that_is_spared_is_not_issued() -> None:
    """Of a chip whose LSU rate is known: what fills the issue slots beside L1 goes with the loads."""
    integers = {"fp32_fma_per_cycle": 0.0, "instructions": 12_000.0}
    facts = made(**PRODUCT | {"issue_slots_busy": 60.0, "pipe_lsu": 75.0} | integers)
    device = gallery("l1_column_filter").device
    assert device
    (known,) = told(rule, replace(facts, ceilings=ceilings_of(device))).findings
    (unknown,) = told(rule, facts).findings
    assert known.saved_ns > 1.2 * unknown.saved_ns


def test_several_results_share_addresses_and_loops_as_well() -> None:
    """Half of the instructions are products; of the others as much goes as of the wavefronts: 0.55 of 0.8."""
    facts = made(**PRODUCT | {"issue_slots_busy": 72.0})
    spared = rule.spared(facts, 0.25 / 0.8)
    assert spared["instruction issue"] == pytest.approx(1 - 0.5 * (1 - 0.25 / 0.8))


def test_hits_of_a_product_are_not_all_spared() -> None:
    """Each multiply-add keeps a quarter of a wavefront, however much L1 has of what it loads."""
    counts = {"global_load_requests": 8000.0, "global_load_sectors": 32_000.0, "l1_hit_rate_load": 100.0}
    facts = made(**PRODUCT | counts | {"bytes_per_sector_load": 32.0, "shared_wavefronts": 0.0})
    (ranked,) = told(rule, facts).findings
    assert ranked.saved_ns == pytest.approx((1 - 0.25 / 0.8) * facts.duration_ns)


def test_without_counts_of_accesses_the_unit_is_named_all_the_same() -> None:
    (ranked,) = told(rule, made(l1_data_pipe=85.0, dram_throughput=10.0)).findings
    assert ranked.finding.detail == {"path": "unknown"}
    assert ranked.finding.assumed
    assert told(rule, made(l1_data_pipe=65.0, dram_throughput=10.0)).findings == ()


def test_reuse_beside_dram_costs_nothing() -> None:
    assert told(rule, gallery("l1_column_filter", dram_throughput=86.0)).findings == ()


def test_loads_that_miss_cannot_be_kept() -> None:
    assert told(rule, gallery("l1_column_filter", l1_hit_rate_load=40.0)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
    silent = told(rule, gallery("l1_column_filter", without=("l1_hit_rate_load",)))
    assert [one.missing for one in silent.unanswered] == [("l1_hit_rate_load",)]


BASIC = {  # what `--set basic` counts of L1
    "l1_data_pipe": 85.0, "l1_requests_busy": 85.0, "pipe_lsu": 85.0, "l1_output_busy": 2.0,
    "sm_cycles_elapsed": 1000.0, "sm_count": 10.0, "sm_cycles_active": 1000.0, "dram_throughput": 5.0,
}  # fmt: skip
NO_SHARED = {"shared_memory_static": 0.0, "shared_memory_dynamic": 0.0}
SOME_SHARED = {"shared_memory_static": 4096.0, "shared_memory_dynamic": 0.0}


def basic(capability: str = "9.0", **values: float) -> Facts:
    device = Device("GPU", "", capability, 10, 50 << 20, None, None)
    return replace(made(**BASIC | values), device=device)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        (NO_SHARED, "hits"),
        (NO_SHARED | {"l1_output_busy": 50.0}, "no shared memory"),
        (SOME_SHARED, "on chip"),
        (SOME_SHARED | {"l1_output_busy": 50.0}, "unknown"),
        ({}, "on chip"),
    ],
)
def test_what_the_shape_and_the_way_to_l2_rule_out_is_not_said_to_be_possible(
    values: dict[str, float], path: str
) -> None:
    (ranked,) = told(rule, basic(**values)).findings
    assert ranked.finding.detail == {"path": path}
    assert ranked.finding.assumed


def test_accesses_of_more_passes_than_the_widest_takes_lie_far_apart() -> None:
    """Ten passes each, of which four may be needed."""
    (ranked,) = told(rule, basic(l1_requests_busy=8.5, pipe_lsu=8.5, **NO_SHARED)).findings
    assert ranked.finding.detail == {"path": "far apart"}
    assert "takes 10.0 passes" in ranked.finding.message
    assert ranked.saved_ns == pytest.approx(0.6 * 100_000, rel=0.05)
    assert not ranked.finding.unless_known  # it says why, so that another cause does not silence it


def test_in_shared_memory_many_passes_may_be_conflicts() -> None:
    (ranked,) = told(rule, basic(l1_requests_busy=8.5, pipe_lsu=8.5, **SOME_SHARED)).findings
    assert ranked.finding.detail == {"path": "many passes"}
    assert "bank conflicts" in ranked.finding.message


@pytest.mark.parametrize(("capability", "path"), [("8.6", "far apart"), ("9.0", "hits"), ("10.9", "hits")])
def test_the_passes_of_an_access_need_the_rate_of_the_lsu(capability: str, path: str) -> None:
    """Three a request where a cycle takes one, six where it takes half; on a chip that is not known nothing is said."""
    facts = basic(capability, l1_requests_busy=85.0 / 3, pipe_lsu=85.0 / 3, **NO_SHARED)
    (ranked,) = told(rule, facts).findings
    assert ranked.finding.detail == {"path": path}


@pytest.mark.parametrize(("passes", "wider"), [(51.0, True), (98.0, False)])
def test_where_requests_are_the_limit_wider_loads_are_advised(passes: float, wider: bool) -> None:
    """A public program: the way into L1 is busy 99 % of the time with loads that hit, the data pipe 51 %."""
    values = {"l1_data_pipe": passes, "l1_requests_busy": 97.0, "pipe_lsu": 97.0}
    (ranked,) = told(rule, basic(**values, **NO_SHARED)).findings
    assert ranked.finding.detail == {"path": "hits"}
    assert ("load 16 bytes at a time" in ranked.finding.advice) is wider


@pytest.mark.parametrize(("requests", "wider"), [(8000.0, True), (2000.0, False)])
def test_the_widest_loads_are_not_to_be_wider(requests: float, wider: bool) -> None:
    """32,000 sectors are four a request, or the sixteen of 16 bytes a lane."""
    counts = {"global_load_requests": requests, "global_load_sectors": 32_000.0, "l1_hit_rate_load": 100.0}
    busy = {"l1_requests_busy": 97.0, "bytes_per_sector_load": 32.0, "shared_wavefronts": 0.0}
    (ranked,) = told(rule, made(**PRODUCT | counts | busy)).findings
    assert ranked.finding.advice.startswith(rule.ADVICE)
    assert ("load 16 bytes at a time" in ranked.finding.advice) is wider
