"""What an honest program needs is there inside, and the sandbox answers as an executor without walls does."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from executors.sandbox.conftest import LIMITS, Scene, left
from patience import CEILING_S, soon
from requirements import needs

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors import sandbox
from ncu_assist.executors.local import held
from ncu_assist.executors.sandbox import SandboxLimits, jail, plan
from ncu_assist.executors.sandbox.plan import CAP_PERFMON

TORCH = """
import numpy, torch
a = torch.arange(12.0).reshape(3, 4)
assert torch.allclose(a @ a.T, torch.from_numpy(a.numpy() @ a.numpy().T))
numpy.save("out.npy", a.numpy())
print(torch.set_num_threads(4), "computed")
"""
LOOPBACK = """
import socket
with socket.create_server(("127.0.0.1", 0)) as door, socket.create_connection(door.getsockname()) as caller:
    caller.send(b"hello")
    print(door.accept()[0].recv(5).decode())
"""
TRACES = """
import ctypes, os, signal
child = os.fork()
if child == 0:
    signal.pause()
    os._exit(0)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, child, None, None), os.waitpid(child, 0)[0] == child)
os.kill(child, 9)
"""
STATUS = "import re; print(dict(re.findall(r'(Cap\\w+|NoNewPrivs|Uid):\\s*(\\w+)', open('/proc/self/status').read())))"
KEEPS = """
import signal
print("up", flush=True)
try:
    signal.pause()
except KeyboardInterrupt:
    open("kept", "w").write("so far")
"""


def python(scene: Scene, code: str, limits: SandboxLimits = LIMITS) -> str:
    done = scene.sandbox(limits).run([sys.executable, "-c", code], cwd=scene.job)
    assert done.exit_code == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@needs("torch")
def test_numpy_and_torch_compute(scene: Scene) -> None:
    assert python(scene, TORCH, SandboxLimits()).endswith("computed")
    assert (scene.job / "out.npy").stat().st_uid == os.geteuid()


@needs("nvcc")
def test_nvcc_compiles(scene: Scene) -> None:
    from ncu_assist.backends.nvcc import find_nvcc

    (scene.job / "k.cu").write_text("__global__ void k(float *x) { x[threadIdx.x] *= 2; }")
    argv = [str(find_nvcc().path), "-cubin", "-arch=sm_90", "-o", "k.cubin", "k.cu"]
    done = scene.sandbox(SandboxLimits()).run(argv, cwd=scene.job)
    assert done.exit_code == 0, done.stderr
    assert (scene.job / "k.cubin").read_bytes()[:4] == b"\x7fELF"


def test_it_can_talk_to_itself_trace_its_children_and_import_this_package(scene: Scene) -> None:
    assert python(scene, LOOPBACK) == "hello"
    assert python(scene, TRACES) == "0 True"
    assert python(scene, "import ncu_assist.harness; print('there')") == "there"


def test_it_has_no_rights(scene: Scene) -> None:
    found = eval(python(scene, STATUS))
    assert found["NoNewPrivs"] == "1"
    assert {found[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert found["Uid"] != "0"


def test_root_can_leave_it_the_right_to_read_counters_and_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid, _ = sandbox.sandbox_user()
    rights = (CAP_PERFMON,) if uid is not None else ()  # nobody but root has it to give
    monkeypatch.setattr(sandbox, "sandbox_user", lambda: (uid, rights))
    found = eval(python(scene, STATUS))
    wanted = sum(1 << right for right in rights)
    assert {int(found[name], 16) for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {wanted}


def test_an_ordinary_user_gets_the_same_walls(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "sandbox_user", lambda: (None, ()))
    assert python(scene, LOOPBACK) == "hello"
    assert eval(python(scene, STATUS))["CapEff"] == "0" * 16
    code = "import os, sys; print([os.path.exists(p) or os.access(p, os.W_OK) for p in sys.argv[1:]])"
    argv = [sys.executable, "-c", code, str(scene.record), str(scene.home / ".ssh"), f"/proc/{os.getpid()}/cmdline_"]
    assert scene.sandbox().run(argv, cwd=scene.job).stdout.strip() == "[False, False, False]"
    write = (
        "for f in /proc/sys/kernel/core_pattern /etc/x /usr/x /x; do true >> $f && echo $f; done; echo y > in; cat in"
    )
    done = scene.sandbox().run(["sh", "-c", write], cwd=scene.job)
    assert done.stdout == "y\n", done.stderr


def test_jail_says_what_is_understood() -> None:
    assert (plan.FAILED, plan.MARK) == (jail.FAILED, jail.MARK)


def test_it_answers_as_local_does(scene: Scene) -> None:
    lines: list[str] = []
    done = scene.sandbox().run(
        ["sh", "-c", "pwd; echo oops >&2; exit 7"], env=dict(os.environ), cwd=scene.job, on_line=lines.append
    )
    assert (done.exit_code, done.stderr, done.argv[0], done.timed_out) == (7, "oops\n", "sh", False)
    assert lines == [str(scene.job)]
    assert scene.sandbox().run(["sh", "-c", "kill -SEGV $$"], cwd=scene.job).exit_code == -signal.SIGSEGV
    with pytest.raises(EnvironmentProblem, match="cannot start no-such-program"):
        scene.sandbox().run(["no-such-program"], cwd=scene.job)


def test_whoever_is_asked_to_stop_can_keep_what_is_finished(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", CEILING_S)
    up: list[str] = []
    done = scene.sandbox().run(
        [sys.executable, "-c", KEEPS], cwd=scene.job, on_line=up.append, is_stuck=lambda: bool(up)
    )
    assert done.timed_out
    assert (scene.job / "kept").read_text() == "so far"
    assert soon(lambda: left(scene.job) == [])


def test_it_holds_the_gpu_and_says_for_what(scene: Scene) -> None:
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "GPU-1234"}
    said: list[str] = []

    def look(_: str) -> None:
        with pytest.raises(EnvironmentProblem) as caught, held(scene.root / "locks", "GPU-1234", "c", 0.0):
            pass
        said.append(caught.value.message)
        (scene.job / "door").write_text("seen\n")

    os.mkfifo(scene.job / "door")
    scene.sandbox().run(["sh", "-c", "echo up; read _ < door"], env=env, cwd=scene.job, on_line=look)
    assert "(sh -c echo up; read _ < door)" in said[0]


def test_the_runner_of_choice_and_the_reasons_against(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "why_not", {"bwrap": "not installed", "unshare": ""}.get)
    assert plan.available() == "unshare"
    monkeypatch.setattr(plan, "why_not", {"bwrap": "not installed", "unshare": "no namespaces"}.get)
    assert "bwrap: not installed; unshare: no namespaces" in plan.available()
    with pytest.raises(EnvironmentProblem) as caught:
        plan.choose_runner()
    assert "--no-sandbox" in caught.value.hint
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "/nowhere")
    assert plan.why_not.__wrapped__("bwrap") == "not installed"


def test_a_sandbox_that_cannot_be_built_is_no_result(scene: Scene, tmp_path: Path) -> None:
    done = [sys.executable, "-c", "import sys; sys.stderr.write('bwrap: no'); sys.exit(2)"]
    assert scene.sandbox().run(done, cwd=scene.job).exit_code == 2
    with pytest.raises(EnvironmentProblem):
        scene.sandbox().run(["true"], cwd=tmp_path / "nowhere" / ".." / "x" / "\udcff")
