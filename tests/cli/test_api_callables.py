"""Python functions measured like the versions of a kernel folder: `bench` and `profile` of the API."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import Run, measure_here
from requirements import require

import ncu_assist
from ncu_assist.backends.python import Returning, measured
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.pipeline.callables import _pickled, callable_kernel

SIZES = {"w0": {"n": 256}, "w1": {"n": 100}}


def naive(x: Any) -> Any:
    return x + 1


def shared(x: Any) -> Any:
    return x.add(1.0)


def wrong(x: Any) -> Any:
    return x + 2


def make(n: int) -> tuple[Any, ...]:
    import torch

    return (torch.randn(n),)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require("torch")
    measure_here(monkeypatch, tmp_path)
    return tmp_path


def test_functions_are_checked_timed_and_archived(here: Path, run: Run) -> None:
    found = ncu_assist.bench([naive, shared, wrong], inputs=make, workloads=SIZES, name="add_one")
    assert found.versions == ("v0_naive", "v1_shared", "v2_wrong")
    assert repr(found) == "<add_one: v0_naive, v1_shared, v2_wrong; failed: v2_wrong>"
    timed = found.timings.set_index(["version", "workload"])
    assert set(timed.index) == {(version, name) for version in ("v0_naive", "v1_shared") for name in SIZES}
    assert timed.loc[("v0_naive", "w0"), ["speedup", "verdict"]].tolist() == [1.0, None]
    assert timed.loc[("v1_shared", "w1"), "verdict"] in ("faster", "slower", "same", "unclear")
    assert timed["algorithmic_bytes"].unique().tolist() == [2048, 800]
    assert "elements are wrong" in found.to_dict()["versions"][2]["failure"]
    assert "elements are wrong" in found._repr_html_()
    assert found["shared"].stored.reference == found["v1"].stored.reference == found[1].stored.reference
    assert len(found) == len(list(found)) == 3
    both = ncu_assist.diff(found["naive"], found["shared"], workload="w0")
    assert both.to_dict() == run("diff", "add_one/v0", "add_one/v1", "--workload", "w0", "--json").json
    source = (found["shared"].stored.folder / "source" / "v1_shared.py").read_text()
    assert "#     return x.add(1.0)" in source
    with pytest.raises(UsageProblem, match="did you mean 'shared'"):
        found["shred"]


def test_functions_are_profiled(here: Path) -> None:
    """The fake ncu replays counters of two versions on two workloads, which the ranges have to name."""
    found = ncu_assist.profile({"naive": naive, "shared": shared}, inputs=make, workloads=SIZES, name="add_one")
    assert found["shared"].diagnosis
    assert found["naive"].stored.run.profile.command == "ncu_assist.profile([naive, shared])"
    assert ncu_assist.diff(found[0], found[1]).changes.shape[0] > 0


@pytest.mark.parametrize(
    ("functions", "name"),
    [({"operator": naive, "add": shared}, "kernel_operator"), ([lambda x: x + 1], "kernel_lambda"), ([naive], "naive")],
)
def test_a_kernel_is_named_after_its_first_function(here: Path, functions: Any, name: str) -> None:
    """Also where no function of C or Python can have that name."""
    require("cloudpickle")
    found = ncu_assist.bench(functions, inputs=make, workloads={"n": 64}, rounds=3)
    assert found.outcome.kernel == name
    assert not any(one.failure for one in found.outcome.versions)


def test_workloads_without_names_are_no_workloads() -> None:
    with pytest.raises(UsageProblem, match="workloads must be a dictionary by name, not list"):
        ncu_assist.bench([naive], inputs=make, workloads=[1, 2])


@pytest.mark.parametrize("measure", [ncu_assist.bench, ncu_assist.profile])
def test_without_a_gpu_all_say_the_same(measure: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require("torch")
    (tmp_path / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def no_driver() -> None:
        raise EnvironmentProblem("there is no working NVIDIA driver")

    monkeypatch.setattr("ncu_assist.environment.query_gpus", no_driver)
    with pytest.raises(EnvironmentProblem, match="there is no working NVIDIA driver"):
        measure([naive], inputs=make, workloads={"n": 64}, project=tmp_path)


def test_a_function_that_changes_its_source_is_another(here: Path) -> None:
    first = ncu_assist.bench({"one": naive}, inputs=make, workloads={"n": 64})
    again = ncu_assist.bench({"one": naive}, inputs=make, workloads={"n": 64})
    other = ncu_assist.bench({"one": shared}, inputs=make, workloads={"n": 64})
    hashes = [found[0].stored.run.source_sha256 for found in (first, again, other)]
    assert hashes[0] == hashes[1] != hashes[2]
    assert first.outcome.kernel == "one"


def text(x: Any) -> Any:
    return "x"


def shorter(x: Any) -> Any:
    return x[1:] + 1


def doubled(x: Any) -> Any:
    return x.double() + 1


def in_place(x: Any) -> Any:
    return x.add_(1)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (text, "text returns str: a function must return a tensor or a tuple of tensors"),
        (shorter, "shorter returns float32 [99], but the reference float32 [100]"),
        (doubled, "doubled returns float64 [100], but the reference float32 [100]"),
        (in_place, "input 'x' was modified"),
    ],
)
def test_what_is_no_result(here: Path, function: Callable[..., Any], said: str) -> None:
    found = ncu_assist.bench([naive, function], inputs=make, workloads={"n": 100}, rounds=3)
    assert said in found.outcome.versions[1].failure


def test_inputs_that_are_given_and_a_tolerance(here: Path) -> None:
    import torch

    x = torch.linspace(0, 1, 50)
    close = functools.partial(torch.add, other=1.01)
    found = ncu_assist.bench({"exact": naive, "close": close}, inputs=(x,), rtol=0.02, flops=50, rounds=3)
    assert [one.failure for one in found.outcome.versions] == ["", ""]
    assert found.timings["flops"].tolist() == [50, 50]
    assert found[0].stored.run.checks[0].passed
    strict = ncu_assist.bench({"exact": naive, "close": close}, inputs=(x,), rounds=3)
    assert "elements are wrong" in strict.outcome.versions[1].failure


def failing(n: int) -> Any:
    raise ValueError("no such size")


def test_functions_may_be_called_like_what_they_are_held_against(here: Path) -> None:
    found = ncu_assist.bench({"inputs": naive, "reference": wrong}, inputs=make, reference=naive, workloads=SIZES)
    assert repr(found) == "<inputs: v0_inputs, v1_reference; failed: v1_reference>"


def test_inputs_that_fail(here: Path) -> None:
    with pytest.raises(StageFailed, match="inputs or reference fail on n8: ValueError: no such size"):
        ncu_assist.bench([naive], inputs=failing, workloads={"n": [8]})


def test_without_a_gpu_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_gpu: None) -> None:
    with pytest.raises(EnvironmentProblem):
        ncu_assist.profile([naive], inputs=make, workloads=SIZES, project=tmp_path)


@pytest.mark.parametrize(
    ("functions", "options", "said"),
    [
        ([naive, naive], {"inputs": make}, "two functions have the name naive"),
        ({"a-b": naive, "a b": shared}, {"inputs": make}, "two functions have the name a_b"),
        ({"π": naive, "σ": shared}, {"inputs": make}, "two functions have the name function"),
        ([], {"inputs": make}, "there is no function"),
        ({"one": 1}, {"inputs": make}, "one is not a function but int"),
        (naive, {}, "naive needs inputs"),
        (naive, {"inputs": make, "name": "a kernel"}, "'a kernel' cannot be the name of a function"),
        ("softmax", {"inputs": make}, "inputs= is for Python functions; softmax has that in its folder"),
    ],
)
def test_what_cannot_be_measured(tmp_path: Path, functions: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        ncu_assist.bench(functions, project=tmp_path, **options)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, {"default": {}}),
        ({"a": {"n": 1}, "b": {"n": 2}}, {"a": {"n": 1}, "b": {"n": 2}}),
        ({"n": [1, 2], "m": 3}, {"n1": {"n": 1, "m": 3}, "n2": {"n": 2, "m": 3}}),
        ({"n": 1, "m": 3}, {"n1_m3": {"n": 1, "m": 3}}),
        ({"n": range(2), "m": (3, 4)}, {f"n{n}_m{m}": {"n": n, "m": m} for n in (0, 1) for m in (3, 4)}),
    ],
)
def test_workloads(given: Any, names: dict[str, dict[str, int]]) -> None:
    assert callable_kernel(naive, make, given, None).workloads == names


def test_only_the_call_is_timed_not_the_copy_of_its_results() -> None:
    require("torch")
    import torch

    out, x = torch.zeros(3), torch.ones(3)
    call = Returning("naive", naive)
    measured(call)((x,), (out,), {})
    assert out.tolist() == [0, 0, 0]
    call((x,), (out,), {})
    assert out.tolist() == [2, 2, 2]


SCRIPT = """
import functools, sys
import ncu_assist
import ncu_assist.pipeline.planning as planning
from ncu_assist.harness.request import HarnessSettings

