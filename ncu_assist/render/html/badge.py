"""Verdicts as badges: a sign, a word, a tone; the tone alone never says anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_assist.record import Source
from ncu_assist.render.words.history import against
from ncu_assist.render.words.verdicts import cycle_words
from ncu_assist.verdict import Verdict

Tone = Literal["good", "bad", "unsure", "same", "plain"]
TONES: dict[str, Tone] = {
    "faster": "good",
    "improved": "good",
    "slower": "bad",
    "regressed": "bad",
    "unclear": "unsure",
    "not-comparable": "unsure",
    "same": "same",
}


@dataclass(frozen=True)
class Badge:
    """A few words with a tone; ``hint`` is said on hover and by screen readers."""

    text: str
    tone: Tone = "plain"
    hint: str = ""


def verdict_badge(verdict: Verdict | None) -> Badge | None:
    """Return the badge of a verdict by time, e.g. ``▲ 1.78x faster``; None for no verdict."""
    return Badge(against(verdict), verdict_tone(verdict), cycle_words(verdict)) if verdict else None


def verdict_tone(verdict: Verdict) -> Tone:
    """Return the tone of a verdict by time: what another clock explains is neither good nor bad."""
    return "same" if verdict.by_clock else TONES[verdict.verdict]


def source_badge(source: Source) -> Badge:
    """Return the badge that says where a run comes from: live, recorded or imported."""
    hints = {
        "live": "measured into this archive",
        "recorded": "measured elsewhere and shipped with the archive",
        "imported": "from a foreign report, unverified",
    }
    return Badge(source, "unsure" if source == "imported" else "plain", hints[source])
