"""The catalogue, single metrics and the documentation of a rule, on a terminal."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.chips import CHIPS, RecordedName, on_chip
from ncu_assist.ncu.catalogue.glossary import GlossaryEntry
from ncu_assist.ncu.catalogue.lookup import Found, NamedRollup, NvidiaRule, Subject
from ncu_assist.ncu.catalogue.metric import Metric, Way
from ncu_assist.ncu.catalogue.metric_doctor import is_on
from ncu_assist.ncu.catalogue.rows import Derived
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, USUAL, join, read_name, rollup_words
from ncu_assist.ncu.catalogue.stalls import ISSUED, STALL_PREFIX, StallReason
from ncu_assist.render.terminal.style import NARROWEST, Style, styled, to_text
from ncu_assist.render.words.terms import (
    better_words,
    chip_words,
    combine_words,
    noise_words,
    spelled_on,
    unit_words,
    way_words,
)

if TYPE_CHECKING:
    from rich.text import Text

    from ncu_assist.ncu.catalogue.rows import Row
    from ncu_assist.rules import Rule

NEEDS = "  needs     "
USES = "  also      "  # without which it may find something, but does not say that there is nothing


def rule_text(rule: Rule | GlossaryEntry) -> str:
    """Return the id, the docstring in paragraphs, and the metrics without which the rule cannot answer, or not fully.

    Of a warning its text in paragraphs, of a word what it means.
    """
    if isinstance(rule, GlossaryEntry) and rule.type == "warning":
        return "\n\n".join([f"{rule.name}: a warning about the measurement", *_paragraphs(rule.text)])
    if isinstance(rule, GlossaryEntry):
        return textwrap.fill(f"{rule.name}: {rule.text}", NARROWEST, break_long_words=False, break_on_hyphens=False)
    needs = _listed(NEEDS, rule.NEEDS or ("no metric of its own",))
    uses = _listed(USES, rule.USES) if rule.USES else []
    about = _paragraphs(inspect.cleandoc(rule.__doc__ or ""))
    return "\n\n".join([f"{rule.ID}: what a diagnosis can say", *about, "\n".join([*needs, *uses])])


def _listed(title: str, keys: tuple[str, ...]) -> list[str]:
    indent = " " * len(title)
    return textwrap.wrap(
        ", ".join(keys), NARROWEST, initial_indent=title, subsequent_indent=indent, break_long_words=False
    )


def _paragraphs(text: str) -> list[str]:
    return [textwrap.fill(one, NARROWEST, break_long_words=False, break_on_hyphens=False) for one in text.split("\n\n")]


KEY_WIDTH, UNIT_WIDTH, FACT_WIDTH = 46, 16, 10
MOST_NAMES = 40  # of ncu's names outside the catalogue; JSON has all


def metrics_text(found: Found) -> str:
    """Return what a search found: rows of the catalogue by group, then ncu's other names."""
    lines = [*_wrapped(spelled_on(found.chip, found.instead_of), ""), styled("")] if found.chip else []
    lines += [line for group, rows in found.groups.items() for line in _group(group, rows, found)]
    if found.lacking:
        lines += [*_wrapped(f"not on {found.chip}: {', '.join(found.lacking)}", ""), styled("")]
    if found.names:
        lines += _names(found.names)
    return to_text(lines)


def _group(group: str, rows: Sequence[Row], found: Found) -> list[Text]:
    lines = [styled(f"{group:<{KEY_WIDTH}}{'unit':<{UNIT_WIDTH}}better", "bold")]
    for row in rows:
        lines.append(styled(f"{row.key:<{KEY_WIDTH}}{row.unit or '-':<{UNIT_WIDTH}}{row.better or '-'}"))
        lines += [styled(f"    {text}", "dim") for text in _spellings(row, found.chip)]
        lines += [line for way in row.ways if found.in_full and is_on(way, found.chip) for line in _way(way)]
        lines += _wrapped(row.meaning)
    return [*lines, styled("")]


def _way(way: Way) -> list[Text]:
    """Return one more way to know a metric: its formula, and where it comes from."""
    formula = textwrap.wrap(f"else {way_words(way)}", NARROWEST - 4, subsequent_indent="    ", break_long_words=False)
    source = textwrap.wrap(f"({way.source})", NARROWEST - 8)
    return [styled(f"{' ' * 4}{text}", "dim") for text in (*formula, *(f"    {text}" for text in source))]


def _spellings(row: Row, chip: str | None) -> Sequence[str]:
    if isinstance(row, Derived):
        return textwrap.wrap(f"= {row.words}", NARROWEST - 4)
    if chip:
        return [name for name in row.names if on_chip(chip).has(name)][:1]
    return row.names[:1]


def _names(names: Sequence[RecordedName]) -> list[Text]:
    lines = [styled("ncu's names outside the catalogue, to be followed by a rollup", "bold")]
    for one in names[:MOST_NAMES]:
        usual = USUAL.get(one.kind, "")
        where = "" if one.collection == "report" or len(one.chips) == len(CHIPS) else ", ".join(sorted(one.chips))
        lines += [styled(join(one.name, usual))]
        lines += [styled(f"    {'; '.join(text for text in (one.unit, where) if text)}", "dim")] if one.unit else []
    rest = len(names) - MOST_NAMES
    return [*lines, *([styled(f"and {rest} more; --json has all")] if rest > 0 else [])]


