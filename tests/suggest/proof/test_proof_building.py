"""What a sandboxed build leaves is taken for what it is: outcomes of the versions, built where they were to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kernel_folder import TOML
from planted import PYTHON, write_planted

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.building import OUTCOMES, encode
from ncu_assist.errors import StageFailed
from ncu_assist.harness.exam.plan import ExamPlan, new_exam_plan
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.process import Completed
from ncu_assist.spec_file import read_kernel
from ncu_assist.suggest.proof.prover import build


@dataclass
class Says:
    """An executor whose program does nothing but leave these outcomes."""

    data: bytes
    out: Path
    name: str = "says"

    def run(self, argv: Any, **how: Any) -> Completed:
        (self.out / OUTCOMES).write_bytes(self.data)
        return Completed(tuple(argv), 0, "", "", 0.1, False)


@pytest.fixture
def plan(tmp_path: Path) -> ExamPlan:
    folder = write_planted(tmp_path, dict.fromkeys(("v0_right.py", "v1_draft.py"), PYTHON["v0_right.py"]))
    (folder / "kernel.toml").write_text(TOML)
    kernel = read_kernel(folder)
    return new_exam_plan(kernel, kernel.versions, HarnessSettings(stages=(), device="cpu"), tmp_path / "work")


def built(plan: ExamPlan, data: bytes, out: Path) -> dict[str, BuildOutcome]:
    out.mkdir()
    return build(plan, Says(data, out), out)


def outcomes(**artifacts: Path) -> bytes:
    return encode({name: BuildOutcome(name, path, "", False, 0.1) for name, path in artifacts.items()})


def test_versions_and_what_was_built_of_them(plan: ExamPlan, tmp_path: Path) -> None:
    inside = plan.kernel.version("v0_right").path
    found = built(plan, outcomes(v0_right=inside, v1_draft=tmp_path / "out" / "x.so"), tmp_path / "out")
    assert [one.artifact for one in found.values()] == [inside, tmp_path / "out" / "x.so"]


def test_anything_else_is_refused(plan: ExamPlan, tmp_path: Path) -> None:
    inside, secret = plan.kernel.version("v0_right").path, plan.folders.secret / "request.json"
    wrong = (
        outcomes(v0_right=inside, v1_draft=secret),
        outcomes(v0_right=inside, v1_draft=tmp_path / "out" / ".." / "key"),
        outcomes(v0_right=inside),
        msgspec.json.encode({"v0_right": 1}),
        b"[" * 200_000,
    )
    for number, data in enumerate(wrong):
        with pytest.raises(StageFailed, match="building left"):
            built(plan, data, tmp_path / f"out{number}")
