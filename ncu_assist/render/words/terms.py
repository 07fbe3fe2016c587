"""Names of metrics with what they mean, from the catalogue; verdicts and sources of runs as badges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED, Derived
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS
from ncu_assist.ncu.source.tables import BOOKED_AS, MEANINGS, spoken
from ncu_assist.render.table import Badge, Term, Tone
from ncu_assist.render.words.verdicts import cycle_words, factor

if TYPE_CHECKING:
    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.analysis.yardstick import Yardstick
    from ncu_assist.record import Source
    from ncu_assist.verdict import Verdict


def term_of(key: str, label: str = "") -> Term:
    """Return what the catalogue says of a key or a stall reason; a word that it does not know explains nothing."""
    if key in CATALOGUE:
        row = CATALOGUE[key]
        return Term(label or row.label, "" if row.given else row.names[0], row.meaning)
    if key in ALL_DERIVED:
        derived: Derived = ALL_DERIVED[key]
        return Term(label or derived.label, f"{key} = {derived.words}", derived.meaning)
    if key in STALL_REASONS:
        reason = STALL_REASONS[key]
        return Term(label or reason.label, f"stall {key}", f"the warp waits for {reason.waits_for}")
    if key in MEANINGS:
        booked = f"ncu counts it as stall {BOOKED_AS[key]}; told apart by the instruction that waits"
        return Term(label or spoken(key), booked, f"the warp waits for {MEANINGS[key]}")
    return Term(label or key)


def stall_name(reason: str, shown: RunView) -> str:
    """Return a stall reason as it is said; of what may be one of two, as no code was read that tells, both."""
    has_wgmma = reason == "barrier" and shown.combined.values["pipe_tensor_gmma"]
    read = any(one.index in shown.close.waits for one in shown.combined.launches)
    return f"{reason} or wgmma" if has_wgmma and not read else spoken(reason)


TONES: dict[str, Tone] = {
    "faster": "good",
    "improved": "good",
    "slower": "bad",
    "regressed": "bad",
    "unclear": "unsure",
    "not-comparable": "unsure",
    "same": "same",
}


SIGNS = {"faster": "▲", "slower": "▼", "same": "=", "unclear": "?", "not-comparable": "≠"}
BY_CLOCK = {"faster": "△", "slower": "▽"}


def against(verdict: Verdict | None) -> str:
    """Return a verdict in a few letters, e.g. ``▲ 1.78x faster``, ``▼ 1.16x slower``, ``= 1.001x same``."""
    if verdict is None:
        return "-"
    sign, word = BY_CLOCK[verdict.verdict] if verdict.by_clock else SIGNS[verdict.verdict], verdict.words
    if verdict.speedup is None or verdict.verdict == "not-comparable":
        return f"{sign} {word}"
    likely = verdict.likely or ""
    ratio = 1 / verdict.speedup if "slower" in (verdict.verdict, likely) else verdict.speedup
    return f"{sign} likely {factor(ratio)} {likely}" if likely else f"{sign} {factor(ratio)} {word}"


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


def share_term(of: Yardstick) -> Term:
    """Return what heads a column of shares."""
    return Term(of.title, of.formula, f"{of.meaning}: 100 % as fast")
