"""The columns of a source view and how hot a cell is; which lines of a long text are shown within so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import escape

from ncu_assist.ncu.catalogue.stalls import SAMPLED_AS, STALL_REASONS, TOLD_APART, spoken
from ncu_assist.ncu.code import Cost
from ncu_assist.ncu.source.contents import COUNTERS, SAMPLES
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.html.charts import heat_level
from ncu_assist.render.table import Term
from ncu_assist.render.words.terms import term_of

# The deepest colour needs at least this part of the whole: where cost is spread evenly nothing is hot, and an excess
# that is a trifle beside all accesses is none.
HOTTEST_FROM = 0.1
STALL_LETTERS = 24
CostOf = Callable[[Cost], float]


@dataclass(frozen=True)
class Heat:
    """A number and its colour, 0 to 8; an empty text for nothing."""

    text: str = ""
    level: int = 0


@dataclass(frozen=True)
class HeatColumn:
    """A column: ``whole`` is what full heat is measured by, ``total`` the sum in words."""

    key: str
    term: Term
    total: str
    of: CostOf
    whole: float
    most: float
    in_percent: bool = False

    def heat(self, cost: Cost) -> Heat:
        """Return the cell of a cost."""
        value = self.of(cost)
        if not value:
            return Heat()
        text = percent(value) if self.in_percent else quantity(value, "")
        return Heat(text, heat_level(value, max(self.most, HOTTEST_FROM * self.whole)))


def percent(share: float) -> str:
    """Return a share as ncu's source page has it: one digit behind the point, anything above nothing is not 0."""
    return "<0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def heat_columns(
    totals: Mapping[str, float], costs: Iterable[Cost], of_launches: str
) -> tuple[tuple[HeatColumn, ...], list[str]]:
    """Return the columns that have any number in them, and for the others a word why they are not there.

    ``totals`` as in ``SourceCosts``; ``costs`` are those of all lines, ``of_launches`` what they are counted over,
    such as "all 3 launches".
    """
    known = list(costs)
    columns, absent = [], []
    for key, name, of, sum_of, whole, meaning in _COLUMNS:
        total, base = totals.get(sum_of), totals.get(whole)
        if total:
            term = Term(name, COUNTERS[key], meaning.format(total=quantity(total, ""), of=of_launches))
            part = "of all" if key == SAMPLES else quantity(total, "")
            part += f" of {quantity(base, '')}" if whole != sum_of and base else ""
            most = max(map(of, known), default=0.0)
            scale = 1.0 if key == SAMPLES else base or total
            columns.append(HeatColumn(key, term, part, of, scale, most, key == SAMPLES))
        else:
            absent.append(f"{name.lower()}: {'none' if total is not None else 'not counted'}")
    return tuple(columns), absent


def stall_term(reason: str) -> Term:
    """Return the name of a stall reason, which comes from a report, and what it means."""
    name, known = one_line(spoken(reason), STALL_LETTERS), SAMPLED_AS.get(reason, reason)
    return term_of(known, name) if known in STALL_REASONS or known in TOLD_APART else Term(name)


# fmt: off
# Key, title, of a cost, which total is the sum, which total it is part of, meaning.
_COLUMNS: tuple[tuple[str, str, CostOf, str, str, str], ...] = (
    (SAMPLES, "Samples", lambda cost: cost.samples, "samples", "samples",
     "warps seen at this line, whether they waited or issued; 100 % are all samples of {of}, also those of code "
     "without a line; the samples of a launch share its time"),
    ("sectors_excessive", "Excess sectors", lambda cost: cost.sectors_excessive, "sectors_excessive", "sectors",
     "sectors of 32 bytes in L2, for global memory, beyond the number that fully used sectors would need; {total} in "
     "all of {of}, every line together"),
    ("wavefronts_excessive", "Excess wavefronts", lambda cost: cost.wavefronts_excessive, "wavefronts_excessive",
     "wavefronts", "passes through shared memory that only bank conflicts cause; {total} in all of {of}, every "
     "line together"),
    ("instructions", "Instructions", lambda cost: cost.instructions, "instructions", "instructions",
     "executed by warps, one for up to 32 threads; {total} in all of {of}, every line together"),
)
# fmt: on


SHOWN_WHOLE = 400  # lines up to which a text is shown whole
LINES_AROUND = (12, 4, 1, 0)  # lines around a hot one, the most that fit
LEAST_GAP = 5  # lines that are left out together
LETTERS = 600  # of a line; what is longer was made by a machine
Weight = Callable[[int], int]


def shown_regions(count: int, hot: Sequence[int], weight: Weight, budget: int, whole: int = SHOWN_WHOLE) -> list[range]:
    """Return which of ``count`` lines, numbered from 0, are shown: all of a short text, else regions around hot ones.

    ``hot`` is in the order of their cost, the costliest first; ``weight`` says how many bytes a line takes. Where even
    the hot lines alone are too much, the costliest are shown that fit.
    """
    if count <= whole and sum(map(weight, range(count))) <= budget:
        return [range(count)] if count else []
    for around in LINES_AROUND:
        regions = _regions(count, hot, around)
        if sum(map(len, regions)) <= budget and _all_fit(regions, weight, budget):
            return regions
    return _regions(count, _costliest_that_fit(hot, weight, budget), 0)


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


def _all_fit(regions: Sequence[range], weight: Weight, budget: int) -> bool:
    left = budget
    for region in regions:
        for line in region:
            left -= weight(line)
            if left < 0:
                return False
    return True


def _costliest_that_fit(hot: Sequence[int], weight: Weight, budget: int) -> list[int]:
    taken, left = [], budget
    for line in hot:
        left -= weight(line)
        if left < 0:
            break
        taken.append(line)
    return taken
