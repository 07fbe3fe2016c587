"""The drafts of a suggestion, or the prompt that was not sent, as JSON, schema ncu-assist.suggest/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.outcome import Suggested
from ncu_assist.render.json.values import answer


def suggest_json(found: Suggested) -> dict[str, Any]:
    """Return drafts as whole records, ``folder`` where each lies below reports/; ``written`` are names of versions."""
    return answer(
        "suggest",
        {
            "drafts": [{**asdict(one.draft), "folder": one.reference} for one in found.drafts],
            "written": [path.name for path in found.files],
            "ended": found.ended or None,
            "dropped": list(found.dropped),
        },
    )


def prompt_json(text: str, tokens: int, dropped: tuple[str, ...]) -> dict[str, Any]:
    """Return a prompt with its size in tokens, which are characters over four, and what it had no room for."""
    return answer("suggest", {"prompt": text, "tokens": tokens, "dropped": list(dropped)})
