"""The papers of an exam: what the sandboxed side is asked, what it hands in, and what only the trusted side knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ncu_assist.harness.request import REQUEST_FILE, HarnessRequest
from ncu_assist.record import Check, Device

Purpose = Literal["check", "bench", "profile"]
ARTIFACTS = "artifacts.json"  # in the readable folder, once everything is built
QUESTIONS = "questions.json"  # in the folder of questions, written last: where it is, all the others are
PUBLIC_SEED = 0  # of the first question on the default workload: what anybody would try first
ANSWERS, PATCHED = "answers.jsonl", "patched.json"


@dataclass(frozen=True)
class Input:
    """One input of a question: a tensor in a file of its raw bytes, or a number as it is (no dtype then)."""

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    file: str = ""
    value: int | float | None = None


@dataclass(frozen=True)
class Question:
    """One call to make. ``inputs`` is empty until the question is set."""

    number: int
    workload: str
    purpose: Purpose
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A job for the sandboxed side. ``request`` names sealed sources; ``examined`` are the versions that answer.

    Its artifacts come later, in the file ``artifacts``: they are being built while the process starts.
    """

    request: HarnessRequest
    questions: str
    artifacts: str
    examined: tuple[str, ...]
    file: str

    @property
    def path(self) -> Path:
        return Path(self.file)


@dataclass(frozen=True)
class Answer:
    """What the sandboxed side says of a call beside its outputs.

    ``touched``: what was written that is no output. ``again``: a repeat gave other outputs, which were handed in too.
    """

    version: str
    question: int
    touched: str
    again: bool


@dataclass(frozen=True)
class Secret:
    """What never enters the sandbox: the seed of each question, and the folder with the reference."""

    kernel_folder: str
    device: str
    questions: tuple[Question, ...]
    seeds: tuple[int, ...]
    set_to: str  # the folder of the questions
    folder: str  # the trusted one

    @property
    def path(self) -> Path:
        return Path(self.folder) / REQUEST_FILE


@dataclass(frozen=True)
class Suspicion:
    """A way of cheating that an answer shows: its id, and what was seen in words."""

    version: str
    id: str
    words: str


@dataclass(frozen=True)
class Grades:
    """What grading gave: a check for each version and workload, and what is wrong with an answer beyond being wrong.

    ``device`` is the GPU as the trusted side sees it, None on a CPU: what a draft is judged by hangs on it.
    """

    checks: dict[str, tuple[Check, ...]]
    suspicions: tuple[Suspicion, ...]
    device: Device | None = None


def answer_file(version: str, question: int, output: int, again: bool = False) -> str:
    """Return the name of the file with one output of one call."""
    return f"answer-{version}-{question}{'-again' if again else ''}-{output}.bin"
