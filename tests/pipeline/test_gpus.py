"""What the driver says, which GPU CUDA_VISIBLE_DEVICES leaves, and that all who ask mean the same one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nvml import INSTANCES, UUIDS, pretend

from ncu_assist.backends.nvcc import Nvcc, find_arch
from ncu_assist.environment import chosen_gpu, gpu_here, query_gpus, visible_gpus
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.executors.local import gpu_key
from ncu_assist.harness import client
from ncu_assist.ncu import command
from ncu_assist.pipeline.gpu_workers import chosen_slots


def test_driver_and_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    driver, found = query_gpus()
    assert driver == "580.95"
    assert [(g.index, g.name, g.uuid) for g in found] == [
        (0, "NVIDIA H200", UUIDS[0]),
        (1, "NVIDIA L4", UUIDS[1]),
    ]
    assert (found[0].sm_clock_mhz, found[0].max_sm_clock_mhz, found[0].temperature_c) == (345, 1980, 33)
    assert found[0].memory_bytes == 141 * 2**30


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"init": "NVML Shared Library Not Found"}, "there is no working NVIDIA driver: NVML Shared Library Not Found"),
        ({"query": "Driver/library version mismatch"}, "does not answer: Driver/library version mismatch"),
        ({"gpus": 0}, "has no GPU"),
    ],
)
def test_a_driver_that_does_not_help(monkeypatch: pytest.MonkeyPatch, fault: dict[str, str], words: str) -> None:
    pretend(monkeypatch, **fault)  # type: ignore[arg-type]
    with pytest.raises(EnvironmentProblem, match=words) as caught:
        query_gpus()
    assert caught.value.exit_code == 6
    assert caught.value.hint


@pytest.mark.parametrize(
    ("visible", "name"),
    [
        (None, "NVIDIA H200"),
        ("0", "NVIDIA H200"),
        ("1", "NVIDIA L4"),
        ("1,0", "NVIDIA L4"),
        (" 1", "NVIDIA L4"),
        ("GPU-bbbb2222", "NVIDIA L4"),
        (UUIDS[1], "NVIDIA L4"),
    ],
)
def test_the_gpu_that_is_used(monkeypatch: pytest.MonkeyPatch, visible: str | None, name: str) -> None:
    pretend(monkeypatch)
    assert chosen_gpu(query_gpus()[1], visible).name == name


@pytest.mark.parametrize("visible", ["", "7", "-1", "NoDevFiles", "GPU-cccc", "GPU-", "G", "MIG-cccc3333-0000"])
def test_no_gpu_is_left(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    pretend(monkeypatch)
    with pytest.raises(EnvironmentProblem, match="names no GPU") as caught:
        chosen_gpu(query_gpus()[1], visible)
    assert caught.value.hint == "unset CUDA_VISIBLE_DEVICES"


def test_like_cuda_no_gpu_is_left_behind_a_word_that_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    _, gpus = query_gpus()
    assert [gpu.index for gpu in visible_gpus(gpus, "1,0")] == [1, 0]
    assert [gpu.index for gpu in visible_gpus(gpus, "1,5,0")] == [1]
    assert visible_gpus(gpus, None) == list(gpus)


@pytest.mark.parametrize(
    ("visible", "index", "uuid"),
    [
        ("1", 1, UUIDS[1]),
        ("GPU-bbbb", 1, UUIDS[1]),
        (None, 0, INSTANCES[0]),
        ("0", 0, INSTANCES[0]),
        ("GPU-aaaa", 0, INSTANCES[0]),
        (INSTANCES[1], 0, INSTANCES[1]),
        ("MIG-dddd", 0, INSTANCES[1]),
    ],
)
def test_all_who_ask_mean_one_gpu(monkeypatch: pytest.MonkeyPatch, visible: str | None, index: int, uuid: str) -> None:
    """The doctor, the lock, a worker and the compiler: also of one that is cut into instances, or named in short."""
    pretend(monkeypatch, mig=True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("NCU_ASSIST_ARCH", raising=False)
    env = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    assert (gpu_here().index, gpu_here().uuid) == (index, uuid)
    assert gpu_key(env) == uuid
    slot = chosen_slots("1", query_gpus()[1], visible)[0]
    assert (slot.index, slot.uuid) == (index, uuid)
    assert chosen_slots(f"{index},", query_gpus()[1], visible)[0].uuid == uuid
    assert find_arch(Nvcc(Path("nvcc"), "13.0.88", ())) == ("sm_90a", "sm_89")[index]


def test_two_instances_of_a_gpu_are_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, mig=True)
    slots = chosen_slots("all", query_gpus()[1], ",".join([*INSTANCES, "1"]))
    assert [slot.uuid for slot in slots] == [INSTANCES[0], UUIDS[1]]


@pytest.mark.parametrize(
    ("choice", "visible", "uuids"),
    [
        ("GPU-aaaa", None, [INSTANCES[0]]),
        ("GPU-aaaa,1", INSTANCES[1] + ",1", [INSTANCES[1], UUIDS[1]]),
        ("0,1", ",".join([*INSTANCES, "1"]), [INSTANCES[0], UUIDS[1]]),
        ("MIG-dddd,", ",".join(INSTANCES), [INSTANCES[1]]),
        ("MIG-dddd,", None, [INSTANCES[1]]),
        ("2", ",".join([*INSTANCES, "1"]), [INSTANCES[0], UUIDS[1]]),
    ],
)
def test_a_gpu_with_instances_is_named(
    monkeypatch: pytest.MonkeyPatch, choice: str, visible: str | None, uuids: list[str]
) -> None:
    pretend(monkeypatch, mig=True)
    assert [slot.uuid for slot in chosen_slots(choice, query_gpus()[1], visible)] == uuids


def test_an_instance_that_is_not_visible_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, mig=True)
    with pytest.raises(UsageProblem, match=r"there is no GPU MIG-dddd; here: 0\n"):
        chosen_slots("MIG-dddd,", query_gpus()[1], INSTANCES[0])
    with pytest.raises(UsageProblem, match="2 is a number of GPUs, and 1 can be used"):
        chosen_slots("2", query_gpus()[1], ",".join(INSTANCES))


def test_children_count_gpus_as_nvml_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    assert client.child_environment()["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert command.child_environment(os.environ, tmp_path, None)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


QUESTIONS = (
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetCudaComputeCapability",
)


@pytest.mark.parametrize("unsupported", [*((one,) for one in QUESTIONS), QUESTIONS])
def test_what_a_driver_does_not_tell_is_unknown(monkeypatch: pytest.MonkeyPatch, unsupported: tuple[str, ...]) -> None:
    """A vGPU has no temperature, an instance no clock: the rest is known all the same."""
    pretend(monkeypatch, unsupported=unsupported)
    _, (gpu, _) = query_gpus()
    assert (gpu.name, gpu.uuid) == ("NVIDIA H200", UUIDS[0])
    told = (gpu.memory_bytes, gpu.sm_clock_mhz, gpu.max_sm_clock_mhz, gpu.temperature_c)
    expected = (141 * 2**30, 345, 1980, 33)
    assert told == tuple(None if q in unsupported else value for q, value in zip(QUESTIONS, expected, strict=False))
    assert gpu.capability == ("" if QUESTIONS[5] in unsupported else "90")


def test_a_lost_gpu_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lost=(0,))
    assert [gpu.index for gpu in query_gpus()[1]] == [1]
    pretend(monkeypatch, lost=(0, 1))
    with pytest.raises(EnvironmentProblem, match="no GPU that answers: GPU 0: GPU is lost; GPU 1: GPU is lost"):
        query_gpus()
