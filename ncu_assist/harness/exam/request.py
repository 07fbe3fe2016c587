"""What the parent asks of the two sides of an exam, what these hand in, and the folders where all of it lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ncu_assist.harness.request import REQUEST_FILE, HarnessRequest
from ncu_assist.record import Check, Device

QuestionPurpose = Literal["check", "bench", "profile"]
ARTIFACTS = "artifacts.json"  # in the readable folder, once everything is built
QUESTIONS = "questions.json"  # in the folder of questions, written last: where it is, all the others are
PUBLIC_SEED = 0  # of the first question on the default workload: what anybody would try first
ANSWERS, PATCHED = "answers.jsonl", "patched.json"
TASK, GRADED = "task-", "graded-"


@dataclass(frozen=True)
class QuestionInput:
    """One input of a question: a tensor in a file of its raw bytes, or a number as it is (no dtype then)."""

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    file: str = ""
    value: int | float | None = None


@dataclass(frozen=True)
class ExamQuestion:
    """One call to make. ``inputs`` is empty until the question is set."""

    number: int
    workload: str
    purpose: QuestionPurpose
    inputs: tuple[QuestionInput, ...] = ()


@dataclass(frozen=True)
class ExamRequest:
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
class ExamAnswer:
    """What the sandboxed side says of a call beside its outputs.

    ``touched``: what was written that is no output. ``again``: a repeat gave other outputs, which were handed in too.
    """

    version: str
    question: int
    touched: str
    again: bool


@dataclass(frozen=True)
class ExaminerRequest:
    """What never enters the sandbox: the seed of each question, and the folder with the reference."""

    kernel_folder: str
    device: str
    questions: tuple[ExamQuestion, ...]
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


@dataclass(frozen=True)
class GradingTask:
    """Answers to grade: the lines that came with them, and the sandbox's folder with the outputs."""

    name: str
    purposes: tuple[QuestionPurpose, ...]
    examined: tuple[str, ...]
    answers: tuple[ExamAnswer, ...]
    out: str


def hand_over(task: GradingTask, folder: Path) -> Path:
    """Write a task where the trusted child finds it and return the file that its grades will come in."""
    file = folder / f"{TASK}{task.name}.json"
    unfinished = file.with_suffix(".tmp")
    unfinished.write_bytes(msgspec.json.encode(task))
    unfinished.replace(file)
    return graded_file(file)


def task_files(folder: Path) -> Iterator[Path]:
    """Yield the tasks that have no grades yet."""
    return (file for file in sorted(folder.glob(f"{TASK}*.json")) if not graded_file(file).exists())


def graded_file(task: Path) -> Path:
    """Return the file for the grades of a task."""
    return task.with_name(task.name.replace(TASK, GRADED, 1))


@dataclass(frozen=True)
class ExamFolders:
    """One exam below ``root``.

    ``secret`` must not exist in the sandbox, ``readable`` is read-only there (the program starts in it), ``writable``
    is where answers go.
    """

    root: Path

    @property
    def secret(self) -> Path:
        return self.root / "secret"

    @property
    def readable(self) -> Path:
        return self.root / "inside"

    @property
    def writable(self) -> Path:
        return self.root / "out"

    @property
    def questions(self) -> Path:
        return self.readable / "questions"

    @property
    def examiner_request_file(self) -> Path:
        """What the trusted child waits for."""
        return self.secret / REQUEST_FILE

    def request_file(self, stage: str) -> Path:
        """What the sandboxed child of a stage waits for."""
        return self.readable / f"{stage}.json"

    def out(self, stage: str) -> Path:
        """Return where the answers of a stage go."""
        return self.writable / stage

    def collected(self, stage: str) -> Path:
        """Return where what was taken over of them lies."""
        return self.secret / stage

    def make(self) -> None:
        """Create them: the secret one for this user alone, the others so that a sandbox's user can look into them."""
        closed, open_to_look = 0o700, 0o755
        for folder in (self.secret, self.readable, self.questions, self.writable):
            folder.mkdir(parents=True)
            folder.chmod(closed if folder == self.secret else open_to_look)
