"""Whole measurements: real children on the CPU, the fake ncu for the counters, a real archive."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from measured import RIGHT, VERSIONS, WORKLOADS, WRONG, Notes, make_job, with_limits
from patience import CEILING_S, press_ctrl_c
from requirements import require

from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.ncu.failures import LogFollower
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.store import Store, writing

pytestmark = pytest.mark.slow

HALF = "# dtypes: float16\n" + RIGHT
ONE_FOR_V1 = WORKLOADS.replace("n = 1000\n", 'n = 1000\nversions = ["v1"]\n')


def failures(outcome: KernelOutcome) -> dict[str, str]:
    return {v.version: v.failure for v in outcome.versions}


def store(job: MeasureJob) -> Store:
    return Store(job.project.reports)


def test_every_version_gets_a_run_with_checks_times_and_counters(job: MeasureJob, notes: Notes) -> None:
    outcome = measure(job, notes)
    assert failures(outcome) == {"v0_naive": "", "v1_shared": ""}
    assert outcome.exit_code == 0
    assert store(job).verify() == []
    naive, shared = (v.run for v in outcome.versions)
    assert naive is not None
    assert shared is not None
    assert [(one.workload, one.index) for one in naive.run.launches] == [("w0", 0), ("w1", 1)]
    assert [one.kernel for one in shared.run.launches] == ["transpose_shared"]
    assert set(naive.metrics()["launch"]) == {0, 1}
    assert {t.workload for t in naive.run.bench.timings} == {"w0", "w1"}  # type: ignore[union-attr]
    assert all(c.passed for c in naive.run.checks)
    assert naive.source_texts()["v0_naive.py"] == RIGHT
    said = naive.findings()
    assert said is not None
    assert [(one.workload, one.launch) for one in said.judged] == [("w0", 0), ("w1", 1)]
    assert naive.run.profile is not None
    assert naive.run.profile.command == "ncu-assist profile add_one --workload all --set full"


def test_samples_of_two_versions_can_be_paired(job: MeasureJob, notes: Notes) -> None:
    frames = [v.run.samples() for v in measure(job, notes).versions if v.run]
    keys = [
        set(f[~f["version"].str.startswith("(")][["bench_id", "workload", "round"]].itertuples(index=False))
        for f in frames
    ]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 24


def test_the_one_ncu_process_covers_all_versions_and_shows_progress(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    measure(job, notes)
    assert len((tmp_path / "argv").read_text().splitlines()) == 1
    assert any("ncu: 4 of 4 · v1 w1" in line for line in notes.lines)


def test_the_culprit_is_named_and_the_others_are_profiled(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", "kernel-failed")
    monkeypatch.setenv("FAKE_NCU_FAIL_IF", "v1/request.json")
    outcome = measure(job, notes)
    assert failures(outcome)["v0_naive"] == ""
    assert "profile:" in failures(outcome)["v1_shared"]
    assert outcome.exit_code == 5
    naive, shared = (v.run for v in outcome.versions)
    assert naive is not None
    assert shared is not None
    assert len(naive.run.launches) == 2
    assert shared.run.launches == ()
    assert shared.run.bench is not None
    assert any("one by one" in note for note in notes.notes)


@pytest.mark.parametrize("mode", ["crash", "truncated", "hang"])
def test_a_profiler_that_dies_leaves_the_times(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", mode)
    outcome = measure(with_limits(job, profile_timeout_s=1.0 if mode == "hang" else CEILING_S), notes)
    assert all("profile:" in reason for reason in failures(outcome).values())
    assert all(v.run and v.run.run.bench and not v.run.run.launches for v in outcome.versions)
    assert store(job).verify() == []


def test_without_permission_the_times_are_kept_and_the_cure_is_said(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", "permission")
    with pytest.raises(EnvironmentProblem, match="performance counters") as caught:
        measure(job, notes)
    assert "CAP_SYS_ADMIN" in caught.value.message
    assert all(run.run.bench for run in store(job).runs())
    assert len(store(job).runs()) == 2


def test_more_launches_than_the_limit_allows(job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(job.project.root / "door")
    monkeypatch.setenv("FAKE_NCU_HOLD", str(job.project.root / "door"))  # else it would end by itself
    outcome = measure(with_limits(job, max_launches=1), notes)
    assert all("launches" in reason for reason in failures(outcome).values())


def test_counters_may_be_taken_on_some_workloads_only(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    outcome = measure(replace(job, counted=job.kernel.select_workloads("w0")), notes)
    assert [line for line in notes.lines if line.startswith("ncu: ") and " w1 " in line] == []
    assert any("ncu: 2 of 2 · v1 w0" in line for line in notes.lines)
    for version in outcome.versions:
        assert version.run is not None
        assert {timing.workload for timing in version.run.run.bench.timings} == {"w0", "w1"}  # type: ignore[union-attr]
        assert version.run.run.notes == ("counters were taken on w0 only",)


def test_a_workload_that_is_for_one_version(
    tmp_path: Path, job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    outcome = measure(make_job(tmp_path, {**VERSIONS, "v2_half.py": HALF}, ONE_FOR_V1), notes)
    assert failures(outcome) == {"v0_naive": "", "v1_shared": "", "v2_half": ""}
    assert [v.unserved for v in outcome.versions] == [("w1",), (), ("w0", "w1")]
    naive, shared, half = (v.run for v in outcome.versions)
    assert naive is not None
    assert shared is not None
    assert half is None
    assert [[facts.name for facts in one.run.workloads] for one in (naive, shared)] == [["w0"], ["w0", "w1"]]
    assert [[check.workload for check in one.run.checks] for one in (naive, shared)] == [["w0"], ["w0", "w1"]]
    assert any("ncu: 3 of 3 · v1 w1" in line for line in notes.lines)


def test_counters_on_a_workload_that_no_version_serves_leave_the_times(
    tmp_path: Path, job: MeasureJob, notes: Notes
) -> None:
    made = make_job(tmp_path / "other", {"v0_naive.py": RIGHT, "v1_half.py": HALF}, ONE_FOR_V1)
    outcome = measure(replace(made, counted=made.kernel.select_workloads("w1")), notes)
    assert failures(outcome) == {"v0_naive": "", "v1_half": ""}
    assert outcome.versions[0].run is not None
    assert outcome.versions[0].run.run.launches == ()


def test_a_wrong_version_is_neither_timed_nor_profiled(tmp_path: Path, job: MeasureJob, notes: Notes) -> None:
    outcome = measure(make_job(tmp_path, {**VERSIONS, "v1_shared.py": WRONG}), notes)
    assert "check w0: output 'y': 1024 of 1024 elements are wrong" in failures(outcome)["v1_shared"]
    wrong = outcome.versions[1].run
    assert wrong is not None
    assert (wrong.run.bench, wrong.run.launches) == (None, ())
    assert outcome.exit_code == 5


def test_a_version_that_does_not_compile_stops_only_itself(tmp_path: Path, job: MeasureJob, notes: Notes) -> None:
    require("nvcc", "ninja")
    outcome = measure(
        make_job(tmp_path, {**VERSIONS, "v2_typo.cu": 'extern "C" int add_one() { return nonsense; }'}), notes
    )
    assert failures(outcome) == {"v0_naive": "", "v1_shared": "", "v2_typo": "build: it does not compile"}
    assert any('"nonsense" is undefined' in note for note in notes.notes)
    assert outcome.versions[2].run is None


def test_ctrl_c_during_profiling_keeps_checks_and_times(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", "hang")
    started = job.project.root / "argv"
    monkeypatch.setenv("FAKE_NCU_ARGV", str(started))
    follow = LogFollower.poll

    def interrupt(follower: LogFollower) -> object:
        if started.exists():
            press_ctrl_c()
        return follow(follower)

    monkeypatch.setattr(LogFollower, "poll", interrupt)
    with pytest.raises(KeyboardInterrupt):
        measure(job, notes)
    assert len(store(job).runs()) == 2
    assert store(job).verify() == []


def test_a_full_disk_leaves_nothing_half_written(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        measure(job, notes)
    assert store(job).runs() == []
    assert [p for p in job.project.reports.rglob("*") if p.is_file()] == []
