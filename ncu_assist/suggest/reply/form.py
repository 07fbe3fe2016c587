"""A reply as a JSON schema and as data, why one cannot be used, and what the evidence contradicts in its claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ncu_assist.errors import NcuAssistError
from ncu_assist.store.draft_records import Claim, MetricPrediction, QuotedEvidence
from ncu_assist.suggest.evidence.records import EvidenceItem

_NUMBER = {"type": ["number", "null"]}


def _object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _described(description: str, kind: str = "string") -> dict[str, Any]:
    return {"type": kind, "description": description}


_QUOTED_SCHEMA = _object_schema(
    id=_described("id of a row of the evidence table, such as E3"),
    value={**_NUMBER, "description": "the number that you rely on, as it stands there; null for none"},
)
_PREDICTION = _object_schema(
    metric=_described("name of a metric as the evidence table has it"),
    direction={"type": "string", "enum": ["up", "down"]},
    factor={**_NUMBER, "description": "value after the change over value before; null where you cannot tell"},
)
_EDIT_SCHEMA = _object_schema(
    search=_described("lines of the current source, copied exactly; they must stand there exactly once"),
    replace=_described("what stands there instead"),
)
_STRINGS_OR_NULL = ["string", "null"]
REPLY_SCHEMA: dict[str, Any] = _object_schema(
    bottleneck=_described("what limits the kernel now, in one sentence"),
    evidence={"type": "array", "items": _QUOTED_SCHEMA, "description": "the rows that show it"},
    change=_described("the one change that you make, in one sentence"),
    slug=_described("two or three words for a file name, in snake_case"),
    predictions={"type": "array", "items": _PREDICTION, "description": "which metrics will move, and how"},
    expected_speedup={**_NUMBER, "description": "time before over time after; null where you cannot tell"},
    source={"type": _STRINGS_OR_NULL, "description": "the whole new file; null if you give edits"},
    edits={"type": ["array", "null"], "items": _EDIT_SCHEMA, "description": "null if you give the whole file"},
)


@dataclass(frozen=True)
class Edit:
    """One replacement: ``search`` stands exactly once in the parent's source."""

    search: str
    replace: str


@dataclass(frozen=True)
class ParsedReply:
    """A reply as it was read: either ``source``, the whole new file, or ``edits`` of the parent's, never both."""

    claim: Claim
    source: str | None
    edits: tuple[Edit, ...]


class UnusableReply(NcuAssistError):
    """A reply of which no draft can be made. ``reason`` is for people, ``to_model`` what to answer the model.

    ``said`` is what the model is told beyond the reason. Both may hold text of the reply: escape them where shown.
    """

    exit_code = 3  # that of drafts that were all rejected

    def __init__(self, reason: str, said: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.to_model = f"Your reply could not be used: {reason}." + (f"\n{said}" if said else "")


class MismatchedEdit(UnusableReply):
    """An edit that does not apply: nothing of the reply was applied. ``to_model`` has the nearest lines."""


# The evidence shows three digits: half a unit of the third is at most 0.5 % of a number, and who cuts digits off
# instead of rounding is wrong by at most a whole unit, 1 %.
QUOTED_WITHIN = 0.01
PERCENT_WITHIN = 0.1  # points: a percentage is shown with one decimal, so for a small one that is the unit
SANE_SPEEDUP = 1000.0  # times: nothing that was fast enough to profile has become faster by more


def flaws(claim: Claim, items: Mapping[str, EvidenceItem]) -> tuple[str, ...]:
    """Return what is wrong with a claim's citations and predictions, a sentence each; ``items`` by their id.

    A flaw says what the model took for true and does not reject by itself: measuring decides. The sentences hold text
    of the reply, to be escaped where they are shown.
    """
    return (*_of_evidence(claim, items), *_of_predictions(claim, items), *_of_speedup(claim))


def item_of(metric: str, items: Mapping[str, EvidenceItem]) -> EvidenceItem | None:
    """Return the row that a prediction's metric names, by its label, ncu's name or its id; None for no row."""
    wanted = metric.strip().lower()
    for item in items.values():
        if wanted in (item.metric.lower(), item.name.lower(), item.id.lower()):
            return item
    return None


def _of_evidence(claim: Claim, items: Mapping[str, EvidenceItem]) -> Iterator[str]:
    if not claim.evidence:
        yield "it cites no evidence"
    for quoted in claim.evidence:
        item = items.get(quoted.id)
        if item is None:
            yield f"it cites {quoted.id}, which is no row of the evidence"
        elif not _is_right(quoted, item):
            shown = f"{item.value:g} {item.unit}".strip()
            yield f"it quotes {quoted.value:g} for {item.id} ({item.metric}), which is {shown}"


def _is_right(quoted: QuotedEvidence, item: EvidenceItem) -> bool:
    if quoted.value is None:
        return True
    within = max(QUOTED_WITHIN * abs(item.value), PERCENT_WITHIN if item.unit == "%" else 0.0)
    return abs(quoted.value - item.value) <= within * (1 + 1e-9)  # 83.1 - 83.0 is not 0.1 in binary


def _of_predictions(claim: Claim, items: Mapping[str, EvidenceItem]) -> Iterator[str]:
    if not claim.predictions:
        yield "it predicts nothing that could be checked"
    said: dict[str, str] = {}
    for one in claim.predictions:
        item = item_of(one.metric, items)
        if item is None:
            yield f"it predicts '{one.metric}', which is no metric of the evidence"
            continue
        if said.setdefault(item.id, one.direction) != one.direction:
            yield f"it predicts that {item.metric} goes up and goes down"
        yield from _of_one(one, item)


def _of_one(one: MetricPrediction, item: EvidenceItem) -> Iterator[str]:
    if item.value == 0 and one.direction == "down":
        yield f"it predicts that {item.metric} goes down, which is 0 already"
    if one.factor is None:
        return
    if one.factor < 0:
        yield f"it predicts {item.metric} by a factor of {one.factor:g}, which is less than nothing"
    elif (one.factor <= 1) if one.direction == "up" else (one.factor >= 1):
        yield f"it predicts that {item.metric} goes {one.direction} by a factor of {one.factor:g}, which contradicts"


def _of_speedup(claim: Claim) -> Iterator[str]:
    expected = claim.expected_speedup
    if expected is None:
        return
    if not 0 < expected <= SANE_SPEEDUP:
        yield f"it expects a speed-up of {expected:g}x, which is none"
    elif expected < 1:
        yield f"it expects a speed-up of {expected:g}x, which is slower"
