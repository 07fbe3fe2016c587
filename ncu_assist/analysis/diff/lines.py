"""The source lines whose cost appeared, vanished or moved between two versions, and those where most time is left."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import copysign, sqrt
from pathlib import PurePath
from typing import Literal

from ncu_assist.ncu.line_sums import LineCost, LineSums

Place = tuple[str, int]  # a file as the lines name it, and a line of it
Group = tuple[tuple[int, ...], tuple[int, ...]]  # launches of the baseline and the candidate that do the same work


def base_name(file: str) -> str:
    """Return the last part of a path as a compiler wrote it."""
    return PurePath(file).name


# Of two texts' characters: a line with an index or a stride changed is above 0.85, two statements on the same variables
# are about 0.6 (the steps of kernels/lightning_decode).
ALIKE = 0.75
MOST_PAIRS = 4000  # of lines compared letter by letter, 0.1 ms each; larger rewrites are not the same lines


def aligned(baseline: LineSums, candidate: LineSums) -> dict[Place, Place]:
    """Return the line of the candidate for each line of the baseline that has one.

    That is one in a file of the same role, else one of the same text anywhere.
    """
    kept, moved = _aligned(baseline, candidate)
    return kept | moved


def _aligned(baseline: LineSums, candidate: LineSums) -> tuple[dict[Place, Place], dict[Place, Place]]:
    """Return which line is which: of those that kept their place among the others, and of those that moved."""
    found: dict[Place, Place] = {}
    moved: dict[Place, Place] = {}
    for before, after in _files(baseline, candidate):
        used = [
            {one.line for one in side.lines if one.file == name}
            for side, name in ((baseline, before), (candidate, after))
        ]
        texts = baseline.texts.get(before), candidate.texts.get(after)
        if texts[0] is not None and texts[1] is not None:
            pairs, elsewhere = align_lines(texts[0].splitlines(), texts[1].splitlines(), (used[0], used[1]))
            moved |= {(before, one): (after, other) for one, other in elsewhere.items()}
        else:  # an include that nobody imported is the same on both sides
            pairs = {number: number for number in used[0] | used[1]}
        found |= {(before, one): (after, other) for one, other in pairs.items()}
    return found, moved | dict(_moved_anywhere(baseline, candidate, found | moved))


def _moved_anywhere(
    baseline: LineSums, candidate: LineSums, found: Mapping[Place, Place]
) -> Iterator[tuple[Place, Place]]:
    """Yield the costly lines without a partner whose text stands in another file too, the costliest first."""
    taken = set(found.values())
    left = _by_text(one for one in baseline.lines if one.place not in found)
    right = _by_text(one for one in candidate.lines if one.place not in taken)
    for text, places in left.items():
        yield from zip(places, right.get(text, ()), strict=False)


def _by_text(lines: Iterable[LineCost]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for one in sorted(lines, key=lambda one: (-one.ns, one.place)):
        text = " ".join((one.text or "").split())
        if one.ns > 0 and any(letter.isalnum() for letter in text):
            found.setdefault(text, []).append(one.place)
    return found


def align_lines(
    baseline: Sequence[str], candidate: Sequence[str], used: tuple[Collection[int], Collection[int]]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return which line of a text is which of another, counted from 1: in the order of both, then those that moved.

    Indentation is no difference. Of lines that were rewritten, those that are ``used`` pair where they are alike; a
    line that only moved keeps its partner.
    """
    before, after = ([" ".join(line.split()) for line in text] for text in (baseline, candidate))
    found: dict[int, int] = {}
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if tag == "equal":
            found |= {i + 1: j + 1 for i, j in zip(range(i1, i2), range(j1, j2), strict=True)}
        elif tag == "replace":
            lines = [i for i in range(i1, i2) if i + 1 in used[0]], [j for j in range(j1, j2) if j + 1 in used[1]]
            found |= {i + 1: j + 1 for i, j in _alike(before, after, lines)}
    return found, dict(_moved(before, after, found, used))


def _files(baseline: LineSums, candidate: LineSums) -> list[tuple[str, str]]:
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


def _main(side: LineSums, files: Sequence[str]) -> str | None:
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


def _moved(
    before: Sequence[str],
    after: Sequence[str],
    found: dict[int, int],
    used: tuple[Collection[int], Collection[int]],
) -> Iterator[tuple[int, int]]:
    """Yield lines that stand elsewhere in the other text: those ``used``, in their order, or the only one of a text."""
    taken = set(found.values())
    left = _places(before, lambda number: number not in found)
    right = _places(after, lambda number: number not in taken)
    for text, numbers in left.items():
        others = right.get(text, [])
        if not others or not any(letter.isalnum() for letter in text):
            continue
        if len(numbers) == len(others) == 1:
            yield numbers[0], others[0]
        else:
            yield from zip((i for i in numbers if i in used[0]), (j for j in others if j in used[1]), strict=False)


