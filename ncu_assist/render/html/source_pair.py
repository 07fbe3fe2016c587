"""The source of both sides of a diff next to each other, with the time of each line and how it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ncu_assist.analysis.diff.lines import LineCost, Place, SideLines, aligned, base_name
from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.source_costs import FileCode, SourceCosts, Totals, source_costs
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.pair_file import PairFile, pair_file
from ncu_assist.render.html.pair_scale import PairScale
from ncu_assist.render.html.source_file import slugs
from ncu_assist.render.html.source_view import collect_lines

FILE_BYTES = 700_000  # of all files together: half of what a source view may take, for there is no SASS
NAME_LETTERS = 60


@dataclass(frozen=True)
class SourcePair:
    """Everything that the macro ``source_pair`` writes; ``missing`` is why there is nothing to align:

    what the other side has then stands alone.
    """

    names: tuple[str, str] = ("", "")
    unit: str = ""
    files: tuple[PairFile, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, str] | None = None
    _places: dict[tuple[bool, str, int], str] = field(default_factory=dict, repr=False)

    def href(self, place: Place | None, is_candidate: bool) -> str:
        """Return the link to a line of one side; empty where the page does not show it."""
        found = self._places.get((is_candidate, *place)) if place else None
        return f"#{found}" if found else ""


def source_pair(baseline: Shown, candidate: Shown) -> SourcePair:
    """Return the sources of two runs whose lines were read, aligned by their texts."""
    sides = _Side.of(baseline), _Side.of(candidate)
    names = sides[0].name, sides[1].name
    lacking = [side for side in sides if not side.costs.files]
    missing = None
    if lacking:
        why = "; ".join(f"{side.name}: {side.note}" for side in lacking)
        missing = f"There is nothing to align: {why}.", lacking[0].collect
    if len(lacking) == len(sides):
        return SourcePair(names, missing=missing)
    scale = PairScale.of((sides[0].duration_ns, sides[1].duration_ns), (sides[0].costs, sides[1].costs))
    pairs = _pairs(*sides)
    files, budget = [], FILE_BYTES
    for one, slug in zip(pairs, slugs(_name(*one[:2]) for one in pairs), strict=True):
        made = pair_file(one, slug, scale, budget)
        budget -= made.size
        files.append(made)
    places = {key: row.id for file in files for row in file.rows for key in row.keys}
    return SourcePair(names, scale.unit, tuple(files), _notes(sides), missing, places)


@dataclass(frozen=True)
class _Side:
    """One run: its name, its costs, the time of its launches, None where it is not known."""

    name: str
    own: str | None
    costs: SourceCosts
    duration_ns: float | None
    note: str
    collect: str

    @classmethod
    def of(cls, shown: Shown) -> _Side:
        close, run = shown.close, shown.run
        name = one_line(run.version, NAME_LETTERS)
        why = (close.spots.note if close.spots else "") or close.note or "its source lines were not read"
        if close.code is None:
            return cls(name, None, SourceCosts(Totals(), (), ()), None, why, collect_lines(shown))
        code = close.code.of([one.index for one in shown.combined.launches]) if shown.combined.launches else close.code
        costs = source_costs(code, close.texts)
        own = next((file.name for file in costs.files if base_name(file.name).startswith(f"{run.version}.")), None)
        return cls(name, own, costs, shown.combined.duration_ns, why, "")

    def lines(self) -> SideLines:
        """Return the side as the alignment takes it."""
        texts = {file.name: "\n".join(_bare(file.text)) for file in self.costs.files if file.text is not None}
        lines = [
            LineCost(file.name, line.number, None, line.cost.samples * (self.duration_ns or 1.0), line.cost.samples)
            for file in self.costs.files
            for line in file.lines
        ]
        return SideLines(tuple(lines), texts, self.own, self.duration_ns or 0.0)

    def file(self, name: str) -> FileCode:
        return next(file for file in self.costs.files if file.name == name)


def _name(before: FileCode | None, after: FileCode | None) -> str:
    return next((file.name for file in (after, before) if file), "")


def _pairs(baseline: _Side, candidate: _Side) -> list[tuple[FileCode | None, FileCode | None, dict[int, int]]]:
    """Return the files that belong together with their partners by line, then those that only one side has."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    for (before, line), (after, other) in aligned(baseline.lines(), candidate.lines()).items():
        found.setdefault((before, after), {})[line] = other
    pairs: list[tuple[FileCode | None, FileCode | None, dict[int, int]]] = [
        (baseline.file(before), candidate.file(after), lines) for (before, after), lines in found.items()
    ]
    taken = {before for before, _ in found}, {after for _, after in found}
    pairs += [(file, None, {}) for file in baseline.costs.files if file.name not in taken[0]]
    pairs += [(None, file, {}) for file in candidate.costs.files if file.name not in taken[1]]
    return sorted(pairs, key=lambda one: -max(file.cost.samples for file in one[:2] if file))


def _bare(text: Sequence[str]) -> list[str]:
    """Return lines without what Python, but no compiler, takes for the end of one."""
    return [" ".join(line.splitlines()) for line in text]


def _notes(sides: tuple[_Side, _Side]) -> tuple[str, ...]:
    notes = []
    for side in sides:
        share = sum(function.cost.samples for function in side.costs.functions)
        if share >= 0.005:
            notes.append(f"{side.name}: {100 * share:.0f} % of its samples are in code without source lines.")
    return tuple(notes)
