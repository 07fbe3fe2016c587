"""Plan an exam: its workloads, sealed sources, questions with secret seeds, and folders."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ncu_assist.atomic import atomic_write
from ncu_assist.backends import backend_of
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.cuda import compile_library
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.errors import UsageProblem
from ncu_assist.harness.events import COPY, EMPTY
from ncu_assist.harness.request import (
    DEVICE_SOURCE,
    REQUEST_FILE,
    SEED_LIMIT,
    Artifact,
    HarnessRequest,
    HarnessSettings,
    Stage,
    write_request,
)
from ncu_assist.record import Check, Device
from ncu_assist.sources import source_files
from ncu_assist.spec import Kernel, Version, Workload
from ncu_assist.spec_file import FILE, read_kernel

if TYPE_CHECKING:
    import pandas


QuestionPurpose = Literal["check", "bench", "profile"]
ARTIFACTS = "artifacts.json"  # in the readable folder, once everything is built
QUESTIONS = "questions.json"  # in the folder of questions, written last, when all others are there
PUBLIC_SEED = 0  # of the first question on the default workload: the seed that anybody would try first
ANSWERS, PATCHED = "answers.jsonl", "patched.json"
TASK, GRADED = "task-", "graded-"
SAMPLES = "samples.json"
ROW_BYTES = 256  # most bytes of a row; the longest name of a version has about 60 letters
SAMPLE_COLUMNS = ("version", "round", "position", "time_ns", "sm_clock_mhz", "late")
SampleRow = tuple[str, int, int, float, float | None, bool]
NARROW = {"round": "int32", "position": "int32", "sm_clock_mhz": "float64"}  # as bench.SCHEMA has them


@dataclass(frozen=True)
class QuestionInput:
    """One input of a question: a tensor as a file of its raw bytes, or a number (without dtype)."""

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
    """The sandboxed side's report on a call, in addition to its outputs.

    ``touched`` names memory that was written outside the outputs. ``again``: a repeat gave other outputs, which were
    handed in, too.
    """

    version: str
    question: int
    touched: str
    again: bool


@dataclass(frozen=True)
class ExaminerRequest:
    """The job of the trusted side: the seeds and the reference's folder, which never enter the sandbox."""

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
    """A sign of cheating in an answer: its id and a description."""

    version: str
    id: str
    words: str


@dataclass(frozen=True)
class Grades:
    """The result of grading: a check for each version and workload, and suspicions about the answers.

    ``device`` is the GPU as the trusted side sees it, None on a CPU; the judgement of a draft depends on it.
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
    """Write a task for the trusted child and return the file that will contain its grades."""
    file = folder / f"{TASK}{task.name}.json"
    with atomic_write(file) as target:
        target.write(msgspec.json.encode(task))
    return graded_file(file)


def task_files(folder: Path) -> Iterator[Path]:
    """Yield the files of tasks without grades."""
    return (file for file in sorted(folder.glob(f"{TASK}*.json")) if not graded_file(file).exists())


def graded_file(task: Path) -> Path:
    """Return the file for the grades of a task."""
    return task.with_name(task.name.replace(TASK, GRADED, 1))


@dataclass(frozen=True)
class ExamFolders:
    """One exam below ``root``.

    ``secret`` must not exist in the sandbox, ``readable`` is read-only there (the program starts in it), and answers
    go to ``writable``.
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
        """The request file that the trusted child waits for."""
        return self.secret / REQUEST_FILE

    def request_file(self, stage: str) -> Path:
        """Return the request file that the sandboxed child of a stage waits for."""
        return self.readable / f"{stage}.json"

    def out(self, stage: str) -> Path:
        """Return the folder for the answers of a stage."""
        return self.writable / stage

    def collected(self, stage: str) -> Path:
        """Return the folder for the trusted side's copies of a stage's answers."""
        return self.secret / stage

    def make(self) -> None:
        """Create the folders: the secret one for this user alone, the others readable by a sandbox's user."""
        closed, open_to_look = 0o700, 0o755
        for folder in (self.secret, self.readable, self.questions, self.writable):
            folder.mkdir(parents=True)
            folder.chmod(closed if folder == self.secret else open_to_look)


