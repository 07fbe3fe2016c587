"""The reply as a JSON schema, strict in the sense of ``response_format``: all is required, nothing may be added."""

from __future__ import annotations

from typing import Any

_NUMBER = {"type": ["number", "null"]}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _said(description: str, kind: str = "string") -> dict[str, Any]:
    return {"type": kind, "description": description}


_QUOTED = _object(
    id=_said("id of a row of the evidence table, such as E3"),
    value={**_NUMBER, "description": "the number that you rely on, as it stands there; null for none"},
)
_PREDICTION = _object(
    metric=_said("name of a metric as the evidence table has it"),
    direction={"type": "string", "enum": ["up", "down"]},
    factor={**_NUMBER, "description": "value after the change over value before; null where you cannot tell"},
)
_EDIT = _object(
    search=_said("lines of the current source, copied exactly; they must stand there exactly once"),
    replace=_said("what stands there instead"),
)
_STRINGS_OR_NULL = ["string", "null"]
SCHEMA: dict[str, Any] = _object(
    bottleneck=_said("what limits the kernel now, in one sentence"),
    evidence={"type": "array", "items": _QUOTED, "description": "the rows that show it"},
    change=_said("the one change that you make, in one sentence"),
    slug=_said("two or three words for a file name, in snake_case"),
    predictions={"type": "array", "items": _PREDICTION, "description": "which metrics will move, and how"},
    expected_speedup={**_NUMBER, "description": "time before over time after; null where you cannot tell"},
    source={"type": _STRINGS_OR_NULL, "description": "the whole new file; null if you give edits"},
    edits={"type": ["array", "null"], "items": _EDIT, "description": "null if you give the whole file"},
)
