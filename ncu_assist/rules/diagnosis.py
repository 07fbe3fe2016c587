"""All rules on one launch: findings by the time that they could save, what cannot be answered, what misleads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ncu_assist.rules.base import Finding, Rule, Severity, severity
from ncu_assist.rules.bounds import bounded_ns
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.places import Place

DONE, UNEXPLAINED = "at-", "unexplained"  # ids of rules that say that a kernel is done, or that none knows
HOPPER = "9.0"
ON_SOME_CHIPS = ("pipe_tensor_gmma", "tensor_ops_bf16")  # instructions that others do not have
TOO_FEW, COLLECT = "not enough counters for a diagnosis", "collect `--set full`"


@dataclass(frozen=True)
class Ranked:
    """A finding with what it could win: ``estimated_speedup`` is the time now over the time without it.

    ``places`` are its source lines, none before `located` found them.
    """

    finding: Finding
    saved_ns: float
    estimated_speedup: float
    severity: Severity
    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Unanswered:
    """A rule that could not answer: the metrics that the report lacks."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a launch, the first finding first; ``findings`` is never empty where there are counters.

    ``asked`` is the number of rules, of which some may be ``unanswered``.
    """

    findings: tuple[Ranked, ...]
    unanswered: tuple[Unanswered, ...]
    asked: int = 0

    @property
    def first(self) -> Ranked | None:
        """The diagnosis, which every format shows first."""
        return self.findings[0] if self.findings else None

    @property
    def further(self) -> tuple[Ranked, ...]:
        """The other findings that are worth a change."""
        return tuple(one for one in self.findings[1:] if one.severity != "info")

    @property
    def remarks(self) -> tuple[Ranked, ...]:
        """The other findings that are worth next to nothing; that nothing is explained is none."""
        return tuple(one for one in self.findings[1:] if one.severity == "info" and one.finding.rule != UNEXPLAINED)

    @property
    def lacks_counters(self) -> bool:
        """Tell whether nothing is known because most rules could not be asked, and not because none explains it."""
        unknown = self.first is not None and self.first.finding.rule == UNEXPLAINED
        return unknown and 2 * len(self.unanswered) > self.asked


def diagnose(facts: Facts, rules: Mapping[str, Rule]) -> Diagnosis:
    """Return what all rules say: what could win most first; where nothing is worth it, which ceiling is reached.

    A remark (`info`) explains no kernel's time, so it does not stand before a ceiling, nor before `unexplained`.
    """
    found: list[Finding] = []
    silent: list[Unanswered] = []
    for rule in rules.values():
        absent = [key for key in rule.NEEDS if facts.get(key) is None]
        finding = None if absent else rule.find(facts)
        if finding:
            found.append(finding)
        elif missing := _missing(absent or rule.USES, facts):
            silent.append(Unanswered(rule.ID, missing))
    ranked = sorted((_ranked(one, facts) for one in found), key=_order)
    if ranked and ranked[0].severity == "info" and not _is_done(ranked[0]):
        ranked.sort(key=lambda one: one.finding.rule != UNEXPLAINED)
    diagnosis = Diagnosis(tuple(ranked), tuple(silent), len(rules))
    return replace(diagnosis, findings=_unasked(diagnosis)) if diagnosis.lacks_counters else diagnosis


def _missing(keys: Sequence[str], facts: Facts) -> tuple[str, ...]:
    """Return which metrics the report lacks, but for those that say nothing of this kernel.

    A counter of instructions that only some chips have is missing on Hopper only, which has them all: elsewhere there
    may be nothing to count.
    """
    is_hopper = facts.device is not None and facts.device.compute_capability == HOPPER
    absent = (key for key in keys if facts.get(key) is None and key not in facts.combined.not_applicable)
    return tuple(key for key in absent if is_hopper or key not in ON_SOME_CHIPS)


def _unasked(diagnosis: Diagnosis) -> tuple[Ranked, ...]:
    """Return the findings, the first of which says that there are too few counters instead of that none explains it."""
    first, *others = diagnosis.findings
    said = f"{TOO_FEW}: {len(diagnosis.unanswered)} of {diagnosis.asked} rules could not be asked"
    return replace(first, finding=replace(first.finding, message=said, advice=COLLECT)), *others


def _order(one: Ranked) -> tuple[bool, bool, bool, float]:
    is_remark = one.severity == "info"
    return is_remark, is_remark and not _is_done(one), one.finding.rule == UNEXPLAINED, -one.saved_ns


def _is_done(one: Ranked) -> bool:
    return one.finding.rule.startswith(DONE)


def _ranked(finding: Finding, facts: Facts) -> Ranked:
    now = facts.duration_ns
    saved = min(finding.saved_ns, bounded_ns(finding, facts))
    share = saved / now if now else 0.0
    return Ranked(finding, saved, now / (now - saved) if saved < now else float("inf"), severity(share))
