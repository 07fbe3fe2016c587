"""What became of a damaged report: refused, told, the same, or other without a word; and whether it is less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file
from ncu_assist.ncu.messages import Messages
from ncu_assist.ncu.report import Report, read_report

REFUSED, TOLD, SAME, UNSEEN, LESS = "refused", "told", "the same", "unseen", "less"
IN_SESSION = ("command", "created", "ncu_version")
MISSED = ("created", "ncu_version")  # a report may lack the command: those of older releases and of the window do


@dataclass(frozen=True)
class Verdict:
    """One of the words above, and why."""

    word: str
    why: str = ""


def judge(path: Path, intact: Report, deep: bool) -> Verdict:
    """Return what reading the file gives, held against the report as it was; ``deep``: with all its frames."""
    try:
        found = read_report(path)
        lost = [*_lost(intact, found, path), *(_instances_lost(intact, found) if deep else ())]
        if deep:
            touch(found)
    except DamagedData as error:
        return Verdict(REFUSED, error.message)
    told = [note for note in found.notes if note not in intact.notes]
    if told:
        return Verdict(TOLD, told[0])
    if lost:
        return Verdict(LESS, lost[0])
    same = facts(found) == facts(intact) and (not deep or found.instances.equals(intact.instances))
    return Verdict(SAME if same else UNSEEN)


def touch(report: Report) -> None:
    """Make everything that a report can give, but source lines, which NVIDIA's reader takes its time for."""
    _ = report.launches, report.metrics, report.rules, report.session, report.records, report.device, report.notes


def facts(report: Report) -> tuple[object, ...]:
    """Return what was read of a report, comparable."""
    known = report.contents
    session = sorted(known.session.versions.items()), *(getattr(known.session, name) for name in IN_SESSION)
    texts = [[known.texts[number] for number in one.texts.values()] for one in known.launches]
    launches = [(*vars(one).items(),) for one in known.launches]
    return repr((launches, texts, known.name_lists, sorted(known.units.items()), session)), known.values.tobytes()


def _lost(intact: Report, found: Report, path: Path) -> Iterator[str]:
    """Yield what the report had and this one has not."""
    had, has = intact.contents, found.contents
    for name in MISSED:
        if getattr(had.session, name) and not getattr(has.session, name):
            yield f"the session's {name}"
    if len(has.launches) < len(had.launches):
        yield f"{len(had.launches) - len(has.launches)} launches"
        return
    for number, (one, other) in enumerate(zip(had.launches, has.launches, strict=False)):
        names = set(had.names(number)) - set(has.names(number))
        if names:
            yield f"launch {number}: {sorted(names)[0]} and perhaps others"
        if _count_ranges(other) < _count_ranges(one) or len(other.rules) < len(one.rules):
            yield f"launch {number}: a range or a finding"
    if np.isnan(has.values).sum() > np.isnan(had.values).sum() and _valued(path) < _valued(intact.path):
        yield "a value"


def _count_ranges(launch: Any) -> int:
    """Count the push/pop ranges of the default domain, which name a version, and the others."""
    return 1000 * len(launch.ranges) + len(launch.domain_ranges) + len(launch.start_end_ranges)


def _valued(path: Path) -> int:
    """Return how many metrics of a plain report have a value, be it NaN."""
    data, messages = path.read_bytes(), Messages()
    results = [messages.result(data, entry) for entry in report_file.results(data)]
    return sum(metric.value.ByteSize() > 0 for result in results for metric in result.metrics)


def _instances_lost(intact: Report, found: Report) -> Iterator[str]:
    if len(found.launches) != len(intact.launches):
        return
    had, has = (one.instances.groupby(["launch", "metric"], observed=True).size().to_dict() for one in (intact, found))
    lost = [key for key, count in had.items() if has.get(key, 0) < count]
    if lost:
        yield f"instances of {lost[0]}"
