"""The source of a run with what each line cost, and the SASS of a line: the model of the macro ``source_view``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.source.metrics import SAMPLES
from ncu_assist.ncu.source_costs import Cost, SourceCosts, Totals, source_costs
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.finding_lines import FindingLines, finding_lines
from ncu_assist.render.html.sass_rows import TITLE, Sass, sass_of
from ncu_assist.render.html.source_file import SourceFile, slugs, source_file
from ncu_assist.render.html.source_heat import HeatColumn, heat_columns, percent, stall_term
from ncu_assist.render.html.source_jumps import FindingJumps, finding_jumps, hot_lines
from ncu_assist.render.html.table import Table
from ncu_assist.render.html.term import Term

SOURCE_BYTES = 1_100_000  # of source with heat; both together stay below the 2 MB of a page
SASS_BYTES = 700_000
NAME_LETTERS = 120
UNLINED_TOLD = 0.005  # of all samples


@dataclass(frozen=True)
class SourceFunction:
    """SASS of a function that has no source lines."""

    name: str
    share: str
    sass: Sass
    is_open: bool


@dataclass(frozen=True)
class SourceView:
    """Everything that the macro ``source_view`` writes; with ``missing``, what is not there and what collects it."""

    columns: tuple[HeatColumn, ...] = ()
    files: tuple[SourceFile, ...] = ()
    functions: tuple[SourceFunction, ...] = ()
    hottest: Table | None = None
    findings: tuple[FindingJumps, ...] = ()
    stalls: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()
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
    def sass_title(self) -> str:
        return TITLE

    def href(self, file: str | None, line: int | None) -> str:
        """Return the link to a line of a file, by its name in the report; empty where the page does not show it."""
        place = self._places.get((file or "", line or 0))
        return f"#{place}" if place else ""


def source_view(shown: Shown, findings: Sequence[FindingLines] | None = None) -> SourceView:
    """Return the source view of a run whose lines were read; ``findings`` are `finding_lines(shown)`."""
    close = shown.close
    if close.code is None:
        why = close.note or (close.spots.note if close.spots else "") or "its source lines were not read"
        return SourceView(missing=(why, collect_lines(shown)))
    found = finding_lines(shown) if findings is None else findings
    costs = source_costs(close.code, close.texts)
    if costs.totals == Totals():
        return SourceView(missing=("what each line cost was not counted", collect_lines(shown)))
    columns, absent = heat_columns(costs.totals, _all_costs(costs), _launches(shown))
    files = _files(costs, columns, found, close.kept)
    functions, cut = _functions(costs, columns, SASS_BYTES - sum(one.sass_bytes for one in files))
    places = {(one.path, row.number): row.id for one in files for row in one.rows if row.id}
    notes = [*_notes(shown, costs, absent), *([cut] if cut else [])]
    view = SourceView(columns, files, functions, stalls=_stalls(costs), notes=tuple(notes), _places=places)
    hottest = hot_lines(costs, columns, view.href) if files else None
    return replace(view, hottest=hottest, findings=finding_jumps(found, view.href))


def _files(
    costs: SourceCosts, columns: Sequence[HeatColumn], found: Sequence[FindingLines], kept: frozenset[str]
) -> tuple[SourceFile, ...]:
    """Return the files, the hottest first, each within what those before it left of the budgets."""
    source, sass, files = SOURCE_BYTES, SASS_BYTES, []
    for one, slug in zip(costs.files, slugs(file.name for file in costs.files), strict=True):
        made = source_file(one, slug, columns, found, (source, sass))
        files.append(replace(made, is_kept=one.name in kept))
        source, sass = source - made.source_bytes, sass - made.sass_bytes
    return tuple(files)


def _functions(
    costs: SourceCosts, columns: Sequence[HeatColumn], budget: int
) -> tuple[tuple[SourceFunction, ...], str]:
    """Return the functions without lines, the hottest first, and a note where some are not shown."""
    made: list[SourceFunction] = []
    for one in costs.functions:
        sass = sass_of(one.instructions, columns, budget)
        if not sass.rows:
            break
        budget -= sass.size
        is_open = not costs.files and not made
        made.append(SourceFunction(one_line(one.kernel, NAME_LETTERS), percent(one.cost.samples), sass, is_open))
    lost = len(costs.functions) - len(made)
    return tuple(made), f"{lost} functions with fewer samples are left out: their SASS is too long." if lost else ""


def _all_costs(costs: SourceCosts) -> Iterable[Cost]:
    """Return the costs that share a scale of colours: of lines, and of instructions where there are no lines."""
    lines = [line.cost for file in costs.files for line in file.lines]
    return lines or [one.cost for function in costs.functions for one in function.instructions]


def _stalls(costs: SourceCosts) -> tuple[Term, ...]:
    """Return the stall reasons that stand at a line, by name."""
    every = [line.cost for file in costs.files for line in file.lines]
    every += [one.cost for function in costs.functions for one in function.instructions]
    reasons = sorted({reason for cost in every for reason, _ in cost.waits})
    return tuple(stall_term(reason) for reason in reasons)


def _notes(shown: Shown, costs: SourceCosts, absent: Sequence[str]) -> list[str]:
    notes = [f"No column for {'; '.join(absent)}."] if absent else []
    spots = shown.close.spots
    unlined = sum(function.cost.samples for function in costs.functions)
    if costs.files and unlined >= UNLINED_TOLD:
        notes.append(f"{percent(unlined)} of the samples are in code without source lines, which stands at the end.")
    if spots and spots.note:
        notes.append(f"{spots.note[:1].upper()}{spots.note[1:]}.")
    if spots and spots.launches_read < spots.launches:
        notes.append(f"Of {spots.launches} launches the {spots.launches_read} longest were read.")
    return notes


def _launches(shown: Shown) -> str:
    spots = shown.close.spots
    if spots is None or spots.launches_read == 1:
        return "the launch"
    return f"the {spots.launches_read} launches"


def collect_lines(shown: Shown) -> str:
    """Return the command that collects the source lines of such a run; empty where it launches nothing that has any."""
    run = shown.run
    if run.launched_nothing:
        return ""
    if run.source == "imported" or not run.workloads:
        return "ncu --set full --import-source yes -o REPORT PROGRAM"
    return f"ncu-assist profile {one_line(run.kernel)} {one_line(run.version)}"
