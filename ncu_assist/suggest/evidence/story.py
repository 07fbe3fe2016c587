"""The story so far: each earlier version's idea, what it came to, what moved; and the drafts that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.analysis.history import VersionRow
from ncu_assist.analysis.predictions import FaultsGone, predictions
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.history import history_of
from ncu_assist.pipeline.pages.readable import own_source
from ncu_assist.project import Project
from ncu_assist.quantity import duration
from ncu_assist.render.words.verdicts import factor
from ncu_assist.render.words.why import why_lines
from ncu_assist.sources import header_comment
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.draft_records import Draft
from ncu_assist.store.matching import same_source
from ncu_assist.suggest.evidence.cleaning import Cleaner
from ncu_assist.suggest.evidence.records import FailedDraft, VersionStory
from ncu_assist.verdict import Verdict
from ncu_assist.versions import short_name, version_order

MOST_OF_A_COMMENT = 20_000  # bytes of a source that are looked at for the comment at its top
IDEA = 400  # letters
MOVED = 400
CHANGES = re.compile(r"^Changes:\s*")
WIDTH = 400  # columns for what moved: it is cut later, by letters


def story_of(
    project: Project, store: Store, parent: StoredRun, workload: str, clean: Cleaner
) -> tuple[VersionStory, ...]:
    """Return the versions before the parent and itself, by number; then later ones that were no faster than it."""
    own = version_order(parent.run.version)
    history = history_of(project, store, parent.run.kernel, workload)
    faults = predictions(history)
    runs = {row.version: row.cells[0].stored for row in history.rows if row.cells}
    early = (row for row in history.rows if version_order(row.version) <= own)
    chapters = [_chapter(row, runs, workload, faults.get(row.version), clean) for row in early]
    later = (row for row in history.rows if version_order(row.version) > own)
    slower = (_later(store, parent, row, workload, clean) for row in later)
    return (*(one for one in chapters if one), *(one for one in slower if one))


def failed_of(drafts: Sequence[Draft], kernel: str, clean: Cleaner) -> tuple[FailedDraft, ...]:
    """Return the drafts of a kernel that were not kept, the newest last; one that was only drafted proves nothing."""
    rejected = (one for one in sorted(drafts, key=lambda one: (one.created, one.id)) if one.fate == "rejected")
    return tuple(
        FailedDraft(
            id=clean.line(one.id, 60),
            parent=clean.line(one.parent.rpartition("/")[2].partition("@")[0], 60),
            change=clean.line(one.claim.change if one.claim else "a reply that could not be used", IDEA),
            reason=clean.line(one.reason, IDEA),
        )
        for one in rejected
        if one.kernel == kernel
    )


def _chapter(
    row: VersionRow, runs: dict[str, StoredRun | None], workload: str, faults: FaultsGone | None, clean: Cleaner
) -> VersionStory | None:
    stored = runs.get(row.version)
    if stored is None or not row.cells:
        return None
    before = runs.get(row.before or "")
    verdict = row.cells[0].verdict
    moved = (_moved(before, stored, workload) if before else "", *_faults(faults))
    return VersionStory(
        version=row.version,
        idea=_idea(stored, clean),
        outcome=_outcome(stored, workload, verdict, row.before),
        moved=clean.line("; ".join(one for one in moved if one), MOVED),
        median_ns=_median(stored, workload),
    )


def _later(store: Store, parent: StoredRun, row: VersionRow, workload: str, clean: Cleaner) -> VersionStory | None:
    """Return a version after the parent, held against it; None where it is faster, in SM cycles too, or has no time."""
    stored = row.cells[0].stored if row.cells else None
    if stored is None or not (is_timed(stored.run, workload) and is_timed(parent.run, workload)):
        return None
    pair = common_bench(same_source(store, parent), same_source(store, stored), workload) or (parent, stored)
    verdict = verdict_by_time(*pair, workload, SampleReader())
    if "faster" in (verdict.words, verdict.likely or ""):
        return None
    outcome = _outcome(stored, workload, verdict, parent.run.version)
    return VersionStory(row.version, _idea(stored, clean), outcome, "", _median(stored, workload), later=True)


def _idea(stored: StoredRun, clean: Cleaner) -> str:
    """Return the first paragraph of the comment at the top of a version, which says what it changes."""
    name = own_source(stored)
    if name is None:
        return ""
    comment = header_comment(stored.read(name)[:MOST_OF_A_COMMENT], PurePosixPath(name).suffix)
    return CHANGES.sub("", clean.line(comment.split("\n\n")[0], IDEA))


def _outcome(stored: StoredRun, workload: str, verdict: Verdict | None, before: str | None) -> str:
    median = _median(stored, workload)
    time = "not timed" if median is None else duration(median)
    if verdict is None or before is None:
        return time
    return f"{time}, {_against(verdict)} {short_name(before)}"


def _median(stored: StoredRun, workload: str) -> float | None:
    timing = stored.run.timing(workload)
    return timing.median_ns if timing else None


def _against(verdict: Verdict) -> str:
    """Return a verdict in the words that stand before the name of the other version."""
    ratio, word = verdict.speedup, verdict.verdict
    if ratio is None or word == "not-comparable":
        return "not comparable with"
    if word == "same":
        return "as fast as"
    if word == "unclear":
        return f"unclear ({factor(ratio)}) against"
    return f"{factor(ratio if word == 'faster' else 1 / ratio)} {verdict.words} than"


def _moved(before: StoredRun, stored: StoredRun, workload: str) -> str:
    """Return what bound the two and the change of time as a product, in a line; empty where that is not known."""
    try:
        why = diff_runs(before, stored, DiffOptions(workload=workload)).why
    except UsageProblem:
        return ""
    names = short_name(before.run.version), short_name(stored.run.version)
    return "; ".join(line.removeprefix("ncu: ") for line in why_lines(why, None, names, WIDTH)[:2])


def _faults(found: FaultsGone | None) -> Iterator[str]:
    """Yield which faults the rules no longer find, and which they find anew."""
    for word, some in (("gone", found.gone), ("new", found.appeared)) if found else ():
        if some:
            yield f"{word}: {', '.join(one.rule for one in some)}"
