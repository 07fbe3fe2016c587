"""The same on a GPU: planted faults in CUDA C, crashes that poison the context, and times that can be believed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from planted import CUDA, LAUNCH, LAUNCHER, PYTHON, write_planted

from ncu_assist.backends import build_versions
from ncu_assist.executors.local import Local
from ncu_assist.harness.client import Measured, measure
from ncu_assist.harness.request import Flush, HarnessSettings, new_request
from ncu_assist.spec_file import read_kernel

pytestmark = pytest.mark.gpu

WORKLOADS = """
[workloads.large]
n = 67108864
dtype = "float32"
[workloads.fits_in_l2]
n = 2097152
dtype = "float32"
"""
# Reads x so that L2 keeps it, which plain reads of other data do not undo.
KEEPS_INPUT = LAUNCHER.format(
    body="""
__global__ void add(const float* x, float* y, long long n) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    unsigned long long keep;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
    float v = 0;
    if (i < n) asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(keep));
    if (i < n) y[i] = v + 1;
}""",
    launch=LAUNCH,
)
EXTENSION = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void add(const float* x, float* y, long long n) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}
void add_one(torch::Tensor x, torch::Tensor y) {
    long long n = x.numel();
    add<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add_one", &add_one); }
"""


def _measure(root: Path, sources: dict[str, str], settings: HarnessSettings, workload: str) -> Measured:
    folder = write_planted(root, sources)
    (folder / "kernel.toml").write_text((folder / "kernel.toml").read_text() + WORKLOADS)
    kernel = read_kernel(folder)
    outcomes = build_versions(kernel, kernel.versions, root / "work")
    assert {v: o.log for v, o in outcomes.items() if o.artifact is None} == {}
    request = new_request(kernel, outcomes, kernel.select_workloads(workload), settings, root / "work")
    return measure(request, Local(), lambda event: None, 20.0)


def test_planted_faults_in_cuda(tmp_path: Path) -> None:
    measured = _measure(tmp_path, CUDA, HarnessSettings(stages=("check",)), "odd")
    reasons = {version: checks[0].reason for version, checks in measured.checks.items()}
    assert reasons["v0_right"] == ""
    assert "first at [992]: 7, expected" in reasons["v1_wrong_tail"]
    assert "3 of 1000 elements were never written" in reasons["v2_unwritten"]
    assert reasons["v3_modified_input"] == "input 'x' was modified: 1 elements, first at [5]"
    assert "v4_race" in reasons
    assert reasons["v4_race"] != ""
    assert reasons["v5_past_end"] == "wrote 8 bytes past the end of 'y', first at byte 0 behind it"
    assert reasons["v6_cached"].startswith("a result of an earlier call came back")
    assert "illegal" in reasons["v7_illegal_address"]
    assert reasons["v8_hangs"] == "gave no sign of life for 20 s and was ended"
    assert "invalid" in reasons["v9_returns_error"]
    assert set(measured.failures) == {"v7_illegal_address", "v8_hangs"}
    assert measured.device is not None
    assert measured.device.sm_count is not None
    assert measured.toolchain.nvcc is not None


@pytest.mark.parametrize("flush", ["read", "memset", "none"])
def test_times_on_the_gpu(flush: Flush, tmp_path: Path) -> None:
    sources = {"v0_torch.py": PYTHON["v0_right.py"], "v1_cuda.cu": CUDA["v0_right.cu"]}
    settings = HarnessSettings(stages=("check", "bench"), rounds=30, flush=flush)
    measured = _measure(tmp_path, sources, settings, "large")
    assert measured.failures == {}
    samples = measured.samples
    assert samples is not None
    assert samples.groupby("version").late.mean().max() < 0.1
    medians = samples[~samples.late].groupby("version").time_ns.median()
    assert 500 < medians["(empty)"] < 10_000
    slowest_ns = 512 * 2**20 / 0.2e12 * 1e9  # 512 MiB at 0.2 TB/s, slower than any GPU that runs this
    assert medians["(empty)"] * 5 < medians["(copy)"] < slowest_ns
    assert 0.7 < medians["v1_cuda"] / medians["(copy)"] < 3  # 4 bytes a thread: seen at 1.55 times the copy on an H200
    clocks = samples.sm_clock_mhz.dropna()
    assert len(clocks) == len(samples)
    assert 200 < clocks.median() < 4000


def test_a_time_does_not_depend_on_who_else_is_timed(tmp_path: Path) -> None:
    """Both read 8 MB; one has L2 keep them, and plain reads of other data do not drive such lines out."""
    settings = HarnessSettings(stages=("check", "bench"), rounds=60)
    medians = []
    for folder, sources in (
        ("alone", {"v0_right.cu": CUDA["v0_right.cu"]}),
        ("company", {"v0_right.cu": CUDA["v0_right.cu"], "v1_keeps.cu": KEEPS_INPUT}),
    ):
        samples = _measure(tmp_path / folder, sources, settings, "fits_in_l2").samples
        assert samples is not None
        medians.append(samples[samples.version == "v0_right"].time_ns.median())
    assert medians[1] == pytest.approx(medians[0], rel=0.05)


def test_a_call_that_waits_for_the_device_is_late(tmp_path: Path) -> None:
    waits = "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n    torch.cuda.synchronize()\n"
    settings = HarnessSettings(stages=("bench",), rounds=3)
    samples = _measure(
        tmp_path, {"v0_right.py": PYTHON["v0_right.py"], "v1_waits.py": waits}, settings, "small"
    ).samples
    assert samples is not None
    assert samples[samples.version == "v1_waits"].late.all()
    assert not samples[samples.version == "v0_right"].late.any()


def test_out_of_memory_is_one_versions_affair(tmp_path: Path) -> None:
    hungry = "def add_one(x, y):\n    torch.empty(1 << 45, dtype=torch.uint8, device='cuda')\n"
    sources = {"v0_right.py": PYTHON["v0_right.py"], "v1_hungry.py": hungry}
    measured = _measure(tmp_path, sources, HarnessSettings(stages=("check", "bench"), rounds=3), "small")
    assert measured.checks["v1_hungry"][0].reason.startswith("not enough memory")
    assert measured.checks["v0_right"][0].passed
    assert measured.samples is not None
    assert set(measured.samples.version) == {"v0_right", "(empty)", "(copy)"}


def test_a_torch_extension(tmp_path: Path) -> None:
    measured = _measure(tmp_path, {"v0_extension.cu": EXTENSION}, HarnessSettings(stages=("check",)), "odd")
    assert [c.reason for c in measured.checks["v0_extension"]] == [""]


def test_profile_ranges_run(tmp_path: Path) -> None:
    started = time.monotonic()
    measured = _measure(tmp_path, {"v0_right.cu": CUDA["v0_right.cu"]}, HarnessSettings(stages=("profile",)), "all")
    assert measured.failures == {}
    assert time.monotonic() - started < 120
