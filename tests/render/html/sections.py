"""What the sections of a page show, by the names that their templates have for it."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from ncu_assist.render.html.page import PageSection


def models(sections: Iterable[PageSection]) -> Any:
    """Return the models of sections by their ids; None for one that has nothing to say."""
    return SimpleNamespace(**{one.id: _named(one.model) for one in sections})


def intro(sections: Iterable[PageSection], id: str) -> str:
    """Return the sentence below the title of a section."""
    return next(one.intro for one in sections if one.id == id)


def _named(model: object) -> object:
    return SimpleNamespace(**model) if isinstance(model, dict) else model
