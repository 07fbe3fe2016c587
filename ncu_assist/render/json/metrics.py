"""The catalogue and single metrics, as JSON: schemas ncu-assist.metrics/1 and ncu-assist.explain/1."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ncu_assist.ncu.catalogue.chips import CHIPS, RecordedName, on_chip
from ncu_assist.ncu.catalogue.glossary import GlossaryEntry
from ncu_assist.ncu.catalogue.lookup import Found, NamedRollup, NvidiaRule, Subject
from ncu_assist.ncu.catalogue.metric import Metric, Way
from ncu_assist.ncu.catalogue.metric_doctor import is_on
from ncu_assist.ncu.catalogue.noise import noise_class, repeats_as
from ncu_assist.ncu.catalogue.rows import Derived, Row
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, read_name, rollup_words
from ncu_assist.ncu.catalogue.stalls import StallReason
from ncu_assist.render.json.values import answer
from ncu_assist.render.words.terms import LONG_NS, NOISE_CHIP
from ncu_assist.rules import Rule


def metrics_json(found: Found) -> dict[str, Any]:
    """Return rows of the catalogue, keys that the chip lacks, and ncu's other names with kind, unit and chips."""
    rows = [{"group": group, **_row(row, found.chip)} for group, some in found.groups.items() for row in some]
    names = [_recorded(one) for one in found.names]
    facts = {"metrics": rows, "lacking": found.lacking, "names": names}
    return answer(
        "metrics", {"chip": found.chip, "instead_of": found.instead_of.name if found.instead_of else None, **facts}
    )


def explain_json(subjects: Sequence[Subject | Rule | GlossaryEntry]) -> dict[str, Any]:
    """Return what each subject is; ``type`` says which fields it has."""
    return answer(
        "explain", {"subjects": [_subject(one) if isinstance(one, Subject) else _diagnosis(one) for one in subjects]}
    )


def _diagnosis(rule: Rule | GlossaryEntry) -> dict[str, Any]:
    if isinstance(rule, GlossaryEntry):
        return {"type": rule.type, "name": rule.name, "text": rule.text}
    return {
        "type": "diagnosis",
        "name": rule.ID,
        "text": inspect.cleandoc(rule.__doc__ or ""),
        "needs": rule.NEEDS,
        "uses": rule.USES,
    }


def _subject(subject: Subject) -> dict[str, Any]:
    if isinstance(subject, StallReason):
        return {
            "type": "stall reason",
            "name": subject.name,
            "waits_for": subject.waits_for,
            "try": subject.try_this,
            "better": subject.better,
            "counted_as": subject.name,
            "sampled_as": subject.sampled_as or subject.name,
            "lacking": subject.lacking,
        }
    if isinstance(subject, NvidiaRule):
        rule = {"name": subject.name, "section": subject.section}
        return {"type": "rule", **rule, "finds": subject.finds, "look_at": subject.look_at}
    if isinstance(subject, NamedRollup):
        rollup = {"rollup": subject.rollup or None, "rollup_meaning": rollup_words(subject.rollup) or None}
        parts = dict(read_name(subject.recorded.name))
        return {"type": "name", **_recorded(subject.recorded), **rollup, "parts": parts, "see_also": subject.keys}
    return _row(subject, None)


def _row(row: Row, chip: str | None) -> dict[str, Any]:
    noise = {"long": noise_class(row.key, NOISE_CHIP, LONG_NS), "short": noise_class(row.key, NOISE_CHIP, 0.0)}
    facts = {
        "type": "metric" if isinstance(row, Metric) else "derived",
        "key": row.key,
        "label": row.label,
        "unit": row.unit,
        "meaning": row.meaning,
        "better": row.better,
        "exact": repeats_as(row.key) == "exact",
        "combine": row.combine.how,
        "weights": list(row.combine.weights),
        "over_kernels": row.combine.over_kernels,
        "noise": {"chip": NOISE_CHIP, **noise},
        "ways": [_way(way) for way in row.ways if is_on(way, chip)],
    }
    return {**facts, **(_of_metric(row, chip) if isinstance(row, Metric) else _of_derived(row))}


def _of_metric(metric: Metric, chip: str | None) -> dict[str, Any]:
    return {
        "name": next((name for name in metric.names if on_chip(chip).has(name)), None) if chip else metric.names[0],
        "names": metric.names,
        "section": metric.section or None,
        "ncu_unit": metric.unit if metric.ncu_unit is None else metric.ncu_unit,
        "ncu_label": (metric.shown_as or metric.label) if metric.section else None,
        "lacking": metric.lacking,
        "given": metric.given,
    }


def _way(way: Way) -> dict[str, Any]:
    return {"formula": way.words, "needs": way.needs, "source": way.source, "approximate": way.approximate}


def _of_derived(derived: Derived) -> dict[str, Any]:
    return {"formula": derived.words, "needs": derived.needs, "optional": sorted(derived.optional)}


def _recorded(one: RecordedName) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind or None,
        "unit": one.unit,
        "rollups": ROLLUPS[one.kind],
        "chips": [chip for chip in CHIPS if one.is_on(chip)],
    }
