"""What the tool promised of the faults that a version got rid of, beside what that version achieved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from ncu_assist import __version__
from ncu_assist.analysis.diff.comparability import differences
from ncu_assist.analysis.history import History, HistoryCell, VersionRow
from ncu_assist.rules import ON_ONE_RESOURCE, RULES
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.of_run import RuleResults, as_stored
from ncu_assist.store import StoredRun
from ncu_assist.store.findings import Judged, StoredFinding
from ncu_assist.store.reading import SOURCE_FOLDER

LITTLE = 0.5  # of the time that a fault cost: a remark that still names more is of the same fault
Source = Literal["stored", "computed now"]
By = Literal["bench", "unpaired samples", "launches under ncu", "ncu"]


@dataclass(frozen=True)
class FaultsGone:
    """The faults of ``before`` that ``version`` no longer has, and those that it has anew, the largest first.

    ``source`` says of what the estimates are: stored when ``before`` was archived, by version ``tool``, or computed now
    for a run that keeps none. A fault is gone where its rule answers and finds nothing above ``info``, and no remark
    that would still save half of the time: such a fault is there, beside a worse one. It is ``renamed`` where another
    rule finds half of that time lost on the same resource. Nothing is gone from a version that is ``another_program``
    than the one before, which says why: its time is not that of the other without a fault. ``achieved`` is the speed-up
    over the version before, ``achieved_by`` what it was taken from: best a bench that timed both, paired.
    """

    version: str
    before: str
    source: Source
    tool: str
    date: str  # of the run that they were stored with; empty for what was computed now
    duration_ns: float | None  # of ``before``, that savings are of
    gone: tuple[StoredFinding, ...]
    appeared: tuple[StoredFinding, ...]
    achieved: float | None
    achieved_by: By | None
    renamed: tuple[tuple[StoredFinding, StoredFinding], ...] = ()
    another_program: str = ""

    @property
    def low(self) -> float | None:
        """What the largest fault alone was to win: all of it, if the others waste the same time once more."""
        return max((one.estimated_speedup for one in self.gone if one.estimated_speedup), default=None)

    @property
    def high(self) -> float | None:
        """What the faults were to win if each wastes time of its own; None where that is more time than there was."""
        saved = [one.saved_ns for one in self.gone]
        left = (self.duration_ns or 0.0) - sum(one or 0.0 for one in saved)
        return (self.duration_ns or 0.0) / left if left > 0.0 and None not in saved else None


def _key(one: StoredFinding) -> tuple[str, str]:
    return one.rule, one.detail.get("pipe", "")


@dataclass(frozen=True)
class _Opinion:
    """What was said of a version on one workload, by rules of which all are known."""

    judged: Judged
    rules: tuple[str, ...]
    tool: str
    source: Source
    date: str = ""

    @property
    def faults(self) -> dict[tuple[str, str], StoredFinding]:
        """Findings above ``info``; one pipe at its limit is another fault than the next."""
        return {_key(one): one for one in self.judged.findings if one.severity != "info"}

    def is_rid_of(self, key: tuple[str, str], fault: StoredFinding) -> bool:
        """Tell whether nothing is left of a fault of another version, or little; at the floor none can be won back."""
        rest = [one for one in self.judged.findings if _key(one) == key]
        if key in self.faults or any(one.to_floor for one in rest):
            return False
        return max((one.saved_ns or 0.0 for one in rest), default=0.0) <= LITTLE * (fault.saved_ns or 0.0)

    def answers(self, rule: str) -> bool:
        return rule in self.rules and rule not in self.judged.unanswered


def faults_gone(history: History) -> dict[str, FaultsGone]:
    """Return by version what became of the faults of the version before it, on the workload shown.

    A version is left out where nothing was judged of one of the two or they cannot be compared. Raises DamagedData for
    findings that were changed.
    """
    rows = {row.version: row for row in history.all_rows}
    asked = {name for row in history.rows for name in (row.version, row.before)}
    opinions = {name: _opinion(history.cell(row)) for name, row in rows.items() if name in asked}
    found = (_prediction(row, rows.get(row.before or ""), history, opinions) for row in history.rows)
    return {one.version: one for one in found if one is not None}


def gone_between(before: RuleResults | None, after: RuleResults | None) -> tuple[Ranked, ...]:
    """Return the faults of one side that another no longer has, or has little of: the largest first.

    They are told of a launch against a launch; of several, a rule may have answered for others than those that changed.
    """
    if before is None or after is None or before.part or after.part:
        return ()
    if any(len(one.facts.combined.launches) != 1 for one in (before, after)):
        return ()
    then, now = _said_of(before), _said_of(after)
    lost, came = _only_in(then, now), _only_in(now, then)
    gone = [_key(one) for one in lost if not any(_is_renamed(one, name) for name in came)]
    found = {_key(as_stored(one)): one for one in before.diagnosis.findings if one.severity != "info"}
    return tuple(one for key, one in found.items() if key in gone)


def _said_of(results: RuleResults) -> _Opinion:
    said, unanswered = results.diagnosis.findings, results.diagnosis.unanswered
    duration_ns, findings = results.facts.combined.duration_ns, tuple(map(as_stored, said))
    judged = Judged(None, True, None, None, duration_ns, findings, tuple(one.rule for one in unanswered))
    return _Opinion(judged, tuple(RULES), __version__, "computed now")


def findings_of(row: VersionRow, history: History) -> Iterator[tuple[HistoryCell, tuple[StoredFinding, ...]]]:
    """Yield what the rules say of a version on each workload that was profiled, what could win most first.

    The workload shown comes first, then those with the most bytes to move. Raises DamagedData for findings that were
    changed.
    """
    for cell in sorted(row.cells, key=lambda one: (one.workload != history.shown, -_bytes(one))):
        opinion = _opinion(cell)
        if opinion is not None and opinion.judged.findings:
            yield cell, opinion.judged.findings


def _bytes(cell: HistoryCell) -> int:
    return (cell.facts.algorithmic_bytes or 0) if cell.facts else 0


def _prediction(
    row: VersionRow, before: VersionRow | None, history: History, opinions: dict[str, _Opinion | None]
) -> FaultsGone | None:
    cell, now = history.cell(row), opinions[row.version]
    then = _stored(cell.predicted, cell.workload) if cell.predicted else opinions.get(row.before or "")
    if before is None or then is None or now is None or _forbidden(history.cell(before), cell):
        return None
    lost, came = _only_in(then, now), _only_in(now, then)
    other = _another_program(before, row, history)
    renamed = () if other else tuple((fault, name) for fault in lost for name in came if _is_renamed(fault, name))
    old, new = [one for one, _ in renamed], [one for _, one in renamed]
    achieved, achieved_by = _achieved(history.cell(before), cell)
    return FaultsGone(
        version=row.version,
        before=before.version,
        source=then.source,
        tool=then.tool,
        date=then.date,
        duration_ns=then.judged.duration_ns,
        gone=() if other else tuple(one for one in lost if one not in old),
        appeared=tuple(one for one in came if one not in new),
        achieved=achieved,
        achieved_by=achieved_by,
        renamed=renamed,
        another_program=other,
    )


def _is_renamed(fault: StoredFinding, name: StoredFinding) -> bool:
    """Tell whether another rule finds most of what a fault cost, on the same resource."""
    alike = fault.rule != name.rule and any({fault.rule, name.rule} <= some for some in ON_ONE_RESOURCE)
    return alike and (name.saved_ns or 0.0) > LITTLE * (fault.saved_ns or 0.0)


def _another_program(before: VersionRow, after: VersionRow, history: History) -> str:
    """Return why a version is no change of the one before it, but another program; empty where it may be one.

    A library's kernel, one in another language, or another chain of launches has nothing in common with it but the
    workload: whatever the rules said of the one, everything changed at once.
    """
    if before.is_peer or after.is_peer:
        return f"{(before if before.is_peer else after).version} is a library's or a framework's own"
    cells = history.cell(before), history.cell(after)
    languages = [_language(cell) for cell in cells]
    if all(languages) and languages[0] != languages[1]:
        return f"it is written in another language ({languages[0]}, then {languages[1]})"
    counts = [cell.under_ncu.launches for cell in cells]
    made = f"{counts[1]} launch{'es' * (counts[1] != 1)}"
    return f"a call makes {made}, before {counts[0]}" if all(counts) and counts[0] != counts[1] else ""


def _language(cell: HistoryCell) -> str:
    """Return the ending of the file that a version was made of, e.g. ``.cu``; empty where its run keeps no source."""
    start = f"{SOURCE_FOLDER}{cell.stored.run.version}." if cell.stored else ""
    names = [name for name in cell.stored.run.files if name.startswith(start)] if cell.stored else []
    return PurePath(names[0]).suffix if names else ""


def _only_in(one: _Opinion, other: _Opinion) -> tuple[StoredFinding, ...]:
    """Return the faults of one side that the other can answer for and does not have."""
    faults = one.faults.items()
    return tuple(fault for key, fault in faults if other.answers(fault.rule) and other.is_rid_of(key, fault))


def _opinion(cell: HistoryCell) -> _Opinion | None:
    if cell.stored is None:
        return None
    now = _Opinion(cell.judged, tuple(RULES), __version__, "computed now") if cell.judged else None
    return _stored(cell.stored, cell.workload) or now


def _stored(stored: StoredRun, workload: str | None) -> _Opinion | None:
    findings = stored.findings()
    found = findings.of_workload(workload) if findings else None
    date = stored.run.created[:10]
    return _Opinion(found, findings.rules, findings.tool, "stored", date) if found and findings else None


def _forbidden(before: HistoryCell, after: HistoryCell) -> bool:
    if after.verdict is not None:
        return after.verdict.verdict == "not-comparable"
    runs = [one.stored.run for one in (before, after) if one.stored]
    sides = [(run, run.workload(after.workload or "")) for run in runs]
    return len(sides) < 2 or bool(differences(sides[0], sides[1])[1])


def _achieved(before: HistoryCell, after: HistoryCell) -> tuple[float | None, By | None]:
    """Return the ratio of times and what it is of: of the verdict with samples, else of the durations under ncu."""
    verdict = after.verdict
    if verdict is not None and after.speedup is not None:
        many: By = "unpaired samples" if after.workload is not None and after.timing else "launches under ncu"
        return after.speedup, "bench" if verdict.pairs else many
    if before.duration_ns and after.duration_ns:
        return before.duration_ns / after.duration_ns, "ncu"
    return None, None
