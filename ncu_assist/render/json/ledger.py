"""The ledger of drafts as JSON, schema ncu-assist.ledger/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.ledger import Hits, Ledger, RoundBest, Tally
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
    return rest | {"predictions": _hits(of.hits)}


def _hits(of: Hits) -> dict[str, Any]:
    return asdict(of) | {"rate": of.rate}


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
