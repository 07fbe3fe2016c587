"""Which line of one program is which of another: files by their role, lines through the diff of their texts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Sequence

from ncu_assist.diff.line_costs import Place, SideLines, base_name

# Of two texts' characters: a line with an index or a stride changed is above 0.85, two statements on the same variables
# are about 0.6 (the steps of kernels/lightning_decode).
ALIKE = 0.75
MOST_PAIRS = 4000  # of lines compared letter by letter, 0.1 ms each; larger rewrites are not the same lines


def aligned(baseline: SideLines, candidate: SideLines) -> dict[Place, Place]:
    """Return the line of the candidate for each line of the baseline that has one, in files of the same role."""
    found: dict[Place, Place] = {}
    for before, after in _files(baseline, candidate):
        used = [
            {one.line for one in side.lines if one.file == name}
            for side, name in ((baseline, before), (candidate, after))
        ]
        texts = baseline.texts.get(before), candidate.texts.get(after)
        if texts[0] is not None and texts[1] is not None:
            pairs = align_lines(texts[0].splitlines(), texts[1].splitlines(), (used[0], used[1]))
        else:  # an include that nobody imported is the same on both sides
            pairs = {number: number for number in used[0] | used[1]}
        found |= {(before, one): (after, other) for one, other in pairs.items()}
    return found


def align_lines(
    baseline: Sequence[str], candidate: Sequence[str], used: tuple[Collection[int], Collection[int]]
) -> dict[int, int]:
    """Return which line of a text is which of another, counted from 1; indentation is no difference.

    Of lines that were rewritten, those that are ``used`` pair where they are alike; a line that only moved keeps its
    partner.
    """
    before, after = ([" ".join(line.split()) for line in text] for text in (baseline, candidate))
    found: dict[int, int] = {}
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if tag == "equal":
            found |= {i + 1: j + 1 for i, j in zip(range(i1, i2), range(j1, j2), strict=True)}
        elif tag == "replace":
            lines = [i for i in range(i1, i2) if i + 1 in used[0]], [j for j in range(j1, j2) if j + 1 in used[1]]
            found |= {i + 1: j + 1 for i, j in _alike(before, after, lines)}
    return found | dict(_moved(before, after, found))


def _files(baseline: SideLines, candidate: SideLines) -> list[tuple[str, str]]:
    """Return the files that belong together: the version's own, those of one name, else where most time goes."""
    left, right = list(baseline.files), list(candidate.files)
    pairs: list[tuple[str, str]] = []

    def take(before: str | None, after: str | None) -> None:
        if before in left and after in right and before is not None and after is not None:
            pairs.append((before, after))
            left.remove(before)
            right.remove(after)

    if baseline.own and candidate.own:
        take(baseline.own, candidate.own)
    names = {base_name(name): name for name in reversed(right)}
    for name in tuple(left):
        take(name, names.get(base_name(name)))
    if baseline.own is None or candidate.own is None:
        take(_main(baseline, left), _main(candidate, right))
    return pairs


def _main(side: SideLines, files: Sequence[str]) -> str | None:
    """Return the version's own file, or of a foreign program the costliest whose text is known."""
    return side.own or next((name for name in files if name in side.texts), None)


def _alike(
    before: Sequence[str], after: Sequence[str], lines: tuple[Sequence[int], Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of rewritten lines that are alike, the most alike first, none across another."""
    if len(lines[0]) * len(lines[1]) > MOST_PAIRS:
        return
    scores = [(likeness, i, j) for i in lines[0] for j in lines[1] if (likeness := _likeness(before[i], after[j]))]
    taken: list[tuple[int, int]] = []
    for _, i, j in sorted(scores, key=lambda one: (-one[0], one[1], one[2])):
        if all((i < one) == (j < other) and i != one and j != other for one, other in taken):
            taken.append((i, j))
            yield i, j


def _likeness(one: str, other: str) -> float:
    """Return how alike two lines are, 0 where they are not."""
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio >= ALIKE else 0.0


def _moved(before: Sequence[str], after: Sequence[str], found: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yield lines that stand elsewhere in the other text, where each side has just one such line left."""
    taken = set(found.values())
    left = _places(before, lambda number: number not in found)
    right = _places(after, lambda number: number not in taken)
    for text, numbers in left.items():
        others = right.get(text, [])
        if len(numbers) == len(others) == 1 and any(letter.isalnum() for letter in text):
            yield numbers[0], others[0]


def _places(lines: Sequence[str], is_free: Callable[[int], bool]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, text in enumerate(lines, 1):
        if is_free(number):
            found.setdefault(text, []).append(number)
    return found
