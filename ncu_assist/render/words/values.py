"""Small values in words: counts with their noun, what a finding rests on, paths of pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.quantity import quantity

if TYPE_CHECKING:
    from ncu_assist.analysis.records import Damage

# Units of which a person counts pieces, and the label says of what: 8192 blocks, 132 SMs, 4,194,304 threads.
COUNTED = ("", "thread", "SM", "block", "warp", "register/thread")
ABOUT = "about "
IN_FULL_BELOW = 1e6  # from here on three digits are enough


def evidence_value(value: float, unit: str, approximate: bool = False) -> str:
    """Return a value with its unit; a whole number of pieces whole and without a unit, as its label names them.

    ``approximate``: derived from other metrics and only near what the label says: ``about 64.3 %``.
    """
    about = ABOUT if approximate else ""
    if unit not in COUNTED:
        return about + quantity(value, unit)
    return about + (str(int(value)) if value == int(value) and abs(value) < IN_FULL_BELOW else quantity(value, ""))


def shown_path(path: Path, folder: Path) -> str:
    """Return a path relative to the folder one stands in, where it lies below that, else the whole of it."""
    whole, here = path.absolute(), folder.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def number_of(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 run``, ``2 runs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def unread(damages: Sequence[Damage]) -> str:
    """Return how many runs cannot be read, e.g. ``1 damaged run and 2 runs of a newer ncu-assist``."""
    newer = sum(one.is_newer for one in damages)
    damaged = number_of(len(damages) - newer, "damaged run") if newer < len(damages) else ""
    later = f"{number_of(newer, 'run')} of a newer ncu-assist" if newer else ""
    return " and ".join(part for part in (damaged, later) if part)
