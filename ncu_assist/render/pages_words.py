"""How every format calls a page that was written: by a path that a shell and a browser take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ncu_assist.analysis.records import Damage


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
