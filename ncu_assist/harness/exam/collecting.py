"""What the sandboxed side told and left: who is to blame, and its files copied safely, read strictly, doubted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist.errors import DamagedData, NcuAssistError, StageFailed
from ncu_assist.executors.sandbox import read_result
from ncu_assist.harness import client, results
from ncu_assist.harness.client import ERRORS, STDERR_TAIL, Watch, what_happened
from ncu_assist.harness.events import Event, parse
from ncu_assist.harness.exam.plan import TRIPPED, ExamPlan
from ncu_assist.harness.exam.request import (
    ANSWERS,
    PATCHED,
    SAMPLES,
    ExamAnswer,
    ExamRequest,
    SampleRow,
    Suspicion,
    frame_of,
    most_bytes,
    read_samples,
)
from ncu_assist.harness.results import VersionFailure
from ncu_assist.process import Completed

WORDS_LIMIT = 2_200  # letters of what a draft says; an exception of an honest one is cut at 2,000
NAME_LIMIT = 120  # letters of a name that a draft may have made up
NAMES_SHOWN = 3
SMALL_LIMIT = 1 << 20  # bytes of a file of results; names of all that is sealed would take 0.1 MB
FACTS_LIMIT = 1 << 16  # they become part of the record of a run


class EventSummary:
    """Of the events of a sandboxed process those that matter afterwards, however many there are."""

    def __init__(self, draft: str, on_event: Callable[[Event], None] = lambda event: None) -> None:
        self.draft, self.draft_was_loaded, self.tripped = draft, False, False
        self._on_event = on_event

    def line(self, line: str) -> None:
        """Take one line of the process's stdout."""
        event = parse(line)
        if event is not None:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take an event and pass it on."""
        if (event.event, event.stage, event.version) == ("begin", "load", self.draft):
            self.draft_was_loaded = True
        self.tripped = self.tripped or (event.event, event.stage) == ("failed", TRIPPED)
        self._on_event(event)


def failure_of(completed: Completed, watch: Watch, summary: EventSummary) -> VersionFailure | None:
    """Return how the draft failed where its process did not end well, None where it did.

    Whatever is told after the draft was loaded, the draft may have told. Raises what the process reported before.
    """
    if completed.exit_code == 0 and not completed.timed_out:
        return None
    happened = _happened(completed, watch)
    if summary.draft_was_loaded:
        last = watch.fatal or watch.current
        told = watch.fatal or watch.problem
        words = shortened(told.text if told and told.text else happened)
        stage, workload = (last.stage, last.workload) if last else ("exam", "")
        return VersionFailure(summary.draft, shortened(stage, NAME_LIMIT), shortened(workload, NAME_LIMIT), words, True)
    if watch.problem is not None:
        raise ERRORS.get(watch.problem.exit_code, NcuAssistError)(watch.problem.text, watch.problem.hint)
    words = completed.stderr[-STDERR_TAIL:].strip()
    raise StageFailed(f"the sandboxed process {happened}\n{words}".rstrip(), "ncu-assist doctor")


def _happened(completed: Completed, watch: Watch) -> str:
    """Return how a process ended; one that was told to end while it still talked was not silent, but too slow."""
    if completed.timed_out and not watch.is_stuck():
        return f"was not done after {completed.seconds:.0f} s and was ended"
    return what_happened(completed, watch.limit_s)


def shortened(text: str, limit: int = WORDS_LIMIT) -> str:
    """Return text that a draft may have written, at most so long: it goes into records, tables and prompts."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def take(folder: Path, limits: Mapping[str, int], into: Path) -> tuple[str, ...]:
    """Copy those of the files that are there, regular and of no more bytes than allowed, by name.

    Returns what is wrong with others, in words.
    """
    into.mkdir(parents=True, exist_ok=True)
    faults = []
    for name, limit in limits.items():
        if not os.path.lexists(folder / name):
            continue
        try:
            (into / name).write_bytes(read_result(folder, name, limit))
        except DamagedData as error:
            faults.append(error.message)
    return tuple(faults)