planning.HarnessSettings = functools.partial(HarnessSettings, device="cpu")
ONE = 1.0

def plus_one(x):
    return x + ONE

def make(n):
    import torch
    return torch.randn(n)

found = ncu_assist.bench([plus_one, lambda x: x.add(ONE)], inputs=make, workloads={"n": 64}, rounds=3)
print(found)
"""


@pytest.mark.slow
def test_what_a_script_defines_itself_needs_no_guard(tmp_path: Path) -> None:
    """Neither `if __name__ == "__main__"` nor a module: globals go along by value."""
    require("torch", "cloudpickle")
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "<plus_one: v0_plus_one, v1_lambda>"


def test_what_cannot_be_pickled_says_so() -> None:
    held = threading.Lock()
    with pytest.raises(UsageProblem, match=r"locked cannot be pickled for the child process that calls it: .*lock"):
        _pickled("locked", functools.partial(naive, held))


def test_without_cloudpickle_modules_still_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert _pickled("naive", naive)
    typed = types.FunctionType(naive.__code__, {}, "typed")
    typed.__module__ = "__main__"
    with pytest.raises(UsageProblem, match="typed is defined in the notebook or script itself"):
        _pickled("typed", typed)


class JITFunction:
    """As Triton's: a lock that cannot be pickled, the function and its source."""

    def __init__(self, fn: Any) -> None:
        self.fn, self.lock, self.noinline = fn, threading.RLock(), True
        self.raw_src, self.starting_line_number = ["@triton.jit\n", "def naive(x):\n"], 3


def test_a_function_of_triton_is_made_again_from_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    require("cloudpickle")
    import linecache
    import pickle

    cell = "<a cell>"
    code = compile("def naive(x):\n    return x", cell, "exec").co_consts[0]
    made = types.FunctionType(code, {"__name__": "__main__"}, "naive")
    data = _pickled("naive", JITFunction(made))
    monkeypatch.setitem(sys.modules, "triton", types.SimpleNamespace(jit=lambda fn, **options: (fn, options)))
    monkeypatch.delitem(linecache.cache, cell, raising=False)
    again, options = pickle.loads(data)
    assert (again(5), options) == (5, {"noinline": True})
    assert linecache.getline(cell, 4) == "def naive(x):\n"
