"""What the driver says, and which GPU CUDA_VISIBLE_DEVICES leaves."""

from __future__ import annotations

import pytest
from nvml import UUIDS, pretend

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.pipeline.doctor import chosen_gpu, query_gpus


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
        ({"init": "NVML Shared Library Not Found"}, "no NVIDIA driver answers: NVML Shared Library Not Found"),
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
    ],
)
def test_the_gpu_that_is_used(monkeypatch: pytest.MonkeyPatch, visible: str | None, name: str) -> None:
    pretend(monkeypatch)
    assert chosen_gpu(query_gpus()[1], visible).name == name


@pytest.mark.parametrize("visible", ["", "7", "-1", "NoDevFiles", "GPU-cccc"])
def test_no_gpu_is_left(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    pretend(monkeypatch)
    with pytest.raises(EnvironmentProblem, match="names no GPU") as caught:
        chosen_gpu(query_gpus()[1], visible)
    assert caught.value.hint == "unset CUDA_VISIBLE_DEVICES"
