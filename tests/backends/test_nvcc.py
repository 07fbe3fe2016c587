"""Finding nvcc, ninja and the architecture."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
from requirements import needs

from ncu_assist.backends import nvcc
from ncu_assist.environment import Gpu
from ncu_assist.errors import EnvironmentProblem, UsageProblem


def _fake_nvcc(folder: Path, words: str = "Cuda compilation tools, release 13.0, V13.0.88") -> Path:
    path = folder / "bin" / "nvcc"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{words}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No CUDA_HOME, nothing on PATH, nothing in /usr/local/cuda, no wheel."""
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(nvcc.importlib.util, "find_spec", lambda name: None)
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda self: not str(self).startswith("/usr/local/cuda") and is_file(self))


@pytest.mark.usefixtures("nothing")
def test_missing_nvcc_names_the_wheels() -> None:
    with pytest.raises(EnvironmentProblem, match="no CUDA compiler") as caught:
        nvcc.find_nvcc()
    assert "nvidia-cuda-nvcc==13.0.*" in caught.value.hint
    assert "nvidia-cuda-cccl" in caught.value.hint


@pytest.mark.usefixtures("nothing")
def test_cuda_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, on_path = _fake_nvcc(tmp_path / "home"), _fake_nvcc(tmp_path / "other")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert nvcc.find_nvcc().path == on_path
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    found = nvcc.find_nvcc()
    assert (found.path, found.version, found.library_flags) == (home, "13.0.88", ())


@pytest.mark.usefixtures("nothing")
def test_wheel_is_found_with_its_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packages = tmp_path / "nvidia"
    path = _fake_nvcc(packages / "cu13")
    (packages / "cu13" / "lib").mkdir()
    (packages / "cu13" / "lib" / "libcudart_static.a").touch()
    spec = types.SimpleNamespace(submodule_search_locations=[str(packages)], origin=None)
    monkeypatch.setattr(nvcc.importlib.util, "find_spec", lambda name: spec if name == "nvidia" else None)
    found = nvcc.find_nvcc()
    assert found.path == path
    assert found.library_flags == (f"-L{packages / 'cu13' / 'lib'}",)


@pytest.mark.usefixtures("nothing")
def test_nvcc_that_says_nothing_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_nvcc(tmp_path / "home", "Segmentation fault")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    with pytest.raises(EnvironmentProblem, match="--version failed"):
        nvcc.find_nvcc()


def test_missing_ninja(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nvcc.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(nvcc.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="ninja, which runs the compiler, is not installed"):
        nvcc.find_ninja()


@needs("ninja")
def test_ninja_is_found() -> None:
    assert nvcc.find_ninja().name == "ninja"


def _nvcc(version: str) -> nvcc.Nvcc:
    return nvcc.Nvcc(Path("nvcc"), version, ())


def _no_driver() -> tuple[str, tuple[Gpu, ...]]:
    raise EnvironmentProblem("there is no working NVIDIA driver", "nvidia-smi")


def _has(monkeypatch: pytest.MonkeyPatch, *capabilities: str) -> None:
    found = tuple(Gpu(index, "GPU", f"GPU-{index}", capability=one) for index, one in enumerate(capabilities))
    monkeypatch.setattr(nvcc, "query_gpus", lambda: ("1", found))


def test_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = _nvcc("13.0.88")
    monkeypatch.delenv("NCU_ASSIST_ARCH", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(nvcc, "query_gpus", _no_driver)
    assert nvcc.find_arch(compiler) == "sm_90a"
    _has(monkeypatch, "120")
    assert nvcc.find_arch(compiler) == "sm_120"
    _has(monkeypatch, "80", "90")
    assert nvcc.find_arch(compiler) == "sm_80"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert nvcc.find_arch(compiler) == "sm_90a"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert nvcc.find_arch(compiler) == "sm_80", "what is built here may run in another process"
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    assert nvcc.find_arch(compiler) == "sm_90"
    monkeypatch.setenv("NCU_ASSIST_ARCH", "hopper")
    with pytest.raises(UsageProblem, match="hopper"):
        nvcc.find_arch(compiler)


@pytest.mark.parametrize(("version", "arch"), [("11.8.89", "sm_90"), ("12.0.76", "sm_90a"), ("13.0.88", "sm_90a")])
def test_all_instructions_of_the_chip_where_the_compiler_knows_them(
    version: str, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """wgmma and setmaxnreg are in sm_90a and not in sm_90."""
    monkeypatch.delenv("NCU_ASSIST_ARCH", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    _has(monkeypatch, "90")
    assert nvcc.find_arch(_nvcc(version)) == arch


def test_what_nvcc_takes_from_the_environment_is_of_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (nvcc.BEFORE, nvcc.AFTER, *nvcc.FOUND_BY):
        monkeypatch.delenv(name, raising=False)
    assert (nvcc.options_said(("-O3",), "sm_90"), nvcc.environment_facts()) == ("-O3 sm_90", ())
    monkeypatch.setenv("NVCC_APPEND_FLAGS", " -G  -g")
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-DX")
    monkeypatch.setenv("CPATH", "")
    assert nvcc.options_said(("-O3",), "sm_90") == "-DX -O3 sm_90 -G -g"
    assert nvcc.environment_facts() == ("NVCC_PREPEND_FLAGS=-DX", "NVCC_APPEND_FLAGS= -G  -g")
