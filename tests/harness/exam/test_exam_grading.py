"""What a wrong answer shows: inputs that were kept one by one, calls that differ, files that are no answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kernel_folder import write_kernel  # noqa: E402
from made_exams import SETTINGS  # noqa: E402

from ncu_assist.harness.exam import examiner, tensor_files  # noqa: E402
from ncu_assist.harness.exam.examiner import AnswerGrade, AnswerGrader, QuestionSet  # noqa: E402
from ncu_assist.harness.exam.plan import ExamAnswer, ExamPlan, answer_file, new_exam_plan  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

TOML = """\
summary = "adds two"
inputs = ["x", "z"]
arguments = ["x", "z", "y", "n"]
bytes = "12 * n"
flops = "n"

[outputs]
y = { dtype = "float32", shape = ["n"] }

[tolerance.float32]
norm = 1e-6
rtol = 1e-6
atol = 1e-6

[workloads.small]
n = 64
dtype = "float32"
default = true
"""
REFERENCE = """\
import torch


def make_inputs(workload, seed, device):
    generator = torch.Generator(device=device).manual_seed(seed)
    return tuple(torch.randn(workload["n"], device=device, generator=generator) for _ in range(2))


def reference(x, z):
    return (x.double() + z,)
"""


@pytest.fixture
def plan(tmp_path: Path) -> ExamPlan:
    folder = write_kernel(tmp_path, {"v0_a.py": "", "v1_b.py": ""}, TOML)
    (folder / "reference.py").write_text(REFERENCE)
    kernel = read_kernel(folder)
    return new_exam_plan(kernel, kernel.versions, SETTINGS, tmp_path / "work")


def _grade_answer(plan: ExamPlan, result: object, again: object = None, touched: str = "") -> AnswerGrade:
    out = plan.folders.out("check")
    out.mkdir(exist_ok=True)
    for value, is_again in ((result, False), (again, True)):
        if value is not None:
            tensor_files.write_tensor(value, out / answer_file("v1_b", 1, 0, is_again))
    first, second, *_ = plan.secret.questions
    answer = ExamAnswer("v1_b", 1, touched, again is not None)
    with ThreadPoolExecutor(2) as pool:
        return AnswerGrader(QuestionSet(plan.secret), out, [answer], pool).grade(answer, second, [first])


def test_which_inputs_were_kept_is_said(plan: ExamPlan) -> None:
    questions = QuestionSet(plan.secret)
    (x0, z0), (x1, z1) = (questions.inputs(q) for q in questions.questions[:2])
    assert _grade_answer(plan, x1 + z1).reason == ""
    assert _grade_answer(plan, x0 + z0).reason.startswith(
        "a result of an earlier call came back, or its inputs were kept: "
    )
    assert _grade_answer(plan, x0 + z1).reason.startswith("input 'x' of an earlier call was used: ")
    assert _grade_answer(plan, x1 + z0).reason.startswith("input 'z' of an earlier call was used: ")
    assert _grade_answer(plan, x1 + z0).id == "kept"
    wrong = _grade_answer(plan, x1 - z1)
    assert (wrong.reason.startswith("output 'y': 64 of 64 elements are wrong"), wrong.id) == (True, "")


def test_a_repeat_that_is_right_names_the_stream_on_a_gpu_only(plan: ExamPlan) -> None:
    questions = QuestionSet(plan.secret)
    x, z = questions.inputs(questions.questions[1])
    wrong_then_right = _grade_answer(plan, x - z, x + z)
    assert wrong_then_right.reason.startswith("results differ between identical calls: output 'y'")
    assert wrong_then_right.id == ""
    assert _grade_answer(plan, x + z, x - z).reason.startswith("results differ between identical calls: output 'y'")
    assert _grade_answer(plan, x + z, x + z).reason == ""


def test_on_a_gpu_a_call_that_is_right_once_it_is_waited_for_is_named(
    plan: ExamPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = QuestionSet(plan.secret)
    x, z = questions.inputs(questions.questions[1])
    monkeypatch.setattr(examiner, "on_gpu", lambda problem: True)
    named = _grade_answer(plan, x - z, x + z)
    assert named.reason.startswith("work on another stream is left unfinished: output 'y'")
    assert named.id == "unfinished"
    assert _grade_answer(plan, x - z).id == ""


def test_what_was_touched_decides_alone(plan: ExamPlan) -> None:
    assert _grade_answer(plan, None, touched="input 'x' was modified") == AnswerGrade(
        "input 'x' was modified", "modified"
    )
    assert _grade_answer(plan, None, touched="wrote 4 bytes past the end").id == "outside"


def test_an_answer_of_another_size_is_none(plan: ExamPlan) -> None:
    assert _grade_answer(plan, torch.zeros(63)).reason == (
        "the answer cannot be used: answer-v1_b-1-0.bin, a result of a program in the sandbox, has 252 bytes, not 256"
    )
    (plan.folders.out("check") / answer_file("v1_b", 1, 0)).unlink()
    assert _grade_answer(plan, None).reason.startswith("the answer cannot be used: ")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"])
def test_tensors_cross_as_they_are(dtype: str, tmp_path: Path) -> None:
    tensor = (torch.arange(6) % 2).to(getattr(torch, dtype)).view(2, 3)
    given = tensor_files.write_input("x", tensor.t(), tmp_path, "x.bin")
    assert (given.dtype, given.shape) == (dtype, (3, 2))
    assert torch.equal(tensor_files.read_input(given, tmp_path, "cpu"), tensor.t())
    assert torch.equal(tensor_files.read_answer(tmp_path, "x.bin", dtype, (3, 2), "cpu"), tensor.t())
    assert tensor_files.read_input(tensor_files.write_input("n", 3, tmp_path, "n.bin"), tmp_path, "cpu") == 3


def test_an_empty_tensor_crosses(tmp_path: Path) -> None:
    tensor_files.write_tensor(torch.empty(0, 4), tmp_path / "x.bin")
    assert tensor_files.read_answer(tmp_path, "x.bin", "float32", (0, 4), "cpu").shape == (0, 4)
