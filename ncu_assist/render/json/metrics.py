"""The catalogue and single metrics, as JSON: schemas ncu-assist.metrics/1 and ncu-assist.explain/1."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict

from ncu_assist.ncu.catalogue.chips import CHIPS, RecordedName, on_chip
from ncu_assist.ncu.catalogue.glossary import GlossaryEntry
from ncu_assist.ncu.catalogue.lookup import Found, NamedRollup, NvidiaRule, Subject
from ncu_assist.ncu.catalogue.metric import Better, How, Metric
from ncu_assist.ncu.catalogue.metric_doctor import is_on
from ncu_assist.ncu.catalogue.noise import NoiseClass, noise_class, repeats_as
from ncu_assist.ncu.catalogue.rows import Derived, Row
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, read_name, rollup_words
from ncu_assist.ncu.catalogue.stalls import StallReason
from ncu_assist.render.json.values import AnswerKeys, answer, filled
from ncu_assist.render.words.terms import LONG_NS, NOISE_CHIP
from ncu_assist.rules import Rule


class NoiseKeys(TypedDict):
    """How far a metric strays between repeats."""

    chip: str
    long: NoiseClass
    short: NoiseClass


class WayKeys(TypedDict):
    """Another way to know a metric."""

    formula: str
    needs: list[str]
    source: str
    approximate: bool


class RowKeys(TypedDict):
    """A metric of the catalogue: one of ncu's (``metric``) or one that is computed from others (``derived``)."""

    group: NotRequired[str]
    type: Literal["metric", "derived"]
    key: str
    label: str
    unit: str
    meaning: str
    better: Better | None
    exact: bool
    combine: How
    weights: list[str]
    over_kernels: bool
    noise: NoiseKeys
    ways: list[WayKeys]
    name: NotRequired[str | None]
    names: NotRequired[list[str]]
    section: NotRequired[str | None]
    ncu_unit: NotRequired[str]
    ncu_label: NotRequired[str | None]
    lacking: NotRequired[list[str]]
    given: NotRequired[bool]
    formula: NotRequired[str]
    needs: NotRequired[list[str]]
    optional: NotRequired[list[str]]


class NcuNameKeys(TypedDict):
    """A name that ncu has, and the catalogue has not."""

    name: str
    kind: str | None
    unit: str
    rollups: list[str]
    chips: list[str]


class MetricsAnswer(AnswerKeys):
    """The catalogue of metrics, or what of it was asked for."""

    chip: str | None
    instead_of: str | None
    metrics: list[RowKeys]
    lacking: list[str]
    names: list[NcuNameKeys]


TryKeys = TypedDict("TryKeys", {"try": str})  # a word of Python's own


class StallSubjectKeys(TryKeys):
    """A warp stall reason."""

    type: Literal["stall reason"]
    name: str
    waits_for: str
    better: Better | None
    counted_as: str
    sampled_as: str
    lacking: list[str]


class NvidiaRuleKeys(TypedDict):
    """A rule of Nsight Compute."""

    type: Literal["rule"]
    name: str
    section: str
    finds: str
    look_at: list[str]


class NameSubjectKeys(NcuNameKeys):
    """A name of ncu, read part by part."""

    type: Literal["name"]
    rollup: str | None
    rollup_meaning: str | None
    parts: dict[str, str]
    see_also: list[str]


class RuleSubjectKeys(TypedDict):
    """A rule of ncu-assist."""

    type: Literal["diagnosis"]
    name: str
    text: str
    needs: list[str]
    uses: list[str]


class WarningSubjectKeys(TypedDict):
    """A warning of ncu-assist."""

    type: Literal["warning"]
    name: str
    text: str


class WordSubjectKeys(TypedDict):
    """A word of the field or of ncu-assist."""

    type: Literal["word"]
    name: str
    text: str


class ExplainAnswer(AnswerKeys):
    """What each name stands for; ``type`` says which keys a subject has."""

    subjects: list[Any]


def metrics_json(found: Found) -> dict[str, Any]:
    """Return rows of the catalogue, keys that the chip lacks, and ncu's other names with kind, unit and chips."""
    return answer(
        "metrics",
        MetricsAnswer,
        found,
        instead_of=found.instead_of.name if found.instead_of else None,
        metrics=[{"group": group, **_row(row, found.chip)} for group, some in found.groups.items() for row in some],
        names=[_recorded(one) for one in found.names],
    )


def explain_json(subjects: Sequence[Subject | Rule | GlossaryEntry]) -> dict[str, Any]:
    """Return what each subject is; ``type`` says which fields it has."""
    return answer("explain", ExplainAnswer, subjects=[_subject(one) for one in subjects])


def _subject(subject: Subject | Rule | GlossaryEntry) -> dict[str, Any]:
    if isinstance(subject, GlossaryEntry):
        return filled(WordSubjectKeys, subject)
    if isinstance(subject, StallReason):
        as_sampled = subject.sampled_as or subject.name
        stall = {"type": "stall reason", "try": subject.try_this, "counted_as": subject.name, "sampled_as": as_sampled}
        return filled(StallSubjectKeys, subject, **stall)
    if isinstance(subject, NvidiaRule):
        return filled(NvidiaRuleKeys, subject, type="rule")
    if isinstance(subject, NamedRollup):
        rollup = {"rollup": subject.rollup or None, "rollup_meaning": rollup_words(subject.rollup) or None}
        parts = dict(read_name(subject.recorded.name))
        return {"type": "name", **_recorded(subject.recorded), **rollup, "parts": parts, "see_also": subject.keys}
    if isinstance(subject, Row):
        return _row(subject, None)
    text = inspect.cleandoc(subject.__doc__ or "")
    return {"type": "diagnosis", "name": subject.ID, "text": text, "needs": subject.NEEDS, "uses": subject.USES}


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
        "ways": [filled(WayKeys, way, formula=way.words) for way in row.ways if is_on(way, chip)],
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
