"""Drafts of next versions: what a model claimed, what proving it gave, and the ledger of both."""

from __future__ import annotations

from ncu_assist.drafts.accepting import accept
from ncu_assist.drafts.archive import (
    BUILD_LOG,
    PROMPT,
    REFUSAL,
    RUNS,
    DraftArchive,
    new_draft_id,
    reply_name,
    runs_below,
    source_name,
)
from ncu_assist.drafts.ledger import Ledger, ledger_of
from ncu_assist.drafts.scores import score
from ncu_assist.drafts.stored import StoredDraft

__all__ = [
    "BUILD_LOG",
    "PROMPT",
    "REFUSAL",
    "RUNS",
    "DraftArchive",
    "Ledger",
    "StoredDraft",
    "accept",
    "ledger_of",
    "new_draft_id",
    "reply_name",
    "runs_below",
    "score",
    "source_name",
]
