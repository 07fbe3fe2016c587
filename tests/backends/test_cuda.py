"""Building plain CUDA C: incremental, parallel, the compiler's words, no path of this machine in the binary."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from kernel_folder import write_kernel
from requirements import needs

from ncu_assist.backends import BACKENDS, build_versions, cuda
from ncu_assist.errors import StageFailed
from ncu_assist.harness.request import DEVICE_SOURCE
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import read_kernel

pytestmark = pytest.mark.slow

GOOD = """
#include <cuda_fp16.h>
#include "step.cuh"
__global__ void add(const float* x, float* y, long long n) {
    long long i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = x[i] + STEP;
}
extern "C" cudaError_t add_one(const float* x, float* y, long long n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
"""
BAD = 'extern "C" int add_one() { return nonsense; }\n'


@pytest.fixture(autouse=True)
def _arch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")


def _kernel(root: Path, versions: dict[str, str]) -> Kernel:
    folder = write_kernel(root, versions)
    (folder / "step.cuh").write_text("#define STEP 1.0f\n")
    return read_kernel(folder)


@needs("nvcc", "ninja")
def test_good_and_bad_versions_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work folder"
    kernel = _kernel(tmp_path / "some $project", {"v1_good.cu": GOOD, "v2_bad.cu": BAD})
    first = build_versions(kernel, kernel.versions, work)
    good, bad = first["v1_good"], first["v2_bad"]
    assert good.artifact is not None
    assert not good.reused
    assert good.seconds > 0.1
    assert "registers" in good.log
    assert bad.artifact is None
    assert 'identifier "nonsense" is undefined' in bad.log
    assert "kernels/add_one/v2_bad.cu(1)" in bad.log
    _has_no_path_of(good.artifact, tmp_path)

    monkeypatch.setattr(cuda, "run_ninja", lambda *arguments: pytest.fail("ninja was started"))
    again = build_versions(kernel, kernel.versions[:1], work)["v1_good"]
    assert (again.artifact, again.reused, again.seconds, again.log) == (good.artifact, True, 0.0, good.log)


def _has_no_path_of(artifact: Path, root: Path) -> None:
    content = artifact.read_bytes()
    assert str(root).encode() not in content
    assert str(Path.home()).encode() + b"/" not in content
    assert b"/proc/self/cwd/kernels/add_one" in content


@needs("nvcc", "ninja")
def test_an_included_file_is_part_of_the_version(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path, {"v1_good.cu": GOOD})
    first = build_versions(kernel, kernel.versions, tmp_path / "work")["v1_good"]
    (kernel.folder / "step.cuh").write_text("#define STEP 2.0f\n")
    second = build_versions(kernel, kernel.versions, tmp_path / "work")["v1_good"]
    assert not second.reused
    assert second.artifact != first.artifact


@needs("nvcc", "ninja")
def test_options_in_the_environment_build_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = _kernel(tmp_path, {"v1_good.cu": GOOD})
    assert build_versions(kernel, kernel.versions, tmp_path / "work")["v1_good"].artifact
    before = BACKENDS["cuda"].options()
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "--no-such-flag")
    outcome = build_versions(kernel, kernel.versions, tmp_path / "work")["v1_good"]
    assert (outcome.artifact, outcome.reused) == (None, False)
    assert BACKENDS["cuda"].options() == f"{before} --no-such-flag"


@needs("nvcc", "ninja")
def test_a_failed_build_is_tried_again(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path, {"v1_bad.cu": BAD})
    outcomes = [build_versions(kernel, kernel.versions, tmp_path / "work")["v1_bad"] for _ in range(2)]
    assert [o.reused for o in outcomes] == [False, False]
    assert outcomes[1].log == outcomes[0].log


@needs("nvcc", "ninja")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    from ncu_assist.errors import EnvironmentProblem

    (tmp_path / "work").write_text("a file where a folder should be")
    kernel = _kernel(tmp_path, {"v1_good.cu": GOOD})
    with pytest.raises(EnvironmentProblem, match="cannot build in"):
        build_versions(kernel, kernel.versions, tmp_path / "work")


@needs("nvcc", "ninja")
def test_the_bench_device_code_compiles(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(cuda.compile_library(DEVICE_SOURCE, tmp_path)))
    for name in ("hold", "stamp", "read", "memset", "empty"):
        assert library[f"bench_{name}"]


@needs("nvcc", "ninja")
def test_a_library_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "wrong.cu").write_text(BAD)
    with pytest.raises(StageFailed, match="nonsense"):
        cuda.compile_library(tmp_path / "wrong.cu", tmp_path / "out")


@needs("nvcc", "ninja", "torch")
def test_loading_needs_the_entry_point(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path, {"v1_other.cu": GOOD.replace("add_one", "add_two")})
    with pytest.raises(StageFailed, match="no function 'add_one'"):
        BACKENDS["cuda"].load(cuda.compile_library(kernel.versions[0].path, tmp_path / "work"), kernel)
