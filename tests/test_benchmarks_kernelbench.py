"""KernelBench's problems as kernel folders: module and replacement are held against the module in float64."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "closed_loop"))

import kernelbench  # noqa: E402

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.backends.python import import_file  # noqa: E402
from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.harness.problem import Problem  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

PROBLEM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, size, out):
        super().__init__()
        self.linear = nn.Linear(size, out)
        self.norm = nn.BatchNorm1d(out)

    def forward(self, x, y):
        return torch.relu(self.norm(self.linear(x))) + y


def get_inputs():
    return [torch.randn(5, 7), torch.randn(5, 3)]


def get_init_inputs():
    return [7, 3]
"""
NEW = PROBLEM.replace("class Model(", "class ModelNew(").partition("def get_inputs")[0]


@pytest.fixture(autouse=True)
def _own_modules() -> object:
    """Each folder has a problem.py of its own; processes that measure know one kernel alone."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name in ("problem", "replacement"):
        sys.modules.pop(name, None)


def _reasons(folder: Path) -> list[str]:
    kernel = read_kernel(folder)
    made = Problem(kernel, kernel.default_workload, import_file(kernel.reference), "cpu")
    calls = [BACKENDS["python"].load(version.path, kernel) for version in kernel.versions]
    return [check(call, made, (1, 2), 1).reason for call in calls]


def _adapted(root: Path, problem: str = PROBLEM, new: str = NEW) -> Path:
    (root / "linear_norm.py").write_text(problem)
    (root / "new.py").write_text(new)
    return kernelbench.adapt(root / "linear_norm.py", "linear_norm", root, root / "new.py")


def test_module_and_replacement_are_versions(tmp_path: Path) -> None:
    folder = _adapted(tmp_path)
    kernel = read_kernel(folder)
    assert kernel.inputs[:3] == ("x0", "x1", "linear_weight")
    assert [version.name for version in kernel.versions] == ["v0_module", "v1_replacement"]
    assert kernel.versions[0].is_peer
    assert _reasons(folder) == ["", ""]


def test_a_replacement_that_computes_something_else_is_wrong(tmp_path: Path) -> None:
    assert [bool(reason) for reason in _reasons(_adapted(tmp_path, new=NEW.replace("+ y", "- y")))] == [False, True]


def test_a_replacement_with_other_parameters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the replacement has the parameters"):
        _adapted(tmp_path, new=NEW.replace("self.linear", "self.dense"))


def test_inputs_that_are_no_tensors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="get_inputs returns something that is no tensor"):
        _adapted(tmp_path, problem=PROBLEM.replace("torch.randn(5, 3)]", "3.0]"))
