"""Twenty faults while eight fake GPUs measure: nothing is lost, nothing is there twice, and the person is told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.fake_gpu import FakeGpu, gpus
from patience import CEILING_S
from pipeline.measured import Notes
from pipeline.shared_out import assert_whole, fake_ncu_first, make_jobs

from ncu_assist.pipeline.gpu_workers import workers_on
from ncu_assist.pipeline.measuring import measure_all
from ncu_assist.store import Store

BENCH = ["kill"] * 3 + ["quit"] * 2 + ["gone"] * 2 + ["full"] * 2 + ["child-full"] * 2 + ["throttled"]
NCU = ["ncu"] * 2 + ["ncu-full"] * 2 + ["ncu-kill"] * 4


@pytest.mark.slow
def test_twenty_faults_lose_nothing_and_count_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu_first(tmp_path, monkeypatch)
    faults = tmp_path / "faults"
    faults.mkdir()
    kernels = [f"k{number}" for number in range(12)]
    due = [*zip(BENCH, kernels, strict=True), *zip(NCU, reversed(kernels), strict=False)]
    assert len(due) == 20
    for kind, kernel in due:
        (faults / f"{kind}.{kernel}").touch()
    gpu = FakeGpu(dict.fromkeys(kernels, 0.2), dict.fromkeys(kernels, 0.2), faults=faults)
    jobs = make_jobs(tmp_path, kernels, gpu)
    notes = Notes()
    began = time.monotonic()
    with workers_on(list(gpus(8))) as place:
        outcomes = measure_all(jobs, notes, place=place)
        left = place.gpus
    took = time.monotonic() - began
    assert [path.name for path in faults.glob("[!d]*")] == []  # each fault was met
    assert {one.exit_code for one in outcomes} == {0}
    assert_whole(tmp_path, jobs)
    said = "\n".join(notes.notes)
    assert left < 8
    for words in ("lost its worker", "is left out", "No space left", "it was throttled", "is assigned to another"):
        assert words in said, said
    assert took < CEILING_S, "one of them was waited for until its limit"


@pytest.mark.slow
def test_what_is_the_versions_own_fault_is_no_reason_to_try_another_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_ncu_first(tmp_path, monkeypatch)
    faults = tmp_path / "faults"
    faults.mkdir()
    for name in ("hang.one", "crash.two"):
        (faults / name).touch()
    jobs = make_jobs(tmp_path, ["one", "two"], FakeGpu(faults=faults), limit_s=1.0)
    monkeypatch.setattr("ncu_assist.harness.client.START_TIMEOUT_S", 1.0)
    notes = Notes()
    with workers_on(list(gpus(2))) as place:
        outcomes = measure_all(jobs, notes, place=place)
    failures = sorted(row.failure for one in outcomes for row in one.versions if row.failure)
    assert len(failures) == 2
    assert any("gave no sign of life" in failure for failure in failures)
    assert any("SIGSEGV" in failure for failure in failures)
    assert not [note for note in notes.notes if "given to another" in note]
    assert len(Store(tmp_path / "reports").runs()) == 4


@pytest.mark.slow
def test_a_fault_that_every_gpu_has_is_told_as_one_gpu_would(tmp_path: Path) -> None:
    from ncu_assist.errors import EnvironmentProblem

    faults = tmp_path / "faults"
    faults.mkdir()
    jobs = make_jobs(tmp_path, ["one", "two", "three"], FakeGpu(faults=faults, always="gone"), counted=False)
    with workers_on(list(gpus(2))) as place, pytest.raises(EnvironmentProblem, match="GPU is lost"):
        measure_all(jobs, Notes(), place=place)
    assert not Store(tmp_path / "reports").runs()