def write_samples(columns: dict[str, list[object]], out: Path) -> None:
    """Hand in the samples of the one bench, all at once."""
    with atomic_write(out / SAMPLES) as file:
        file.write(msgspec.json.encode(list(zip(*(columns[name] for name in SAMPLE_COLUMNS), strict=True))))


def most_bytes(versions: Sequence[str], rounds: int) -> int:
    """Return the largest allowed size of a file of samples, in bytes."""
    return ROW_BYTES * rounds * len({*versions, EMPTY, COPY})


def read_samples(path: Path, versions: Sequence[str], rounds: int) -> list[SampleRow]:
    """Return the samples of a file if this bench can have written them: each version once per round, with valid times.

    Raises ValueError (msgspec's errors included) or RecursionError for anything else.
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


OTHERS = 2
BYTES_LIMIT = 256 << 20  # moved by a call on other workloads: questions and answers pass through files at about 1 GB/s
TRIPPED = "reference"  # the stage in the tripwire's event
TRIPWIRE = '''\
"""Not the reference: that stays outside. Whoever imports this file is told of."""

from ncu_assist.harness.events import Event, emit

emit(Event("failed", "reference", text="the reference was imported"))
raise ImportError("there is no reference here")
'''


def examined_workloads(kernel: Kernel, version: Version, limit: int = BYTES_LIMIT) -> tuple[Workload, ...]:
    """Return the workloads to examine a version on, the default one first.

    The others are served, within ``limit`` bytes, and have the most new integer values, the cheapest of equals first.
    If too few qualify, there are fewer.
    """
    chosen = [kernel.default_workload]
    left = [w for w in kernel.workloads if not w.default and version.serves(w) and _bytes(kernel, w) <= limit]
    while left and len(chosen) <= OTHERS:
        best = min(left, key=lambda w: (-_news(w, chosen), _bytes(kernel, w)))
        chosen.append(best)
        left.remove(best)
    return tuple(chosen)


def refuse_host_inputs(kernel: Kernel) -> None:
    """Raise UsageProblem for a kernel with inputs in host memory.

    An exam swaps inputs behind a held stream. A write to host memory takes effect at once, held or not, so work that a
    draft leaves on another stream would find the right inputs unnoticed.
    """
    if kernel.host_inputs:
        names, lie = ", ".join(kernel.host_inputs), "lies" if len(kernel.host_inputs) == 1 else "lie"
        raise UsageProblem(
            f"drafts of {kernel.name} cannot be examined: {names} {lie} in memory of the host",
            f"write the version by hand, then ncu-assist check {kernel.name}",
        )


def _news(workload: Workload, chosen: Sequence[Workload]) -> int:
    """Return how many values of a workload (its integers and dtype) no chosen workload has."""
    news = workload.integers.items() - {pair for w in chosen for pair in w.integers.items()}
    return len(news) + (workload.dtype not in {w.dtype for w in chosen})


def _bytes(kernel: Kernel, workload: Workload) -> int:
    return kernel.algorithmic_bytes(workload)


def sealed_kernel(kernel: Kernel, versions: Sequence[Version], root: Path) -> Kernel:
    """Write ``root``/kernels/<name> with these versions and the files they include, and return it as a kernel.

    Paths below ``root`` are those of the project: builds are reused, and a profiler finds the sources.
    """
    folder = root / "kernels" / kernel.name
    folder.mkdir(parents=True)
    shutil.copyfile(kernel.folder / FILE, folder / FILE)
    (folder / kernel.reference.name).write_text(TRIPWIRE)
    for version in versions:
        for file in source_files(version.path):
            target = folder / file.relative_to(version.path.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    return read_kernel(folder)


@dataclass(frozen=True)
class ExamPlan:
    """An exam of ``draft`` beside ``parent``. ``kernel`` is the sealed one: build it, with the project's build folder.

    ``settings.stages`` is not used: each request has its own.
    """

    kernel: Kernel
    parent: str
    draft: str
    examined: tuple[str, ...]
    settings: HarnessSettings
    bench_id: str
    folders: ExamFolders
    secret: ExaminerRequest
    work: Path

    @property
    def versions(self) -> tuple[str, ...]:
        """Parent and draft. The parent is first, so that its modules are loaded before the draft."""
        return tuple(dict.fromkeys((self.parent, self.draft)))

    def write_request(self, name: str, stages: tuple[Stage, ...]) -> ExamRequest:
        """Write the request for some stages and return it; its process waits until the versions are delivered.

        Builds the bench's device code if it is needed. Raises EnvironmentProblem if there is no compiler for it.
        """
        out = self.folders.out(name)
        out.mkdir(exist_ok=True)  # exists already if the child was started before its request
        times_gpu = self.settings.device == "cuda" and stages != ("profile",)
        request = HarnessRequest(
            kernel_folder=str(self.kernel.folder),
            artifacts=(),
            workloads=tuple(dict.fromkeys(q.workload for q in self.secret.questions)),
            settings=replace(self.settings, stages=stages),
            seeds=(secrets.randbelow(SEED_LIMIT),),  # of the order within a round
            bench_id=self.bench_id,
            out=str(out),
            helpers=self._helpers() if times_gpu else None,
            nvcc=find_nvcc().version if any(self._backend(v) != "python" for v in self.versions) else None,
        )
        file = str(self.folders.request_file(name))
        exam_request = ExamRequest(request, str(self.folders.questions), str(self._artifacts), self.examined, file)
        write_request(exam_request)
        return exam_request

    def deliver(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        """Put the built versions where requests expect them; a second call does nothing."""
        if self._artifacts.is_file():
            return
        artifacts = [self.artifact(version, outcomes[version]) for version in self.versions]
        with atomic_write(self._artifacts) as file:
            file.write(msgspec.json.encode(artifacts))

    @property
    def _artifacts(self) -> Path:
        return self.folders.readable / ARTIFACTS

    def _backend(self, version: str) -> str:
        return backend_of(self.kernel.version(version).path).name

    def artifact(self, name: str, outcome: BuildOutcome) -> Artifact:
        """Return the artifact of a built version, copied into a folder that the sandbox can read."""
        assert outcome.artifact is not None
        return Artifact(name, self._backend(name), self._inside(outcome.artifact))

    def _helpers(self) -> str:
        return self._inside(compile_library(DEVICE_SOURCE, self.work / "build" / "harness"))

    def _inside(self, file: Path) -> str:
        """Return the path of a built file, copied into the readable folder unless it is there."""
        if file.resolve().is_relative_to(self.folders.readable):
            return str(file.resolve())
        target = self.folders.readable / "built" / file.name
        target.parent.mkdir(exist_ok=True)
        return str(shutil.copy2(file, target))


def new_exam_folders(work: Path) -> ExamFolders:
    """Make the folders of an exam below ``work``."""
    folders = ExamFolders((work / "exam" / secrets.token_hex(6)).resolve())
    folders.make()
    return folders


def new_exam_plan(
    kernel: Kernel,
    versions: tuple[Version, Version],
    settings: HarnessSettings,
    work: Path,
    folders: ExamFolders | None = None,
) -> ExamPlan:
    """Plan an exam of parent and draft below ``work`` and write what it needs, secret and sealed, into ``folders``.

    The draft stays in its folder; its file name gives its version name in the exam. Raises UsageProblem for a kernel
    with inputs in host memory.
    """
    refuse_host_inputs(kernel)
    parent, draft = versions
    folders = folders or new_exam_folders(work)
    bench_id = folders.root.name
    sealed = sealed_kernel(kernel, (parent, draft), folders.readable)
    questions = _questions(kernel, draft, settings.trials)
    secret = ExaminerRequest(
        kernel_folder=str(kernel.folder.resolve()),
        device=settings.device,
        questions=questions,
        seeds=(PUBLIC_SEED, *(1 + secrets.randbelow(SEED_LIMIT - 1) for _ in questions[1:])),
        set_to=str(folders.questions),
        folder=str(folders.secret),
    )
    write_request(secret)
    examined = (draft.name,)
    return ExamPlan(sealed, parent.name, draft.name, examined, settings, bench_id, folders, secret, work)


def _questions(kernel: Kernel, draft: Version, trials: int) -> tuple[ExamQuestion, ...]:
    default, *others = examined_workloads(kernel, draft)
    further: tuple[QuestionPurpose, ...] = ("bench", "profile")
    asked: list[tuple[str, QuestionPurpose]] = [(default.name, "check")] * trials
    asked += [(default.name, purpose) for purpose in further]
    asked += [(workload.name, "check") for workload in others for _ in range(trials)]
    return tuple(ExamQuestion(number, workload, purpose) for number, (workload, purpose) in enumerate(asked))
