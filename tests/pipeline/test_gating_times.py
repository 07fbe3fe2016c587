"""A gate's limit on the time: it hangs on the same verdict as a diff, and says what nothing settles."""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil
from pathlib import Path

import pandas as pd
import pytest
from factories import BENCH_ID, PROFILE, WORKLOAD, launch, make_run, metrics_frame, samples_frame, save_run, times
from gated import BOTH, LARGE, LATER, NO_CONFLICTS, SMALL, Archive, judged, outcomes

from ncu_assist.analysis.diff import diff_runs
from ncu_assist.record import Bench
from ncu_assist.render.json.diff import gate_json
from ncu_assist.render.junit import junit
from ncu_assist.render.markdown import gate_markdown
from ncu_assist.render.terminal.diff import gate_text
from ncu_assist.render.words.gate import reason_words
from ncu_assist.store import StoredRun, metrics_parquet, samples_parquet

DATA = Path(__file__).parents[1] / "data"


def test_without_a_bench_nothing_is_settled(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 0}, {})
    archive.save("v1_own", {SMALL: 0}, {})
    check = judged(archive).checks[0]
    assert (check.outcome, check.verdict, check.delta) == ("unclear", "unclear", 0.0)
    assert (check.baseline, check.candidate) == (100_000.0, 100_000.0)
    assert "one duration a side" in reason_words(check)
    assert check.next == "ncu-assist bench add_one v0 v1 --workload small"


def test_benches_that_are_not_the_same_are_not_paired(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5})
    archive.save("v1_own", {SMALL: 1e5}, bench_id="bench-2")
    check = judged(archive).checks[0]
    assert check.low is not None
    assert check.high is not None
    archive.save("v0_torch", {SMALL: 1e5}, bench_id="bench-2", **LATER)
    paired = judged(archive, "add_one/v1").checks[0]
    assert paired.high is not None
    assert paired.high < check.high


@pytest.mark.parametrize(
    ("baseline", "slower", "outcome", "is_inside"),
    [
        (1e5, 1.0, "pass", False),
        (1e5, 1.015, "unclear", True),
        (1e5, 1.025, "unclear", False),
        (1e5, 1.05, "regression", False),
        (4e3, 1.05, "unclear", True),  # a process's own 0.1 µs are 2.7 %
        (4e3, 1.3, "regression", False),
    ],
)
def test_two_benches_are_as_far_apart_as_those_of_one_code(
    archive: Archive, baseline: float, slower: float, outcome: str, is_inside: bool
) -> None:
    archive.sm_clock_mhz = 1980.0
    archive.save("v0_torch", {SMALL: baseline})
    archive.save("v1_own", {SMALL: baseline * slower}, bench_id="bench-2")
    result = judged(archive)
    (check,) = result.checks
    assert (check.outcome, check.is_inside) == (outcome, is_inside)
    lenient = judged(archive, unclear_passes=True)
    assert lenient.exit_code == (0 if is_inside else result.exit_code)
    if is_inside:
        said = " ".join(gate_text(lenient).split())
        assert f"small settles at {ceil(1000 * check.high) / 10:g} %" in said  # type: ignore[operator]
        assert "pass: 1 check on small, of which 1 shows nothing beyond the limit" in said
        assert junit(lenient).count("<error") == 0
        assert junit(result).count("<error") == 1


def test_times_come_from_the_newest_bench_of_both_sources_on_each_workload(archive: Archive) -> None:
    """A later bench of one workload decides there, and hides neither the other workload nor the counters."""
    archive.save("v0_torch", BOTH, {})
    archive.save("v1_own", BOTH, {})
    archive.save("v0_torch", {SMALL: 1e5}, bench_id="bench-2", **LATER)
    archive.save("v1_own", {SMALL: 1.5e5}, bench_id="bench-2", **LATER)
    result = judged(archive, "v1", "time:2%", NO_CONFLICTS)
    assert outcomes(result)[SMALL, "time"] == "regression"
    assert outcomes(result)[LARGE, "time"] == "pass"
    assert [note for note in result.notes if "from other runs of the same sources" in note]
    assert LATER["run_id"] in result.candidate.reference
    exact = judged(archive, "v1@20261121", "time:2%", against="v0@20261121")
    assert outcomes(exact) == {(SMALL, "time"): "pass", (LARGE, "time"): "pass"}
    assert exact.notes == ()


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 0.0, -1.0])
def test_samples_that_are_no_times_are_unclear(archive: Archive, odd: float) -> None:
    archive.save("v0_torch", {SMALL: 1e5})
    frame = samples_frame([1e5] * 99 + [odd], version="v1_own")
    saved = make_run(version="v1_own", launches=(), profile=None, workloads=(WORKLOAD,))
    save_run(archive.store, saved, None, frame)
    result = judged(archive, "v1", "time:2%")
    assert (result.exit_code, result.checks[0].delta) == (4, None)
    assert "is no time" in reason_words(result.checks[0])
    for shown in (gate_text(result), gate_markdown(result)):
        assert "unclear" in shown
    json.dumps(gate_json(result), allow_nan=False)


