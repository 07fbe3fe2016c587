"""What is wrong with a kernel: the first finding with its evidence and lines, the others, what misleads."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.render.escape import one_line
from ncu_assist.render.evidence_words import evidence_value
from ncu_assist.render.html.badge import Badge, Tone
from ncu_assist.render.html.bars import heat_level
from ncu_assist.render.html.finding_lines import FindingLines
from ncu_assist.render.html.head import Link
from ncu_assist.render.html.run_launches import launches_table
from ncu_assist.render.html.source_view import SourceView
from ncu_assist.render.html.table import Table
from ncu_assist.render.html.term import Term, term_of
from ncu_assist.render.words import estimated
from ncu_assist.rules import RULES, Finding
from ncu_assist.rules.model.diagnosis import Ranked, Unanswered
from ncu_assist.rules.model.of_run import Told
from ncu_assist.rules.model.places import Place

TONE_OF: dict[str, Tone] = {"high": "bad", "medium": "unsure", "low": "same", "info": "plain"}
MESSAGE = 1000  # letters
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Fact:
    """A counter that a finding rests on."""

    term: Term
    text: str


@dataclass(frozen=True)
class Where:
    """A source line with its share of what the finding wastes; ``at`` leads to it, None for code without lines."""

    at: Link | None
    share: str
    text: str
    heat: int
    is_guess: bool


@dataclass(frozen=True)
class FindingView:
    """One finding; ``about`` are the paragraphs of its rule, each in pieces: text, then code, by turns."""

    rule: str
    detail: str
    severity: Badge
    gain: str
    message: str
    evidence: tuple[Fact, ...]
    places: tuple[Where, ...]
    about: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class DiagnosisPart:
    """The section. ``warnings`` are id and sentence, ``unanswered`` rules with the counters that they lack."""

    first: FindingView | None
    others: tuple[FindingView, ...]
    warnings: tuple[tuple[str, str], ...]
    unanswered: tuple[tuple[str, str], ...]
    launches: Table | None


def diagnosis_part(shown: Shown, lines: Sequence[FindingLines], view: SourceView) -> DiagnosisPart:
    """Return what the rules say of the launches that the page is about; ``view`` is what lines of findings link to."""
    told = shown.told
    kept = told_first(told) if told else ()
    where = {one.rule: tuple(_where(place, view) for place in one.places) for one in lines}
    views = [_view(one, told, where.get(one.finding.rule, ())) for one in kept] if told else []
    return DiagnosisPart(
        first=views[0] if views else None,
        others=tuple(views[1:]),
        warnings=tuple((one.id, one.sentence) for one in told.warnings) if told else (),
        unanswered=tuple(_silent(one) for one in told.diagnosis.unanswered) if told else (),
        launches=launches_table(shown),
    )


def told_first(told: Told) -> tuple[Ranked, ...]:
    """Return the findings as they are shown, the diagnosis first."""
    diagnosis = told.diagnosis
    return (*(one for one in (diagnosis.first,) if one), *diagnosis.further, *diagnosis.remarks)


def _view(ranked: Ranked, told: Told, where: tuple[Where, ...]) -> FindingView:
    finding, remark = ranked.finding, ranked.severity == "info"
    facts = told.about(finding)
    known = [(key, value) for key in finding.evidence if (value := facts.get(key)) is not None]
    return FindingView(
        rule=finding.rule,
        detail=", ".join(finding.detail.values()),
        severity=_severity(ranked),
        gain=estimated(ranked.estimated_speedup, finding.assumed) if not remark else "",
        message=one_line(_message(finding, told), MESSAGE) + (" (assumed)" if remark and finding.assumed else ""),
        evidence=tuple(
            Fact(term_of(key), evidence_value(value, ROWS[key].unit, facts.is_approximate(key))) for key, value in known
        ),
        places=where,
        about=_about(finding.rule),
    )


def _message(finding: Finding, told: Told) -> str:
    """Return the message, with the launches that it is of where it is not of all, and what to try."""
    where = f" (in {told.where(finding)})" if told.where(finding) else ""
    part = f"of {told.part.name}, {told.part.launches} of {told.part.of_launches} launches: " if told.part else ""
    return part + finding.message + where + (f". Try: {finding.advice}" if finding.advice else "")


def _severity(ranked: Ranked) -> Badge:
    if ranked.finding.is_done:
        return Badge("done", "good", "at a ceiling of this GPU")
    hint = "by the part of the run time that fixing it could save"
    return Badge(ranked.severity, TONE_OF[ranked.severity], hint)


def _where(place: Place, view: SourceView) -> Where:
    name = f"{one_line(PurePath(place.file).name)}:{place.line}" if place.file else ""
    at = Link(name, view.href(place.file, place.line)) if name else None
    text = one_line((place.text or "").strip(), 300)
    return Where(at, f"{100 * place.share:.0f} %", text, heat_level(place.share), place.is_guess)


def _about(rule: str) -> tuple[tuple[str, ...], ...]:
    """Return the documentation of a rule; every second piece of a paragraph is code."""
    text = inspect.cleandoc(RULES[rule].__doc__ or "") if rule in RULES else ""
    return tuple(tuple(CODE.split(" ".join(one.split()))) for one in text.split("\n\n") if one)


def _silent(one: Unanswered) -> tuple[str, str]:
    return one.rule, ", ".join(ROWS[key].label for key in one.missing)
