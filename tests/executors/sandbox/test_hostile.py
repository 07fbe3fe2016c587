"""Nine hostile programs, run in the real sandbox: seen from outside, none of them did anything."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from executors.sandbox.conftest import LIMITS, MIB, SECRET, Scene, left
from patience import leaping, soon

from ncu_assist import process
from ncu_assist.errors import DamagedData
from ncu_assist.executors.sandbox import LimitExceeded, SandboxLimits, folders, read_result
from ncu_assist.process import Completed

HOSTILE = Path(__file__).parent / "hostile"


def attack(scene: Scene, name: str, *arguments: object, limits: SandboxLimits = LIMITS) -> Completed:
    argv = [sys.executable, "-I", str(HOSTILE / f"{name}.py"), *map(str, arguments)]
    return scene.sandbox(limits).run(argv, cwd=scene.job)


def test_reads_a_key(scene: Scene) -> None:
    keys = [scene.home / ".ssh" / "id_ed25519", scene.home / ".config" / "ncu-assist" / "key", scene.record]
    assert all(path.read_text() == SECRET for path in keys)
    done = attack(scene, "reads_a_key", *keys, f"/proc/{os.getpid()}/environ", "/etc/shadow", "/proc/1/environ")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("looked at")
    assert SECRET not in done.stdout
    assert "root:$" not in done.stdout.replace("root:*", "root:$")
    assert done.stdout.count("No such file") >= 3


def test_opens_a_socket(scene: Scene) -> None:
    path, abstract = scene.root / "door", f"ncu-assist-test-{os.getpid()}"
    heard: list[object] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as unnamed,
    ):
        named.bind(str(path))
        unnamed.bind("\0" + abstract)
        for door in (named, unnamed):
            door.listen()
        for door in (tcp, named, unnamed):
            door.settimeout(0.0)
        done = attack(scene, "opens_a_socket", tcp.getsockname()[1], scene.home / "door", abstract)
        for door in (tcp, named, unnamed):
            try:
                heard.append(door.accept())
            except BlockingIOError:
                continue
    assert heard == []
    assert done.stdout.count("shut") == 6, done.stdout + done.stderr
    assert "Address family not supported" in done.stdout


@pytest.mark.slow
def test_forks_without_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is up when there are as many as there may be, for ten looks: it has tried for more by then."""
    seen: list[int] = []

    def is_full() -> bool:
        seen.append(len(left(scene.job)))
        return len(seen) > 10 and min(seen[-10:]) == max(seen) > 30

    leaping(monkeypatch, process, is_full)
    done = attack(scene, "forks_without_end", scene.job, limits=SandboxLimits(seconds=3600.0, processes=60))
    assert done.timed_out
    assert "started" in done.stdout
    assert 30 < max(seen) < 80
    assert soon(lambda: left(scene.job) == [])


@pytest.mark.parametrize(
    ("how", "limits", "words"),
    [
        ("many", SandboxLimits(folder_bytes=24 * MIB), "more than 24 MiB"),
        ("empty", SandboxLimits(folder_files=500), "more than 500 files"),
    ],
)
def test_fills_the_disk_with_many_files(scene: Scene, how: str, limits: SandboxLimits, words: str) -> None:
    with pytest.raises(LimitExceeded, match=words):
        attack(scene, "fills_the_disk", how, scene.job, limits=limits)
    assert soon(lambda: left(scene.job) == [])
    assert sum(path.stat().st_size for path in scene.job.iterdir()) < 4000 * MIB


def test_fills_the_disk_with_one_file(scene: Scene) -> None:
    done = attack(scene, "fills_the_disk", "big", scene.job)
    assert done.exit_code != 0
    assert (scene.job / "big").stat().st_size <= LIMITS.file_bytes


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/var/tmp"])
def test_fills_what_is_temporary(scene: Scene, folder: str) -> None:
    before = os.statvfs(folder).f_bavail
    done = attack(scene, "fills_the_disk", "many", folder)
    assert "No space left" in done.stderr
    assert before - os.statvfs(folder).f_bavail < 100 * MIB // 4096
    assert not Path(folder, "1").exists()


def test_takes_all_memory(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    available = folders._available_memory
    beyond = available() - 1024 * MIB
    monkeypatch.setattr(folders, "_available_memory", lambda: available() - beyond)
    with pytest.raises(LimitExceeded, match="less than 256 MiB of memory free"):
        attack(scene, "takes_all_memory", limits=SandboxLimits(free_memory_bytes=256 * MIB))
    assert soon(lambda: left(scene.job) == [])


def test_writes_outside(scene: Scene) -> None:
    mark = f"ncu-assist-test-{os.getpid()}"
    absent = [Path(f, mark) for f in ("/etc", "/usr", "/dev/shm", "/var/tmp", "/run", "/tmp", "/opt", scene.home)]
    kernel = [Path("/proc/sys/kernel/printk"), Path("/proc/sys/vm/swappiness"), Path("/proc/sys/kernel/core_pattern")]
    done = attack(scene, "writes_outside", scene.record, *absent, *kernel, scene.root / mark)
    assert "tried" in done.stdout, done.stderr
    assert scene.record.read_text() == SECRET
    assert [path for path in (*absent, scene.root / mark) if path.exists()] == []
    wrote = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("wrote")}
    assert wrote == {f"{folder}/{mark}" for folder in ("/dev/shm", "/var/tmp", "/tmp")}  # its own ones


def test_kills_its_parent(scene: Scene) -> None:
    with subprocess.Popen(["sleep", "infinity"]) as bystander:
        done = attack(scene, "kills_its_parent", os.getpid(), bystander.pid)
        assert "started" in done.stdout
        assert "could not" in done.stdout
        assert bystander.poll() is None
        bystander.kill()
    assert done.exit_code != 0
    assert soon(lambda: left(scene.job) == [])


def test_daemonises(scene: Scene) -> None:
    done = attack(scene, "daemonises", scene.job / "beat")
    assert done.exit_code == 0
    assert "left one behind" in done.stdout
    assert soon(lambda: left(scene.job) == [])


def test_rewrites_results(scene: Scene) -> None:
    given = scene.root / "given.json"
    given.write_text("reference")
    (scene.job / "result.json").write_text("{}")
    done = attack(scene, "rewrites_results", scene.job, scene.record, given)
    assert "done" in done.stdout, done.stderr
    assert "changed" not in done.stdout
    assert (scene.record.read_text(), given.read_text()) == (SECRET, "reference")
    for name in ("result.json", "fifo.json", "folder.json", "out/run.json", "sparse.json", "missing.json"):
        with pytest.raises(DamagedData, match=name):
            read_result(scene.job, name, MIB)
    assert read_result(scene.job, "honest.json", MIB) == b"{}"
    left_there = {path.name for path in scene.job.iterdir()}
    assert left_there == {"honest.json", "folder.json", "sparse.json", "as_root"}, "links and pipes do not get out"
    if os.geteuid() == 0:
        found = (scene.job / "as_root").stat()
        assert found.st_uid == 0
        assert not found.st_mode & (stat.S_ISUID | stat.S_ISGID)


def test_it_dies_with_us(scene: Scene) -> None:
    program = (
        "import sys; from pathlib import Path; from ncu_assist.executors.sandbox import FolderAccess, Sandbox;"
        f"job = Path({str(scene.job)!r});"
        f"sandbox = Sandbox(FolderAccess((job,)), runner={scene.runner!r});"
        "sandbox.run(['sh', '-c', 'echo > up; sleep infinity'], cwd=job)"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        assert soon((scene.job / "up").exists)
        parent.kill()
    assert soon(lambda: left(scene.job) == [])
