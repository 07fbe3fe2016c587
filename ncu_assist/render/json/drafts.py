"""Drafts as JSON: the ledger, schema ncu-assist.ledger/1, and a suggestion or its prompt, ncu-assist.suggest/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.archive import Suggested
from ncu_assist.analysis.ledger import Ledger, RoundBest, Tally
from ncu_assist.analysis.records import Draft
from ncu_assist.render.json.values import answer


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger; ``drafts`` are whole records, oldest first, each with its claim and its proof.

    ``speedup`` is time of the parent over time of the draft; ``expected`` and ``measured`` are geometric means over the
    ``compared`` drafts that have both. ``predictions`` counts those that came ``true`` of those that could be ``told``,
    beside the ``untold``; ``rate`` is null where none could. ``best`` is of the drafts that were kept.
    """
    return answer(
        "ledger",
        {
            "kernel": ledger.kernel,
            "total": _tally(ledger.total),
            "models": [_tally(one) for one in ledger.models],
            "diagnoses": [_tally(one) for one in ledger.diagnoses],
            "rounds": [_round(one) for one in ledger.rounds],
            "reasons": [asdict(one) for one in ledger.reasons],
            "drafts": [asdict(one) for one in ledger.drafts],
            "damaged": [asdict(one) for one in ledger.damaged],
        },
    )


def _tally(of: Tally) -> dict[str, Any]:
    rest = {name: value for name, value in asdict(of).items() if name != "hits"}
    return rest | {"predictions": asdict(of.hits) | {"rate": of.hits.rate}}


def _round(of: RoundBest) -> dict[str, Any]:
    best = _best(of.best) if of.best else None
    return {"kernel": of.kernel, "round": of.round, "drafts": of.drafts, "kept": of.kept, "best": best}


def _best(draft: Draft) -> dict[str, Any]:
    proof = draft.proof
    return {
        "id": draft.id,
        "version": draft.version or None,
        "model": draft.model or None,
        "speedup": proof.speedup if proof else None,
        "low": proof.speedup_low if proof else None,
        "high": proof.speedup_high if proof else None,
    }


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
            "builds": [asdict(one) for one in found.builds],
            **_prompt(None, None, found.dropped),
        },
    )


def prompt_json(text: str, tokens: int, dropped: tuple[str, ...], id: str) -> dict[str, Any]:
    """Return a prompt with its size in tokens, which are characters over four, what it had no room for, and its id."""
    nothing: dict[str, Any] = {"drafts": [], "written": [], "ended": None, "builds": []}
    return answer("suggest", {**nothing, **_prompt(text, tokens, dropped, id)})


def _prompt(text: str | None, tokens: int | None, dropped: tuple[str, ...], id: str | None = None) -> dict[str, Any]:
    return {"prompt": text, "prompt_id": id, "tokens": tokens, "dropped": list(dropped)}
