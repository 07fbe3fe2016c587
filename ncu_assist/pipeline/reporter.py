"""How the stages speak while they work: the caller passes something that shows it."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """``note`` is a line that stays; ``status`` replaces the live line."""

    def note(self, text: str) -> None: ...

    def status(self, text: str) -> None: ...
