"""A gate over runs of an archive: which runs, which workloads, which of them decide."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from factories import (
    BENCH_ID,
    DEVICE,
    PROFILE,
    WORKLOAD,
    launch,
    make_run,
    metrics_frame,
    samples_frame,
    save_run,
    times,
    timing,
)
from gated import CONFLICTS, LARGE, LATER, SMALL, Archive

from ncu_assist.diff import diff_runs
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.gate import Gate
from ncu_assist.pipeline.gating import GateRequest, gate
from ncu_assist.pipeline.history import history
from ncu_assist.record import Bench, Check
from ncu_assist.render.gate_reasons import reason_words
from ncu_assist.render.json.gate import gate_json
from ncu_assist.render.markdown.gate import gate_markdown
from ncu_assist.render.terminal.gate import gate_text
from ncu_assist.spec import source_sha256
from ncu_assist.store import StoredRun, metrics_parquet, samples_parquet
from ncu_assist.store.baselines import set_baseline

BOTH = {SMALL: 1e5, LARGE: 1e6}
NO_CONFLICTS = f"{CONFLICTS}:+0"
STORES = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    made = Archive(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


def judged(archive: Archive, candidate: str = "add_one", *fail_on: str, **asked: Any) -> Gate:
    return gate(archive.project, GateRequest(candidate, fail_on=fail_on, **asked))


def outcomes(result: Gate) -> dict[tuple[str | None, str], str]:
    return {(check.workload, check.limit.metric.key): check.outcome for check in result.checks}


def test_a_version_as_fast_as_its_baseline_passes(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5})
    result = judged(archive)
    assert (result.outcome, result.exit_code, result.source) == ("pass", 0, "live")
    assert outcomes(result) == {(SMALL, "time"): "pass", (LARGE, "time"): "pass"}
    assert [one.run.version for one in (result.baseline, result.candidate)] == ["v0_torch", "v1_own"]
    assert (result.notes, result.differences, result.forced) == ((), (), ())


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


@pytest.mark.parametrize("limit", ["nonsense:2%", "time:two", "dram_throughput:2%"])
def test_a_wrong_limit_is_told_before_anything_is_looked_for(archive: Archive, limit: str) -> None:
    with pytest.raises(UsageProblem, match="--fail-on"):
        judged(archive, "no_such_kernel", "time:2%", limit)


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
    assert reason_words(check).startswith("not counted in v3 (section set full): n/a")
    assert check.next == ""


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
    assert (check.low, check.high) == (None, None)
    archive.save("v0_torch", {SMALL: 1e5}, bench_id="bench-2", **LATER)
    assert judged(archive).checks[0].low is not None


def test_runs_of_different_gpus_are_unclear_unless_forced(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {}, device=replace(DEVICE, name="NVIDIA H100"))
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5}, {})
    result = judged(archive, "add_one", "time:2%", NO_CONFLICTS)
    assert (result.outcome, result.exit_code) == ("unclear", 4)
    assert {check.verdict for check in result.checks} == {"not-comparable"}
    assert {reason_words(check) for check in result.checks} == {"the two were measured on different GPUs"}
    assert "GPU model" in {one.what for one in result.differences}
    forced = judged(archive, "add_one", "time:2%", NO_CONFLICTS, force=True)
    assert (forced.outcome, forced.forced) == ("pass", ("other-device",))


def test_clocks_of_ncu_forbid_to_compare_counters_and_not_times(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {}, profile=replace(PROFILE, clock_control="base"))
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5}, {})
    assert outcomes(judged(archive, "add_one", "time:2%", NO_CONFLICTS)) == {
        (SMALL, "time"): "pass",
        (SMALL, "shared_wavefronts_excessive"): "unclear",
        (LARGE, "time"): "pass",
        (LARGE, "shared_wavefronts_excessive"): "unclear",
    }
    assert judged(archive, "add_one", "time:2%", force=True).forced == ()
    assert judged(archive, "add_one", NO_CONFLICTS, force=True).forced == ("other-settings",)


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


def test_what_only_one_side_was_run_on_is_said(archive: Archive) -> None:
    archive.save("v0_torch", {**BOTH, "odd": 1e5, "huge": 1e5})
    archive.save("v1_own", BOTH)
    result = judged(archive)
    assert {check.workload for check in result.checks} == {SMALL, LARGE}
    assert result.notes == ("not looked at, as v1 was not run on it: odd, huge",)
    with pytest.raises(UsageProblem, match="was not measured on workload 'odd'"):
        judged(archive, workload="odd")


def test_nothing_in_common_is_unclear(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5})
    archive.save("v1_own", {LARGE: 1e5})
    result = judged(archive)
    assert (result.exit_code, [check.verdict for check in result.checks]) == (4, ["not-comparable"])


def test_the_baseline_is_of_the_candidates_kernel(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", BOTH)
    archive.save("v0_other", {SMALL: 1.0}, kernel="other", created="2027-01-01T00:00:00Z")
    result = judged(archive, "add_one/v1", "time:5%")
    assert result.baseline.run.kernel == "add_one"
    set_baseline(archive.store, archive.store.runs("add_one", "v1_own")[0])
    itself = judged(archive, "add_one/v1", "time:5%")
    assert (itself.exit_code, itself.notes) == (0, ("the candidate is the baseline itself",))
    with pytest.raises(UsageProblem, match="are different kernels"):
        judged(archive, "add_one/v1", against="other/v0")


def test_without_a_baseline_the_way_to_one_is_shown(archive: Archive) -> None:
    archive.save("v1_own", BOTH)
    with pytest.raises(UsageProblem, match="no baseline is set") as error:
        judged(archive)
    assert error.value.hint == "ncu-assist baseline set add_one/v1_own"


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ("add_on", "did you mean 'add_one'"),
        ("add_one/v9", "has no version 'v9'"),
        ("v9", "no kernel or reference 'v9'; did you mean 'v0'"),
        ("nope", "no kernel or reference 'nope'; kernels: add_one; versions: v0, v0_torch"),
        ("v0_torh", "did you mean 'v0_torch'"),
    ],
)
def test_a_candidate_that_is_not_there(archive: Archive, candidate: str, words: str) -> None:
    archive.save("v0_torch", BOTH)
    with pytest.raises(UsageProblem, match=words):
        judged(archive, candidate)


def test_an_older_run_does_not_stand_in_for_a_damaged_one(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", BOTH)
    newest = archive.save("v1_own", BOTH, **LATER)
    (newest.folder / "samples.parquet").write_bytes(b"")
    for candidate in ("add_one", "v1", "add_one/v1", "v1@last"):
        with pytest.raises(DamagedData, match="20261122T074500Z-2b3c4d is damaged, and newer than"):
            judged(archive, candidate)
    assert judged(archive, "v1@20261121", "time:5%").exit_code == 0
    shutil.rmtree(newest.folder)
    assert judged(archive, "add_one", "time:5%").exit_code == 0


def test_samples_that_were_changed_are_damage(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    path = archive.save("v1_own", BOTH).folder / "samples.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(DamagedData, match="hash differs"):
        judged(archive)


def test_a_source_that_was_edited_since_is_said(archive: Archive) -> None:
    folder = archive.project.kernels / "add_one"
    folder.mkdir()
    paths = [folder / f"{name}.py" for name in ("v0_torch", "v1_own")]
    for path in paths:
        path.write_text("import torch\n")
        archive.save(path.stem, BOTH, source_sha256=source_sha256(path))
    (folder / "kernel.toml").write_text(TOML)
    (folder / "reference.py").write_text("")
    assert judged(archive, "add_one", "time:5%").notes == ()
    paths[1].write_text("import torch, math\n")
    assert judged(archive, "add_one", "time:5%").notes == ("v1 has changed since it was measured",)


TOML = """\
summary = "adds one"
inputs = ["x"]
arguments = ["x", "y", "n"]
bytes = "8 * n"
flops = "n"
[outputs]
y = { dtype = "float32", shape = ["n"] }
[tolerance.float32]
norm = 1e-6
rtol = 1e-6
atol = 1e-6
[workloads.small]
n = 1024
dtype = "float32"
default = true
"""


def test_runs_of_the_candidates_gpu_stand_in_for_a_baseline_of_another(archive: Archive) -> None:
    elsewhere = {"device": replace(DEVICE, name="NVIDIA H100"), "bench_id": "bench-0"}
    archive.save("v0_torch", BOTH, {})
    pinned = archive.save("v0_torch", BOTH, {CONFLICTS: 9.0}, **LATER, **elsewhere)
    set_baseline(archive.store, pinned)
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5}, {})
    result = judged(archive, "v1", "time:2%", NO_CONFLICTS)
    assert result.outcome == "pass"
    assert {check.baseline for check in result.checks if not check.limit.is_on_time} == {0.0}


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


def test_an_infinite_counter_is_shown_and_settles_nothing(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {})
    archive.save("v1_own", BOTH, {CONFLICTS: float("inf")})
    result = judged(archive, "v1", NO_CONFLICTS)
    assert result.exit_code == 4
    assert "not counted in v1" in gate_text(result)


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


def test_nothing_measured_yet(archive: Archive) -> None:
    with pytest.raises(UsageProblem):
        judged(archive, "add_one")


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


DATA = Path(__file__).parents[1] / "data"


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
    result = judged(archive, "v2", against="v1")
    assert [(check.outcome, check.reason) for check in result.checks] == [("unclear", "not-resolved")]
    assert (result.exit_code, judged(archive, "v1", against="v2").exit_code) == (4, 0)
    assert judged(archive, "v2", "time:1%", against="v1").exit_code == 4


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


@pytest.mark.parametrize("kept", [0, 60])
def test_fewer_samples_than_the_record_says_are_damage(archive: Archive, kept: int) -> None:
    before = archive.save("v0_torch", {SMALL: 1e5}, {})
    whole = samples_frame(times(1e5, 1), version="v1_own")
    bench = Bench(BENCH_ID, "read", 100, (40.0, 41.0), (), (timing(whole),))
    contents = {"samples.parquet": samples_parquet(whole[:kept]), "metrics.parquet": metrics_parquet(metrics_frame({}))}
    after = archive.store.save(make_run(version="v1_own", bench=bench), contents)
    for compare in (lambda: diff_runs(before, after), lambda: judged(archive, "v1"), lambda: history(archive.project)):
        with pytest.raises(DamagedData, match="samples of workload small"):
            compare()
    assert ["samples of workload small" in damage.problem for damage in archive.store.verify()] == [True]


def test_a_name_that_the_runs_lack_gets_the_key_that_has_the_number(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5}, {})
    archive.save("v1_own", {SMALL: 1e5}, {})
    check = judged(archive, "v1", "sm__inst_executed.sum:+0").checks[0]
    assert (check.outcome, check.detail.nearest) == ("unclear", "instructions")
    assert reason_words(check).endswith("did you mean 'instructions'?")
    assert check.next == "ncu-assist explain instructions"
    assert judged(archive, "v1", "launch__occupancy_cluster_pct:+0pt").checks[0].detail.nearest == ""


def test_a_candidate_that_was_not_measured_here_is_said(archive: Archive) -> None:
    archive.save("v0_torch", {SMALL: 1e5}, machine="other")
    archive.save("v1_own", {SMALL: 9e4}, machine="other", source="recorded")
    recorded = judged(archive, "v1")
    assert (recorded.exit_code, recorded.source) == (0, "recorded")
    for shown in (gate_text(recorded), gate_markdown(recorded)):
        assert "nothing was measured on this machine: v1 is a recorded run" in shown
    archive.save("v2_live", {SMALL: 9e4})
    assert "nothing was measured" not in gate_text(judged(archive, "v2"))
