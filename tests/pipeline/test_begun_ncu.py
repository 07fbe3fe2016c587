"""An ncu that starts while nvcc builds: its process waits for the request, and no problem of it costs a measurement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from measured import VERSIONS, WRONG, Notes, make_job
from patience import CEILING_S

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.local import Local
from ncu_assist.ncu import child
from ncu_assist.ncu.report import READER
from ncu_assist.ncu.source.reading import READER as CODE_READER
from ncu_assist.pipeline import measuring, ncu_stage, profiling
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.ncu_stage import NcuStage

pytestmark = pytest.mark.slow


@pytest.fixture
def job(job: MeasureJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MeasureJob:
    """The job, with processes of its own, and an ncu that runs its program and notes each command line."""
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    return replace(job, executor=Local(tmp_path / "locks"))


def started(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line)["argv"] for line in (tmp_path / "argv").read_text().splitlines()]


def left(job: MeasureJob) -> list[str]:
    return sorted(path.name for path in (job.project.work / "measure").glob("ncu-*"))


def test_the_one_ncu_of_a_profile_starts_before_anything_is_built(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    status = notes.status

    def look(text: str) -> None:
        status(text)
        if text.startswith("building"):
            seen.append(len(left(job)))

    monkeypatch.setattr(notes, "status", look)
    outcome = measure(job, notes)
    assert outcome.exit_code == 0
    assert all(one.run and one.run.run.launches for one in outcome.versions)
    assert seen == [1]
    (argv,) = started(tmp_path)
    assert "--warm" in argv
    assert any("ncu: 4 of 4 · v1 w1" in line for line in notes.lines)
    assert left(job) == []


def test_an_ncu_that_ends_while_it_waits_is_started_again(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", "crash")
    monkeypatch.setenv("FAKE_NCU_FAIL_IF", "--warm")
    outcome = measure(job, notes)
    assert outcome.exit_code == 0
    assert all(one.run and one.run.run.launches for one in outcome.versions)
    assert ["--warm" in argv for argv in started(tmp_path)] == [True, False]


def test_an_ncu_that_is_not_needed_is_ended(job: MeasureJob, notes: Notes, tmp_path: Path) -> None:
    wrong = make_job(tmp_path / "wrong", dict.fromkeys(VERSIONS, WRONG))
    outcome = measure(replace(wrong, executor=job.executor), notes)
    assert [bool(one.failure) for one in outcome.versions] == [True, True]
    assert left(wrong) == []


def test_a_work_folder_that_cannot_be_written_is_told_as_ever(job: MeasureJob, notes: Notes) -> None:
    job.project.work.mkdir(exist_ok=True)
    (job.project.work / "measure").write_text("a file")
    with pytest.raises(EnvironmentProblem):
        measure(job, notes)


def test_of_two_choices_of_sections_only_one_ncu_is_left(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert job.options is not None
    adaptive = replace(job, options=replace(job.options, section_set="adaptive"))
    monkeypatch.setattr(measuring, "may_be_bound_by_memory", lambda *_: True)  # as a first bench may find
    beside: list[bool] = []
    run = Local.run

    def look(local: Local, argv: Any, **how: Any) -> Any:
        beside.append(bool(left(adaptive)))
        return run(local, argv, **how)

    monkeypatch.setattr(Local, "run", look)
    assert measure(adaptive, notes).exit_code == 0
    assert ["--warm" in argv for argv in started(tmp_path)][:2] == [True, False]
    assert beside
    assert not any(beside)


def test_a_damaged_run_does_not_keep_an_adaptive_profile_from_its_start(job: MeasureJob, notes: Notes) -> None:
    assert job.options is not None
    adaptive = replace(job, options=replace(job.options, section_set="adaptive"))
    first = measure(adaptive, notes)
    assert first.versions[0].run is not None
    metrics = first.versions[0].run.folder / "metrics.parquet"
    data = bytearray(metrics.read_bytes())
    data[len(data) // 2] ^= 1
    metrics.write_bytes(data)
    assert measure(adaptive, notes).exit_code == 0


def test_an_adaptive_profile_begins_with_the_sections_of_the_last_run(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert job.options is not None
    adaptive = replace(job, options=replace(job.options, section_set="adaptive"))
    assert measure(adaptive, notes).exit_code == 0
    (first,) = started(tmp_path)
    monkeypatch.setattr(profiling, "is_bound_by_memory", lambda _: True)  # of the run before, and of the next
    assert measure(adaptive, notes).exit_code == 0
    _, last = started(tmp_path)
    assert "--warm" in first
    assert "--warm" in last
    assert "ComputeWorkloadAnalysis" in first
    assert "MemoryWorkloadAnalysis_Tables" in last
    assert "ComputeWorkloadAnalysis" not in last


def test_a_waiting_ncu_has_nothing_on_the_gpu(job: MeasureJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no device before its request comes, which names one."""
    begun: list[Any] = []
    begin = NcuStage.begun

    def noted(stage: NcuStage, executor: Local) -> NcuStage:
        begun.append(begin(stage, executor))
        return begun[-1]

    monkeypatch.setattr(ncu_stage.NcuStage, "begun", noted)
    measure(job, Notes())
    assert [stage.executor.device for stage in begun] == [""]
    (argv,) = started(tmp_path)
    assert argv[-1] == ""


def test_readers_of_code_get_ready_during_the_passes_and_none_is_left(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, int]] = []
    used: list[bytes] = []
    run = process.Waiting.run

    def start_and_wait(module: str, count: int, *more: str) -> None:
        child.get_ready(module, count, *more)
        started.append((module, count))
        assert all(one.ready.wait(CEILING_S) for one in child._READY[module])

    def noted(waiting: process.Waiting, work: bytes, *more: Any) -> process.Completed:
        used.append(work)
        return run(waiting, work, *more)

    monkeypatch.setattr(measuring, "get_ready", start_and_wait)
    monkeypatch.setattr(process.Waiting, "run", noted)
    first = measure(job, notes)
    assert started == [(READER, 1)]  # there is no report that code readers could get ready with
    assert [b"scalars" in work for work in used if work.startswith(b"[")] == [True]
    used.clear()
    again = measure(job, notes)
    assert started[1:] == [(READER, 1), (CODE_READER, 2)]
    assert sum(work.startswith(b"[") for work in used) == 3
    assert not any(child._READY.values())
    codes = [[one.run.code() for one in outcome.versions if one.run] for outcome in (first, again)]
    assert all(codes[0])
    assert [one.launches for one in codes[0] if one] == [one.launches for one in codes[1] if one]
