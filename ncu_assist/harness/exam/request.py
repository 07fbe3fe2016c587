"""What the parent asks of the two sides of an exam, what these hand in, and the folders where all of it lies.

Samples leave the sandbox as rows of JSON, which take no more memory than their file says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ncu_assist.harness.names import COPY, EMPTY
from ncu_assist.harness.request import REQUEST_FILE, HarnessRequest
from ncu_assist.record import Check, Device

if TYPE_CHECKING:
    import pandas

QuestionPurpose = Literal["check", "bench", "profile"]
ARTIFACTS = "artifacts.json"  # in the readable folder, once everything is built
QUESTIONS = "questions.json"  # in the folder of questions, written last: where it is, all the others are
PUBLIC_SEED = 0  # of the first question on the default workload: what anybody would try first
ANSWERS, PATCHED = "answers.jsonl", "patched.json"
TASK, GRADED = "task-", "graded-"
SAMPLES = "samples.json"
ROW_BYTES = 256  # at most, of a row; the longest name of a version has some 60 letters
SAMPLE_COLUMNS = ("version", "round", "position", "time_ns", "sm_clock_mhz", "late")
SampleRow = tuple[str, int, int, float, float | None, bool]
NARROW = {"round": "int32", "position": "int32", "sm_clock_mhz": "float64"}  # as bench.SCHEMA has them


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


def write_samples(columns: dict[str, list[object]], out: Path) -> None:
    """Hand in the samples of the one bench, all at once."""
    unfinished = out / f".{SAMPLES}"
    unfinished.write_bytes(msgspec.json.encode(list(zip(*(columns[name] for name in SAMPLE_COLUMNS), strict=True))))
    unfinished.replace(out / SAMPLES)


def most_bytes(versions: Sequence[str], rounds: int) -> int:
    """Return how large a file of samples may be."""
    return ROW_BYTES * rounds * len({*versions, EMPTY, COPY})


def read_samples(path: Path, versions: Sequence[str], rounds: int) -> list[SampleRow]:
    """Return samples as this bench can have given them: each version once in each round, times that are some.

    Raises ValueError, of which msgspec's errors are kinds, or RecursionError for anything else.
    """
    rows = msgspec.json.decode(path.read_bytes(), type=list[SampleRow])
    timed = {*versions, EMPTY, COPY}
    seen: dict[str, set[int]] = {}
    for version, number, position, time_ns, clock, _ in rows:
        if version not in timed:
            raise ValueError("samples of other versions")
        if not 0 <= time_ns < inf or not 0 <= (clock or 0.0) < inf or not 0 <= position < len(timed):
            raise ValueError("times that are none")
        seen.setdefault(version, set()).add(number)
    if len(rows) != rounds * len(seen) or any(numbers != set(range(rounds)) for numbers in seen.values()):
        raise ValueError("other samples than one of each round")
    if not seen.keys() >= set(versions):
        raise ValueError("samples of other versions")
    return rows


def frame_of(rows: Sequence[SampleRow], bench_id: str, workload: str) -> pandas.DataFrame:
    """Return samples as a frame with the columns of bench.SCHEMA."""
    import pandas

    frame = pandas.DataFrame(list(rows), columns=list(SAMPLE_COLUMNS)).astype(NARROW)
    frame.insert(0, "bench_id", bench_id)
    frame.insert(1, "workload", workload)
    return frame
