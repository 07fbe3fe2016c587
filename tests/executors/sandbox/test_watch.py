"""What is taken of disk and memory is counted from outside, and too much of it ends the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_assist.errors import StageFailed
from ncu_assist.executors.sandbox import LimitExceeded, SandboxLimits, folders
from ncu_assist.executors.sandbox.folders import GrowthWatch

MIB = 1 << 20


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "before").write_bytes(b"x" * MIB)
    return tmp_path


def test_only_growth_counts(job: Path) -> None:
    found = GrowthWatch((job,), SandboxLimits(folder_bytes=MIB // 2, folder_files=3), None)
    found.check()
    (job / "sub").mkdir()
    (job / "sub" / "link").symlink_to("/usr")
    found.check()
    (job / "sub" / "more").write_bytes(b"x" * MIB)
    with pytest.raises(LimitExceeded, match="wrote more than 0 MiB") as caught:
        found.check()
    assert isinstance(caught.value, StageFailed)


def test_files_without_content_count(job: Path) -> None:
    found = GrowthWatch((job,), SandboxLimits(folder_files=3), None)
    for number in range(4):
        (job / str(number)).touch()
    with pytest.raises(LimitExceeded, match="more than 3 files"):
        found.check()


def test_a_disk_that_fills_unseen(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [1000 * MIB]
    monkeypatch.setattr(folders, "_free", lambda _: free[0])
    found = GrowthWatch((job,), SandboxLimits(free_bytes=600 * MIB), None)
    free[0] = 501 * MIB  # a disk that had little from the start may go down to half of that
    found.check()
    free[0] = 499 * MIB
    with pytest.raises(LimitExceeded, match="less than 500 MiB free"):
        found.check()


def test_memory_of_the_machine_that_runs_out(
    job: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path_factory.mktemp("proc") / "meminfo"
    monkeypatch.setattr(folders, "MEMORY", memory)

    def available(mib: int) -> None:
        memory.write_text(f"MemTotal: {16 << 20} kB\nMemFree: 1 kB\nMemAvailable:   {mib * 1024} kB\n")

    available(8000)
    found = GrowthWatch((job,), SandboxLimits(free_memory_bytes=2000 * MIB), None)
    available(2001)
    found.check()
    available(1999)
    with pytest.raises(LimitExceeded, match=r"less than 2.0 GiB of memory free"):
        found.check()


def test_it_passes_the_question_on_and_looks_only_now_and_then(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(GrowthWatch, "check", lambda _: looks.append(1))
    answers = iter([False, True])
    found = GrowthWatch((job,), SandboxLimits(), lambda: next(answers))
    assert (found.is_stuck(), found.is_stuck()) == (False, True)
    assert looks == []
    monkeypatch.setattr(found, "_next", 0.0)
    assert GrowthWatch((job,), SandboxLimits(), None).is_stuck() is False
    with pytest.raises(StopIteration):
        found.is_stuck()
    assert looks == [1]
