"""Words for drafts that every format shares: their fate, what was promised and what came, what they cost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ncu_assist.analysis.ledger import Ledger, Tally
from ncu_assist.quantity import duration, number_of, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.words.verdicts import factor
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.records import Draft, ModelCost

ABSENT = "-"
MOST_SAID = 300  # letters of an idea, a reason or a flaw
SIGNS = {"kept": "▲", "rejected": "✕", "unproven": "?", "drafted": "·"}
HOW_TO = "ncu-assist suggest {kernel} --model MODEL"
LEGEND = (
    "expected, measured: speed-up over the parent, in a tally the geometric mean of drafts with both",
    "true: predictions that came true, of those that could be told",
)


def fate(draft: Draft) -> str:
    """Return what became of a draft, with its sign: ``▲ kept``, ``✕ rejected``; and that it was recorded, if so."""
    recorded = ", recorded" if draft.source == "recorded" else ""
    return f"{SIGNS[draft.fate]} {draft.fate}{recorded}"


def idea(draft: Draft) -> str:
    """Return what a draft changes, in one harmless line; that no reply could be used, where none could."""
    return one_line(draft.claim.change, MOST_SAID) if draft.claim else "no reply could be used"


def reason(draft: Draft) -> str:
    """Return why a draft has its fate, in one harmless line; empty where that was not said."""
    return one_line(draft.reason, MOST_SAID)


def parent(draft: Draft) -> str:
    """Return the version that a draft was made from, in short: ``v6``."""
    version = draft.parent.rpartition("/")[2].partition("@")[0]
    return one_line(short_name(version), 40) or ABSENT


def speedups(draft: Draft) -> str:
    """Return what was promised and what came: ``1.80x → 1.42x``, a dash for what is not known, one alone for both."""
    expected = draft.claim.expected_speedup if draft.claim else None
    measured = draft.proof.speedup if draft.proof else None
    return f"{mean(expected)} → {mean(measured)}" if expected or measured else ABSENT


def predictions(draft: Draft) -> str:
    """Return how many predictions came true, e.g. ``2 of 3``; of a draft that was not measured, how many there are."""
    if draft.proof and draft.proof.scores:
        scores = Counter(one.came_true for one in draft.proof.scores)
        return hits(scores[True], scores[True] + scores[False], scores[None])
    made = len(draft.claim.predictions) if draft.claim else 0
    return f"{made} untold" if made else ABSENT


def hits(true: int, told: int, untold: int) -> str:
    """Return predictions that came true, of those that could be told."""
    return f"{true} of {told}" if told else f"{untold} untold" if untold else ABSENT


def counted(tally: Tally) -> str:
    """Return how many drafts became what, e.g. ``5 drafts: 1 kept, 3 rejected, 1 unproven``."""
    parts = [("kept", tally.kept), ("rejected", tally.rejected), ("unproven", tally.unproven)]
    said = ", ".join(f"{count} {word}" for word, count in parts if count)
    return f"{number_of(tally.drafts, 'draft')}: {said}"


def tokens(cost: ModelCost) -> str:
    """Return the tokens of prompts and replies, ``~`` before a number that is estimated from characters."""
    total = cost.prompt_tokens + cost.reply_tokens
    return f"{'~' if cost.estimated else ''}{quantity(total, '')}" if total else ABSENT


def seconds(cost: ModelCost) -> str:
    """Return how long the models took."""
    return duration(cost.seconds * 1e9) if cost.seconds else ABSENT


def title(ledger: Ledger) -> str:
    """Return what a ledger is about."""
    return f"ledger of {one_line(ledger.kernel)}" if ledger.kernel else "ledger of all kernels"


def how_to(ledger: Ledger) -> str:
    """Return the command that makes a first draft."""
    return HOW_TO.format(kernel=one_line(ledger.kernel) if ledger.kernel else "KERNEL")


def mean(value: float | None) -> str:
    """Return a mean of speed-ups, or one."""
    return factor(value) if value else ABSENT
