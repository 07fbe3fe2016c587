"""Holding an answer against its JSON Schema."""

from __future__ import annotations

import functools
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from ncu_assist.render.json.schemas import schema_of


@functools.cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(name))


def held(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that is as its schema says, which has no room for other keys."""
    checked = validator(answer["schema"].removeprefix("ncu-assist.").removesuffix("/1"))
    if not checked.is_valid(answer):
        wrong = best_match(checked.iter_errors(answer))
        raise AssertionError(f"{wrong.json_path}: {wrong.message[:500]}")
    return answer
