"""The instructions of a function with what each cost, in the order of their addresses, each with its source line."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from itertools import accumulate, pairwise, zip_longest
from pathlib import PurePath

from ncu_assist.ceilings.chips import LANES
from ncu_assist.ncu.code import Cost, FunctionCode, SassInstruction
from ncu_assist.quantity import digits, number_of, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.source_heat import Heat, HeatColumn, cut_line, percent, shown_regions, size_of, stall_term
from ncu_assist.render.table import Link, Term

GAP_BYTES, TEXT_BYTES = 200, 11  # of markup around instructions that can be opened; of each its offset and line
ROW_BYTES = 190  # of markup and figures around an instruction, about
NAME_LETTERS, FILE_LETTERS = 120, 40
MOST_TOLD, LEAST_ROWS = 8, 6  # instructions of a function
LEAST_PART = 8  # of all room: an eighth of it at most is for a function whose share would be less
LEAST_SHARE = 0.02  # of all samples: a function with more is shown, however little room is left
LEAST_TOLD = 0.001  # of all samples: below it the stall of an instruction is chance
Href = Callable[[str | None, int | None], str]
ACCESS = Term("Access", "memory_type, memory_access_type, memory_access_size_type", "which memory, what, bits a thread")
THREADS = Term("Threads", "thread_inst_executed / inst_executed", "that took part each time, of 32 lanes")
SECTORS = Term("Sectors", "memory_l2_theoretical_sectors_global", "of 32 bytes, in L2, global memory")
WAVEFRONTS = Term("Wavefronts", "memory_l1_wavefronts_shared", "passes through shared memory")


@dataclass(frozen=True)
class SassRow:
    """An instruction; ``cells`` as the columns of its function, ``line`` leads to its source.

    Without an id it is a gap: ``code`` says how many are not shown there, ``hidden`` has their text, to be opened.
    """

    code: str
    id: str = ""
    hidden: str = ""
    offset: str = ""
    cells: tuple[Heat, ...] = ()
    stalls: str = ""
    access: str = ""
    line: Link | None = None


@dataclass(frozen=True)
class SassFunction:
    """The instructions of a function as rows; ``columns`` head the cells behind stalls and access."""

    id: str
    name: str
    share: str
    count: int
    columns: tuple[Term, ...]
    rows: tuple[SassRow, ...]
    is_open: bool = False

    @property
    def size(self) -> str:
        """How many instructions it has, and how many of them the page, where that is not all."""
        here = sum(1 if row.id else row.hidden.count("\n") + 1 if row.hidden else 0 for row in self.rows)
        every = number_of(self.count, "instruction")
        if here == self.count:
            return every
        return f"{here} of {every} here; the rest are cold: ncu-assist export --table sass"

    @property
    def has_stalls(self) -> bool:
        return any(row.stalls for row in self.rows)

    @property
    def has_lines(self) -> bool:
        return any(row.line for row in self.rows)

    @property
    def access(self) -> Term | None:
        """What heads the column of accesses; None where there are none."""
        return ACCESS if any(row.access for row in self.rows) else None


def sass_regions(listing: Sequence[FunctionCode], budget: int, about: Collection[str] = ()) -> list[list[range]]:
    """Return which instructions of each function are shown within so many bytes: all, else those around hot ones.

    Each has its share of samples of what those before it left, and one with a part of the samples some room whatever
    is left. The costliest of the opcodes that the diagnosis is ``about`` come before hotter ones. Functions that
    nothing is left for, the coldest, have none.
    """
    found: list[list[range]] = []
    rest, whole = sum(one.cost.samples for one in listing), budget
    for one in listing:
        instructions = one.instructions
        order = sorted(
            range(len(instructions)), key=lambda i: (-instructions[i].cost.samples, -instructions[i].cost.instructions)
        )
        told = [i for i in order if _opcode(instructions[i].sass).partition(".")[0] in about][:MOST_TOLD]
        hot = [*dict.fromkeys([*told, *([i for i in order if instructions[i].cost.samples] or order)])]
        weights = list(map(_weight, instructions))
        own = int(budget * one.cost.samples / rest) if rest > 0 else budget
        if told or one.cost.samples >= LEAST_SHARE:
            own = max(own, min(whole // LEAST_PART, sum(weights[i] for i in hot[: max(LEAST_ROWS, len(told))])))
        regions = shown_regions(len(instructions), hot, weights.__getitem__, own)
        if not regions:
            break
        rest -= one.cost.samples
        budget -= sum(weights[i] for region in regions for i in region)
        found.append(regions)
    return found


def hidden_regions(
    listing: Sequence[FunctionCode], regions: Sequence[Sequence[range]], budget: int
) -> list[list[range]]:
    """Return which instructions of each function can be opened between those shown, within so many bytes.

    Those that were executed most often come first; of the last the beginning, where not all has room.
    """
    gaps = [
        (place, range(before.stop, region.start))
        for place, (one, own) in enumerate(zip(listing, regions, strict=False))
        for before, region in pairwise([range(0), *own, range(len(one.instructions), 0)])
        if region.start > before.stop
    ]
    found: list[list[range]] = [[] for _ in regions]
    for place, gap in sorted(gaps, key=lambda one: -_often(listing[one[0]], one[1])):
        budget -= GAP_BYTES
        sizes = list(accumulate(TEXT_BYTES + size_of(_code(listing[place].instructions[i])) for i in gap))
        fitting = bisect_right(sizes, budget)
        if fitting:
            found[place].append(gap[:fitting])
            budget -= sizes[fitting - 1]
    return found


def _often(one: FunctionCode, gap: range) -> float:
    return max(one.instructions[i].cost.instructions for i in gap)


def shown_ids(
    listing: Sequence[FunctionCode], regions: Sequence[Sequence[range]], hidden: Sequence[Sequence[range]]
) -> dict[int, str]:
    """Return the ids in the page of the instructions that are shown, by the identity of each; of one that can be opened
    that of its gap.
    """
    ids: dict[int, str] = {}
    for place, (one, own, gaps) in enumerate(zip(listing, regions, hidden, strict=False)):
        ids |= {id(one.instructions[i]): _id(place, one.instructions[gap.start]) for gap in gaps for i in gap}
        ids |= {id(one.instructions[i]): _id(place, one.instructions[i]) for region in own for i in region}
    return ids


def _id(place: int, one: SassInstruction) -> str:
    return f"s{place}-{one.offset:x}"


def sass_function(
    one: FunctionCode,
    place: int,
    regions: Sequence[range],
    hidden: Sequence[range],
    columns: Sequence[HeatColumn],
    href: Href,
) -> SassFunction:
    """Return a function, the ``place``-th of the listing, with these of its instructions; ``hidden`` can be opened.

    Lines of the file that most of them come from are numbers alone.
    """
    instructions = one.instructions
    counted = _columns(instructions, columns)
    own = Counter(each.file for each in instructions if each.file).most_common(1)
    main = own[0][0] if own else ""
    rows: list[SassRow] = []
    for before, region in pairwise([range(0), *regions, range(len(instructions), 0)]):
        gap = range(before.stop, region.start)
        fitting = next((one for one in hidden if one and one.start == gap.start), gap[:0])
        for part, is_hidden in ((fitting, True), (gap[len(fitting) :], False)):
            rows += [_gap([instructions[i] for i in part], place, is_hidden)] if part else []
        rows += [_row(instructions[i], _id(place, instructions[i]), counted, href, main) for i in region]
    return SassFunction(
        id=f"s{place}",
        name=one_line(one.kernel, NAME_LETTERS),
        share=percent(one.cost.samples),
        count=len(instructions),
        columns=tuple(term for term, _ in counted),
        rows=tuple(rows),
    )


def _weight(one: SassInstruction) -> int:
    return ROW_BYTES + size_of(cut_line(one.sass))


def _gap(own: Sequence[SassInstruction], place: int, is_hidden: bool) -> SassRow:
    """Return instructions between those that are shown, each a plain line, so that thousands of them have room.

    A line is offset, source line and instruction, with tabs between them; it names its file where that is another than
    of the line above.
    """
    most = max(one.cost.samples for one in own)
    said = f"{number_of(len(own), 'instruction')} {_little(most, len(own))}"
    if not is_hidden:
        return SassRow(f"{said}, not on this page")
    above = ["", *(one.file for one in own)]
    lines = (f"{one.offset:04x}\t{_line_of(one, file)}\t{_code(one)}" for one, file in zip(own, above, strict=False))
    text = "\n".join(lines)
    return SassRow(said, hidden=text, offset=_id(place, own[0]))


def _little(most: float, count: int) -> str:
    if not most:
        return "without samples"
    return f"with {percent(most)} of samples{' at most' if count > 1 else ''}"


def _line_of(one: SassInstruction, main: str) -> str:
    file = "" if one.file == main else f"{one_line(PurePath(one.file).name, FILE_LETTERS)}:"
    return f"{file}{one.line}" if one.file else ""


Counted = tuple[Term, Callable[[SassInstruction], Heat]]


def _columns(instructions: Sequence[SassInstruction], columns: Sequence[HeatColumn]) -> list[Counted]:
    """Return what was counted of any of these instructions, with what makes a cell of it."""
    made: list[Counted] = [(column.term, partial(_heat, column)) for column in columns]
    counts = [(SECTORS, "sectors"), (WAVEFRONTS, "wavefronts")]
    made += [(term, partial(_count, key)) for term, key in counts if any(getattr(i.cost, key) for i in instructions)]
    is_divided = any(one.threads is not None and one.threads < LANES for one in instructions)
    return [*made, (THREADS, _threads)] if is_divided else made


def _heat(column: HeatColumn, one: SassInstruction) -> Heat:
    return column.heat(one.cost)


def _count(key: str, one: SassInstruction) -> Heat:
    value = getattr(one.cost, key)
    return Heat(quantity(value, "") if value else "")


def _threads(one: SassInstruction) -> Heat:
    return Heat("" if one.threads is None else digits(round(one.threads, 1)))


def _row(one: SassInstruction, name: str, counted: Sequence[Counted], href: Href, main: str) -> SassRow:
    at = _line_of(one, main)
    return SassRow(
        code=_code(one),
        id=name,
        offset=f"{one.offset:04x}",
        cells=tuple(cell(one) for _, cell in counted),
        stalls=", ".join(_stalls(one.cost)),
        access=one_line(one.access, FILE_LETTERS),
        line=Link(at, href(one.file, one.line)) if at else None,
    )


MOST_PAIRED = 40  # instructions of a side


SassPairCell = tuple[str, Heat, str]  # of an instruction of one side: offset in its function, heat, code


# Instructions beside each other, and whether they are of one opcode; else one came in the place of the other.
SassPairRow = tuple[SassPairCell | None, SassPairCell | None, bool]


def sass_pair(
    before: Sequence[SassInstruction], after: Sequence[SassInstruction], heat: Callable[[Cost, bool], Heat]
) -> tuple[SassPairRow, ...]:
    """Return the instructions of a line on both sides, aligned by their opcodes; of many those with most samples."""
    sides = [_costliest(one) for one in (before, after)]
    cells = [
        [(f"{one.offset:04x}", heat(one.cost, bool(side)), _code(one)) for one in own] for side, own in enumerate(sides)
    ]
    opcodes, others = ([_opcode(one.sass) for one in own] for own in sides)
    rows: list[SassPairRow] = []
    for tag, i, last, j, end in SequenceMatcher(None, opcodes, others, autojunk=False).get_opcodes():
        own = zip_longest(cells[0][i:last], cells[1][j:end])
        rows += [(left, right, tag == "equal") for left, right in own]
    return tuple(rows)


def _costliest(own: Sequence[SassInstruction]) -> list[SassInstruction]:
    kept = sorted(own, key=lambda one: (-one.cost.samples, -one.cost.instructions))[:MOST_PAIRED]
    return sorted(kept, key=lambda one: (one.kernel, one.offset))


def _opcode(sass: str) -> str:
    """Return the opcode of an instruction, without what predicates it."""
    return next((word for word in sass.split() if not word.startswith("@")), "")


def _code(one: SassInstruction) -> str:
    return cut_line(" ".join(one.sass.split())) if one.sass else "(no code in the report)"


def _stalls(cost: Cost) -> Iterator[str]:
    """Yield the stall reasons of an instruction with their shares of its samples."""
    if cost.samples >= LEAST_TOLD:
        yield from (f"{stall_term(reason).label} {100 * share:.0f} %" for reason, share in cost.waits)
