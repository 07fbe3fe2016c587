"""Taking over what the sandboxed side left beside its outputs: copied safely, read strictly, doubted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist.harness import client, results
from ncu_assist.harness.exam.blame import Story
from ncu_assist.harness.exam.paper import ANSWERS, PATCHED, Answer, Paper, Suspicion
from ncu_assist.harness.exam.plan import Plan
from ncu_assist.harness.exam.untrusted import take
from ncu_assist.harness.names import COPY, EMPTY

NAMES_SHOWN = 3


@dataclass(frozen=True)
class Taken:
    """What was taken over. ``measured`` has no checks: those are for the trusted side to say."""

    measured: client.Measured
    answers: tuple[Answer, ...]
    suspicions: tuple[Suspicion, ...]


def take_over(plan: Plan, paper: Paper, story: Story, failure: results.Failure | None) -> Taken:
    """Copy the results of a paper to the trusted side and return them; ``failure`` is added to those told."""
    taken = plan.folders.taken(Path(paper.request.out).name)
    workload = plan.kernel.default_workload.name
    samples = results.samples_path(Path(), workload).name
    readers: dict[str, Callable[[Path], object]] = {
        results.FACTS: lambda path: results.read_facts(path.parent),
        results.FAILURES: lambda path: results.read_failures(path.parent),
        ANSWERS: _answers,
        PATCHED: _patched,
        samples: lambda path: _doubt(path, plan, paper, workload),
    }
    faults = [*take(Path(paper.request.out), readers, taken), *_unreadable(taken, readers)]
    if failure is not None:
        results.append_failure(taken, failure)
    measured = client.collect(replace(paper.request, out=str(taken)))
    said = [Suspicion(plan.draft, "results", f"what the draft's process left is damaged: {fault}") for fault in faults]
    return Taken(measured, _answers(taken / ANSWERS), (*said, *_seen(plan.draft, taken, story)))


def _unreadable(taken: Path, readers: dict[str, Callable[[Path], object]]) -> Iterator[str]:
    """Yield what is wrong with files that cannot be read, and remove them."""
    for name, read in readers.items():
        if not (taken / name).is_file():
            continue
        try:
            read(taken / name)
        except (msgspec.DecodeError, ValueError, OSError, KeyError, TypeError) as error:
            (taken / name).unlink()
            yield f"{name}: {' '.join(str(error).split())[:200]}"


def _answers(path: Path) -> tuple[Answer, ...]:
    lines = path.read_bytes().splitlines() if path.is_file() else []
    return tuple(msgspec.json.decode(line, type=Answer) for line in lines)


def _patched(path: Path) -> tuple[str, ...]:
    return msgspec.json.decode(path.read_bytes(), type=tuple[str, ...]) if path.is_file() else ()


def _doubt(path: Path, plan: Plan, paper: Paper, workload: str) -> None:
    """Raise ValueError for samples that this bench cannot have given; of too many rows none is read."""
    from pyarrow.parquet import read_metadata

    rounds, timed = paper.request.settings.rounds, {*plan.versions, EMPTY, COPY}
    if read_metadata(path).num_rows > rounds * len(timed):
        raise ValueError("more samples than rounds")
    samples = results.read_samples(path.parent)
    assert samples is not None
    if set(samples["bench_id"]) != {plan.bench_id} or set(samples["workload"]) != {workload}:
        raise ValueError("samples of another bench")
    counts = samples.groupby("version").size()
    if not set(plan.versions) <= set(counts.index) <= timed:
        raise ValueError("samples of other versions")
    if set(counts) != {rounds}:
        raise ValueError("another number of samples than rounds")
    if not samples["time_ns"].between(0, float("inf"), inclusive="left").all():
        raise ValueError("times that are none")


def _seen(draft: str, taken: Path, story: Story) -> Iterator[Suspicion]:
    if story.tripped:
        yield Suspicion(draft, "reference", "it imports reference.py")
    patched = _patched(taken / PATCHED)
    if patched:
        more = f" and {len(patched) - NAMES_SHOWN} more" if len(patched) > NAMES_SHOWN else ""
        yield Suspicion(draft, "patched", f"it replaced {', '.join(patched[:NAMES_SHOWN])}{more}")
