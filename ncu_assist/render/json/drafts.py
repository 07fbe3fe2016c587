"""Drafts as JSON: the ledger, schema ncu-assist.ledger/1, and a suggestion or its prompt, ncu-assist.suggest/1."""

from __future__ import annotations

from typing import Any, TypedDict, get_type_hints

from ncu_assist.analysis.archive import DraftBuild, Suggested
from ncu_assist.analysis.ledger import FateReason, Ledger, Tally
from ncu_assist.analysis.records import Damage, Draft, ModelCost
from ncu_assist.render.json.values import AnswerKeys, answer, clean, filled


class PredictionsKeys(TypedDict):
    """How many predictions of models came true."""

    true: int
    told: int
    untold: int
    rate: float | None


class TallyKeys(TypedDict):
    """What drafts of one kind came to."""

    name: str
    drafts: int
    kept: int
    rejected: int
    unproven: int
    flawed: int
    cost: ModelCost
    compared: int
    expected: float | None
    measured: float | None
    predictions: PredictionsKeys


class BestDraftKeys(TypedDict):
    """The best draft of a round."""

    id: str
    version: str | None
    model: str | None
    speedup: float | None
    low: float | None
    high: float | None


class RoundKeys(TypedDict):
    """One round on a kernel."""

    kernel: str
    round: int
    drafts: int
    kept: int
    best: BestDraftKeys | None


class LedgerAnswer(AnswerKeys):
    """All drafts of models, and what became of them."""

    kernel: str | None
    total: TallyKeys
    models: list[TallyKeys]
    diagnoses: list[TallyKeys]
    rounds: list[RoundKeys]
    reasons: list[FateReason]
    drafts: list[Draft]
    damaged: list[Damage]


DraftInFolder = TypedDict("DraftInFolder", {**get_type_hints(Draft), "folder": str})  # type: ignore[misc]


class SuggestAnswer(AnswerKeys):
    """Drafts of a next version, or the prompt that would ask for them."""

    drafts: list[DraftInFolder]
    written: list[str]
    ended: str | None
    builds: list[DraftBuild]
    prompt: str | None
    prompt_id: str | None
    tokens: int | None
    dropped: list[str]


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger; ``drafts`` are whole records, oldest first, each with its claim and its proof."""
    return answer(
        "ledger",
        LedgerAnswer,
        ledger,
        total=_tally(ledger.total),
        models=[_tally(one) for one in ledger.models],
        diagnoses=[_tally(one) for one in ledger.diagnoses],
        rounds=[filled(RoundKeys, one, best=_best(one.best) if one.best else None) for one in ledger.rounds],
    )


def _tally(of: Tally) -> dict[str, Any]:
    return filled(TallyKeys, of, predictions=filled(PredictionsKeys, of))


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
        SuggestAnswer,
        found,
        drafts=[{**clean(one.draft), "folder": one.reference} for one in found.drafts],
        written=[path.name for path in found.files],
        ended=found.ended or None,
        **dict.fromkeys(("prompt", "prompt_id", "tokens")),
    )


def prompt_json(text: str, tokens: int, dropped: tuple[str, ...], id: str) -> dict[str, Any]:
    """Return a prompt with its size in tokens, which are characters over four, what it had no room for, and its id."""
    given = {"prompt": text, "prompt_id": id, "tokens": tokens, "dropped": dropped}
    return answer("suggest", SuggestAnswer, drafts=[], written=[], ended=None, builds=[], **given)
