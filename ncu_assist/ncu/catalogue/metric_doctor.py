"""The metric doctor: which of the metrics asked for cannot be had, what was meant, and what stays unanswered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ncu_assist.ncu.catalogue.derived import ALL_DERIVED
from ncu_assist.ncu.catalogue.metric import Way
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.mistaken_names import MISTAKEN
from ncu_assist.ncu.catalogue.recorded_names import Available, on_chip, recorded_names
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, USUAL, join, nearest, split

NAMES = frozenset(name for metric in CATALOGUE.values() for name in metric.names)


@dataclass(frozen=True)
class NameProblem:
    """One name that cannot be had: why, and the spelling that can; an empty ``suggestion`` where there is none."""

    asked: str
    reason: str
    suggestion: str


@dataclass(frozen=True)
class NameCheck:
    """``unanswered``: the questions that stay open, one sentence each. ``problems``: names with a right spelling."""

    unanswered: tuple[str, ...]
    problems: tuple[NameProblem, ...]

    @property
    def fine(self) -> bool:
        return not self.unanswered and not self.problems

    @property
    def lines(self) -> tuple[str, ...]:
        """Return all of it in sentences, what cannot be answered first."""
        return (*self.unanswered, *(f"{p.asked} {p.reason}; use {p.suggestion}" for p in self.problems))


def check_names(asked: Iterable[str], available: Available) -> NameCheck:
    """Return what is wrong with names asked for: ncu's, with rollup, or keys of the catalogue.

    ``available`` is ``on_chip(chip)`` before profiling and ``in_report(names)`` after it.
    """
    wrong = [
        NameProblem(name, _reason(name, available), suggestion(name, available))
        for name in dict.fromkeys(asked)
        if not spelled(name, available)
    ]
    unanswered = tuple(f"cannot be answered: {_question(p.asked)} ({p.reason})" for p in wrong if not p.suggestion)
    return NameCheck(unanswered, tuple(problem for problem in wrong if problem.suggestion))


def spelled(name: str, available: Available) -> tuple[str, ...]:
    """Return ncu's names behind a name: itself, or those that a key of the catalogue needs. Empty where one lacks."""
    if name in ALL_DERIVED:
        optional = ALL_DERIVED[name].optional
        parts = {key: CATALOGUE[key].spelled(available.has) for key in ALL_DERIVED[name].needs}
        lacking = [key for key, found in parts.items() if not found and key not in optional]
        if lacking or not any(parts.values()):
            return next((names for way in ALL_DERIVED[name].ways if (names := way.names(available.has))), ())
        return tuple(dict.fromkeys(one for found in parts.values() for one in found))
    if name in CATALOGUE:
        return CATALOGUE[name].spelled(available.has)
    return (name,) if available.has(name) else ()


def is_on(way: Way, chip: str | None) -> bool:
    """Tell whether a way may be open on a chip: a name that no recorded list has may stand in any report."""
    here, anywhere = on_chip(chip), on_chip(None)
    return all(here.has(name) or not anywhere.has(name) for name in way.every_name)


def missing_keys(available: Available) -> tuple[str, ...]:
    """Return the keys of the catalogue and of derived metrics that cannot be had, but for what we measure ourselves."""
    given = {key for key, metric in CATALOGUE.items() if metric.given}
    keys = [*CATALOGUE, *(key for key, derived in ALL_DERIVED.items() if given.isdisjoint(derived.needs))]
    return tuple(key for key in keys if key not in given and not spelled(key, available))


def suggestion(name: str, available: Available) -> str:
    """Return the spelling that can be had and is most likely meant; empty where nothing is near."""
    return next((one for one in _candidates(name, available) if spelled(one, available)), "")


def _candidates(name: str, available: Available) -> Iterator[str]:
    """Yield spellings that may be meant, likeliest first: they need not be available."""
    base, rollup = split(name)
    for metric in CATALOGUE.values():
        bases = [split(one)[0] for one in metric.names]
        if base in bases:
            yield from (join(other, rollup) for other in bases if other != base)
    if base not in available.rollups and base.lower() in MISTAKEN:
        yield from _answers(base.lower(), available)
        return
    if base in available.rollups:
        yield from (join(base, one) for one in _rollups(base, rollup, available))
    for other in nearest(base, available.rollups, 3):
        yield from (join(other, one) for one in (rollup, *_rollups(other, rollup, available)))
    for one in nearest(name.lower(), [*ROWS, *MISTAKEN]):
        yield from _answers(one, available) if one in MISTAKEN else (one,)


def _answers(mistaken: str, available: Available) -> Iterator[str]:
    """Yield ncu's names behind the keys that answer the same; a key itself where a formula is behind it."""
    for key in MISTAKEN[mistaken]:
        yield from (key,) if key in ALL_DERIVED else spelled(key, available)


def _rollups(base: str, wanted: str, available: Available) -> list[str]:
    """Return the rollups of a base: those like the wanted one first, of them those that the catalogue uses."""
    known = list(available.rollups[base])
    recorded = recorded_names().get(base)
    usual = USUAL.get(recorded.kind, "") if recorded else ""
    like = [one for one in known if wanted and one.startswith(wanted)] or nearest(wanted, known, 2)
    ranked = [*like, *(one for one in (usual,) if one in known), *known]
    listed = [one for one in known if join(base, one) in NAMES]
    return [*(one for one in like if one in listed), *like, *listed, *ranked]


def _reason(name: str, available: Available) -> str:
    base, rollup = split(name)
    recorded = recorded_names().get(base)
    if base in available.rollups:
        return f"has no rollup .{rollup}" if rollup else "needs a rollup"
    if name in ROWS:
        return f"is not what {available.where} has the counters for"
    if recorded is None:
        return "is a name that no recorded chip has"
    if rollup and rollup not in ROLLUPS[recorded.kind]:
        return f"is not in {available.where} and has no rollup .{rollup}"
    if available.where in recorded.chips or available.where == on_chip(None).where:
        return f"is not in {available.where}"
    return f"is not in {available.where}; ncu has it on {', '.join(sorted(recorded.chips))}"


def _question(name: str) -> str:
    known = ROWS.get(name)
    by_name = next((metric for metric in CATALOGUE.values() if name in metric.names), None)
    meaning = known.meaning if known else by_name.meaning if by_name else ""
    return f"{name}, {meaning}" if meaning else name
