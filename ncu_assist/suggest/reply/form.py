"""What a reply consists of: as a JSON schema for the model, as data, and the errors of one that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ncu_assist.errors import NcuAssistError
from ncu_assist.store.draft_records import Claim

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
