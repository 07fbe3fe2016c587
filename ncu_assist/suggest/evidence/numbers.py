"""Numbers as a prompt shows them, apart from their unit, so that what a reply quotes can be held against them."""

from __future__ import annotations

from ncu_assist.quantity import DURATIONS, SCALES, SHORT, digits
from ncu_assist.render.evidence_words import COUNTED, LONGEST

PERCENT = "%"
WORDS = {"inst": "instructions", "sector": "sectors", "register/thread": "registers/thread", "warp": "warps"}


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """Return what a value in ``unit`` (the catalogue's) is divided by to be read easily, and the unit it then has."""
    if unit == PERCENT:
        return 1.0, PERCENT
    if unit == "ns":
        return next(((scale, name) for scale, name in DURATIONS if abs(value) >= scale), (1.0, "ns"))
    shown = SHORT.get(unit, WORDS.get(unit, unit))
    if unit in COUNTED and value == int(value) and abs(value) < LONGEST:
        return 1.0, shown
    scale, prefix = next(((s, p) for s, p in SCALES if abs(value) >= s), (1.0, ""))
    return scale, f"{prefix} {shown}".strip() if unit in (*WORDS, "") else f"{prefix}{shown}"


def shown(value: float, scale: float, unit: str) -> float:
    """Return a value as it is printed: a percentage with one decimal, anything else with three digits."""
    if unit == PERCENT:
        return round(value, 1)
    scaled = value / scale
    return scaled if scaled == int(scaled) and abs(scaled) < LONGEST else float(digits(scaled))
