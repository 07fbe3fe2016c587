"""The JSON objects of a reply -> what they say: text, thoughts, why it ended, tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ncu_assist.suggest.model.events import DONE
from ncu_assist.suggest.model.failures import Refused, told

THOUGHTS = ("reasoning_content", "reasoning")  # as vLLM, DeepSeek, llama.cpp and OpenRouter, Ollama name them


@dataclass(frozen=True)
class Piece:
    """What one object of a reply adds to it; token counts are None where it has none."""

    text: str = ""
    thought: str = ""
    refusal: str = ""
    finish: str = ""
    prompt_tokens: int | None = None
    reply_tokens: int | None = None


def piece(found: dict[str, Any]) -> Piece:
    """Return what ``found`` adds; fields of other types than the protocol's count as absent.

    Raises Refused for an error that is sent in the place of a reply.
    """
    if found.get(DONE):
        return Piece(finish="done")
    if found.get("error"):
        raise _error(found)
    choice = _first(found.get("choices"))
    said = _table(choice.get("delta")) or _table(choice.get("message"))
    usage = _table(found.get("usage"))
    return Piece(
        text=_content(said.get("content")),
        thought=next((t for t in (_text(said.get(name)) for name in THOUGHTS) if t), ""),
        refusal=_text(said.get("refusal")),
        finish=_text(choice.get("finish_reason")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        reply_tokens=_count(usage.get("completion_tokens")),
    )


def _error(found: dict[str, Any]) -> Refused:
    said, code = told(found)
    status = _table(found.get("error")).get("code")
    known = isinstance(status, int) and 400 <= status < 600
    return Refused(status if known and isinstance(status, int) else 500, said, code)


def _content(value: Any) -> str:
    if isinstance(value, list):  # of parts, as some endpoints write it
        return "".join(_text(_table(part).get("text")) for part in value)
    return _text(value)


def _first(value: Any) -> dict[str, Any]:
    return _table(value[0]) if isinstance(value, list) and value else {}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
