"""The pages that were written on a terminal: the one asked for, then what leads to it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ncu_assist.analysis.archive import Written, WrittenPage
from ncu_assist.render.escape import plain
from ncu_assist.render.pages_words import shown_path

FEW = 6  # pages, of which each is named


def report_text(written: Written, folder: Path) -> str:
    """Return a line a page, the one that was asked for first; of many pages of one kind how many there are."""
    others = [one for one in written.pages if one != written.asked]
    counts = Counter(one.kind for one in others)
    named = [one for one in others if len(others) < FEW or one.kind in ("ladder", "index")]
    lines = [shown_path(one.path, folder) for one in (written.asked, *named)]
    kinds = dict.fromkeys(one.kind for one in others if one not in named)
    lines += [f"and {counts[kind]} page{'' if counts[kind] == 1 else 's'} of {kind}s" for kind in kinds]
    return "\n".join(plain(line) for line in lines)


def in_short(written: Written, folder: Path) -> str:
    """Return where to start reading, in one line."""
    ladders: list[WrittenPage] = [one for one in written.pages if one.kind == "ladder"]
    start = ladders[-1] if ladders else written.asked
    return f"pages: {plain(shown_path(start.path, folder))}"
