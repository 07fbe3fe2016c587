"""The source lines whose cost appeared, vanished or moved, and those where most of what is left is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import copysign, sqrt
from typing import Literal

from ncu_assist.diff.line_costs import Group, LineCost, Place, SideLines
from ncu_assist.diff.source_alignment import aligned

Kind = Literal["appeared", "vanished", "moved", "not-read"]
Pair = tuple[LineCost | None, LineCost | None]
TOP = 5
LEFT = 3
# Excess sectors and wavefronts repeat exactly, so a change is real; it matters from the share of the time on below
# which a finding is a remark (the diagnoses' severity "info").
MATERIAL = 0.02
# A line's time comes from samples, and of a launch whose duration wanders by 0.8 % at 124 µs (docs/sources.md, Noise).
SIGMAS = 3.0
DURATION_NOISE = 0.01


@dataclass(frozen=True)
class LineChange:
    """A line whose cost changed; ``moved`` is a line of both sides, a side is None where the line is not in its text.

    A line is ``not-read`` where it cost something on one side, and of what the other side launched instead no lines
    are known: nobody can tell whether it is there.

    ``pipe_ns`` is how long the L1 caches of all SMs, at their peak, pass the excess sectors and wavefronts that it
    gained (negative: lost); what went from one line to another is not in it. It is no part of the time of the line, and
    often above it: samples fall on the line that waits, which is another one for a store, and L1 works beside what
    binds. It is at most the time of all code on the side that has the excess. ``is_material`` where it is no trifle.
    """

    kind: Kind
    baseline: LineCost | None
    candidate: LineCost | None
    pipe_ns: float
    is_material: bool

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
    def text(self) -> str | None:
        """Return the text of the line, the candidate's where it has one."""
        texts = [side.text for side in (self.candidate, self.baseline) if side and side.text is not None]
        return texts[0] if texts else None


@dataclass(frozen=True)
class LineChanges:
    """At most TOP changes, what explains most first, and the candidate's costliest lines, ``left``.

    Of the baseline and of the candidate: ``notes`` say why it has no lines, or of how many launches they are, ``own``
    is the version's own file, ``durations_ns`` the time of all compared launches, 0 where it is not known.
    """

    changes: tuple[LineChange, ...] = ()
    left: tuple[LineCost, ...] = ()
    notes: tuple[str, str] = ("", "")
    own: tuple[str | None, str | None] = (None, None)
    durations_ns: tuple[float, float] = (0.0, 0.0)


def line_changes(baseline: SideLines, candidate: SideLines, groups: Sequence[Group] = ()) -> LineChanges:
    """Return what changed between the lines of two sides; no changes where a side has no lines.

    ``groups`` are the launches that were paired. Lines whose waste changed come first, by that and by their time: an
    access made better saves time also at other lines, which waited for it. The others follow by the change of their
    time, as far as it is more than noise; last come those that one side did not read.
    """
    every = _changes(baseline, candidate, groups) if baseline.lines and candidate.lines else ()
    found = [one for one in every if one.is_material or _is_known(one, baseline, candidate)]
    found.sort(key=lambda one: (one.kind == "not-read", not one.is_material, -_weight(one)))
    return LineChanges(
        changes=tuple(found[:TOP]),
        left=_left(candidate),
        notes=(baseline.note, candidate.note),
        own=(baseline.own, candidate.own),
        durations_ns=(baseline.duration_ns, candidate.duration_ns),
    )


def _changes(baseline: SideLines, candidate: SideLines, groups: Sequence[Group]) -> Iterator[LineChange]:
    against_nothing = (
        {one for before, after in groups if not candidate.lined.intersection(after) for one in before},
        {one for before, after in groups if not baseline.lined.intersection(before) for one in after},
    )

    def is_unread(line: LineCost | None, other: LineCost | None, side: int) -> bool:
        """Tell whether a line costs nothing on the other side only because no lines are known of that."""
        if line is None or not line.launches or (other and (other.ns or other.excess)):
            return False
        return against_nothing[side].issuperset(line.launches)

    pairs = list(_pairs(baseline, candidate))
    unread = [is_unread(before, after, 0) or is_unread(after, before, 1) for before, after in pairs]
    wastes = _Wastes(baseline, candidate, [pair for pair, skipped in zip(pairs, unread, strict=True) if not skipped])
    for (before, after), skipped in zip(pairs, unread, strict=True):
        if skipped:
            yield LineChange("not-read", before, after, 0.0, False)
            continue
        kind: Kind = "moved"
        if before is None or (after and not before.ns and not before.excess):
            kind = "appeared"
        elif after is None or (not after.ns and not after.excess):
            kind = "vanished"
        pipe_ns = wastes.of(before, after)
        longest = max(baseline.duration_ns, candidate.duration_ns)
        yield LineChange(kind, before, after, pipe_ns, abs(pipe_ns) > MATERIAL * longest)


def _pairs(baseline: SideLines, candidate: SideLines) -> Iterator[Pair]:
    """Yield each line with its partner; a line that is in a text, but cost nothing there, has a cost of 0."""
    partners = aligned(baseline, candidate)
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


def _free(side: SideLines, place: Place) -> LineCost:
    file, number = place
    lines = side.texts.get(file, "").splitlines()
    return LineCost(file, number, lines[number - 1] if 0 < number <= len(lines) else None, 0.0, 0.0)


class _Wastes:
    """The time in L1 of an excess that a line gained, as far as all lines together gained it."""

    def __init__(self, baseline: SideLines, candidate: SideLines, pairs: Sequence[Pair]) -> None:
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


def _is_known(change: LineChange, baseline: SideLines, candidate: SideLines) -> bool:
    """Tell whether the time of a line changed by more than samples and durations wander."""
    both = (change.baseline, baseline), (change.candidate, candidate)
    own = [(line, side) for line, side in both if line]
    squares = [side.sample_ns**2 * max(line.samples, 1) for line, side in own]
    noise = SIGMAS * sqrt(sum(squares)) + DURATION_NOISE * max(line.ns for line, _ in own)
    smallest = DURATION_NOISE * max(side.duration_ns for _, side in both)
    return abs(change.delta_ns) > max(noise, smallest)


def _left(side: SideLines) -> tuple[LineCost, ...]:
    """Return the line where most time goes, then those whose waste matters, then the next by time."""
    least = MATERIAL * side.duration_ns
    lines = [replace(one, is_wasteful=one.excess * (side.pass_ns or 0.0) > least) for one in side.lines if one.ns > 0]
    lines.sort(key=lambda one: (-one.ns, one.place))
    wasteful = sorted((one for one in lines if one.is_wasteful), key=lambda one: -one.excess)
    return tuple(dict.fromkeys((*lines[:1], *wasteful, *lines)))[:LEFT]
