"""What is looked at, and that each lack carries one fix; the counters are proven, not assumed."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import pytest
from fakes.fake_ncu import install
from nvml import INSTANCES, pretend

from ncu_assist.environment import Condition
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.pipeline import doctor
from ncu_assist.pipeline.doctor import examine

VERSIONS = {"torch": "2.11.0", "triton": "3.6.0", "ninja": "1.13.0", "ncu-report": "2025.3.1"}


def look(name: str) -> Condition:
    return next(c for c in examine().conditions if c.name == name)


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine that has everything: a made-up driver, the fake ncu, an nvcc that answers."""
    folder = install(tmp_path / "bin").parent
    nvcc = folder / "nvcc"
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
    nvcc.chmod(0o755)
    (folder / "cuobjdump").touch(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(doctor, "_version_of_package", VERSIONS.get)
    monkeypatch.setattr(doctor, "choose_runner", lambda: "bwrap")
    monkeypatch.setattr(doctor, "PROC", tmp_path / "proc")
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 1)
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-amd64")
    monkeypatch.delenv("TMPDIR", raising=False)
    pretend(monkeypatch)
    return folder


def test_a_machine_that_can_measure(whole: Path) -> None:
    found = examine()
    assert {c.name: c.state for c in found.conditions if c.state != "ok"} == {}
    assert found.can_measure
    details = {c.name: c.detail for c in found.conditions}
    assert details["driver"] == "580.95"
    assert details["GPU"] == "NVIDIA H200, 141 GiB, 1 more in this machine"
    assert "345 of 1980 MHz" in details["clocks"]
    assert details["ncu"].startswith("2025.3.1.0 at ")
    assert details["counters"] == "readable: one kernel was profiled"


