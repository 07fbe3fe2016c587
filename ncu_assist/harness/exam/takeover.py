"""Taking over what the sandboxed side left beside its outputs: copied safely, read strictly, doubted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist.harness import client, results
from ncu_assist.harness.exam.blame import NAME_LIMIT, Story, shortened
from ncu_assist.harness.exam.paper import ANSWERS, PATCHED, Answer, Paper, Suspicion
from ncu_assist.harness.exam.plan import Plan
from ncu_assist.harness.exam.samples import SAMPLES, Row, frame_of, most_bytes, read_samples
from ncu_assist.harness.exam.untrusted import take

NAMES_SHOWN = 3
SMALL_LIMIT = 1 << 20  # bytes of a file of results; names of all that is sealed would take 0.1 MB
FACTS_LIMIT = 1 << 16  # they become part of the record of a run


@dataclass(frozen=True)
class Taken:
    """What was taken over. ``measured`` has no checks: those are for the trusted side to say."""

    measured: client.Measured
    answers: tuple[Answer, ...]
    suspicions: tuple[Suspicion, ...]


def take_over(plan: Plan, paper: Paper, story: Story, failure: results.VersionFailure | None) -> Taken:
    """Copy the results of a paper to the trusted side and return them; ``failure`` is added to those told."""
    taken = plan.folders.taken(Path(paper.request.out).name)
    rounds = paper.request.settings.rounds
    readers: dict[str, Callable[[Path], object]] = {
        results.FACTS: lambda path: results.read_facts(path.parent),
        results.FAILURES: lambda path: results.read_failures(path.parent),
        ANSWERS: _answers,
        PATCHED: _patched,
        SAMPLES: lambda path: read_samples(path, plan.versions, rounds),
    }
    limits = dict.fromkeys(readers, SMALL_LIMIT)
    limits |= {results.FACTS: FACTS_LIMIT, SAMPLES: most_bytes(plan.versions, rounds)}
    faults = [*take(Path(paper.request.out), limits, taken), *_unreadable(taken, readers)]
    if failure is not None:
        results.append_failure(taken, failure)
    said = [Suspicion(plan.draft, "results", f"what the draft's process left is damaged: {fault}") for fault in faults]
    suspicions = (*said, *_seen(plan.draft, taken, story))
    return Taken(_measured(plan, paper, taken), _answers(taken / ANSWERS), suspicions)


def _measured(plan: Plan, paper: Paper, taken: Path) -> client.Measured:
    """Return what was measured, with the samples; failures in words of a sane length."""
    found = client.collect(replace(paper.request, out=str(taken)))
    failures = {name: shortened(words) for name, words in found.failures.items()}
    rows: list[Row] = []
    if (taken / SAMPLES).is_file():
        rows = read_samples(taken / SAMPLES, plan.versions, paper.request.settings.rounds)
    samples = frame_of(rows, plan.bench_id, plan.kernel.default_workload.name) if rows else None
    return replace(found, failures=failures, samples=samples)


def _unreadable(taken: Path, readers: dict[str, Callable[[Path], object]]) -> Iterator[str]:
    """Yield what is wrong with files that cannot be read, and remove them."""
    for name, read in readers.items():
        if not (taken / name).is_file():
            continue
        try:
            read(taken / name)
        except (ValueError, RecursionError) as error:  # msgspec's errors are kinds of the first; nesting is the second
            (taken / name).unlink()
            yield f"{name}: {' '.join(str(error).split())[:200]}"


def _answers(path: Path) -> tuple[Answer, ...]:
    lines = path.read_bytes().splitlines() if path.is_file() else []
    answers = (msgspec.json.decode(line, type=Answer) for line in lines)
    return tuple(replace(answer, touched=shortened(answer.touched)) for answer in answers)


def _patched(path: Path) -> tuple[str, ...]:
    return msgspec.json.decode(path.read_bytes(), type=tuple[str, ...]) if path.is_file() else ()


def _seen(draft: str, taken: Path, story: Story) -> Iterator[Suspicion]:
    if story.tripped:
        yield Suspicion(draft, "reference", "it imports reference.py")
    patched = _patched(taken / PATCHED)
    if patched:
        more = f" and {len(patched) - NAMES_SHOWN} more" if len(patched) > NAMES_SHOWN else ""
        names = ", ".join(shortened(name, NAME_LIMIT) for name in patched[:NAMES_SHOWN])
        yield Suspicion(draft, "patched", f"it replaced {names}{more}")
