"""Names of metrics with what they mean, from the catalogue: what hover and focus show."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.ncu.catalogue.derived import ALL_DERIVED, Derived
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS


@dataclass(frozen=True)
class Term:
    """A word with an explanation: ``name`` is ncu's full name or our formula, either may be empty."""

    label: str
    name: str = ""
    meaning: str = ""


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
    return Term(label or key)
