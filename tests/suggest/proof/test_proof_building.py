"""What a sandboxed build leaves is taken for what it is: outcomes of the versions, built where they were to be."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kernel_folder import PYTHON_VERSION, TOML
from patience import CEILING_S
from pipeline.measured import Notes
from planted import PYTHON, write_planted
from requirements import require
from suggest.proof.on_cpu import reply_of
from suggest.recorded import made_project

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.building import OUTCOMES, encode
from ncu_assist.errors import EnvironmentProblem, StageFailed
from ncu_assist.executors.local import held, lock_folder
from ncu_assist.harness.exam.plan import ExamPlan, new_exam_plan
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.process import Completed
from ncu_assist.project import Project
from ncu_assist.spec_file import load_kernel, read_kernel
from ncu_assist.store import Store
from ncu_assist.suggest.drafting import source_of_saved
from ncu_assist.suggest.proof import building
from ncu_assist.suggest.proof.building import (
    DraftBuilds,
    DraftCompiler,
    build,
    build_draft,
    functions_of,
    without_counts,
)
from ncu_assist.suggest.session import SuggestRequest, SuggestSession


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
    return build(plan.kernel, plan.versions, Says(data, out), plan.folders.readable, out)


def outcomes(**artifacts: Path) -> bytes:
    return encode({name: BuildOutcome(name, path, "", False, 0.1) for name, path in artifacts.items()})


def test_versions_and_what_was_built_of_them(plan: ExamPlan, tmp_path: Path) -> None:
    inside = plan.kernel.version("v0_right").path
    found = built(plan, outcomes(v0_right=inside, v1_draft=tmp_path / "out" / "x.so"), tmp_path / "out")
    assert [one.artifact for one in found.values()] == [inside, tmp_path / "out" / "x.so"]


def test_it_is_for_the_gpu_that_is_used_and_hidden(
    plan: ExamPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, str] = {}

    class Sees(Says):
        def run(self, argv: Any, **how: Any) -> Completed:
            seen.update(how["env"])
            return super().run(argv, **how)

    monkeypatch.setattr(building, "find_nvcc", lambda: None)
    monkeypatch.setattr(building, "find_arch", lambda nvcc: "sm_80")
    script = plan.kernel.version("v1").path
    build(plan.kernel, ("v1_draft",), Sees(outcomes(v1_draft=script), tmp_path), script.parents[2], tmp_path)
    assert (seen["CUDA_VISIBLE_DEVICES"], seen["NCU_ASSIST_ARCH"]) == ("-1", "sm_80")


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


LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN5inner6cumsumILi4EEEvPKfPfi' for 'sm_90a'
ptxas info    : Function properties for _ZN5inner6cumsumILi4EEEvPKfPfi
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 16 bytes cumulative stack size, 4352 bytes smem
ptxas info    : Compile time = 14.708 ms
kernels/k/v2_x.cu(7): warning #177-D: variable "n" was declared but never referenced
ptxas info    : Compiling entry function 'plain_c' for 'sm_90a'
ptxas info    : Function properties for plain_c
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 22 registers, used 0 barriers
"""


def test_what_ptxas_counts_and_what_the_compiler_says_beside_it() -> None:
    first, second = functions_of(LOG)
    assert (first.name, first.registers, first.stack_bytes, first.spilled_bytes, first.shared_bytes) == (
        *("cumsum<4>", 32, 16, 20, 4352),
    )
    assert (second.name, second.registers, second.spilled_bytes, second.shared_bytes) == ("plain_c", 22, 0, 0)
    assert without_counts(LOG) == 'kernels/k/v2_x.cu(7): warning #177-D: variable "n" was declared but never referenced'


SASS = """\
\tcode for sm_90a
\t\tFunction : _ZN5inner6cumsumILi4EEEvPKfPfi
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;             /* 0x00000a00ff017b82 */
                                                                      /* 0x000fe20000000800 */
        /*0010*/                   FADD R2, R2, R3 ;                  /* 0x0000000302027221 */
        /*0020*/                   FADD.FTZ R4, R4, R3 ;              /* 0x0000000304047221 */
        /*0030*/              @!P1 BRA P0, 0x20 ;                     /* 0x0000000000cc9947 */
        /*0040*/              @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;       /* 0x0000000104048890 */
        /*0050*/               @P0 BRA 0x10 ;                         /* 0x0000000000047947 */
        /*0060*/                   EXIT ;                             /* 0x000000000000794d */
        /*0070*/                   BRA 0x70;                          /* 0xfffffffc00fc7947 */
        /*0080*/                   NOP;                               /* 0x0000000000007918 */
\t\tFunction : other
        /*0000*/                   EXIT ;                             /* 0x000000000000794d */
"""


