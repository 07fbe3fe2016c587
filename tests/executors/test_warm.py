"""A process that is warm: it does what a fresh one does, once, and what breaks in it breaks in no other."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from kernel_folder import PYTHON_VERSION, write_kernel
from patience import CEILING_S
from requirements import require

from ncu_assist.backends import build_versions
from ncu_assist.executors.local import Local, Warm, gpu_key, held
from ncu_assist.harness import client
from ncu_assist.harness.request import HarnessRequest, HarnessSettings, new_request, write_request
from ncu_assist.spec_file import read_kernel

pytestmark = pytest.mark.slow
CRASHES = PYTHON_VERSION + "\nimport os, signal\n\n\ndef add_one(x, y):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"


def request_of(root: Path, versions: dict[str, str]) -> HarnessRequest:
    kernel = read_kernel(write_kernel(root, versions))
    settings = HarnessSettings(("check", "bench"), trials=1, rounds=10, device="cpu")
    builds = build_versions(kernel, kernel.versions, root / "work")
    return new_request(kernel, builds, kernel.workloads, settings, root / "work")


def measured(request: HarnessRequest, warm: Warm) -> client.Measured:
    return client.measure(request, warm, lambda event: None, CEILING_S)


def test_one_measurement_a_process_and_the_next_is_not_hurt_by_a_crash(tmp_path: Path) -> None:
    require("torch")
    warm = Warm("cpu", Local(tmp_path / "locks"))
    try:
        right = request_of(tmp_path / "right", {"v0_a.py": PYTHON_VERSION})
        warm.start(client.child_environment(), client.child_folder(right))
        assert warm.wait(CEILING_S)
        first = measured(right, warm)
        assert first.failures == {}
        assert first.samples is not None
        wrong = request_of(tmp_path / "wrong", {"v0_a.py": PYTHON_VERSION, "v1_b.py": CRASHES})
        second = measured(wrong, warm)
        assert list(second.failures) == ["v1_b"]
        assert "SIGSEGV" in second.failures["v1_b"]
        assert second.samples is not None
        assert {"v0_a"} <= set(second.samples["version"])
    finally:
        warm.close()


def test_what_is_rehearsed_is_done_anew(tmp_path: Path) -> None:
    require("torch")
    request = request_of(tmp_path, {"v0_a.py": PYTHON_VERSION})
    reference = Path(request.kernel_folder) / "reference.py"
    neighbour, log = reference.with_name("neighbour_of_it.py"), tmp_path / "log"
    neighbour.write_text("said = 'rehearsed'\n")
    reference.write_text(
        f"import neighbour_of_it\nwith open({str(log)!r}, 'a') as out:\n    out.write(neighbour_of_it.said + ' ')\n"
        + reference.read_text().replace("from __future__ import annotations\n", "")
    )
    rehearsal = write_request(replace(request, artifacts=(), out=str(tmp_path / "rehearsal")))
    warm = Warm("cpu", Local(tmp_path / "locks"), rehearsal=rehearsal)
    try:
        warm.start(client.child_environment(), client.child_folder(request))
        assert warm.wait(CEILING_S)
        neighbour.write_text("said = 'measured'\n")
        found = measured(request, warm)
        assert found.failures == {}
        assert all(one.passed for one in found.checks["v0_a"])
        assert log.read_text().split() == ["rehearsed", "measured"]
    finally:
        warm.close()


def test_nothing_is_rehearsed_beside_a_measurement(tmp_path: Path) -> None:
    require("torch")
    request, env = request_of(tmp_path, {"v0_a.py": PYTHON_VERSION}), client.child_environment()
    warm = Warm("cpu", Local(tmp_path / "locks", wait_s=CEILING_S), rehearsal=tmp_path / "there is no such file")
    try:
        with held(tmp_path / "locks", gpu_key(env), "somebody", 0.0):
            warm.start(env, client.child_folder(request))
            assert warm.wait(CEILING_S)
        assert measured(request, warm).failures == {}
    finally:
        warm.close()


def test_what_ends_a_measurement_ends_its_process(tmp_path: Path) -> None:
    require("torch")
    sleeps = PYTHON_VERSION + "\nimport time\n\n\ndef add_one(x, y):\n    time.sleep(1e6)\n"
    warm, begun = Warm("cpu", Local(tmp_path / "locks")), threading.Event()

    def stop() -> bool:
        if begun.is_set():
            raise KeyboardInterrupt
        return False

    def hear(line: str) -> None:
        if '"begin"' in line and '"check"' in line:
            begun.set()

    request = request_of(tmp_path, {"v0_a.py": sleeps})
    with pytest.raises(KeyboardInterrupt):
        warm.run(
            client.profile_command(request.path),
            env=client.child_environment(),
            cwd=client.child_folder(request),
            on_line=hear,
            is_stuck=stop,
        )
    assert threading.active_count() >= 1
    warm.close()


def test_another_program_runs_as_ever(tmp_path: Path) -> None:
    lines: list[str] = []
    done = Warm("cpu", Local(tmp_path)).run(["echo", "hello"], env=dict(os.environ), on_line=lines.append)
    assert (done.exit_code, lines) == (0, ["hello"])