def test_the_probe_takes_one_launch_of_the_small_set(
    whole: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    examine()
    lines = (tmp_path / "argv").read_text().splitlines()
    assert len(lines) == 1
    assert '"--set", "basic"' in lines[0]
    assert '"--launch-count", "1"' in lines[0]
    assert "--nvtx-include" not in lines[0]


@pytest.mark.parametrize(
    ("mode", "words"), [("permission", "performance counters"), ("no-kernels", "no launch"), ("crash", "exit code -11")]
)
def test_counters_that_cannot_be_read(whole: Path, monkeypatch: pytest.MonkeyPatch, mode: str, words: str) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", mode)
    found = look("counters")
    assert found.state == "missing"
    assert words in found.detail
    assert found.fix
    assert not examine().can_measure


def test_no_driver(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, init="NVML Shared Library Not Found")
    found = {c.name: c for c in examine().conditions}
    assert [name for name, c in found.items() if c.state == "missing"] == ["driver", "GPU", "clocks", "counters"]
    assert found["GPU"].fix == "use a machine on which nvidia-smi works"
    assert not examine().can_measure


def test_no_gpu_left_visible(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert look("driver").state == "ok"
    assert look("GPU").fix == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(("package", "needed"), [("torch", True), ("triton", False)])
def test_a_package_that_is_missing(whole: Path, monkeypatch: pytest.MonkeyPatch, package: str, needed: bool) -> None:
    rest = {name: version for name, version in VERSIONS.items() if name != package}
    monkeypatch.setattr(doctor, "_version_of_package", rest.get)
    found = look(package)
    assert (found.state, found.needed, found.fix) == ("missing", needed, "pip install 'ncu-assist[gpu]'")
    assert examine().can_measure != needed


def test_a_torch_without_cuda_is_no_torch(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version_of_package", {**VERSIONS, "torch": "2.11.0+cpu"}.get)
    found = look("torch")
    assert (found.detail, found.fix) == ("2.11.0+cpu is built without CUDA", "pip install --force-reinstall torch")
    assert not examine().can_measure


def test_a_ninja_outside_the_packages_will_do(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version_of_package", {**VERSIONS, "ninja": None}.get)
    monkeypatch.setattr(doctor, "find_ninja", lambda: Path("/opt/bin/ninja"))
    assert look("ninja").detail == "at /opt/bin/ninja"


def test_without_a_sandbox_measuring_goes_on(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look("sandbox").detail == "drafts of a model run in bwrap"

    def refuse() -> str:
        raise EnvironmentProblem("untrusted code cannot be sandboxed here", "apt install bubblewrap")

    monkeypatch.setattr(doctor, "choose_runner", refuse)
    found = look("sandbox")
    assert (found.state, found.needed, found.fix) == ("missing", False, "apt install bubblewrap")
    assert examine().can_measure


def test_without_cuobjdump_measuring_goes_on(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look("cuobjdump").detail == f"at {whole / 'cuobjdump'}"
    monkeypatch.setattr(doctor, "find_cuobjdump", lambda _: None)
    found = look("cuobjdump")
    assert (found.state, found.needed, "nvidia-cuda-cuobjdump" in found.fix) == ("missing", False, True)
    assert examine().can_measure


def test_a_reader_that_is_older_than_ncu(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look("ncu-report").state == "ok"
    monkeypatch.setattr(doctor, "_version_of_package", {**VERSIONS, "ncu-report": "2025.2.9"}.get)
    found = look("ncu-report")
    assert (found.state, found.fix) == ("missing", "pip install --upgrade ncu-report")
    assert found.detail == "2025.2.9 is older than ncu 2025.3.1.0"
    assert examine().can_measure, "most of a report is read without it"
    assert not examine().is_complete


def test_another_profiler_that_runs(whole: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for pid, name in ((1, "init"), (77, "nv-hostengine")):
        (tmp_path / "proc" / str(pid)).mkdir(parents=True)
        (tmp_path / "proc" / str(pid) / "comm").write_text(f"{name}\n")
    found = look("profilers")
    assert found.detail == "nv-hostengine is running (pid 77) and may hold the counters"
    assert found.fix.startswith("dcgmi profile --pause")


def test_a_profiler_whose_name_is_cut(whole: Path, tmp_path: Path) -> None:
    """Linux shows 15 letters of a program's name, and nv-nsight-cu-cli has 16."""
    (tmp_path / "proc" / "8").mkdir(parents=True)
    (tmp_path / "proc" / "8" / "comm").write_text("nv-nsight-cu-cl\n")
    assert look("profilers").detail.startswith("nv-nsight-cu-cli is running (pid 8)")


def test_a_gpu_cut_into_instances(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look("MIG").detail == "off"
    pretend(monkeypatch, mig=True)
    found = look("MIG")
    assert (found.state, found.needed) == ("missing", False)
    assert "nvidia-smi -mig 0" in found.fix
    pretend(monkeypatch, mig=True, instances=())
    found = look("MIG")
    assert (found.state, found.detail) == ("missing", "on, but no instance was made: CUDA sees no device")
    assert "nvidia-smi mig -cgi" in found.fix
    pretend(monkeypatch, mig=True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", INSTANCES[1])  # as the fix says
    assert look("GPU").state == "ok"
    found = look("MIG")
    assert (found.state, found.detail.split(" ")[0]) == ("ok", INSTANCES[1])


def test_what_the_driver_does_not_tell_of_a_gpu(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, unsupported=("nvmlDeviceGetTemperature",))
    assert look("clocks").detail == "SM 345 of 1980 MHz; idle clocks are lower"
    pretend(monkeypatch, unsupported=("nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetMemoryInfo"))
    assert look("clocks").detail == "SM 345 MHz, 33 °C; idle clocks are lower"
    assert look("GPU").detail == "NVIDIA H200, 1 more in this machine"
    pretend(monkeypatch, unsupported=("nvmlDeviceGetTemperature", "nvmlDeviceGetClockInfo"))
    assert (look("clocks").state, look("clocks").detail) == ("ok", "the driver does not tell them")
    assert examine().can_measure


def test_wsl_is_said_where_it_is(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "WSL" not in {one.name for one in examine().conditions}
    monkeypatch.setattr(platform, "release", lambda: "5.15.153.1-microsoft-standard-WSL2")
    assert "NVIDIA Control Panel" in look("WSL").detail


def test_room_for_reports_and_temporary_files(whole: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert look("disk").state == "ok"
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nothere"))
    assert look("disk").fix == f"mkdir -p {tmp_path}/nothere, or unset TMPDIR"
    assert not examine().can_measure
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 1 << 60)
    assert re.fullmatch(r"only [\d.]+ [kMGT]?B free in .+", look("disk").detail)


def test_what_others_look_at_comes_last(whole: Path) -> None:
    def refuse() -> Condition:
        raise EnvironmentProblem("none is named", "name one")

    found = examine({"model": refuse})
    assert (found.conditions[-1].name, found.conditions[-1].fix) == ("model", "name one")
    assert found.can_measure
