"""The source of a run with what each line cost, and where a reader begins: the hottest lines, the lines of findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.catalogue.stalls import in_ncu, spoken
from ncu_assist.ncu.code import Cost, FileCode, FunctionCode, LineCode, SourceCosts, source_costs
from ncu_assist.ncu.source.contents import SAMPLES
from ncu_assist.ncu.source.tables import with_instruction
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.sass_view import (
    NAME_LETTERS,
    SassFunction,
    hidden_regions,
    sass_function,
    sass_regions,
    shown_ids,
)
from ncu_assist.render.html.source_file import (
    FindingLines,
    SourceFileView,
    finding_lines,
    slugs,
    source_file,
    stalls_text,
)
from ncu_assist.render.html.source_heat import HOTTEST_FROM, HeatColumn, heat_columns, percent, stall_term
from ncu_assist.render.table import Cell, Column, Link, Table, Term, number
from ncu_assist.render.words.values import collect_again, to_sass
from ncu_assist.rules.model.places import ABOUT

HOTTEST = 5
LEAST_SAMPLES = 0.01  # of all samples
CODE_LETTERS = 300
LINK_LETTERS = 60
Href = Callable[[str | None, int | None], str]


LEAST_OF_FILE = 1_500  # bytes that each file has, whatever others took: its costliest lines, and those of findings

FindingLinks = tuple[str, list[tuple[Link, str]]]  # a rule, and links to its lines with their shares of what it wastes


def hot_lines(costs: SourceCosts, columns: Sequence[HeatColumn], href: Href) -> Table:
    """Return the lines with most samples, then those whose excess is no trifle, with everything they cost."""
    heads = [Column(c.term.label, "right", "number", c.term) for c in columns]
    rows = tuple(_hot_row(file, line, columns, href) for file, line in _hottest(costs, columns))
    titles = (Column("line"), *heads, Column("top stalls"))
    return Table("hot-lines", "Hottest source lines", titles, rows).without_empty()


def finding_links(found: FindingLines, href: Href) -> tuple[FindingLinks, ...]:
    """Return links to the lines of findings; without those whose code has no lines."""
    made: list[FindingLinks] = []
    for rule, places in found.items():
        jumps = [(_line_link(p.file, p.line, href), f"{100 * p.share:.0f} %") for p in places if p.file and p.line]
        made += [(rule, jumps)] if jumps else []
    return tuple(made)


def _hottest(costs: SourceCosts, columns: Sequence[HeatColumn]) -> list[tuple[FileCode, LineCode]]:
    lines = [(file, line) for file in costs.files for line in file.lines]
    chosen: list[tuple[FileCode, LineCode]] = []
    for column in columns:
        if column.key == "instructions":
            continue
        least = (LEAST_SAMPLES if column.in_percent else HOTTEST_FROM) * column.whole
        ranked = sorted(lines, key=lambda one: (-column.of(one[1].cost), one[1].number))[:HOTTEST]
        chosen += [one for one in ranked if column.of(one[1].cost) >= least and one not in chosen]
    return chosen


def _hot_row(file: FileCode, line: LineCode, columns: Sequence[HeatColumn], href: Href) -> tuple[Cell, ...]:
    text = with_instruction(file.text or (), line.number)
    link = _line_link(file.name, line.number, href)
    first = Cell(link.text, link=link, note=one_line(text, CODE_LETTERS))
    return (
        first,
        *(_heat_cell(line.cost, column) for column in columns),
        Cell(stalls_text(line, text, file.name) or "-"),
    )


def _heat_cell(cost: Cost, column: HeatColumn) -> Cell:
    heat = column.heat(cost)
    if not heat.text:
        return Cell()
    made = number(heat.text, column.of(cost))
    return Cell(made.text, made.key, heat=heat.level)


def _line_link(file: str, line: int, href: Href) -> Link:
    return Link(f"{one_line(PurePath(file).name, LINK_LETTERS)}:{line}", href(file, line))


REPEATED = 1.02  # times the instructions of the launch: below, the passes agree
UNLINED_TOLD = 0.005  # of all samples


@dataclass(frozen=True)
class SourceBudget:
    """How many bytes of a page source with heat, SASS with heat, and other SASS that can be opened may take, about."""

    source: int = 50_000
    sass: int = 20_000
    hidden: int = 36_000


@dataclass(frozen=True)
class SourceView:
    """Everything that the macro ``source_view`` writes; with ``missing``, what is not there and what collects it."""

    columns: tuple[HeatColumn, ...] = ()
    files: tuple[SourceFileView, ...] = ()
    functions: tuple[SassFunction, ...] = ()
    hottest: Table | None = None
    findings: tuple[FindingLinks, ...] = ()
    stalls: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: str = ""  # functions whose SASS has no room
    missing: tuple[str, str] | None = None
    _places: dict[tuple[str, int], str] = field(default_factory=dict, repr=False)

    @property
    def samples(self) -> tuple[HeatColumn, ...]:
        """The column of samples, which stands before the source; none where nothing was sampled."""
        return tuple(column for column in self.columns if column.key == SAMPLES)

    @property
    def counters(self) -> tuple[HeatColumn, ...]:
        return tuple(column for column in self.columns if column.key != SAMPLES)

    @property
    def hottest_line(self) -> tuple[Link, str] | None:
        """The line with most samples, with its share, its text and what it waits for; None without samples of lines."""
        if not self.samples or self.hottest is None or not self.hottest.rows:
            return None
        line, share, *_, waits = self.hottest.rows[0]
        text = f" `{line.note}`" if line.note else ""
        return (line.link, f"{share.text} of samples{text}, {waits.text}") if line.link else None

    def href(self, file: str | None, line: int | None) -> str:
        """Return the link to a line of a file, by its name in the report; empty where the page does not show it."""
        place = self._places.get((file or "", line or 0))
        return f"#{place}" if place else ""


def source_view(shown: RunView, findings: FindingLines | None = None, budget: SourceBudget | None = None) -> SourceView:
    """Return the source view of a run whose lines were read; ``findings`` are `finding_lines(shown)`."""
    close = shown.close
    if close.code is None:
        why = close.note or (close.spots.note if close.spots else "") or "its source lines were not read"
        return SourceView(missing=(why, collect_lines(shown)))
    found = finding_lines(shown) if findings is None else findings
    costs = source_costs(close.code, close.texts)
    if not costs.totals:
        return SourceView(missing=("what each line cost was not counted", collect_lines(shown)))
    columns, absent = heat_columns(costs.totals, _all_costs(costs), _launch_words(shown))
    limits = budget or SourceBudget()
    regions = sass_regions(costs.listing, limits.sass, _opcodes_told(shown))
    hidden = hidden_regions(costs.listing, regions, limits.hidden)
    ids = shown_ids(costs.listing, regions, hidden)
    files = _source_files(costs, columns, found, close.kept, ids, limits.source)
    places = {(one.path, row.number): row.id for one in files for row in one.rows if row.id}
    bare = SourceView(columns, files, _places=places)
    functions = tuple(
        replace(
            sass_function(one, place, own, gaps, columns, bare.href),
            name=_function_name(one, costs.listing),
            is_open=not files and place == 0,
        )
        for place, (one, own, gaps) in enumerate(zip(costs.listing, regions, hidden, strict=False))
    )
    notes = [*_source_notes(shown, costs, absent)]
    if any(row.sass and not row.sass.href for one in files for row in one.rows):
        notes.append(f"A count without a link: there is no room here for these instructions. All: {to_sass(shown)}")
    left_out = _left_out(shown, costs.listing[len(functions) :])
    view = replace(bare, functions=functions, stalls=_stall_terms(costs), notes=tuple(notes), left_out=left_out)
    hottest = hot_lines(costs, columns, view.href) if files else None
    return replace(view, hottest=hottest, findings=finding_links(found, view.href))


def _opcodes_told(shown: RunView) -> Collection[str]:
    """Return the opcodes that the diagnosis is about; none where it is about no certain ones."""
    first = shown.results.diagnosis.first if shown.results else None
    return first.finding.about or ABOUT.get(first.finding.rule, ()) if first else ()


def _function_name(one: FunctionCode, listing: Sequence[FunctionCode]) -> str:
    """Return the kernel that a function is of; of several the place of the costliest instruction tells which."""
    name = one_line(one.kernel, NAME_LETTERS)
    if sum(each.kernel == one.kernel for each in listing) < 2:
        return name
    most = max(one.instructions, key=lambda each: each.cost.samples)
    at = f"{one_line(PurePath(most.file).name, LINK_LETTERS)}:{most.line}" if most.file else "no source lines"
    return f"{name}, the function of {at}" if most.file else f"{name}, a function with {at}"


def _left_out(shown: RunView, lost: Sequence[FunctionCode]) -> str:
    """Return which functions have no SASS on the page, with their shares of the samples; empty without any."""
    if not lost:
        return ""
    named = [f"{_function_name(one, lost)} ({percent(one.cost.samples)} of samples)" for one in lost[:HOTTEST]]
    more = f" and {len(lost) - HOTTEST} more" if len(lost) > HOTTEST else ""
    return f"No room here for the SASS of {', '.join(named)}{more}. All: {to_sass(shown)}"


def _source_files(
    costs: SourceCosts,
    columns: Sequence[HeatColumn],
    found: FindingLines,
    kept: frozenset[str],
    ids: Mapping[int, str],
    budget: int,
) -> tuple[SourceFileView, ...]:
    """Return the files, the hottest first, each within its share of samples of what those before it left."""
    files = []
    rest = sum(one.cost.samples for one in costs.files)
    for one, slug in zip(costs.files, slugs(file.name for file in costs.files), strict=True):
        own = int(budget * one.cost.samples / rest) if rest > 0 else budget
        made = source_file(one, slug, columns, found, ids, max(own, LEAST_OF_FILE))
        files.append(replace(made, is_kept=one.name in kept))
        budget, rest = budget - made.source_bytes, rest - one.cost.samples
    return tuple(files)


def _all_costs(costs: SourceCosts) -> Iterable[Cost]:
    """Return the costs that share a scale of colours: of lines, and of instructions where there are no lines."""
    lines = [line.cost for file in costs.files for line in file.lines]
    return lines or [one.cost for function in costs.functions for one in function.instructions]


def _stall_terms(costs: SourceCosts) -> tuple[Term, ...]:
    """Return the stall reasons that stand at a line, by name."""
    every = [line.cost for file in costs.files for line in file.lines]
    every += [one.cost for function in costs.functions for one in function.instructions]
    reasons = sorted({reason for cost in every for reason, _ in cost.waits}, key=spoken)
    return tuple(replace(stall_term(reason), label=one_line(in_ncu(reason), LINK_LETTERS)) for reason in reasons)


def _source_notes(shown: RunView, costs: SourceCosts, absent: Sequence[str]) -> list[str]:
    notes = [f"No column for {'; '.join(absent)}."] if absent else []
    spots = shown.close.spots
    unlined = sum(function.cost.samples for function in costs.functions)
    if costs.files and unlined >= UNLINED_TOLD:
        notes.append(f"{percent(unlined)} of the samples are in code without source lines: see the SASS at the end.")
    counted, executed = costs.totals.get("instructions"), shown.combined.values["instructions"]
    if len(shown.combined.launches) == 1 and counted and executed and counted > REPEATED * executed:
        notes.append(
            f"Instructions by line are {quantity(counted, '')}, those of the launch {quantity(executed, '')}: ncu "
            "counts them in other passes, in which loops that wait for something ran more often."
        )
    if spots and spots.note:
        notes.append(f"{spots.note[:1].upper()}{spots.note[1:]}.")
    if spots and spots.launches_read < spots.launches:
        notes.append(f"Of {spots.launches} launches the {spots.launches_read} longest were read.")
    return notes


def _launch_words(shown: RunView) -> str:
    spots = shown.close.spots
    if spots is None or spots.launches_read == 1:
        return "the launch"
    return f"the {spots.launches_read} launches"


def collect_lines(shown: RunView) -> str:
    """Return the command that collects the source lines of such a run; empty where it launches nothing that has any."""
    run = shown.run
    if run.launched_nothing:
        return ""
    if run.source == "imported" or not run.workloads:
        return collect_again(run.device)
    return f"ncu-assist profile {one_line(run.kernel)} {one_line(run.version)}"