def _places(lines: Sequence[str], is_free: Callable[[int], bool]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, text in enumerate(lines, 1):
        if is_free(number):
            found.setdefault(text, []).append(number)
    return found


RowKind = Literal["same", "changed", "removed", "added", "replaced"]


@dataclass(frozen=True)
class Aligned:
    """A row: lines counted from 1, None where a side has none; ``moved`` is where the line is on the other side."""

    before: int | None
    after: int | None
    kind: RowKind
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


Kind = Literal["appeared", "vanished", "started", "stopped", "kept", "moved", "not-read"]
Became = Literal["appeared", "vanished", "started", "stopped", "more excess", "less excess", "more", "less", "not read"]
Pair = tuple[LineCost | None, LineCost | None]
TOP = 5
LEFT = 8
# Excess sectors and wavefronts repeat exactly, so a change is real; it matters from the share of the time on below
# which a finding is a remark (the diagnoses' severity "info").
MATERIAL = 0.02
# A line's time comes from samples, and of a launch whose duration wanders by 0.8 % at 124 µs (docs/sources.md, Noise).
SIGMAS = 3.0
DURATION_NOISE = 0.01
# A line that lost much more time than all code together lost it to other lines: it explains nothing.
MOST_OF_CHANGE = 2.0
MOST_OF_LINE = 0.5  # of the change of all: no other line has as much
LEAST_CHANGE = 0.02  # of the time; below it no single line is named for it


@dataclass(frozen=True)
class LineChange:
    """A line whose cost changed; a side is None where the line is not in its text: it ``appeared``, or ``vanished``.

    A line of both texts that only one side executed ``started``, or ``stopped``. Any other line of both sides is
    ``kept`` where it stands among the lines around it as it did, if rewritten or under another
    number; ``moved`` where the same text stands elsewhere. ``is_beyond`` is whether its cost changed by more than
    samples and durations wander.

    A line is ``not-read`` where it cost something on one side, and of what the other side launched instead no lines
    are known: nobody can tell whether it is there.

    ``pipe_ns`` is how long the L1 caches of all SMs, at their peak, pass the excess sectors and wavefronts that it
    gained (negative: lost); what went from one line to another is not in it. It is no part of the time of the line, and
    often above it: samples fall on the line that waits, which is another one for a store, and L1 works beside what
    binds. It is at most the time of all code on the side that has the excess. ``is_material`` where it is no trifle.

    ``told`` is the change as text and pages have it, where that is not of this line alone (see ``told_changes``);
    there ``sampled`` is the line behind a barrier at which the warps were sampled that it held.
    """

    kind: Kind
    baseline: LineCost | None
    candidate: LineCost | None
    pipe_ns: float
    is_material: bool
    is_beyond: bool = True
    told: LineChange | None = field(default=None, repr=False)
    sampled: Place | None = None

    @property
    def delta_ns(self) -> float:
        """Return how much more the candidate's line costs."""
        return (self.candidate.ns if self.candidate else 0.0) - (self.baseline.ns if self.baseline else 0.0)

    @property
    def direction(self) -> int:
        """Return 1 for a line that got worse, -1 for one that got better: by its excess, else by its time; else 0."""
        if self.kind == "not-read":
            return 0
        return int(copysign(1, self.pipe_ns if self.is_material else self.delta_ns))

    @property
    def became(self) -> Became | Literal["replaced"]:
        """Return what became of the line in a word; one that is told with another in its place was ``replaced``.

        Of a line that both sides executed ``more excess`` or ``less excess`` where that is no trifle, whatever its time
        did; else ``more`` or ``less`` time.
        """
        if self.kind == "not-read":
            return "not read"
        if self.kind in ("appeared", "vanished") and self.baseline and self.candidate:
            return "replaced"
        if self.kind != "kept" and self.kind != "moved":
            return self.kind
        if self.is_material:
            return "more excess" if self.direction > 0 else "less excess"
        return "more" if self.direction > 0 else "less"

    @property
    def named(self) -> tuple[LineCost, ...]:
        """Return the lines that it is called by: those that cost something; of one that was replaced both."""
        both = self.became == "replaced"
        return tuple(one for one in (self.baseline, self.candidate) if one and (both or one.ns or one.excess))

    @property
    def text(self) -> str | None:
        """Return the text of the line, the candidate's where it has one; of one that was replaced the worse one's."""
        was = self.became == "replaced" and self.direction < 0
        sides = (self.baseline, self.candidate) if was else (self.candidate, self.baseline)
        texts = [side.text for side in sides if side and side.text is not None]
        return texts[0] if texts else None


@dataclass(frozen=True)
class LineChanges:
    """At most TOP changes, or every line, what explains most first, and the candidate's costliest lines, ``left``.

    Of the baseline and of the candidate: ``notes`` say why it has no lines, or of how many launches they are, ``own``
    is the version's own file, ``durations_ns`` the time of all compared launches, 0 where it is not known, ``waits``
    what each stall reason cost of the code that was read.
    """

    changes: tuple[LineChange, ...] = ()
    left: tuple[LineCost, ...] = ()
    notes: tuple[str, str] = ("", "")
    own: tuple[str | None, str | None] = (None, None)
    durations_ns: tuple[float, float] = (0.0, 0.0)
    waits: tuple[Mapping[str, float], Mapping[str, float]] = field(default=({}, {}), repr=False)


def explaining_change(lines: LineChanges) -> LineChange | None:
    """Return the change that explains most of the time, in its direction; None where none does."""
    before, after = lines.durations_ns
    delta = after - before
    known = [one for one in lines.changes if one.is_beyond]
    along = [one for one in known if one.direction * delta > 0]
    material = [one for one in (*along, *known) if one.is_material]
    if material:
        return material[0]
    if not along or abs(delta) < LEAST_CHANGE * max(before, after):
        return None
    return along[0] if abs(along[0].delta_ns) <= MOST_OF_CHANGE * abs(delta) else None


def most_of_change(lines: LineChanges) -> LineChange | None:
    """Return the line whose time changed most, where that is most of what changed in all; None where no line's is."""
    delta = lines.durations_ns[1] - lines.durations_ns[0]
    known = [one for one in lines.changes if one.is_beyond and one.kind != "not-read" and one.delta_ns * delta > 0]
    most = max(known, key=lambda one: abs(one.delta_ns), default=None)
    if most is None or abs(delta) < LEAST_CHANGE * max(lines.durations_ns):
        return None
    return most if MOST_OF_LINE * abs(delta) < abs(most.delta_ns) <= MOST_OF_CHANGE * abs(delta) else None


def answering_lines(lines: LineChanges) -> tuple[list[LineChange], list[LineCost]]:
    """Return what an answer names: the changes that explain most, then of the lines left the costliest.

    One line is named once; one that costs a trifle, and wastes nothing that matters, is not.
    """
    explaining, most = explaining_change(lines), most_of_change(lines)
    if most and most.candidate and most.candidate.place in [one.place for one in lines.left[:1]]:
        most = None  # named as the hottest
    changed = [one for one in (explaining, most) if one]
    told = told_changes(changed)
    places = {one.candidate.place for one in (*changed, *told) if one.candidate}
    worth = (one for one in lines.left if one.is_wasteful or one.share >= MATERIAL)
    return told, [one for one in worth if places.isdisjoint((one.place, one.waits_at.place))]


def told_changes(changes: Iterable[LineChange]) -> list[LineChange]:
    """Return changes as text and pages have them: a row of the sources side by side, not a line of one of them.

    What took the place of a line stands beside it, and of warps that a barrier held the line is that of the barrier.
    A row of two changes is told once.
    """
    found: dict[tuple[Place | None, ...], LineChange] = {}
    for one in changes:
        made = one.told or one
        found.setdefault(tuple(side.place if side else None for side in (made.baseline, made.candidate)), made)
    return list(found.values())


def line_changes(
    baseline: LineSums, candidate: LineSums, groups: Sequence[Group] = (), every: bool = False
) -> LineChanges:
    """Return what changed between the lines of two sides; no changes where a side has no lines.

    ``groups`` are the launches that were paired. Lines whose waste changed come first, by that and by their time: an
    access made better saves time also at other lines, which waited for it. The others follow by the change of their
    time, as far as it is more than noise; last come those that one side did not read. ``every`` keeps all lines.
    """
    made = _changes(baseline, candidate, groups) if baseline.lines and candidate.lines else ()
    told = (replace(one, is_beyond=one.is_material or _is_known(one, baseline, candidate)) for one in made)
    found = [one for one in told if every or one.is_beyond]
    found.sort(key=lambda one: (not one.is_beyond, one.kind == "not-read", not one.is_material, -_weight(one)))
    whole = LineChanges(tuple(found), durations_ns=(baseline.duration_ns, candidate.duration_ns))
    most = most_of_change(whole)
    if not every and most in found[TOP:]:
        found[TOP - 1] = most
    kept = found if every else found[:TOP]
    rows = _SourceRows(baseline, candidate) if kept else None
    return LineChanges(
        changes=tuple(replace(one, told=rows.told(one) if rows else None) for one in kept),
        left=_left(candidate),
        notes=(baseline.note, candidate.note),
        own=(baseline.own, candidate.own),
        durations_ns=(baseline.duration_ns, candidate.duration_ns),
        waits=(baseline.waits, candidate.waits),
    )


def _changes(baseline: LineSums, candidate: LineSums, groups: Sequence[Group]) -> Iterator[LineChange]:
    against_nothing = (
        {one for before, after in groups if not candidate.lined.intersection(after) for one in before},
        {one for before, after in groups if not baseline.lined.intersection(before) for one in after},
    )

    def is_unread(line: LineCost | None, other: LineCost | None, side: int) -> bool:
        """Tell whether a line costs nothing on the other side only because no lines are known of that."""
        if line is None or not line.launches or (other and (other.ns or other.excess)):
            return False
        return against_nothing[side].issuperset(line.launches)

    kept, moved = _aligned(baseline, candidate)
    pairs = list(_pairs(baseline, candidate, kept | moved))
    unread = [is_unread(before, after, 0) or is_unread(after, before, 1) for before, after in pairs]
    wastes = _Wastes(baseline, candidate, [pair for pair, skipped in zip(pairs, unread, strict=True) if not skipped])
    for (before, after), skipped in zip(pairs, unread, strict=True):
        if skipped:
            yield LineChange("not-read", before, after, 0.0, False)
            continue
        kind: Kind = "moved" if before and moved.get(before.place) else "kept"
        if before is None or after is None:
            kind = "appeared" if before is None else "vanished"
        elif _is_idle(before) != _is_idle(after):
            kind = "started" if _is_idle(before) else "stopped"
        pipe_ns = wastes.of(before, after)
        longest = max(baseline.duration_ns, candidate.duration_ns)
        yield LineChange(kind, before, after, pipe_ns, abs(pipe_ns) > MATERIAL * longest)


_Row = tuple[tuple[Place, Place], RowKind]


class _SourceRows:
    """The texts of both sides next to each other, and the time that each barrier held warps sampled behind it."""

    def __init__(self, baseline: LineSums, candidate: LineSums) -> None:
        self._sides = baseline, candidate
        self._costs = [{one.place: one for one in side.lines} for side in self._sides]
        self._held: list[dict[Place, float]] = [{}, {}]
        for held, side in zip(self._held, self._sides, strict=True):
            for one in side.lines:
                if one.waits_at is not one:
                    held[one.waits_at.place] = held.get(one.waits_at.place, 0.0) + one.ns
        self._rows: list[dict[Place, _Row]] = [{}, {}]
        partners = aligned(baseline, candidate)
        for before, after in _files(baseline, candidate):
            texts = baseline.texts.get(before), candidate.texts.get(after)
            if texts[0] is None or texts[1] is None or before.endswith(".py") != after.endswith(".py"):
                continue  # no line is in the place of one of another language
            lines = {at[1]: to[1] for at, to in partners.items() if (at[0], to[0]) == (before, after)}
            for row in aligned_rows(texts[0].splitlines(), texts[1].splitlines(), lines):
                if row.before and row.after:
                    both = (before, row.before), (after, row.after)
                    self._rows[0][both[0]] = self._rows[1][both[1]] = both, row.kind

    def told(self, change: LineChange) -> LineChange | None:
        """Return a change with both lines of its row, or of the barriers that held its warps; None for neither."""
        both = change.baseline, change.candidate
        own = both[1] or both[0]
        if own is None or change.kind == "not-read":
            return None
        place, is_paired = int(own is both[1]), all(both)
        waiting = [one.waits_at is not one for one in both if one and (one.ns or one.excess)]
        if not change.is_material and waiting and all(waiting):
            told = [one and self._barrier(side, one) for side, one in enumerate(both)]
            if not is_paired:
                found, kind = self._rows[place].get(own.waits_at.place, (None, "added"))
                if found and kind != "replaced":
                    told[1 - place] = self._line(1 - place, found[1 - place])
            became: Kind = "kept" if all(told) else change.kind
            sampled = own.place if place or not all(told) else None  # of both sides the candidate's
            return replace(change, kind=became, baseline=told[0], candidate=told[1], sampled=sampled)
        found, kind = self._rows[place].get(own.place, (None, "added"))
        if found is None or (kind == "replaced") == is_paired:
            return None
        other = self._line(1 - place, found[1 - place])
        if kind == "replaced" and other.waits_at is not other:
            return None  # which is told of its barrier
        shown = [one if one and one.ns else self._line(side, found[side]) for side, one in enumerate(both)]
        return replace(change, baseline=shown[0], candidate=shown[1])

    def _barrier(self, side: int, line: LineCost) -> LineCost:
        at = line.waits_at
        return line if at is line else replace(self._line(side, at.place), text=at.text, stall=line.stall)

    def _line(self, side: int, place: Place) -> LineCost:
        """Return what a line costs, with the time that it held warps as a barrier."""
        line = self._costs[side].get(place) or _free(self._sides[side], place)
        return replace(line, ns=line.ns + self._held[side].get(place, 0.0))


def _is_idle(line: LineCost) -> bool:
    """Tell whether a line was not executed, as far as samples and counters tell."""
    return not (line.ns or line.excess or line.instructions)


def _pairs(baseline: LineSums, candidate: LineSums, partners: Mapping[Place, Place]) -> Iterator[Pair]:
    """Yield each line with its partner; a line that is in a text, but cost nothing there, has a cost of 0."""
    left = {one.place: one for one in baseline.lines}
    right = {one.place: one for one in candidate.lines}
    for place, line in left.items():
        other = partners.get(place)
        yield line, None if other is None else right.get(other) or _free(candidate, other)
    back = {other: place for place, other in partners.items()}
    for place, line in right.items():
        other = back.get(place)
        if other not in left:
            yield None if other is None else _free(baseline, other), line


def _free(side: LineSums, place: Place) -> LineCost:
    file, number = place
    lines = side.texts.get(file, "").splitlines()
    return LineCost(file, number, lines[number - 1] if 0 < number <= len(lines) else None, 0.0, 0.0)


class _Wastes:
    """The time in L1 of an excess that a line gained, as far as all lines together gained it."""

    def __init__(self, baseline: LineSums, candidate: LineSums, pairs: Sequence[Pair]) -> None:
        self._pass_ns = max((side.pass_ns for side in (baseline, candidate) if side.pass_ns), default=0.0)
        lines = [after for _, after in pairs if after], [before for before, _ in pairs if before]
        sectors, wavefronts = ([sum(map(of, some)) for some in lines] for of in (_sectors, _wavefronts))
        self._totals = sectors[0] - sectors[1], wavefronts[0] - wavefronts[1]
        self._most = baseline.duration_ns, candidate.duration_ns  # no pipe is busy for longer

    def of(self, before: LineCost | None, after: LineCost | None) -> float:
        sectors = (_sectors(after) if after else 0.0) - (_sectors(before) if before else 0.0)
        wavefronts = (_wavefronts(after) if after else 0.0) - (_wavefronts(before) if before else 0.0)
        found = self._pass_ns * (_within(sectors, self._totals[0]) + _within(wavefronts, self._totals[1]))
        return max(-self._most[0], min(found, self._most[1]))


def _sectors(line: LineCost) -> float:
    return line.sectors_excessive or 0.0


def _wavefronts(line: LineCost) -> float:
    return line.wavefronts_excessive or 0.0


def _within(change: float, total: float) -> float:
    """Return of a change what is in the direction of the total, and not beyond it."""
    return copysign(min(abs(change), abs(total)), change) if change * total > 0 else 0.0


def _weight(change: LineChange) -> float:
    return abs(change.delta_ns) + (abs(change.pipe_ns) if change.is_material else 0.0)


def _is_known(change: LineChange, baseline: LineSums, candidate: LineSums) -> bool:
    """Tell whether the time of a line changed by more than samples and durations wander."""
    both = (change.baseline, baseline), (change.candidate, candidate)
    own = [(line, side) for line, side in both if line]
    squares = [side.sample_ns**2 * max(line.samples, 1) for line, side in own]
    noise = SIGMAS * sqrt(sum(squares)) + DURATION_NOISE * max(line.ns for line, _ in own)
    smallest = DURATION_NOISE * max(side.duration_ns for _, side in both)
    return abs(change.delta_ns) > max(noise, smallest)


def _left(side: LineSums) -> tuple[LineCost, ...]:
    """Return the line where most time goes, then those whose waste matters, then the next by time."""
    least = MATERIAL * side.duration_ns
    lines = [replace(one, is_wasteful=one.excess * (side.pass_ns or 0.0) > least) for one in side.lines if one.ns > 0]
    lines.sort(key=lambda one: (-one.ns, one.place))
    wasteful = sorted((one for one in lines if one.is_wasteful), key=lambda one: -one.excess)
    return tuple(dict.fromkeys((*lines[:1], *wasteful, *lines)))[:LEFT]
