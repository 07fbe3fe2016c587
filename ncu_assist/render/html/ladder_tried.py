"""What each version tried, from the comment at the top of its source: what it changes, what was expected, measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ncu_assist.analysis.history import HistoryTable

MOST = 1_500  # letters of a comment
_LABEL = re.compile(r"([A-Za-z]\w{0,15}(?:, [\w ]{1,20})?):(?:\s|$)")  # "Changes, to v3": not half a sentence
_LISTED = re.compile(r"\s*([-*|+•]|\d+[.)])\s")


@dataclass(frozen=True)
class Said:
    """A paragraph, and the word with a colon that it starts with."""

    label: str
    text: str


@dataclass(frozen=True)
class Tried:
    """What one version says of itself; ``cut`` is how many letters of it are left out."""

    version: str
    said: tuple[Said, ...]
    cut: int = 0


def tried_of(comments: Mapping[str, str], shown: HistoryTable) -> Iterator[Tried]:
    """Yield what each version says of itself, in the order of the versions, without those that say nothing."""
    for rung in shown.rungs:
        comment = comments.get(rung.version, "")
        if comment:
            yield Tried(rung.version, tuple(_said(comment[:MOST])), max(0, len(comment) - MOST))


def _said(comment: str) -> Iterator[Said]:
    """Yield paragraphs: an empty line, a word with a colon or a sign of a list starts one, other lines are joined."""
    parts: list[list[str]] = [[]]
    for line in comment.splitlines():
        if not line.strip() or _LABEL.match(line) or _LISTED.match(line):
            parts.append([])
        if line.strip():
            parts[-1].append(line.strip())
    for part in parts:
        if part:
            text = " ".join(part)
            label = _LABEL.match(text)
            yield Said(label[1], text[label.end() :]) if label else Said("", text)
