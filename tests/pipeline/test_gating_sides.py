"""Which runs a gate holds against each other: candidates and baselines by name, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factories import DEVICE, launch
from gated import BOTH, CONFLICTS, LARGE, LATER, NO_CONFLICTS, SMALL, Archive, judged

from ncu_assist.errors import UsageProblem
from ncu_assist.render.markdown import gate_markdown
from ncu_assist.render.terminal.diff import gate_text
from ncu_assist.store.baselines import set_baseline


def test_the_baseline_is_of_the_candidates_kernel(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", BOTH)
    archive.save("v0_other", {SMALL: 1.0}, kernel="other", created="2027-01-01T00:00:00Z")
    result = judged(archive, "add_one/v1", "time:5%")
    assert result.baseline.run.kernel == "add_one"
    set_baseline(archive.store, archive.store.runs("add_one", "v1_own")[0])
    judged(archive, "add_one/v1", "time:5%")
    with pytest.raises(UsageProblem, match="are different kernels"):
        judged(archive, "add_one/v1", against="other/v0")


def test_the_baseline_itself_passes_no_gate(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", BOTH, {"derived__local_spilling_requests": 0.0})
    set_baseline(archive.store, archive.store.runs("add_one", "v1_own")[0])
    for asked in ({}, {"against": "@last"}, {"against": "v1"}):
        itself = judged(archive, "add_one/v1", "time:5%", NO_CONFLICTS, "local_spilling_requests:=0", **asked)
        assert itself.exit_code == 4
        assert {(one.limit.metric.key, one.outcome, one.reason) for one in itself.checks} == {
            ("time", "unclear", "baseline-itself"),
            ("shared_wavefronts_excessive", "unclear", "baseline-itself"),
            ("local_spilling_requests", "pass", ""),
        }
    again = archive.store.runs("add_one", "v1_own")[0]
    archive.save("v1_own", BOTH, bench_id="b2", **LATER, source_sha256=again.run.source_sha256)
    assert judged(archive, "add_one/v1", "time:5%").exit_code == 4, "two runs of one source, none named exactly"
    assert judged(archive, f"add_one/v1@{LATER['run_id']}", "time:5%", against=again.reference).outcome == "pass"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("@lst:10", "@last:10"),
        ("@last10", "@last:10"),
        ("@last:ten", "@last:10"),
        ("last:10", "@last:10"),
        ("v1@lst:5", "v1@last:5"),
        ("@lats", "@last"),
    ],
)
def test_a_misspelled_window_offers_one(archive: Archive, typed: str, meant: str) -> None:
    archive.save("v1_own", BOTH)
    with pytest.raises(UsageProblem, match=f"did you mean '{meant}'"):
        judged(archive, "add_one/v1", against=typed)


def test_without_a_baseline_the_way_to_one_is_shown(archive: Archive) -> None:
    archive.save("v1_own", BOTH)
    with pytest.raises(UsageProblem, match="no baseline is set") as error:
        judged(archive)
    assert error.value.hint == "ncu-assist baseline set add_one/v1_own"


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ("add_on", "did you mean 'add_one'"),
        ("add_one/v9", "has no version 'v9'; known: v0, v2, v10"),
        ("v9", "no kernel or reference 'v9'; kernels: add_one; versions: v0, v2, v10"),
        ("v1", "no kernel or reference 'v1'; kernels: add_one; versions: v0, v2, v10"),
        ("nope", "no kernel or reference 'nope'; kernels: add_one; versions: v0, v2, v10"),
        ("torch_v0", "no kernel or reference 'torch_v0'; kernels: add_one"),  # no version of some kernel
        ("v0_torh", "did you mean 'v0_torch'"),
    ],
)
def test_a_candidate_that_is_not_there(archive: Archive, candidate: str, words: str) -> None:
    for version in ("v0_torch", "v2_own", "v10_own"):
        archive.save(version, BOTH)
    with pytest.raises(UsageProblem, match=words):
        judged(archive, candidate)


def test_nothing_measured_yet(archive: Archive) -> None:
    with pytest.raises(UsageProblem):
        judged(archive, "add_one")


def test_a_program_without_a_version_0(archive: Archive) -> None:
    foreign = {"kernel": "train", "source_sha256": None, "workloads": (), "checks": ()}
    for version in ("before", "after"):
        archive.save(version, {SMALL: 0}, {}, launches=(launch(workload=None),), **foreign)
    with pytest.raises(UsageProblem, match="no baseline is set") as error:
        judged(archive, "train")
    assert error.value.hint.startswith("ncu-assist baseline set train/")
    check = judged(archive, "train/after", "instructions:+0", against="before").checks[0]
    assert (check.workload, check.outcome) == (None, "pass")
    assert judged(archive, "train/after", against="before").exit_code == 4


def test_runs_of_the_candidates_gpu_stand_in_for_a_baseline_of_another(archive: Archive) -> None:
    elsewhere = {"device": replace(DEVICE, name="NVIDIA H100"), "bench_id": "bench-0"}
    archive.save("v0_torch", BOTH, {})
    pinned = archive.save("v0_torch", BOTH, {CONFLICTS: 9.0}, **LATER, **elsewhere)
    set_baseline(archive.store, pinned)
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5}, {})
    result = judged(archive, "v1", "time:2%", NO_CONFLICTS)
    assert result.outcome == "pass"
    assert {check.baseline for check in result.checks if not check.limit.is_on_time} == {0.0}


def test_a_candidate_that_was_not_measured_here_is_said(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5}, machine="other")
    archive.save("v1_own", {SMALL: 9e4}, machine="other", source="recorded")
    recorded = judged(archive, "v1")
    assert (recorded.exit_code, recorded.source) == (0, "recorded")
    for shown in (gate_text(recorded), gate_markdown(recorded)):
        assert "nothing was measured on this machine: v1 is a recorded run" in shown
    archive.save("v2_live", {SMALL: 9e4})
    assert "nothing was measured" not in gate_text(judged(archive, "v2"))
