"""Errors: the nearest names, exit codes, and what a hint says in a traceback."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from ncu_assist import errors
from ncu_assist.errors import EnvironmentProblem, ModelProblem, did_you_mean


def test_the_nearest_name_is_offered() -> None:
    assert did_you_mean("lightening_decode", ["rope", "lightning_decode"]) == "did you mean 'lightning_decode'?"


def test_all_names_are_listed_when_none_is_near() -> None:
    assert did_you_mean("zzz", ["rope", "add"]) == "known: add, rope"


def test_a_name_between_several_gets_them_all() -> None:
    assert did_you_mean("n25", ["n16", "n26", "n28"]) == "known: n16, n26, n28"
    assert did_you_mean("b64_d9", ["b64_d96", "b64_d128", "b1_d96"]) == "did you mean 'b64_d96'?"


def test_no_names_at_all() -> None:
    assert did_you_mean("zzz", []) == "there are none"


def test_a_problem_with_the_model_has_an_exit_code_of_its_own() -> None:
    assert ModelProblem("no key").exit_code == 8


def test_a_hint_installs_for_the_python_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``activate`` the first pip on PATH is the system's, which refuses or installs elsewhere."""
    hint = "pip install 'ncu-assist[query]'"
    ours, other = tmp_path / "ours" / "python3", tmp_path / "other" / "pip"
    for path in (ours, other, ours.with_name("pip")):
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(ours))
    for first, told in (("other", f"{ours} -m {hint}"), ("ours", hint), ("nowhere", f"{ours} -m {hint}")):
        monkeypatch.setenv("PATH", str(tmp_path / first))
        assert errors.for_this_python(hint) == told
        assert errors.for_this_python("ncu-assist list") == "ncu-assist list"
        assert EnvironmentProblem("torch is not installed", hint).__notes__ == [f"try: {told}"], "as a traceback shows"


def test_in_a_notebook_a_hint_installs_with_its_magic(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    for running, told in ((object(), "try: %pip install ninja"), (None, "try: ")):
        monkeypatch.setattr(ipython, "get_ipython", lambda running=running: running, raising=False)
        error = EnvironmentProblem("ninja is not installed", "pip install ninja")
        assert error.__notes__[0].startswith(told)
        assert ("%" in error.__notes__[0]) == (running is not None)
        assert error.hint == "pip install ninja", "the command line says it in its own way"
        assert EnvironmentProblem("no GPU", "nvidia-smi").__notes__ == ["try: nvidia-smi"]
