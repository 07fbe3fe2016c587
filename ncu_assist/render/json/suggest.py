"""The drafts of a suggestion, or the prompt that was not sent, as JSON, schema ncu-assist.suggest/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.archive import Suggested
from ncu_assist.render.json.values import answer


def suggest_json(found: Suggested) -> dict[str, Any]:
    """Return drafts as whole records, ``folder`` where each lies below reports/; ``written`` are names of versions.

    ``prompt`` and ``tokens`` are null: they belong to a dry run.
    """
    return answer(
        "suggest",
        {
            "drafts": [{**asdict(one.draft), "folder": one.reference} for one in found.drafts],
            "written": [path.name for path in found.files],
            "ended": found.ended or None,
            **_prompt(None, None, found.dropped),
        },
    )


def prompt_json(text: str, tokens: int, dropped: tuple[str, ...], id: str) -> dict[str, Any]:
    """Return a prompt with its size in tokens, which are characters over four, what it had no room for, and its id."""
    return answer("suggest", {"drafts": [], "written": [], "ended": None, **_prompt(text, tokens, dropped, id)})


def _prompt(text: str | None, tokens: int | None, dropped: tuple[str, ...], id: str | None = None) -> dict[str, Any]:
    return {"prompt": text, "prompt_id": id, "tokens": tokens, "dropped": list(dropped)}
