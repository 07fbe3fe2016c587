"""The lines of a source that are most like what an edit looks for, with their numbers, to be told to the model."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

AROUND = 2  # lines shown before and after
MOST_SHOWN = 40  # lines
MOST_COMPARED, LONGEST = 2_000, 300  # lines, and letters of one: comparing two takes the product of their lengths


def nearest_lines(search: str, source: str) -> str:
    """Return the part of a source where most lines are those of ``search``, numbered from 1.

    Spaces at both ends are not compared: they are what goes wrong most often. Where no line is the same, it is the
    place of the line most like the longest one of ``search``; empty where none is like it.
    """
    wanted, lines = search.splitlines(), source.splitlines()
    start = _start([line.strip() for line in wanted], [line.strip() for line in lines])
    if start is None:
        return ""
    first, last = max(0, start - AROUND), min(len(lines), start + min(len(wanted), MOST_SHOWN) + AROUND)
    return "\n".join(f"{number + 1:5}  {lines[number]}" for number in range(first, last))


def places_of(search: str, source: str) -> list[int]:
    """Return the offsets at which a text stands, overlapping ones too; whole lines only at the start of a line."""
    found, place = [], source.find(search)
    while place >= 0:
        if not search.endswith("\n") or place == 0 or source[place - 1] == "\n":
            found.append(place)
        place = source.find(search, place + 1)
    return found


def _start(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line at which what is wanted would start, by the most lines that are equal, else by one alike."""
    votes: dict[int, int] = {}
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        numbers.setdefault(line, []).append(number)
    for offset, line in enumerate(wanted):
        for number in numbers.get(line, ()) if len(line) > 2 else ():  # a lone brace is everywhere
            votes[number - offset] = votes.get(number - offset, 0) + 1
    if votes:
        return max(0, max(votes, key=lambda start: (votes[start], -start)))
    longest = max(wanted, key=len, default="")
    known = [line for line in numbers if len(line) <= LONGEST][:MOST_COMPARED]
    alike = difflib.get_close_matches(longest, known, n=1, cutoff=0.4) if 0 < len(longest) <= LONGEST else []
    return max(0, numbers[alike[0]][0] - wanted.index(longest)) if alike else None
