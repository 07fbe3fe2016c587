"""One file of a source view: lines in the colours of their language, with their heat and the way to their SASS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import PurePath

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.code import FileCode, LineCode
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.html.source_heat import Heat, HeatColumn, cut_line, percent, shown_regions, size_of
from ncu_assist.render.table import Link
from ncu_assist.render.words.why import stall_words
from ncu_assist.rules.model.places import Place

FindingLines = Mapping[str, tuple[Place, ...]]  # by rule the lines with most of what a finding wastes, the first first


def finding_lines(shown: RunView) -> FindingLines:
    """Return the lines of the findings that some lines are to blame for; none where the code was not read."""
    found = shown.results.diagnosis.findings if shown.results else ()
    return {one.finding.rule: one.places for one in found if one.places}


ROW_BYTES, HOT_ROW_BYTES = 110, 360  # of markup around a line without cost, and with, about
COLOURS = 1.4  # of the bytes of a text with colours, over those without, about
NAME_LETTERS = 120
STALLS, SECOND_FROM = 2, 0.15  # reasons shown of a line, and the share from which the second says something
MARKED_FROM = 0.05  # of what a finding wastes: a line with less is no place to begin
AROUND, LEAST_FOLD = 5, 4  # lines around heat that are not folded; cold lines that are folded together
OPEN_FROM = 0.05  # of all samples: a file with less is folded
HOT_FROM = 0.02  # of all samples
NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9_]+")
NO_TEXT = "(its text is not in the report)"


@dataclass(frozen=True)
class SourceRow:
    """A line: ``cells`` are its heat, in the order of the columns. ``marks`` are findings that name it.

    ``code`` is its text in colours, as HTML. ``hot`` is its share of all samples where keys lead to it, as one of the
    hot lines, else 0. Without a number it is a gap: ``text`` says what is not shown there, ``lines`` from and to where.
    """

    number: int
    text: str
    code: Markup | None = None
    hot: float = 0.0
    id: str = ""
    cells: tuple[Heat, ...] = ()
    stalls: str = ""
    marks: tuple[str, ...] = ()
    sass: Link | None = None  # to its instructions, and how many those are
    lines: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class SourceFileView:
    """A file; ``path`` is its name in the report, ``is_kept``: the text is that of the run's source folder.

    ``is_open``: it is not folded, as a file with few of the samples is.
    """

    id: str
    name: str
    path: str
    share: str
    rows: tuple[SourceRow, ...]
    has_text: bool
    notes: tuple[str, ...]
    source_bytes: int
    is_kept: bool = False
    is_open: bool = True

    @property
    def blocks(self) -> tuple[tuple[tuple[SourceRow, ...], str], ...]:
        """The lines around heat, and between them the cold ones, together with what of them is not on the page.

        With each block which lines those are that a page folds; empty for hot ones.
        """
        warm = [row.number for row in self.rows if row.marks or any(cell.level > 1 for cell in row.cells)]
        near = {number + step for number in warm for step in range(-AROUND, AROUND + 1)}
        some = [(not warm or row.number in near, row) for row in self.rows]
        runs = [(is_near, tuple(row for _, row in own)) for is_near, own in groupby(some, key=lambda one: one[0])]
        return tuple((own, "" if is_near else _cold(own)) for is_near, own in runs)


def _cold(rows: Sequence[SourceRow]) -> str:
    """Return what folds cold lines together; nothing where they are few, or none of them is on the page."""
    if sum(row.number > 0 for row in rows) < LEAST_FOLD:
        return ""
    return f"lines {rows[0].number or rows[0].lines[0]:,} to {rows[-1].number or rows[-1].lines[1]:,}, cold"


def source_file(
    one: FileCode, slug: str, columns: Sequence[HeatColumn], found: FindingLines, ids: Mapping[int, str], budget: int
) -> SourceFileView:
    """Return a file that takes at most so many bytes, about; ``ids`` are those of instructions that the page shows."""
    work = _FileRows(one, slug, columns, _marks(one.name, found), ids)
    regions = work.regions(budget)
    rows = tuple(work.rows(regions))
    return SourceFileView(
        id=f"file-{slug}",
        name=one_line(PurePath(one.name).name, NAME_LETTERS),
        path=one.name,
        share=percent(one.cost.samples),
        rows=rows,
        has_text=one.text is not None,
        notes=tuple(work.notes(regions)),
        source_bytes=sum(work.weight(i) for region in regions for i in region),
        is_open=one.cost.samples >= OPEN_FROM or not one.cost.samples,
    )


def slugs(names: Iterable[str]) -> list[str]:
    """Return what files are called in ids of the page: the last part of each name, unique."""
    found: list[str] = []
    for name in names:
        base = NOT_IN_SLUG.sub("-", PurePath(name).name).strip("-")[:60] or "file"
        number = sum(each == base or each.startswith(f"{base}.") for each in found)
        found.append(f"{base}.{number + 1}" if number else base)
    return found


def stalls_text(line: LineCode, text: str, file: str) -> str:
    """Return the stall reasons of a line with this text: long scoreboard 82 %, barrier (line 40) 12 %."""
    kept = [one for place, one in enumerate(line.cost.waits) if place == 0 or one[1] >= SECOND_FROM]
    told = ((stall_words(reason, text, line.barrier, file), share) for reason, share in kept[:STALLS])
    return ", ".join(f"{words} {100 * share:.0f} %" for words, share in told)


def _marks(file: str, found: FindingLines) -> dict[int, tuple[str, ...]]:
    marks: dict[int, list[str]] = {}
    for rule, places in found.items():
        for place in places:
            if place.file == file and place.line is not None and place.share >= MARKED_FROM:
                marks.setdefault(place.line, []).append(rule)
    return {line: tuple(dict.fromkeys(rules)) for line, rules in marks.items()}


class _FileRows:
    """The lines of one file on their way to rows. Regions count from 0, lines from 1."""

    def __init__(
        self,
        one: FileCode,
        slug: str,
        columns: Sequence[HeatColumn],
        marks: dict[int, tuple[str, ...]],
        ids: Mapping[int, str],
    ) -> None:
        self._one, self._slug, self._columns, self._marks, self._ids = one, slug, columns, marks, ids
        self._lines = {line.number: line for line in one.lines}
        self._weights: dict[int, int] = {}
        self.hottest = sorted((line for line in one.lines if not line.cost.is_nothing), key=_by_cost)

    def regions(self, budget: int) -> list[range]:
        """Return which lines are shown: of a file without text those alone that cost something."""
        hot = [line - 1 for line in self._marks] + [line.number - 1 for line in self.hottest]
        last = max([len(self._one.text or ()), *(line.number for line in self._one.lines)])
        if self._one.text is None:
            return [range(line, line + 1) for line in sorted(set(hot))]
        return shown_regions(last, hot, self.weight, budget)

    def weight(self, place: int) -> int:
        """Return the bytes of a line, counted from 0, without its SASS."""
        if place not in self._weights:
            markup = HOT_ROW_BYTES if place + 1 in self._lines else ROW_BYTES
            self._weights[place] = markup + int(COLOURS * size_of(self._text(place + 1)))
        return self._weights[place]

    def rows(self, regions: Sequence[range]) -> Iterable[SourceRow]:
        for before, region in pairwise([range(0), *regions]):
            yield from self._gap(before.stop, region.start)
            texts = [self._text(place + 1) for place in region]
            codes = _shown(self._one.name, texts) if self._one.text is not None else [Markup(" ")] * len(texts)
            yield from map(self._row, (place + 1 for place in region), codes)
        yield from self._gap(regions[-1].stop if regions else 0, len(self._one.text or ()))

    def notes(self, regions: Sequence[range]) -> Iterable[str]:
        results = {place for region in regions for place in region}
        lost = sum(line.number - 1 not in results for line in self.hottest)
        if lost:
            left = f"{lost} of {len(self.hottest)} lines with cost, those with fewest samples, are left out"
            yield f"{left}: there is no room on the page for all."

    def _gap(self, start: int, stop: int) -> Iterable[SourceRow]:
        if self._one.text is not None and stop > start:
            yield SourceRow(0, f"lines {start + 1:,} to {stop:,}, cold: not on this page", lines=(start + 1, stop))

    def _row(self, number: int, code: Markup) -> SourceRow:
        line, marks = self._lines.get(number), self._marks.get(number, ())
        bare = SourceRow(number, self._text(number), code, id=f"line-{self._slug}-{number}", marks=marks)
        if line is None:
            return bare
        return replace(
            bare,
            hot=line.cost.samples if line.cost.samples >= HOT_FROM else 0.0,
            cells=tuple(column.heat(line.cost) for column in self._columns),
            stalls=stalls_text(line, self._text(number) if self._one.text else "", self._one.name),
            sass=self._sass(line),
        )

    def _sass(self, line: LineCode) -> Link | None:
        """Return a link to the costliest of its instructions that the page shows, a mere text where it shows none."""
        if line.cost.is_nothing or not line.instructions:
            return None
        shown = [one for one in line.instructions if id(one) in self._ids]
        first = max(shown, key=lambda one: one.cost.samples, default=None)
        return Link(str(len(line.instructions)), f"#{self._ids[id(first)]}" if first else "")

    def _text(self, number: int) -> str:
        if self._one.text is None:
            return NO_TEXT
        return cut_line(self._one.text[number - 1]) if number <= len(self._one.text) else NO_TEXT


def _shown(file: str, texts: Sequence[str]) -> Iterable[Markup]:
    """Return lines in the colours of their language; what stands in the place of one that is missing is no code."""
    codes = coloured(file, texts)
    return (NO_CODE if text == NO_TEXT else code for text, code in zip(texts, codes, strict=True))


NO_CODE = Markup(f"<i class=kc>{NO_TEXT}</i>")


def _by_cost(line: LineCode) -> tuple[float, float, int]:
    return -line.cost.samples, -line.cost.instructions, line.number


# What is coloured, the most special first, and the class of style.css.
KINDS: tuple[tuple[_TokenType, str], ...] = (
    (Comment.Preproc, "kp"), (Comment, "kc"), (String, "ks"), (Number, "kn"), (Keyword, "kw"), (Name.Builtin, "kw"),
    (Name.Decorator, "kp"),
)  # fmt: skip
C_LIKE = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".c", ".cc", ".cpp", ".cxx", ".inc")
MOST_LETTERS = 100_000  # of lines that are coloured together: Pygments reads 1 MB in about 2 s


def coloured(file: str, lines: Sequence[str]) -> tuple[Markup, ...]:
    """Return lines of a file, which follow one another, as HTML; without colours where the language is not known."""
    suffix = PurePath(file).suffix.lower()
    if suffix not in (*C_LIKE, ".py") or sum(map(len, lines)) > MOST_LETTERS:
        return tuple(map(_plain, lines))
    return _coloured(suffix == ".py", tuple(lines))


@lru_cache(maxsize=256)
def _coloured(is_python: bool, lines: tuple[str, ...]) -> tuple[Markup, ...]:
    """Return lines with colours. Launches of one kernel show the same ones."""
    flat = "\n".join(line.translate(LINE_ENDS) for line in lines)
    made: list[list[str]] = [[]]
    kinds = ((_class(kind), text) for kind, text in _lexer(is_python).get_tokens(flat))
    for name, tokens in groupby(kinds, key=lambda one: one[0]):
        for place, piece in enumerate("".join(text for _, text in tokens).split("\n")):
            if place:
                made.append([])
            if piece:
                shown = str(_plain(piece))
                made[-1].append(f"<i class={name}>{shown}</i>" if name and piece.strip() else shown)
    found = tuple(Markup("".join(pieces)) for pieces in made[: len(lines)])
    return found if len(found) == len(lines) else tuple(map(_plain, lines))


# What Python takes for the end of a line and a compiler does not, and the lexer's own ends of lines.
LINE_ENDS = {ord(letter): " " for letter in "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"}


@lru_cache
def _lexer(is_python: bool) -> Lexer:
    return (PythonLexer if is_python else CudaLexer)(stripnl=False, ensurenl=False)


@lru_cache
def _class(kind: _TokenType) -> str:
    return next((name for of, name in KINDS if kind in of), "")


def _plain(text: str) -> Markup:
    return escape(plain(text))