def test_what_the_code_holds_is_counted_beside() -> None:
    """Two loops, one in the other; what stands behind the end is no work."""
    first, second = functions_of(LOG, SASS)
    assert (first.instructions, first.loops) == (7, (2,))
    assert list(first.opcodes.items())[:3] == [("FADD", 2), ("BRA", 2), ("LDC", 1)]
    assert (second.instructions, second.loops, second.opcodes) == (0, (), {})  # not in the code
    assert first.warps["1024"] == 64  # 32 registers a thread
    assert first.warps["64"] == 2 * min(32, 233472 // (4352 + 1024))


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z6cumsumILb1EEvPKfPfi", "cumsum<true>"),
        ("_Z6cumsumILb0ELin4EEvPKfPfi", "cumsum<false, -4>"),
        ("_Z4copyIf13__nv_bfloat16EvPT_", "copy<float, __nv_bfloat16>"),
        ("_Z4copyISt4pairIffEEvPT_", "copy"),
        ("_ZL6staticPf", "static"),
        ("_ZN12_GLOBAL__N_15inner4scanEPf", "scan"),
        ("plain_c", "plain_c"),
        ("_Z", "_Z"),
    ],
)
def test_a_kernel_is_called_as_in_its_source(symbol: str, name: str) -> None:
    assert building.plain_name(symbol) == name


def test_a_build_waits_for_nobody_who_uses_a_gpu_or_builds(tmp_path: Path) -> None:
    require("bwrap")
    project = made_project(tmp_path)
    (parent,) = Store(project.reports).runs()
    source = "next.py", PYTHON_VERSION.encode() + b"# next\n"
    with held(lock_folder(), "gpu--1", "another build", 0):
        built = build_draft(project, True, load_kernel(project, "add_one"), parent, source, tmp_path / "made", True)
    assert built.outcome.artifact is not None
    assert built.sandbox == "bwrap"
    assert built.told().said == building.ONLY_READ, "nothing was compiled: that compiles proves little"
    moved = built.delivered(tmp_path / "exam")
    assert {one.artifact for one in moved.values()} == {
        tmp_path / "exam" / "kernels" / "add_one" / name for name in ("v1_torch.py", "v2_next.py")
    }


def test_builds_of_several_drafts_run_beside_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(2, timeout=CEILING_S)

    def meets(*_: Any) -> str:
        together.wait()  # which breaks where one build waits for the other
        return "built"

    monkeypatch.setattr(building, "build_draft", meets)
    monkeypatch.setattr(building.os, "cpu_count", lambda: 2)
    project = made_project(tmp_path)
    builds = DraftBuilds(project)
    made = [_drafted(project, number) for number in (2.0, 3.0)]
    for task, stored in made:
        builds.begin(task, stored)
    assert [builds.result(task, stored) for task, stored in made] == ["built", "built"]
    builds.close()
    assert not list((project.work / "proofs").iterdir())


def _drafted(project: Project, number: float) -> tuple[Any, Any]:
    source = PYTHON_VERSION.replace("1.0", str(number))
    request = SuggestRequest("add_one/v1")
    session = SuggestSession(project, request, source_of_saved(reply_of(source)), Notes())
    (stored,) = session.run().drafts
    from ncu_assist.suggest.session import draft_task

    return draft_task(project, request, "fences"), stored


def test_where_nothing_can_be_compiled_a_draft_stays_one_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise EnvironmentProblem("there is no nvcc")

    monkeypatch.setattr(building, "build_draft", fails)
    project, notes = made_project(tmp_path), Notes()
    task, stored = _drafted(project, 2.0)
    compiler = DraftCompiler(project, notes)
    assert compiler.prove(task, stored) == (stored, "")
    assert compiler.told == []
    assert "was not compiled: there is no nvcc" in notes.notes[-1]
