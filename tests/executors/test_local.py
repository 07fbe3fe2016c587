"""One program a GPU at a time, and who holds it when it is taken."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from patience import CEILING_S

from ncu_assist.environment import Gpu
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors import EXECUTORS, local
from ncu_assist.executors.local import COMMAND_LIMIT, Local, held, lock_folder

ENV = {**os.environ, "CUDA_VISIBLE_DEVICES": "GPU-1234"}


def test_the_table() -> None:
    assert [name for name, executor in EXECUTORS.items() if executor.name != name] == []


def test_it_runs_a_program_and_passes_everything_on(tmp_path: Path) -> None:
    lines: list[str] = []
    argv = [sys.executable, "-c", "import os; print(os.getcwd()); print(os.environ['CUDA_VISIBLE_DEVICES'])"]
    completed = Local(tmp_path / "locks").run(argv, env=ENV, cwd=tmp_path, on_line=lines.append)
    assert completed.exit_code == 0
    assert lines == [str(tmp_path), "GPU-1234"]


def test_a_taken_gpu_is_waited_for_and_then_its_holder_is_named(tmp_path: Path) -> None:
    with (
        held(tmp_path, "GPU-1234", "ncu --set full python train.py", 0.0),
        pytest.raises(EnvironmentProblem, match="in use by process") as caught,
    ):
        Local(tmp_path, wait_s=0.2).run(["true"], env=ENV)
    assert str(os.getpid()) in caught.value.message
    assert "ncu --set full python train.py" in caught.value.message
    assert caught.value.exit_code == 6
    assert Local(tmp_path, wait_s=0.2).run(["true"], env=ENV).exit_code == 0


def test_another_gpu_is_free(tmp_path: Path) -> None:
    with held(tmp_path, "GPU-1234", "ncu", 0.0):
        env = {**ENV, "CUDA_VISIBLE_DEVICES": "GPU-5678"}
        assert Local(tmp_path, wait_s=0.0).run(["true"], env=env).exit_code == 0


def test_two_runs_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first stays until the second waits, or is through."""
    order: list[str] = []
    first_is_in, second_is_here = threading.Event(), threading.Event()
    door = tmp_path / "door"
    os.mkfifo(door)

    def hear(line: str) -> None:
        order.append(line)
        first_is_in.set()

    def first() -> None:
        code = f"echo first in; read _ < {door}; echo first out"
        Local(tmp_path).run(["sh", "-c", code], env=ENV, on_line=hear)

    def second() -> None:
        Local(tmp_path, CEILING_S).run(["echo", "second"], env=ENV, on_line=order.append)
        second_is_here.set()

    def wait(seconds: float) -> None:
        second_is_here.set()
        time.sleep(seconds)

    monkeypatch.setattr(local, "time", SimpleNamespace(monotonic=time.monotonic, sleep=wait))
    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert first_is_in.wait(CEILING_S)
    threads[1].start()
    assert second_is_here.wait(CEILING_S)
    door.write_text("go\n")
    for thread in threads:
        thread.join()
    assert order == ["first in", "first out", "second"]


def test_a_lock_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(EnvironmentProblem, match="belongs to another user"), held(tmp_path / "link", "g", "c", 0.0):
        pass


def test_the_lock_folder_does_not_follow_tmpdir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = lock_folder()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert lock_folder() == before


def test_the_key_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tuple(Gpu(index, "NVIDIA H200", f"GPU-abc{index}-0") for index in range(4))
    monkeypatch.setattr(local, "query_gpus", lambda: ("1", found))
    assert local.gpu_key({}) == "GPU-abc0-0"
    assert local.gpu_key({"CUDA_VISIBLE_DEVICES": "3,0"}) == "GPU-abc3-0"
    assert local.gpu_key({"CUDA_VISIBLE_DEVICES": "GPU-abc3,1"}) == "GPU-abc3-0", "two runs on one GPU hold one lock"
    assert local.gpu_key({"CUDA_VISIBLE_DEVICES": "GPU-elsewhere"}) == "GPU-elsewhere"
    assert local.gpu_key({"CUDA_VISIBLE_DEVICES": "7"}) == "gpu-7"


def test_the_lock_is_released_after_a_crash(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), held(tmp_path, "g", "c", 0.0):
        raise KeyboardInterrupt
    with held(tmp_path, "g", "c", 0.0):
        pass


def test_the_lock_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fcntl and user ids: msvcrt locks a byte, and what others read of the holder is not locked."""
    taken: dict[int, int] = {}

    def locking(handle: int, mode: int, count: int) -> None:
        file = os.fstat(handle).st_ino
        assert os.lseek(handle, 0, os.SEEK_CUR) > COMMAND_LIMIT
        if (mode, count) != (2, 1) or taken.setdefault(file, handle) != handle:
            raise OSError(36, "Resource deadlock avoided")

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    monkeypatch.delattr(os, "getuid")
    monkeypatch.delattr(os, "pread")
    monkeypatch.delattr(os, "pwrite")
    assert lock_folder().name == "ncu-assist"
    with held(tmp_path, "gpu-0", "ncu-assist bench k", 0.0):
        words = rf"in use by process {os.getpid()} \(ncu-assist bench k\)"
        with pytest.raises(EnvironmentProblem, match=words), held(tmp_path, "gpu-0", "another", 0.0):
            pass
        with held(tmp_path, "gpu-1", "another", 0.0):
            pass
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with pytest.raises(EnvironmentProblem, match="no file locks"), held(tmp_path, "gpu-0", "another", 0.0):
        pass
