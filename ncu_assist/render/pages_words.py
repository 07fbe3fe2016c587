"""How every format calls a page that was written: by a path that a shell and a browser take."""

from __future__ import annotations

from pathlib import Path


def shown_path(path: Path, folder: Path) -> str:
    """Return a path relative to the folder one stands in, where it lies below that, else the whole of it."""
    whole, here = path.absolute(), folder.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def number_of(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 run``, ``2 runs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
