"""Two texts beside each other: which line stands next to which, what was removed, added, changed or moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Kind = Literal["same", "changed", "removed", "added", "replaced"]
SIGNS: dict[Kind, str] = {"same": "", "changed": "~", "removed": "-", "added": "+", "replaced": "-+"}


@dataclass(frozen=True)
class Aligned:
    """A row: lines counted from 1, None where a side has none; ``moved`` is where the line is on the other side."""

    before: int | None
    after: int | None
    kind: Kind
    moved: int | None = None


def aligned_rows(baseline: Sequence[str], candidate: Sequence[str], partners: Mapping[int, int]) -> list[Aligned]:
    """Return every line of both texts in their order, partners in one row as far as none crosses another.

    Lines that took the place of others stand beside these.
    """
    kept = dict(_in_order(partners, len(baseline), len(candidate)))
    back = {after: before for before, after in partners.items()}
    rows: list[Aligned] = []
    done = 0
    for number in range(1, len(baseline) + 1):
        after = kept.get(number)
        if after is None:
            rows.append(Aligned(number, None, "removed", partners.get(number)))
            continue
        rows += [Aligned(None, new, "added", back.get(new)) for new in range(done + 1, after)]
        same = baseline[number - 1].split() == candidate[after - 1].split()
        rows.append(Aligned(number, after, "same" if same else "changed"))
        done = after
    rows += [Aligned(None, new, "added", back.get(new)) for new in range(done + 1, len(candidate) + 1)]
    return list(_beside(rows))


def _beside(rows: Iterable[Aligned]) -> Iterator[Aligned]:
    """Yield rows with removed and added lines between the same partners next to each other; not those that moved."""
    for is_common, run in groupby(rows, key=lambda row: row.kind not in ("removed", "added") or row.moved is not None):
        if is_common:
            yield from run
            continue
        own = list(run)
        removed, added = ([row for row in own if row.kind == kind] for kind in ("removed", "added"))
        both = min(len(removed), len(added))
        yield from (Aligned(removed[i].before, added[i].after, "replaced") for i in range(both))
        yield from (*removed[both:], *added[both:])


def numbered_rows(baseline: Collection[int], candidate: Collection[int]) -> list[Aligned]:
    """Return a row for each line where texts cannot be compared: the same number is the same line."""
    return [
        Aligned(number if number in baseline else None, number if number in candidate else None, "same")
        for number in sorted({*baseline, *candidate})
    ]


def _in_order(partners: Mapping[int, int], before: int, after: int) -> Iterator[tuple[int, int]]:
    """Yield the longest list of partners of which none crosses another: a line that moved is not among them."""
    pairs = sorted((i, j) for i, j in partners.items() if 0 < i <= before and 0 < j <= after)
    tails: list[int] = []  # the smallest end of a list of each length, and where it stands
    ends: list[int] = []
    previous: list[int] = []
    for place, (_, other) in enumerate(pairs):
        length = bisect_left(tails, other)
        previous.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(other)
            ends.append(place)
        else:
            tails[length], ends[length] = other, place
    chain, place = [], ends[-1] if ends else -1
    while place >= 0:
        chain.append(pairs[place])
        place = previous[place]
    yield from reversed(chain)
