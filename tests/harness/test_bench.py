"""What the bench computes from clock stamps and NVML, and that its rounds can be repeated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy
import pytest
from planted import PYTHON, write_planted

pytest.importorskip("torch")

from ncu_assist.backends import build_versions
from ncu_assist.harness import accelerator, bench, facts, stopwatch
from ncu_assist.harness.events import EMPTY
from ncu_assist.harness.request import HarnessRequest, HarnessSettings, new_request
from ncu_assist.spec_file import read_kernel


def test_the_sm_clock_is_the_median_over_sms_seen_twice() -> None:
    stamps = numpy.zeros((2, 5, 2), dtype=numpy.int64)
    for sm, clock_ghz in enumerate((1.0, 1.98, 2.0)):
        stamps[0, sm] = (10_000, 5_000_000)
        stamps[1, sm] = (10_000 + int(50_000 * clock_ghz), 5_050_000)
    stamps[0, 3] = (10_000, 5_000_000)  # not seen by the second stamp
    assert stopwatch.sm_clock_mhz(stamps) == pytest.approx(1980.0)
    assert math.isnan(stopwatch.sm_clock_mhz(numpy.zeros((2, 5, 2), dtype=numpy.int64)))


LATE = 10


SILENT = (lambda name: None), (lambda number: None)


class Late:
    """A stopwatch that some calls are too slow for: the first always, the second now and then."""

    def __init__(self) -> None:
        self.times: list[str] = []

    def time(self, call: Callable[[], None]) -> stopwatch.TimedCall:
        call()
        name = self.times[-1]
        is_late = name == "always" or (name == "at first" and self.times.count(name) < LATE)
        return stopwatch.TimedCall(1.0, math.nan, is_late)

    def empty(self) -> None:
        pass


def test_what_is_late_from_the_start_is_not_called_on_and_on(tmp_path: Path) -> None:
    request = HarnessRequest(
        "", (), ("w",), HarnessSettings(("bench",), rounds=50, warmup=3, late_enough=LATE), (1,), "b", str(tmp_path)
    )
    watch = Late()
    names = ("always", "at first", "never")
    runs = {name: partial(watch.times.append, name) for name in names}
    samples = bench.run_rounds(runs, "w", request, watch, *SILENT)
    assert [watch.times.count(name) for name in names] == [LATE, 53, 53]
    rows = list(zip(samples["version"], samples["late"], strict=True))
    assert [rows.count((name, True)) for name in names] == [LATE - 3, LATE - 1 - 3, 0]
    to_the_end, watch = replace(request, settings=replace(request.settings, late_enough=0)), Late()
    runs = {name: partial(watch.times.append, name) for name in names}
    bench.run_rounds(runs, "w", to_the_end, watch, *SILENT)
    assert [watch.times.count(name) for name in names] == [53, 53, 53]


def test_throttle_reasons_in_words() -> None:
    assert facts.reasons_in_words(0x1) == ()
    assert facts.reasons_in_words(0x4 | 0x40) == ("software power cap", "hardware thermal slowdown")


def test_without_nvml_every_answer_is_none() -> None:
    nothing = facts.Nvml(None)
    assert (nothing.temperature_c(), nothing.throttle_reasons(), nothing.driver()) == (None, None, None)
    assert (nothing.power_w(), nothing.power_limit_w()) == (None, None)
    watch = bench.ClocksWatch(nothing)
    watch.look()
    assert (watch.reasons, watch.power_w) == (None, None)


def test_power_and_reasons_are_those_of_all_looks() -> None:
    gpu = facts.Nvml(None)
    gpu._handle, gpu._nvml = object(), (known := FakePynvml())
    watch = bench.ClocksWatch(gpu)
    for mask, drawn in ((0x0, 310_000), (0x4, 698_500), (0x20, 250_000)):
        known.mask, known.drawn = mask, drawn
        watch.look()
    assert watch.reasons == ("software power cap", "software thermal slowdown")
    assert (watch.power_w, gpu.power_limit_w()) == (698.5, 700.0)


class FakePynvml:
    """An NVML that knows the newer name of the reasons and no temperature."""

    class NVMLError(Exception):
        pass

    mask, drawn = 0x20, 123_000

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> int:
        return self.mask

    def nvmlDeviceGetPowerUsage(self, handle: object) -> int:
        return self.drawn

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: object) -> int:
        return 700_000

    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int:
        raise self.NVMLError

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"580.1"


def test_nvml_answers_are_passed_on() -> None:
    gpu = facts.Nvml(None)
    gpu._handle, gpu._nvml = object(), FakePynvml()
    assert gpu.throttle_reasons() == ("software thermal slowdown",)
    assert gpu.temperature_c() is None
    assert gpu.driver() == "580.1"


def _request(root: Path) -> HarnessRequest:
    kernel = read_kernel(write_planted(root, {"v0_right.py": PYTHON["v0_right.py"]}))
    outcomes = build_versions(kernel, kernel.versions, root)
    return new_request(
        kernel, outcomes, kernel.workloads, HarnessSettings(stages=("bench",), rounds=8, device="cpu"), root
    )


def test_rounds_announce_every_call_and_repeat_their_order(tmp_path: Path) -> None:
    request, begun, rounds = _request(tmp_path), list[str](), list[int]()
    runs = {name: (lambda: None) for name in ("v0_right", "v1_other", EMPTY)}
    first = bench.run_rounds(runs, "small", request, stopwatch.HostStopwatch(), begun.append, rounds.append)
    second = bench.run_rounds(runs, "small", request, stopwatch.HostStopwatch(), begun.append, rounds.append)
    assert first["version"] == second["version"]
    assert len(begun) == 2 * 3 * (8 + 3)
    assert rounds == [*range(8), *range(8)]
    assert first["round"] == [r for r in range(8) for _ in range(3)]
    assert first["position"] == [0, 1, 2] * 8


def test_samples_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    row = ("id", "small", "v0", 0, 0, 5.0, float("nan"), False)
    samples = {name: [value] for name, value in zip(bench.SCHEMA.names, row, strict=True)}
    bench.write_samples(samples, tmp_path / "samples-small.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["samples-small.parquet"]


def test_errors_in_plain_words() -> None:
    import torch

    assert accelerator.describe(torch.cuda.OutOfMemoryError("Tried to allocate 1 TiB.")) == (
        "not enough memory: Tried to allocate 1 TiB."
    )
    long = "CUDA error: an illegal memory access was encountered\nSearch for `cudaErrorIllegalAddress' in …"
    assert accelerator.describe(RuntimeError(long)) == "CUDA error: an illegal memory access was encountered"
    pinned = RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported")
    assert accelerator.describe(pinned) == "not enough memory: CUDA error: out of memory"
    assert accelerator.describe(ValueError("no\nluck")) == "ValueError: no luck"


def test_there_is_no_device_on_a_cpu() -> None:
    assert facts.device_facts("cpu", facts.Nvml(None)) is None
    assert facts.toolchain("13.0.88").nvcc == "13.0.88"