@dataclass(frozen=True)
class CollectedResults:
    """What was taken over. ``measured`` has no checks: those are for the trusted side to say."""

    measured: client.Measured
    answers: tuple[ExamAnswer, ...]
    suspicions: tuple[Suspicion, ...]


def collect_results(
    plan: ExamPlan, exam_request: ExamRequest, summary: EventSummary, failure: results.VersionFailure | None
) -> CollectedResults:
    """Copy the results of a request to the trusted side and return them; ``failure`` is added to those told."""
    collected = plan.folders.collected(Path(exam_request.request.out).name)
    rounds = exam_request.request.settings.rounds
    readers: dict[str, Callable[[Path], object]] = {
        results.FACTS: lambda path: results.read_facts(path.parent),
        results.FAILURES: lambda path: results.read_failures(path.parent),
        ANSWERS: _answers,
        PATCHED: _patched,
        SAMPLES: lambda path: read_samples(path, plan.versions, rounds),
    }
    limits = dict.fromkeys(readers, SMALL_LIMIT)
    limits |= {results.FACTS: FACTS_LIMIT, SAMPLES: most_bytes(plan.versions, rounds)}
    faults = [*take(Path(exam_request.request.out), limits, collected), *_unreadable(collected, readers)]
    if failure is not None:
        results.append_failure(collected, failure)
    said = [Suspicion(plan.draft, "results", f"what the draft's process left is damaged: {fault}") for fault in faults]
    suspicions = (*said, *_seen(plan.draft, collected, summary))
    return CollectedResults(_measured(plan, exam_request, collected), _answers(collected / ANSWERS), suspicions)


def _measured(plan: ExamPlan, exam_request: ExamRequest, collected: Path) -> client.Measured:
    """Return what was measured, with the samples; failures in words of a sane length."""
    found = client.collect(replace(exam_request.request, out=str(collected)))
    failures = {name: shortened(words) for name, words in found.failures.items()}
    rows: list[SampleRow] = []
    if (collected / SAMPLES).is_file():
        rows = read_samples(collected / SAMPLES, plan.versions, exam_request.request.settings.rounds)
    samples = frame_of(rows, plan.bench_id, plan.kernel.default_workload.name) if rows else None
    return replace(found, failures=failures, samples=samples)


def _unreadable(collected: Path, readers: dict[str, Callable[[Path], object]]) -> Iterator[str]:
    """Yield what is wrong with files that cannot be read, and remove them."""
    for name, read in readers.items():
        if not (collected / name).is_file():
            continue
        try:
            read(collected / name)
        except (ValueError, RecursionError) as error:  # msgspec's errors are kinds of the first; nesting is the second
            (collected / name).unlink()
            yield f"{name}: {' '.join(str(error).split())[:200]}"


def _answers(path: Path) -> tuple[ExamAnswer, ...]:
    lines = path.read_bytes().splitlines() if path.is_file() else []
    answers = (msgspec.json.decode(line, type=ExamAnswer) for line in lines)
    return tuple(replace(answer, touched=shortened(answer.touched)) for answer in answers)


def _patched(path: Path) -> tuple[str, ...]:
    return msgspec.json.decode(path.read_bytes(), type=tuple[str, ...]) if path.is_file() else ()


def _seen(draft: str, collected: Path, summary: EventSummary) -> Iterator[Suspicion]:
    if summary.tripped:
        yield Suspicion(draft, "reference", "it imports reference.py")
    patched = _patched(collected / PATCHED)
    if patched:
        more = f" and {len(patched) - NAMES_SHOWN} more" if len(patched) > NAMES_SHOWN else ""
        names = ", ".join(shortened(name, NAME_LIMIT) for name in patched[:NAMES_SHOWN])
        yield Suspicion(draft, "patched", f"it replaced {names}{more}")
