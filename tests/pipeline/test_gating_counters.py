"""A gate's limits on counters: which metric is meant, and what to say where a side lacks it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factories import PROFILE
from gated import BOTH, CONFLICTS, LARGE, LATER, NO_CONFLICTS, SMALL, Archive, judged, outcomes

from ncu_assist.errors import UsageProblem
from ncu_assist.render.terminal.diff import gate_text
from ncu_assist.render.words.gate import reason_words

STORES = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"


def test_counters_are_held_to_their_limits_on_every_workload(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {})
    archive.save("v1_own", BOTH, {CONFLICTS: 5.0})
    result = judged(archive, "add_one", "time:5%", NO_CONFLICTS, "registers:+0", "stall_barrier:2pt")
    assert {key: word for key, word in outcomes(result).items() if word != "pass"} == {
        (SMALL, "shared_wavefronts_excessive"): "regression",
        (LARGE, "shared_wavefronts_excessive"): "regression",
    }
    check = result.checks[1]
    assert (check.baseline, check.candidate, check.delta, check.verdict) == (0.0, 5.0, None, "regressed")


def test_a_name_of_ncu_that_the_catalogue_lacks_is_read_among_all(archive: Archive) -> None:
    name = "smsp__inst_executed_pipe_alu.max"
    archive.save("v0_torch", BOTH, {name: 100.0})
    archive.save("v1_own", BOTH, {name: 200.0})
    result = judged(archive, "add_one", f"{name}:+10%")
    assert result.outcome == "regression"
    assert [(check.baseline, check.candidate) for check in result.checks] == [(100.0, 200.0)] * 2


def test_a_name_that_only_the_runs_have(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {"sm__quantum_flux.sum": 7.0})
    archive.save("v1_own", BOTH, {})
    result = judged(archive, "add_one", "sm__quantum_flux.sum:+0")
    assert (result.outcome, reason_words(result.checks[0])) == ("unclear", "not counted in v1 (section set full)")
    with pytest.raises(UsageProblem, match="no metric is called"):
        judged(archive, "add_one", "sm__quantum_fluxes.sum:+0")


def test_a_metric_that_a_side_lacks_is_unclear_and_says_why(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {})
    archive.save("v1_own", BOTH, {CONFLICTS: None}, profile=replace(PROFILE, section_set="basic"))
    archive.save("v2_unprofiled", BOTH)
    archive.save("v3_tma", BOTH, {STORES: 0.0, "smsp__inst_executed_op_utmaldg.sum": 9.0})
    check = judged(archive, "v1", NO_CONFLICTS).checks[0]
    assert (check.outcome, reason_words(check)) == ("unclear", "not counted in v1 (section set basic)")
    assert check.next == "ncu-assist profile add_one v0 v1 --workload small"
    check = judged(archive, "v2", NO_CONFLICTS).checks[0]
    assert (check.outcome, reason_words(check)) == ("unclear", "not counted in v2 (it was not profiled there)")
    check = judged(archive, "v3", "sectors_per_request_store:+0").checks[0]
    assert reason_words(check).startswith("no value in v3: n/a")
    assert check.next == ""


def test_an_infinite_counter_is_shown_and_settles_nothing(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {})
    archive.save("v1_own", BOTH, {CONFLICTS: float("inf")})
    result = judged(archive, "v1", NO_CONFLICTS)
    assert result.exit_code == 4
    assert "not counted in v1" in gate_text(result)


def test_a_name_that_the_runs_lack_gets_the_key_that_has_the_number(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5}, {})
    archive.save("v1_own", {SMALL: 1e5}, {})
    check = judged(archive, "v1", "sm__inst_executed.sum:+0").checks[0]
    assert (check.outcome, check.detail.nearest) == ("unclear", "instructions")
    assert reason_words(check).endswith("did you mean 'instructions'?")
    assert check.next == "ncu-assist explain instructions"
    assert judged(archive, "v1", "launch__occupancy_cluster_pct:+0pt").checks[0].detail.nearest == ""


def test_a_later_bench_hides_no_counters_and_unpairs_no_times(archive: Archive) -> None:
    """The candidate was timed again, alone: counters and paired times are those of its run before."""
    archive.save("v0_torch", BOTH, {})
    archive.save("v1_own", BOTH, {CONFLICTS: 3.0})
    archive.save("v1_own", BOTH, bench_id="bench-2", **LATER)
    result = judged(archive, "v1", "time:5%", NO_CONFLICTS)
    assert result.candidate.run.run_id == LATER["run_id"]
    times = [check for check in result.checks if check.limit.is_on_time]
    assert all(check.low is not None for check in times)
    assert [check.candidate for check in result.checks if not check.limit.is_on_time] == [3.0, 3.0]
