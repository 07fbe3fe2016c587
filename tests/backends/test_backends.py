"""Every backend keeps the protocol; who claims which file; Python versions; torch extensions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kernel_folder import write_kernel
from requirements import needs

from ncu_assist import backends
from ncu_assist.backends import BACKENDS, backend_of, build_versions, torch_extension
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.nvcc import Nvcc
from ncu_assist.backends.python import Python, entry_point, import_file
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import read_kernel

EXTENSION = "#include <torch/extension.h>\nvoid f() {}\n"


def test_the_table() -> None:
    assert [name for name, backend in BACKENDS.items() if backend.name != name] == []
    for backend in BACKENDS.values():
        assert callable(backend.claims)
        assert callable(backend.build)
        assert callable(backend.load)


def test_who_claims_what(tmp_path: Path) -> None:
    for name, text in {"a.cu": "int x;", "b.cu": EXTENSION, "c.py": "", "d.cu": '#include "e.h"\n'}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "e.h").write_text("#include <torch/types.h>\n")
    claimed = [backend_of(tmp_path / name).name for name in ("a.cu", "b.cu", "c.py", "d.cu")]
    assert claimed == ["cuda", "torch_extension", "python", "torch_extension"]
    with pytest.raises(UsageProblem, match=r"no backend builds f\.txt"):
        backend_of(tmp_path / "f.txt")


def _kernel(root: Path, versions: dict[str, str]) -> Kernel:
    return read_kernel(write_kernel(root, versions))


def test_python_versions_need_no_build(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path, {"v0_fine.py": "def add_one(x, y):\n    y.append(x[0] + 1)\n", "v1_typo.py": "def (\n"})
    outcomes = build_versions(kernel, kernel.versions, tmp_path / "work")
    assert outcomes["v0_fine"] == BuildOutcome("v0_fine", kernel.versions[0].path, "", True, 0.0)
    assert outcomes["v1_typo"].artifact is None
    assert outcomes["v1_typo"].log.startswith("v1_typo.py:1: invalid syntax")
    written: list[int] = []
    Python().load(kernel.versions[0].path, kernel)(([1],), (written,), {})
    assert written == [2]


def test_equal_file_names_do_not_meet(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "v0_x.py").write_text(f"NAME = '{folder}'\n")
    assert [import_file(tmp_path / f / "v0_x.py").NAME for f in ("one", "two")] == ["one", "two"]


def test_a_module_without_the_entry_point() -> None:
    with pytest.raises(StageFailed, match="defines no function 'add_one'"):
        entry_point(sys, "add_one", "v0_x.py")


def test_an_interrupted_build_cancels_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = _kernel(tmp_path, {"v0_a.py": "", "v1_b.cu": "int x;"})
    seen: list[bool] = []

    def waits(kernel: object, versions: object, work: object, is_cancelled: object) -> dict[str, BuildOutcome]:
        while not is_cancelled():  # type: ignore[operator]
            pass
        seen.append(True)
        return {}

    def fails(*arguments: object) -> dict[str, BuildOutcome]:
        raise EnvironmentProblem("no compiler")

    monkeypatch.setattr(backends.BACKENDS["cuda"], "build", waits)
    monkeypatch.setattr(backends.BACKENDS["python"], "build", fails)
    with pytest.raises(EnvironmentProblem, match="no compiler"):
        build_versions(kernel, kernel.versions, tmp_path)
    assert seen == [True]


@pytest.mark.slow
@needs("torch", "nvcc", "ninja")
def test_a_torch_extension_that_fails_keeps_the_compilers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    kernel = _kernel(tmp_path, {"v0_ext.cu": EXTENSION + "#error planted by the test\n"})
    outcome = build_versions(kernel, kernel.versions, tmp_path / "work")["v0_ext"]
    assert outcome.artifact is None
    assert not outcome.reused
    import torch

    if torch.version.cuda is None:
        assert outcome.log.startswith(f"torch {torch.__version__} is built without CUDA, and a version includes")
        assert "Traceback" not in outcome.log
    else:
        assert "planted by the test" in outcome.log


def test_a_built_torch_extension_is_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_extension, "_torch_version", lambda: "2.11")
    monkeypatch.setattr(torch_extension, "find_nvcc", lambda: Nvcc(Path("nvcc"), "13.0.88", ()))
    monkeypatch.setattr(torch_extension, "_environment", lambda arch: {})
    monkeypatch.setattr(torch_extension, "CHILD", "planted_builder")
    monkeypatch.setattr(torch_extension.process, "run", _plant_artifact)
    kernel = _kernel(tmp_path, {"v0_ext.cu": EXTENSION})
    first, second = (build_versions(kernel, kernel.versions, tmp_path / "work")["v0_ext"] for _ in range(2))
    assert (first.reused, second.reused) == (False, True)
    assert first.artifact == second.artifact
    assert first.log == second.log == "built\n"

    def is_reused() -> bool:
        return build_versions(kernel, kernel.versions, tmp_path / "work")["v0_ext"].reused

    kernel.versions[0].path.write_text(EXTENSION + "// edited\n")
    assert [is_reused(), is_reused()] == [False, True]
    monkeypatch.setattr(torch_extension, "find_nvcc", lambda: Nvcc(Path("nvcc"), "13.1.2", ()))
    assert [is_reused(), is_reused()] == [False, True]
    monkeypatch.setattr(torch_extension, "CUDA_FLAGS", ("-O2",))
    assert [is_reused(), is_reused()] == [False, True]
    for name in ("NVCC_APPEND_FLAGS", "CPATH", "CXX"):
        monkeypatch.setenv(name, "-G")
        assert [is_reused(), is_reused()] == [False, True]
    assert BACKENDS["torch_extension"].options().endswith(" -G")


def _plant_artifact(argv: list[str], **how: object) -> object:
    from ncu_assist.process import Completed

    folder = Path(argv[-1])
    (folder / f"{folder.name}.so").write_text("machine code")
    return Completed(tuple(argv), 0, "built\n", "", 1.0, False)
