"""Which lines of a long text are shown: those that cost something and what stands around them, within so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import escape

from ncu_assist.render.escape import plain

WHOLE = 400  # lines up to which a text is shown whole
AROUND = (12, 4, 1, 0)  # lines around a hot one, the most that fit
LEAST_GAP = 5  # lines that are left out together
LETTERS = 600  # of a line; what is longer was made by a machine
Weight = Callable[[int], int]


def shown(count: int, hot: Sequence[int], weight: Weight, budget: int, whole: int = WHOLE) -> list[range]:
    """Return which of ``count`` lines, numbered from 0, are shown: all of a short text, else regions around hot ones.

    ``hot`` is in the order of their cost, the costliest first; ``weight`` says how many bytes a line takes. Where even
    the hot lines alone are too much, the costliest are shown that fit.
    """
    if count <= whole and sum(map(weight, range(count))) <= budget:
        return [range(count)] if count else []
    for around in AROUND:
        regions = _regions(count, hot, around)
        if sum(map(len, regions)) <= budget and _fits(regions, weight, budget):
            return regions
    return _regions(count, _fitting(hot, weight, budget), 0)


def cut_line(text: str) -> str:
    """Return a line that is not longer than LETTERS, with a note of how much was cut."""
    if len(text) <= LETTERS:
        return text
    return f"{text[:LETTERS]} … {len(text) - LETTERS:,} more letters"


def size_of(text: str) -> int:
    """Return how many bytes a text takes in a page, escaped and spelled out."""
    known = text if text.isascii() and text.isprintable() else plain(text)
    return len(str(escape(known)).encode())


def _regions(count: int, hot: Sequence[int], around: int) -> list[range]:
    gap = max(1, min(around, LEAST_GAP))  # a note of a shorter one takes as much room as its lines
    found: list[range] = []
    for line in sorted(set(hot)):
        start, stop = line - around, line + around + 1
        start, stop = 0 if start <= gap else start, count if stop >= count - gap else stop
        if found and start <= found[-1].stop + gap:
            found[-1] = range(found[-1].start, max(stop, found[-1].stop))
        elif start < stop:
            found.append(range(start, stop))
    return found


def _fits(regions: Sequence[range], weight: Weight, budget: int) -> bool:
    left = budget
    for region in regions:
        for line in region:
            left -= weight(line)
            if left < 0:
                return False
    return True


def _fitting(hot: Sequence[int], weight: Weight, budget: int) -> list[int]:
    taken, left = [], budget
    for line in hot:
        left -= weight(line)
        if left < 0:
            break
        taken.append(line)
    return taken
