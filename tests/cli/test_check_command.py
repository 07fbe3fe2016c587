"""``ncu-assist check``."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from commandline import Run, measure_here
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, WORKLOADS, WRONG
from requirements import require

from ncu_assist.backends import torch_extension
from ncu_assist.backends.nvcc import Nvcc
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.pipeline import planning


def test_right_and_wrong_versions(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("torch")
    write_kernel(tmp_path, {"v0_right.py": RIGHT, "v1_wrong.py": WRONG}, WORKLOADS)
    measure_here(monkeypatch, tmp_path)
    answer = run("check", "add_one", "--workload", "w1", "--json")
    assert answer.code == 5
    assert answer.json["schema"] == "ncu-assist.check/1"
    checks = {v["version"]: v["workloads"][0]["check"] for v in answer.json["versions"]}
    assert checks["v0_right"]["passed"] is True
    assert checks["v1_wrong"]["passed"] is False
    assert "1000 of 1000 elements are wrong" in checks["v1_wrong"]["reason"]
    only = run("check", "add_one", "v0")
    assert only.code == 0
    assert re.search(r"version +check +error\nv0_right +passed +\d\.\de-0\d\nerror: ", only.out)
    wrong = run("check", "add_one").out
    assert re.search(r"v1_wrong +FAILED +\d\.\de[-+]\d\d\n", wrong)


def test_a_version_that_does_not_compile(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("nvcc", "ninja")
    write_kernel(tmp_path, {"v1_typo.cu": 'extern "C" int add_one() { return nonsense; }'})
    measure_here(monkeypatch, tmp_path)
    answer = run("check", "add_one")
    assert answer.code == 5
    assert '"nonsense" is undefined' in answer.err
    assert "v1_typo: failed: build: it does not compile" in answer.out


LAUNCHER = "cudaError_t add_one(const float* x, float* y, long long n, cudaStream_t stream) { return cudaSuccess; }\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose versions were all compiled: right, with C++ linkage, under another name."""
    root = tmp_path_factory.mktemp("compiled")
    sources = {"v1_right.cu": f'extern "C" {LAUNCHER}', "v2_mangled.cu": LAUNCHER}
    write_kernel(root, {**sources, "v3_other.cu": f'extern "C" {LAUNCHER.replace("add_one", "launch")}'})
    return root


@pytest.fixture
def no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child process that cannot import torch."""
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")


@pytest.mark.slow
def test_without_a_gpu_it_says_what_was_built_and_not_that_torch_is_missing(
    run: Run, compiled: Path, no_torch: None, no_gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("nvcc", "ninja")
    monkeypatch.chdir(compiled)
    answer = run("check", "add_one", "v1")
    assert (answer.code, answer.out) == (6, "")
    assert "built, but not checked: v1_right\n" in answer.err
    assert "torch" not in answer.err


@pytest.mark.slow
def test_what_cannot_be_built_counts_more_than_a_gpu_that_is_not_there(
    run: Run, compiled: Path, no_torch: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("nvcc", "ninja")
    monkeypatch.chdir(compiled)
    (compiled / "kernels" / "add_one" / "v4_broken.cu").write_text("nonsense\n")
    answer = run("check", "add_one", "v1", "v4")
    assert (answer.code, answer.out) == (5, "")
    assert "built, but not checked: v1_right\n" in answer.err
    assert "v4_broken cannot be built (see above), and nothing was checked here: torch cannot" in answer.err
    assert "try: fix it, then ncu-assist check add_one v4_broken" in answer.err


@pytest.mark.slow
def test_a_missing_extern_c_is_found_after_the_build(
    run: Run, compiled: Path, no_torch: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU, without torch: by the symbols of the shared object."""
    require("nvcc", "ninja")
    monkeypatch.chdir(compiled)
    answer = run("check", "add_one", "v2", "v3")
    assert answer.code == 5
    write = 'write: extern "C" cudaError_t add_one(const …* x, float* y, long long n, cudaStream_t stream)'
    assert answer.err.count(write) == " ".join(answer.out.split()).count(write) == 2
    assert 'with C++ linkage only, _Z7add_onePKfPfxP11CUstream_st: extern "C" is missing' in answer.err
    assert "the functions it has are launch" in answer.err
    assert "built, but not checked" not in answer.err
    assert run("check", "add_one", "v2").code == 5, "what is reused is looked at too"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ad_one"], "did you mean 'add_one'?"),
        (["add_one", "v5"], "known: v0"),
        (["add_one", "--workload", "al"], "did you mean 'all'?"),
    ],
)
def test_wrong_names(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], hint: str) -> None:
    write_kernel(tmp_path)
    monkeypatch.chdir(tmp_path)
    answer = run("check", *words)
    assert (answer.code, answer.out) == (2, "")
    assert hint in answer.err


@pytest.mark.slow
def test_without_a_gpu(run: Run, recorded: Path) -> None:
    require("torch")
    answer = run("check", "lightning_decode", "v0")
    assert (answer.code, answer.out) == (6, "")
    assert "try: " in answer.err


@pytest.mark.parametrize("command", ["check", "bench"])
def test_without_torch_and_a_gpu_it_says_both_and_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    write_kernel(tmp_path, {"v1_ext.cu": "#include <torch/extension.h>\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    monkeypatch.setattr(torch_extension, "find_nvcc", lambda: Nvcc(Path("nvcc"), "13.0.88", ()))

    def no_package(name: str) -> str:
        raise PackageNotFoundError(name)

    def no_driver() -> None:
        raise EnvironmentProblem("there is no working NVIDIA driver", "nvidia-smi")

    monkeypatch.setattr(torch_extension.importlib.metadata, "version", no_package)
    monkeypatch.setattr(planning, "gpu_here", no_driver)
    answer = run(command, "add_one", "v1")
    assert answer.code == 6
    said = " ".join(answer.err.split())
    assert "torch is not installed, and a version includes its headers; besides, there is no working NVIDIA" in said
    assert "pip install torch" in said
