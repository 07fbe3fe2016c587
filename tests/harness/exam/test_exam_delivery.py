"""A build that runs while the process that answers starts: what it fails with ends the exam."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_exams import LIMITS, plan_of
from planted import PYTHON
from requirements import needs

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.local import Local
from ncu_assist.harness.exam.client import Exam, NotBuilt


def _failed() -> dict[str, BuildOutcome]:
    right = BuildOutcome("v0_right", Path("v0_right.py"), "", False, 0.1)
    return {"v0_right": right, "v1_draft": BuildOutcome("v1_draft", None, "error: no", False, 0.1)}


def _no_compiler() -> dict[str, BuildOutcome]:
    raise EnvironmentProblem("there is no compiler")


@needs("torch")
@pytest.mark.parametrize(("build", "error"), [(_failed, NotBuilt), (_no_compiler, EnvironmentProblem)])
def test_a_build_that_fails_ends_the_process_that_waits(tmp_path: Path, build: object, error: type) -> None:
    with Exam.of(plan_of(tmp_path, PYTHON["v0_right.py"])) as exam, pytest.raises(error) as raised:
        exam.measure(build, Local(tmp_path / "locks"), lambda event: None, LIMITS)  # type: ignore[arg-type]
    if isinstance(raised.value, NotBuilt):
        assert raised.value.outcomes["v1_draft"].log == "error: no"
