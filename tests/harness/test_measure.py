"""Whole measurements in child processes on the CPU: one bad version never spoils the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from patience import CEILING_S, leaping
from planted import PYTHON, write_planted
from requirements import needs

from ncu_assist.backends import build_versions
from ncu_assist.errors import StageFailed
from ncu_assist.executors.local import Local
from ncu_assist.harness import client
from ncu_assist.harness.client import Measured, measure
from ncu_assist.harness.events import Event
from ncu_assist.harness.request import HarnessRequest, HarnessSettings, new_request
from ncu_assist.spec_file import read_kernel

pytestmark = pytest.mark.slow

SEGFAULT = "def add_one(x, y):\n    import os, signal\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
HANG = (
    "def add_one(x, y):\n    import os, pathlib, signal\n    pathlib.Path('hangs').write_text(str(os.getpid()))\n"
    "    signal.pause()\n"
)
HUNGRY = "def add_one(x, y):\n    torch.empty(1 << 60, dtype=torch.uint8)\n"
LATE_SEGFAULT = "CALLS = [0]\n\n\ndef add_one(x, y):\n    CALLS[0] += 1\n    torch.add(x, 1.0, out=y)\n" + (
    "    if CALLS[0] > 40:\n        import os, signal\n        os.kill(os.getpid(), signal.SIGSEGV)\n"
)
SLOW = "def add_one(x, y):\n    import time\n    time.sleep(2e-3)\n    torch.add(x, 1.0, out=y)\n"
CHATTY = (
    "print('hello', end='')\n\n\ndef add_one(x, y):\n    print('{\"event\": no', end='')\n"
    "    torch.add(x, 1.0, out=y)\n"
)
SETTINGS = HarnessSettings(stages=("check", "bench"), rounds=6, device="cpu")


def _request(root: Path, sources: dict[str, str], settings: HarnessSettings, workloads: str = "all") -> HarnessRequest:
    kernel = read_kernel(write_planted(root, sources))
    outcomes = build_versions(kernel, kernel.versions, root / "work")
    return new_request(kernel, outcomes, kernel.select_workloads(workloads), settings, root / "work")


def _measure(root: Path, request: HarnessRequest) -> tuple[Measured, list[Event]]:
    seen: list[Event] = []
    return measure(request, Local(root / "locks"), seen.append, CEILING_S), seen


@needs("torch")
def test_bad_versions_leave_the_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs() -> bool:
        pid = (tmp_path / "hangs").read_text() if (tmp_path / "hangs").exists() else ""
        return bool(pid) and Path("/proc", pid).exists()

    leaping(monkeypatch, client, hangs, again=True)  # whenever the last sign of life is read
    sources = {
        "v0_right.py": PYTHON["v0_right.py"],
        "v1_segfault.py": SEGFAULT,
        "v2_wrong.py": PYTHON["v1_wrong_tail.py"],
        "v3_hang.py": HANG,
        "v4_no_entry.py": "def other():\n    pass\n",
        "v5_hungry.py": HUNGRY,
        "v6_late.py": LATE_SEGFAULT,
        "v7_slow.py": SLOW,
        "v8_chatty.py": CHATTY,
        "v9_raises.py": PYTHON["v9_raises.py"],
    }
    measured, seen = _measure(tmp_path, _request(tmp_path, sources, SETTINGS))
    reasons = {v: [c.reason for c in checks] for v, checks in measured.checks.items()}
    assert reasons["v0_right"] == reasons["v7_slow"] == reasons["v8_chatty"] == ["", ""]
    assert reasons["v1_segfault"] == ["crashed with signal 11 (SIGSEGV)"]
    assert reasons["v3_hang"] == [f"gave no sign of life for {CEILING_S:g} s and was ended"]
    assert reasons["v5_hungry"][0].startswith("not enough memory")
    assert reasons["v9_raises"] == ["ValueError: no luck"] * 2
    assert reasons["v2_wrong"][0] == ""  # 1024 is a multiple of 32
    assert "elements are wrong" in reasons["v2_wrong"][1]
    assert "v4_no_entry" not in measured.checks
    assert measured.failures["v1_segfault"] == "check small: crashed with signal 11 (SIGSEGV)"
    assert measured.failures["v4_no_entry"] == "load: v4_no_entry.py defines no function 'add_one'"
    assert measured.failures["v6_late"].startswith("bench ")
    assert set(measured.failures) == {"v1_segfault", "v3_hang", "v4_no_entry", "v6_late"}
    assert {e.version for e in seen if e.event == "failed"} >= {"v1_segfault", "v3_hang", "v4_no_entry", "v6_late"}
    _samples_are_complete(measured)


def _samples_are_complete(measured: Measured) -> None:
    samples = measured.samples
    assert samples is not None
    assert measured.bench is not None
    assert set(samples.bench_id) == {measured.bench.bench_id}
    small = samples[samples.workload == "small"]
    assert set(small.version) == {"(empty)", "(copy)", "v0_right", "v2_wrong", "v7_slow", "v8_chatty"}
    odd = samples[samples.workload == "odd"]
    assert set(odd.version) == {"(empty)", "(copy)", "v0_right", "v7_slow", "v8_chatty"}
    assert (small.groupby("version")["round"].nunique() == 6).all()
    assert all(sorted(group.position) == list(range(6)) for _, group in small.groupby("round"))
    assert small.groupby("round").version.agg(tuple).nunique() > 1  # another order each round
    medians = small.groupby("version").time_ns.median()
    assert medians["v7_slow"] > 2e6
    assert not samples.late.any()
    assert measured.device is None
    assert measured.toolchain.torch is not None
    assert measured.toolchain.nvcc is None


@needs("torch")
def test_a_wrong_reference_ends_the_measurement(tmp_path: Path) -> None:
    request = _request(tmp_path, {"v0_right.py": PYTHON["v0_right.py"]}, SETTINGS)
    (Path(request.kernel_folder) / "reference.py").write_text("def make_inputs(w, s, d):\n    return 1 / 0\n")
    with pytest.raises(StageFailed, match="make_inputs fails: ZeroDivisionError"):
        _measure(tmp_path, request)


@needs("torch")
def test_profile_calls_each_version_three_times(tmp_path: Path) -> None:
    count = (
        "def add_one(x, y):\n    with open('calls.txt', 'a') as f:\n        f.write('x')\n    torch.add(x, 1, out=y)\n"
    )
    sources = {"v0_count.py": count, "v1_raises.py": PYTHON["v9_raises.py"]}
    request = _request(tmp_path, sources, HarnessSettings(stages=("profile",), device="cpu"), "small")
    measured, seen = _measure(tmp_path, request)
    assert (tmp_path / "calls.txt").read_text() == "xxx"
    assert measured.failures == {"v1_raises": "profile small: ValueError: no luck"}
    begun = [(e.version, e.index, e.total) for e in seen if e.event == "begin" and e.stage == "profile"]
    assert begun == [("v0_count", 1, 2), ("v1_raises", 2, 2)]
