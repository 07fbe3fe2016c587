"""A gate's word over workloads and limits: regression, unclear, pass, and metrics that nobody counted."""

from __future__ import annotations

import pytest
from gated import BOTH, LARGE, LATER, NO_BASELINE_SET, NO_FOLDER, SMALL, Archive, judged, outcomes

from ncu_assist.errors import UsageProblem
from ncu_assist.record import Check
from ncu_assist.render.words.gate import reason_words


def test_a_version_as_fast_as_its_baseline_passes(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5})
    result = judged(archive)
    assert (result.outcome, result.exit_code, result.source) == ("pass", 0, "live")
    assert outcomes(result) == {(SMALL, "time"): "pass", (LARGE, "time"): "pass"}
    assert [one.run.version for one in (result.baseline, result.candidate)] == ["v0_torch", "v1_own"]
    assert (result.notes, result.differences, result.forced) == (
        (
            NO_BASELINE_SET,
            NO_FOLDER,
        ),
        (),
        (),
    )


def test_one_slower_workload_is_a_regression_whatever_the_others_gain(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", {SMALL: 1e5, LARGE: 1.1e6})
    result = judged(archive, "add_one", "time:2%")
    assert outcomes(result) == {(SMALL, "time"): "pass", (LARGE, "time"): "regression"}
    assert (result.outcome, result.exit_code) == ("regression", 3)
    assert judged(archive, "add_one", "time:2%", workload=SMALL).exit_code == 0
    assert judged(archive, "add_one", "time:2%", workload="all").exit_code == 3
    assert judged(archive, "add_one", "time:20%").exit_code == 0


def test_a_regression_weighs_more_than_what_is_unclear(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", {SMALL: 1.02e5, LARGE: 1.1e6})
    result = judged(archive, "add_one", "time:2%")
    assert outcomes(result) == {(SMALL, "time"): "unclear", (LARGE, "time"): "regression"}
    assert result.exit_code == 3
    assert judged(archive, "add_one", "time:2%", workload=SMALL).exit_code == 4


@pytest.mark.parametrize("limit", ["nonsense:2%", "time:two", "dram_throughput:2%"])
def test_a_wrong_limit_is_told_before_anything_is_looked_for(archive: Archive, limit: str) -> None:
    with pytest.raises(UsageProblem, match="--fail-on"):
        judged(archive, "no_such_kernel", "time:2%", limit)


def test_nothing_in_common_is_unclear(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5})
    archive.save("v1_own", {LARGE: 1e5})
    result = judged(archive)
    assert (result.exit_code, [check.verdict for check in result.checks]) == (4, ["not-comparable"])


def test_what_only_one_side_was_run_on_is_said(archive: Archive) -> None:
    archive.save("v0_torch", {**BOTH, "odd": 1e5, "huge": 1e5})
    archive.save("v1_own", BOTH)
    result = judged(archive)
    assert {check.workload for check in result.checks} == {SMALL, LARGE}
    assert result.notes == (NO_BASELINE_SET, NO_FOLDER, "not checked, because v1 was not run on it: odd, huge")
    with pytest.raises(UsageProblem, match="was not measured on workload 'odd'"):
        judged(archive, workload="odd")


def test_a_wrong_version_keeps_no_limit(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    failed = (Check(SMALL, True, "", (0,), 0.0, 0.0), Check(LARGE, False, "norm error 2", (0,), 2.0, 2.0))
    archive.save("v1_own", BOTH, checks=failed)
    result = judged(archive, "add_one", "time:50%")
    assert outcomes(result) == {(SMALL, "time"): "pass", (LARGE, "time"): "regression"}
    assert reason_words(result.checks[1]) == "the check of v1 failed there: norm error 2"
    assert outcomes(judged(archive, "v0", "time:50%", against="v1")) == {
        (SMALL, "time"): "pass",
        (LARGE, "time"): "unclear",
    }


def test_the_newest_check_counts(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5})
    archive.save("v1_own", {SMALL: 9e4})
    failed = (Check(SMALL, False, "an output was not written", (0,), None, None),)
    archive.save("v1_own", {SMALL: 0}, checks=failed, **LATER)
    check = judged(archive).checks[0]
    assert (check.outcome, reason_words(check)) == (
        "regression",
        "the check of v1 failed there: an output was not written",
    )
