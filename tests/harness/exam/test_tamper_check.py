"""The check notices what is replaced or rewritten, remembers what was put back, and is quiet about imports."""

from __future__ import annotations

import time

import pytest

torch = pytest.importorskip("torch")

from ncu_assist.harness import stopwatch  # noqa: E402
from ncu_assist.harness.exam import answering  # noqa: E402, F401
from ncu_assist.harness.exam.answering import FOREIGN, TamperCheck, _watched  # noqa: E402


def other(*arguments: object) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("owner", "name", "known_as"),
    [
        (time, "perf_counter_ns", "time.perf_counter_ns"),
        (torch, "equal", "torch.equal"),
        (torch.Tensor, "copy_", "torch.Tensor.copy_"),
        (torch.Tensor, "__ne__", "torch.Tensor.__ne__"),
        (torch.cuda, "synchronize", "torch.cuda.synchronize"),
        (torch.cuda.Event, "elapsed_time", "torch.cuda.Event.elapsed_time"),
        (stopwatch.DeviceStopwatch, "time", "ncu_assist.harness.stopwatch.DeviceStopwatch.time"),
        (stopwatch, "DeviceStopwatch", "ncu_assist.harness.stopwatch.DeviceStopwatch"),
    ],
)
def test_what_is_replaced_is_named_and_stays_so(
    owner: object, name: str, known_as: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = TamperCheck()
    assert check.replaced() == ()
    monkeypatch.setattr(owner, name, other)
    assert known_as in check.replaced()
    monkeypatch.undo()
    assert known_as in check.replaced()


def test_rewritten_code_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check = TamperCheck()
    monkeypatch.setattr(stopwatch.sm_clock_mhz, "__code__", other.__code__)
    assert check.replaced() == ("ncu_assist.harness.stopwatch.sm_clock_mhz",)


@pytest.mark.slow
def test_imports_and_calls_break_nothing() -> None:
    check = TamperCheck()
    import torch._dynamo
    import torch.utils.cpp_extension

    assert torch.equal(torch.ones(3) + 1, torch.full((3,), 2.0))
    assert check.replaced() == ()


def test_everything_named_is_there() -> None:
    found = {name for name, _ in _watched()}
    named = {f"{module}.{name}" for module, names in FOREIGN.items() for name in names.split()}
    gpu_only = {"torch._C._cuda_synchronize", "torch._C._cuda_getCurrentStream"}
    assert named - found <= gpu_only
