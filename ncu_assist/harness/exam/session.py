"""The sandboxed side's work on a request: sealed versions, questions from files, answers into files.

It remembers what measures and compares before a draft is loaded, and notes what was replaced afterwards.
"""

from __future__ import annotations

import importlib
import sys
import time
import types
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ncu_assist.errors import StageFailed
from ncu_assist.harness.exam import tensor_files
from ncu_assist.harness.exam.request import PATCHED, QUESTIONS, ExamQuestion, ExamRequest, QuestionPurpose
from ncu_assist.harness.exam.tensor_files import AnswerWriter
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.request import Artifact
from ncu_assist.harness.session import HarnessSession
from ncu_assist.spec import Workload

OURS = ("ncu_assist.harness.", "ncu_assist.backends.")
FOREIGN = {
    "time": "perf_counter_ns perf_counter monotonic_ns monotonic time_ns time process_time_ns sleep",
    "ctypes": "CDLL CDLL.__getattr__ CDLL.__getitem__ c_void_p c_int64",
    "random": "Random Random.shuffle",
    "numpy": "fromfile median",
    "torch": (
        "equal empty empty_like zeros from_numpy Tensor Tensor.copy_ Tensor.clone Tensor.fill_ Tensor.nonzero "
        "Tensor.__ne__ Tensor.__eq__ Tensor.view Tensor.reshape Tensor.numel Tensor.cpu Tensor.numpy Tensor.data_ptr "
        "Tensor.data Tensor.detach Tensor.contiguous Tensor.__getitem__ Tensor.__setitem__"
    ),
    "torch.cuda": (
        "synchronize current_stream stream Stream Stream.synchronize Event Event.__new__ Event.record "
        "Event.elapsed_time Event.synchronize Event.query"
    ),
    "torch._C": "_cuda_synchronize _cuda_getCurrentStream",
    "torch.cuda.nvtx": "range_push range_pop",
}
ABSENT = object()
POLL_S = 0.01
SET_TIMEOUT_S = 300.0  # the other side imports torch and opens the GPU, as this one did; so long may a build take


class TamperCheck:
    """Remembers the functions that must not change: those of torch, the clocks, ctypes, and this package's own."""

    def __init__(self) -> None:
        self._kept = dict(_watched())
        self._replaced: dict[str, None] = {}

    def replaced(self) -> tuple[str, ...]:
        """Return the names of all that was found replaced or rewritten so far, now included."""
        now = dict(_watched())
        found = (name for name, was in self._kept.items() if not _is_untouched(was, now.get(name, (ABSENT, None))))
        self._replaced |= dict.fromkeys(found)
        return tuple(self._replaced)


def _is_untouched(was: tuple[Any, Any], now: tuple[Any, Any]) -> bool:
    return was[0] is now[0] and was[1] is now[1]


def _watched() -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield each function with its code, which can be exchanged too."""
    for module, names in FOREIGN.items():
        owner = sys.modules.get(module) or importlib.import_module(module)
        for name in names.split():
            found = _static(owner, name)
            if found is not ABSENT:
                yield f"{module}.{name}", (found, getattr(found, "__code__", None))
    for name, module_object in list(sys.modules.items()):
        if name.startswith(OURS):
            yield from _functions(name, vars(module_object))


def _static(owner: Any, name: str) -> Any:
    """Return an attribute as it is written down, through the classes that it is inherited from."""
    for part in name.split("."):
        places = owner.__mro__ if isinstance(owner, type) else (owner,)
        owner = next((vars(place)[part] for place in places if part in vars(place)), ABSENT)
        if owner is ABSENT:
            break
    return owner


def _functions(prefix: str, names: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, value in list(names.items()):
        if isinstance(value, types.FunctionType):
            yield f"{prefix}.{name}", (value, value.__code__)
        elif isinstance(value, type) and value.__module__.startswith(OURS):
            yield f"{prefix}.{name}", (value, None)
            if value.__module__ == prefix:
                yield from _functions(f"{prefix}.{name}", vars(value))


class ExamSession(HarnessSession):
    """One sandboxed process. What measures is made and remembered here, before any version is loaded."""

    def __init__(self, exam_request: ExamRequest) -> None:
        super().__init__(exam_request.request)
        self.exam_request = exam_request
        self.answers = AnswerWriter(self.out)
        self._questions = Path(exam_request.questions)
        self._replaced = TamperCheck().replaced
        self._sleep, self._now = time.sleep, time.monotonic

    def note_replaced(self) -> None:
        """Note all that was replaced so far."""
        (self.out / PATCHED).write_bytes(msgspec.json.encode(self._replaced()))

    @cached_property
    def questions(self) -> tuple[ExamQuestion, ...]:
        """All questions, once they are set; raises StageFailed if they do not come."""
        return msgspec.json.decode(self._awaited(self._questions / QUESTIONS), type=tuple[ExamQuestion, ...])

    def await_versions(self) -> None:
        """Wait until the versions are built, and remember where they are; raises StageFailed if they do not come."""
        found = msgspec.json.decode(self._awaited(Path(self.exam_request.artifacts)), type=tuple[Artifact, ...])
        self.request = replace(self.request, artifacts=found)

    def _awaited(self, file: Path) -> bytes:
        deadline = self._now() + SET_TIMEOUT_S
        while not file.is_file():
            if self._now() > deadline:
                raise StageFailed(f"{file.name} of the exam did not come")
            self._sleep(POLL_S)
        return file.read_bytes()

    def questions_on(self, workload: Workload, *purposes: QuestionPurpose) -> list[ExamQuestion]:
        """Return the questions on a workload that serve one of these purposes."""
        return [q for q in self.questions if q.workload == workload.name and q.purpose in purposes]

    def inputs(self, question: ExamQuestion) -> Tensors:
        """Return the inputs of a question on the device."""
        return tuple(tensor_files.read_input(given, self._questions, self.device) for given in question.inputs)

    def problem(self, workload: Workload) -> Problem:
        """Return a workload as a problem without a reference: its outputs can be made, not its inputs."""
        return Problem(self.kernel, workload, None, self.device)

    def answering(self, workload: Workload) -> Sequence[str]:
        """Return the versions that answer questions on a workload."""
        return [version for version in self.versions(workload) if version in self.exam_request.examined]

    @cached_property
    def _module(self) -> Any:
        raise AssertionError("an exam has no reference")