def test_the_same_code_is_no_regression(archive: Archive) -> None:
    """A recorded bench of one kernel built twice: 0.6 to 1.8 % apart, which is less than two ticks of the timer."""
    recorded = pd.read_parquet(DATA / "same_code_small_scale_v1.parquet")
    recorded = recorded[recorded["bench_id"] == "aa68e633b8fc"].drop(columns=["pair", "kind"])
    (workload,) = recorded["workload"].unique()
    for name, version in (("v1_thread_an_element", "v1_one"), ("v1_thread_an_element (again)", "v2_again")):
        samples = recorded[recorded["version"] == name].assign(version=version)
        run = make_run(version=version, launches=(), profile=None, workloads=(replace(WORKLOAD, name=workload),))
        save_run(archive.store, run, None, samples)
    runs = [archive.store.runs("add_one", version)[0] for version in ("v1_one", "v2_again")]
    told = diff_runs(runs[0], runs[1]).verdict
    assert (told.verdict, told.reason) == ("unclear", "not-resolved")
    result = judged(archive, "v2", "time:0%", against="v1")
    assert [(check.outcome, check.reason) for check in result.checks] == [("unclear", "not-resolved")]
    assert (result.exit_code, judged(archive, "v1", "time:0%", against="v2").exit_code) == (4, 0)
    assert judged(archive, "v2", "time:1%", against="v1").exit_code == 4
    assert judged(archive, "v2", against="v1").exit_code == 0  # the usual limit: no tie breaks it


def test_other_clocks_are_named_in_every_format(archive: Archive) -> None:
    for version, seed, mhz in (("v0_torch", 1, 1980.0), ("v1_own", 2, 1755.0)):
        samples = samples_frame(times(1e5, seed), version=version, sm_clock_mhz=mhz)
        save_run(archive.store, make_run(version=version, launches=(), profile=None), None, samples)
    result = judged(archive, "v1")
    assert result.checks[0].clocks_mhz == (1980.0, 1755.0)
    for shown in (gate_text(result), gate_markdown(result)):
        assert "SM clocks of v0 and v1 differ: 1980 and 1755 MHz on small" in " ".join(shown.split())
    assert gate_json(result)["checks"][0]["sm_clocks_mhz"] == [1980.0, 1755.0]


def test_repeats_under_ncu_count_as_in_a_diff(archive: Archive) -> None:
    def repeated(version: str, middle: float) -> StoredRun:
        launches = tuple(launch(i, repeat=i, duration_ns=middle * (1 + 0.001 * (i % 5))) for i in range(30))
        return save_run(archive.store, make_run(version=version, launches=launches), metrics_frame(*[{}] * 30))

    pair = repeated("v0_torch", 1e5), repeated("v1_own", 2e5)
    verdict = diff_runs(*pair).verdict
    assert verdict.reason == "clocks-unknown"
    check = judged(archive, "v1").checks[0]
    assert (check.outcome, check.reason, check.detail.likely) == ("unclear", verdict.reason, "slower")


def late_only(archive: Archive, version: str, metrics: dict[str, float] | None) -> StoredRun:
    """Save a run whose samples were all late, as a bench does: it has no timing."""
    contents = {"samples.parquet": samples_parquet(samples_frame([1e5] * 30, version=version, late=range(30)))}
    if metrics is not None:
        contents["metrics.parquet"] = metrics_parquet(metrics_frame(metrics))
    launches = () if metrics is None else (launch(),)
    bench = Bench(BENCH_ID, "read", 30, (40.0, 41.0), (), ())
    run = make_run(version=version, launches=launches, profile=PROFILE if launches else None, bench=bench)
    return archive.store.save(run, contents)


@pytest.mark.parametrize("metrics", [None, {}])
def test_samples_that_were_all_late_are_a_reason_of_their_own(
    archive: Archive, metrics: dict[str, float] | None
) -> None:
    before = archive.save("v0_torch", {SMALL: 1e5}, metrics)
    after = late_only(archive, "v1_own", metrics)
    told = diff_runs(before, after).verdict
    assert (told.verdict, told.reason) == ("unclear", "only-late-samples")
    assert told.speedup == (None if metrics is None else 1.0)  # what ncu says of it
    check = judged(archive, "v1").checks[0]
    assert (check.outcome, check.reason) == ("unclear", "only-late-samples")
    assert check.next == "ncu-assist bench add_one v0 v1 --workload small"
    assert "was late" in gate_text(judged(archive, "v1"))
    assert archive.store.verify() == []
