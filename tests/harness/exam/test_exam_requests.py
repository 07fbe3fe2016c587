"""What an exam is made of before anything runs: workloads, seeds, sealed sources, folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from kernel_folder import TOML, write_kernel
from made_exams import LARGER, SETTINGS, in_processes, plan_of
from planted import CUDA, PYTHON, write_planted
from requirements import needs

from ncu_assist.backends import build_versions
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.harness.exam.plan import (
    PUBLIC_SEED,
    ExaminerRequest,
    ExamRequest,
    examined_workloads,
    new_exam_plan,
    sealed_kernel,
)
from ncu_assist.harness.request import Artifact, HarnessSettings, read_request
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import read_kernel

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def _names(kernel: Kernel, limit: int = 1 << 28) -> list[str]:
    return [w.name for w in examined_workloads(kernel, kernel.versions[-1], limit)]


def test_the_cheapest_workloads_that_differ_in_each_integer_are_examined() -> None:
    kernel = read_kernel(ROOT / "kernels" / "lightning_decode")
    assert _names(kernel) == ["b64_d96", "b1_d128", "b4_d96"]


def test_large_ones_are_left_out_but_the_default_one(tmp_path: Path) -> None:
    kernel = read_kernel(write_kernel(tmp_path, toml=LARGER))
    assert _names(kernel) == ["small", "n7", "odd"]
    assert _names(kernel, limit=56) == ["small", "n7"]


def test_a_workload_of_another_dtype_is_for_those_that_serve_it(tmp_path: Path) -> None:
    toml = TOML + '[workloads.half]\nn = 1024\ndtype = "float16"\n'
    assert _names(read_kernel(write_kernel(tmp_path, toml=toml))) == ["small", "odd", "half"]
    served = {"v0_torch.py": "# dtypes: float32\n"}
    assert _names(read_kernel(write_kernel(tmp_path, served, toml))) == ["small", "odd"]


def test_seeds_are_secret_but_the_first_and_stay_out_of_the_sandbox(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "def add_one(x, y):\n    pass\n")
    secret = read_request(plan.secret.path, ExaminerRequest)
    assert secret == plan.secret
    assert [(q.workload, q.purpose) for q in secret.questions] == [
        *[("small", "check")] * SETTINGS.trials,
        ("small", "bench"),
        ("small", "profile"),
        *[("odd", "check")] * SETTINGS.trials,
    ]
    assert secret.seeds[0] == PUBLIC_SEED
    assert len(set(secret.seeds)) == len(secret.questions)
    readable = [file for file in plan.folders.readable.rglob("*") if file.is_file()]
    assert readable
    for seed in secret.seeds[1:]:
        assert all(str(seed) not in file.read_text() for file in readable)
    assert not plan.folders.secret.is_relative_to(plan.folders.readable)


def test_sealed_sources_are_those_asked_for_and_no_reference(tmp_path: Path) -> None:
    sources = {"v0_a.cu": '#include "shared.h"\n', "v1_b.py": "x = 1\n", "v2_c.py": "y = 2\n", "shared.h": "int a;\n"}
    kernel = read_kernel(write_kernel(tmp_path / "project", sources))
    sealed = sealed_kernel(kernel, (kernel.versions[0], kernel.versions[1]), tmp_path / "inside")
    assert {file.name for file in sealed.folder.iterdir()} == {
        "kernel.toml",
        "reference.py",
        "shared.h",
        "v0_a.cu",
        "v1_b.py",
    }
    assert sealed.workloads == kernel.workloads
    assert "def reference" not in sealed.reference.read_text()


def test_the_tripwire_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ncu_assist.backends.python import import_file
    from ncu_assist.harness.exam.client import EventSummary

    kernel = read_kernel(write_kernel(tmp_path / "project"))
    sealed = sealed_kernel(kernel, kernel.versions, tmp_path / "inside")
    with pytest.raises(ImportError):
        import_file(sealed.reference)
    summary = EventSummary("v1_draft")
    assert not summary.tripped
    for line in capsys.readouterr().out.splitlines():
        summary.line(line)
    assert summary.tripped


@needs("torch", "nvcc", "ninja")
def test_what_is_built_goes_where_the_sandbox_can_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    sources = {"v0_right.cu": CUDA["v0_right.cu"], "v1_draft.py": PYTHON["v0_right.py"]}
    kernel = read_kernel(write_planted(tmp_path, sources))
    plan = new_exam_plan(kernel, kernel.versions, HarnessSettings(stages=(), rounds=8), tmp_path / "work")
    outcomes = build_versions(plan.kernel, plan.kernel.versions, tmp_path / "work")
    plan.deliver(outcomes)
    exam_request = plan.write_request("check", ("check",))
    artifacts = msgspec.json.decode(Path(exam_request.artifacts).read_bytes(), type=list[Artifact])
    assert [artifact.version for artifact in artifacts] == ["v0_right", "v1_draft"]
    files = [*(Path(artifact.path) for artifact in artifacts), Path(exam_request.request.helpers or "")]
    assert all(file.is_file() and file.is_relative_to(plan.folders.readable) for file in files)
    assert read_request(exam_request.path, ExamRequest) == exam_request
    assert exam_request.path.is_relative_to(plan.folders.readable)


@needs("torch", "nvcc", "ninja")
def test_without_a_gpu_an_exam_says_so(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(EnvironmentProblem, match="cannot use a GPU"):
        in_processes(plan_of(tmp_path, PYTHON["v0_right.py"], replace(SETTINGS, device="cuda")), tmp_path)
