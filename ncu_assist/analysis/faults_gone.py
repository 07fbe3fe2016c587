"""What the tool promised of the faults that a version got rid of, beside what that version achieved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, NamedTuple

from ncu_assist import __version__
from ncu_assist.analysis.diff.comparability import differences
from ncu_assist.analysis.history import History, HistoryCell, VersionRow
from ncu_assist.ncu.catalogue.noise import SHORT_NS
from ncu_assist.quantity import number_of
from ncu_assist.rules import ON_ONE_RESOURCE, RULES
from ncu_assist.rules.base import LEAST_WORTH
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.of_run import RuleResults, as_stored
from ncu_assist.store import StoredRun
from ncu_assist.store.findings import Judged, StoredFinding
from ncu_assist.store.reading import SOURCE_FOLDER
from ncu_assist.verdict import LIKELY_LONG, LIKELY_SHORT

OFF_BY = 0.1  # of a saving: what estimates are off by in the median (docs/accuracy.md)
LITTLE = 0.5  # of the time that a fault cost: a remark that still names more is of the same fault
Source = Literal["stored", "computed now"]
By = Literal["bench", "unpaired samples", "launches under ncu", "ncu"]
BeforeAndNow = tuple[StoredFinding, StoredFinding]


class FaultFates(NamedTuple):
    """What became of the faults of one version in another, for a history as for a diff; the largest first.

    A fault is ``gone`` where its rule answers and finds nothing above ``info``, and no remark that would still save
    half of the time: such a fault is there, beside a worse one. It is ``renamed`` where another rule finds half of that
    time lost on the same resource, and ``lessened`` where its rule still finds it, with less to win: less time, by what
    would be a fault itself (2 % of it) and more than two durations of one code are apart, and a smaller part of it.
    ``appeared`` and ``worse`` are the same, seen from the other version. What is to win is also less or more where
    other faults hide this one, or no longer do.
    """

    gone: tuple[StoredFinding, ...]
    lessened: tuple[BeforeAndNow, ...]
    renamed: tuple[BeforeAndNow, ...]
    worse: tuple[BeforeAndNow, ...]
    appeared: tuple[StoredFinding, ...]


@dataclass(frozen=True)
class FaultsGone:
    """What became of the faults of ``before`` in ``version``, as ``FaultFates`` has it.

    ``source`` says of what the estimates are: stored when ``before`` was archived, by version ``tool``, or computed now
    for a run that keeps none. Nothing is gone or lessened in a version that is ``another_program`` than the one before,
    which says why: its time is not that of the other without a fault. ``achieved`` is the speed-up over the version
    before, ``achieved_by`` what it was taken from: best a bench that timed both, paired.
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
    renamed: tuple[BeforeAndNow, ...] = ()
    another_program: str = ""
    lessened: tuple[BeforeAndNow, ...] = ()
    worse: tuple[BeforeAndNow, ...] = ()

    @property
    def low(self) -> float | None:
        """What the largest fault alone was to win: all of it, if the others waste the same time once more."""
        return max((one.estimated_speedup for one in self.gone if one.estimated_speedup), default=None)

    @property
    def high(self) -> float | None:
        """What the faults were to win if each wastes time of its own.

        None where that is all the time there was, or as much of it as makes no difference to such estimates.
        """
        saved = sum(one.saved_ns or 0.0 for one in self.gone)
        left = (self.duration_ns or 0.0) - saved
        is_known = left > OFF_BY * saved and all(one.saved_ns is not None for one in self.gone)
        return (self.duration_ns or 0.0) / left if is_known else None


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

    def rest(self, key: tuple[str, str]) -> StoredFinding | None:
        """Return the costliest finding of a kind, a remark too; None for none."""
        found = [one for one in self.judged.findings if _key(one) == key]
        return max(found, key=lambda one: one.saved_ns or 0.0, default=None)


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


def mended_between(before: RuleResults | None, after: RuleResults | None) -> tuple[tuple[Ranked, float], ...]:
    """Return the faults of one side that another no longer has, or has less of, each with what it still costs in ns.

    What was won most by comes first; what is gone costs nothing. They are told of a launch against a launch; of
    several, a rule may have answered for others than those that changed.
    """
    if before is None or after is None or before.part or after.part:
        return ()
    if any(len(one.facts.combined.launches) != 1 for one in (before, after)):
        return ()
    told = _fates(_said_of(before), _said_of(after))
    left = {_key(one): 0.0 for one in told.gone} | {_key(was): now.saved_ns or 0.0 for was, now in told.lessened}
    found = {_key(as_stored(one)): one for one in before.diagnosis.findings if one.severity != "info"}
    mended = [(one, left[key]) for key, one in found.items() if key in left]
    return tuple(sorted(mended, key=lambda one: one[1] - one[0].saved_ns))


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
    other = _another_program(before, row, history)
    fates = _fates(then, now)
    achieved, achieved_by = _achieved(history.cell(before), cell)
    return FaultsGone(
        version=row.version,
        before=before.version,
        source=then.source,
        tool=then.tool,
        date=then.date,
        duration_ns=then.judged.duration_ns,
        gone=() if other else fates.gone,
        appeared=_only_in(now, then) if other else fates.appeared,
        achieved=achieved,
        achieved_by=achieved_by,
        renamed=() if other else fates.renamed,
        another_program=other,
        lessened=() if other else fates.lessened,
        worse=() if other else fates.worse,
    )


def _fates(then: _Opinion, now: _Opinion) -> FaultFates:
    lost, came = _only_in(then, now), _only_in(now, then)
    renamed = tuple((fault, name) for fault in lost for name in came if _is_renamed(fault, name))
    old, new = [one for one, _ in renamed], [one for _, one in renamed]
    return FaultFates(
        gone=tuple(one for one in lost if one not in old),
        lessened=_lessened(then, now),
        renamed=renamed,
        worse=tuple((was, fault) for fault, was in _lessened(now, then)),
        appeared=tuple(one for one in came if one not in new),
    )


def _lessened(one: _Opinion, other: _Opinion) -> tuple[BeforeAndNow, ...]:
    """Return the faults of one side that the other has too, each with what that has of it, and has less of."""
    alike = (
        (fault, rest)
        for key, fault in one.faults.items()
        if other.answers(fault.rule) and not other.is_rid_of(key, fault) and (rest := other.rest(key))
    )
    return tuple((fault, rest) for fault, rest in alike if _costs_less(fault, one, rest, other))


def _costs_less(fault: StoredFinding, of: _Opinion, rest: StoredFinding, beside: _Opinion) -> bool:
    """Tell whether a fault costs less beside another opinion, in time and as a part of it.

    An estimate that ends at the floor of the workload says how far that is, and not what the fault costs.
    """
    times = of.judged.duration_ns, beside.judged.duration_ns
    if None in (fault.saved_ns, rest.saved_ns, *times) or fault.to_floor or rest.to_floor:
        return False
    was, left, (own_ns, other_ns) = fault.saved_ns or 0.0, rest.saved_ns or 0.0, (times[0] or 0.0, times[1] or 0.0)
    strays = LIKELY_SHORT if min(own_ns, other_ns) < SHORT_NS else LIKELY_LONG
    return was - left >= LEAST_WORTH * own_ns and was > (1 + strays) * left and left * own_ns < was * other_ns


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
    made = number_of(counts[1], "launch")
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