def explain_text(subjects: Sequence[Subject | Rule | GlossaryEntry], style: Style | None = None) -> str:
    """Return what each subject is, one below the other."""
    lines: list[Text] = []
    for subject in subjects:
        told = _explained(subject) if isinstance(subject, Subject) else [styled(rule_text(subject))]
        lines += [*([styled("")] if lines else []), *told]
    return to_text(lines, style)


def _explained(subject: Subject) -> list[Text]:
    if isinstance(subject, StallReason):
        return _stall(subject)
    if isinstance(subject, NvidiaRule):
        return _nvidia_rule(subject)
    if isinstance(subject, NamedRollup):
        return _rollup(subject)
    title = [styled(f"{subject.key}: {subject.label}", "bold"), *_wrapped(_sentence(subject.meaning), "")]
    return [*title, *_facts(_metric_facts(subject) if isinstance(subject, Metric) else _derived_facts(subject))]


def _metric_facts(metric: Metric) -> list[tuple[str, str]]:
    label = metric.shown_as or metric.label
    shown = f"{metric.section}: {label}" if metric.section else "under no label"
    return [
        *(("name" if i == 0 else "or", name) for i, name in enumerate(metric.names)),
        *(("else", f"{way_words(way)} ({way.source})") for way in metric.ways),
        ("in ncu", shown),
        *_common(metric),
        ("chips", chip_words(metric)),
    ]


def _derived_facts(derived: Derived) -> list[tuple[str, str]]:
    needs = ", ".join(key for key in derived.needs if key not in derived.optional)
    ways = [("else", f"{way_words(way)} ({way.source})") for way in derived.ways]
    return [("formula", derived.words), ("needs", needs or ", ".join(derived.needs)), *ways, *_common(derived)]


def _common(row: Row) -> list[tuple[str, str]]:
    return [
        ("unit", unit_words(row)),
        ("better", better_words(row.better)),
        ("launches", combine_words(row.combine)),
        ("repeats", noise_words(row.key)),
    ]


def _stall(reason: StallReason) -> list[Text]:
    lines = [styled(f"{reason.name}: warp stall reason", "bold")]
    lines += _wrapped(f"A warp in this state waits for {reason.waits_for}.", "")
    lines += _wrapped(reason.try_this, "")
    name, sampled = reason.name, reason.sampled_as or reason.name
    facts = [
        *([("spelled", f"{name} in counters, {sampled} in samples per line")] if reason.sampled_as else []),
        ("in ncu", f"Warp State Statistics: {reason.label}"),
        ("name", f"{STALL_PREFIX}{name}_per_issue_active.ratio"),
        ("per line", f"smsp__pcsamp_warps_issue_stalled_{sampled}"),
        ("column", f"stall_{sampled} of lines and sass"),
        *([("share", f"stall_{name} = warps_{name} / all warp states")] if name != ISSUED else []),
        ("better", better_words(reason.better)),
        ("repeats", noise_words(f"warps_{name}")),
        ("chips", chip_words(reason)),
    ]
    return [*lines, *_facts(facts)]


def _nvidia_rule(rule: NvidiaRule) -> list[Text]:
    lines = [styled(f"{rule.name}: rule of ncu", "bold"), *_wrapped(rule.finds, "")]
    return [*lines, *_facts([("section", rule.section), ("look at", ", ".join(rule.look_at))])]


def _rollup(subject: NamedRollup) -> list[Text]:
    recorded = subject.recorded
    lines = [styled(join(recorded.name, subject.rollup), "bold")]
    lines += _wrapped("Not in the catalogue; this is read from its name and from what ncu lists.", "")
    rollups = ROLLUPS[recorded.kind]
    facts = [
        *read_name(recorded.name),
        *([(f".{subject.rollup}", rollup_words(subject.rollup))] if subject.rollup else []),
        ("kind", recorded.kind.lower() or "stands alone, without a rollup"),
        ("unit", recorded.unit or "-"),
        *([("rollups", ", ".join(rollups[:4]) + (" and their rates" if len(rollups) > 4 else ""))] if rollups else []),
        ("chips", ", ".join(chip for chip in CHIPS if recorded.is_on(chip))),
        *([("see also", ", ".join(subject.keys))] if subject.keys else []),
    ]
    return [*lines, *_facts(facts)]


def _facts(facts: Sequence[tuple[str, str]]) -> list[Text]:
    width = max(FACT_WIDTH, *(len(name) + 2 for name, _ in facts))
    return [line for name, text in facts for line in _fact(name, text, width)]


def _fact(name: str, text: str, width: int) -> list[Text]:
    longest = max(map(len, text.split()), default=0)
    if width + 2 + longest > NARROWEST:  # a long name begins a line of its own, as far to the right as it fits
        indent = " " * max(2, min(4, NARROWEST - longest))
        return [styled(f"  {name}"), *_wrapped(text, indent)]
    rows = textwrap.wrap(text, NARROWEST - width - 2, break_long_words=False, break_on_hyphens=False) or [""]
    return [styled(f"  {name if i == 0 else '':<{width}}{row}") for i, row in enumerate(rows)]


def _wrapped(text: str, indent: str = "    ") -> list[Text]:
    return [styled(f"{indent}{row}") for row in textwrap.wrap(text, NARROWEST - len(indent), break_long_words=False)]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
