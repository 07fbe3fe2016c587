"""The instructions of some launches of a report: what each and its source line cost, by launch and all together."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.line_sums import is_stall, sample_weights
from ncu_assist.ncu.source.contents import SAMPLES, STALL_COLUMN
from ncu_assist.ncu.source.tables import ASSEMBLY, Place, barriers, with_instruction
from ncu_assist.ncu.source.tables import KIND_COLUMNS as KINDS

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.ncu.report import Report
    from ncu_assist.ncu.source.reading import SourceTables


@dataclass(frozen=True)
class Code:
    """``sass`` as Report.sass has it, samples by time; ``texts``: source lines by file and number, where imported.

    Its column chain, which tables made of other things may lack, is that of ``SourceTables.chains``.
    """

    sass: pd.DataFrame = field(repr=False)
    texts: Mapping[tuple[str, int], str] = field(repr=False)

    def of(self, launches: Sequence[int]) -> Code:
        """Return the code of some launches alone."""
        if len(launches) == 1:  # as a page asks of each of its launches
            return replace(self, sass=self._of_each.get(launches[0], self.sass.iloc[:0]))
        return replace(self, sass=self.sass[self.sass["launch"].isin(launches)])

    @cached_property
    def _of_each(self) -> dict[Hashable, pd.DataFrame]:
        return dict(iter(self.sass.groupby("launch", sort=False)))


def read_code(report: Report, launches: Sequence[int]) -> Code | None:
    """Return the code of these launches; None where the report has none. Raises DamagedData as ``Report.source``."""
    return None if report.lossy or not launches else code_of(report, launches, report.source(launches))


def code_of(
    report: Report, launches: Sequence[int], tables: SourceTables, numbers: Sequence[int] | None = None
) -> Code | None:
    """Return the code of launches whose source was read; None where the report has none.

    ``numbers`` are what the launches of the report are called, their place by default.
    """
    sass = tables.sass.assign(chain=tables.chains)
    weights = sample_weights(report, sass)
    sampled = [name for name in map(str, sass) if name == SAMPLES or name.startswith(STALL_COLUMN)]
    sass = sass.assign(**{name: sass[name] * weights for name in sampled})
    if numbers is not None:
        sass = sass.assign(launch=sass["launch"].map(dict(enumerate(numbers))))
    return Code(sass, _texts(tables)) if len(sass) else None


def _texts(tables: SourceTables) -> dict[tuple[str, int], str]:
    """Return the text of each line that ncu names, and of those that call what is inlined.

    A line of a statement of inline assembly has its instruction beside it.
    """
    known = tables.lines[tables.lines["source"].notna()]
    named = zip(known["file"], known["line"], known["source"], strict=True)
    texts = {(str(file), int(line)): str(text) for file, line, text in named}
    callers = {line for chain in set(tables.chains) if chain for line in chain}
    with_assembly = {file for file, text in tables.texts.items() if ASSEMBLY.search(text)}
    wanted = (callers - texts.keys()) | {place for place in texts if place[0] in with_assembly}
    files = {file: split_lines(tables.texts[file]) for file in {file for file, _ in wanted} if file in tables.texts}
    inside = ((file, line) for file, line in wanted if 0 < line <= len(files.get(file, ())))
    return texts | {(file, line): with_instruction(files[file], line) for file, line in inside}


WAITS = 3  # stall reasons of a line
LEAST_WAIT = 0.1  # of the samples of a line: a reason below it says nothing about it
COUNTERS = ("instructions", "sectors", "sectors_excessive", "wavefronts", "wavefronts_excessive")
THREADS = "thread_instructions"
COSTS = (SAMPLES, "instructions", "sectors_excessive", "wavefronts_excessive", "sectors", "wavefronts", THREADS)
# What makes an instruction the same in several launches
PLACE = ["kernel", "base", "offset", "sass", "file", "line", "access"]


@dataclass(frozen=True)
class Cost:
    """What code cost. ``samples`` is its share of all samples, 1 for all; ``waits`` are its stall reasons, as sampled.

    The share of each reason is of the samples of this code, the largest first. Counters are 0 where nothing was
    counted; ``SourceCosts.totals`` tell whether anything was.
    """

    samples: float = 0.0
    instructions: float = 0.0
    sectors_excessive: float = 0.0
    wavefronts_excessive: float = 0.0
    sectors: float = 0.0
    wavefronts: float = 0.0
    waits: tuple[tuple[str, float], ...] = ()

    @property
    def is_nothing(self) -> bool:
        return not (self.samples or self.instructions or self.sectors_excessive or self.wavefronts_excessive)


@dataclass(frozen=True)
class SassInstruction:
    """One instruction; ``sass`` is empty where the report holds no code, ``offset`` counts bytes in its function.

    ``file`` is empty and ``line`` 0 where it has no source line. ``access`` is what it does to which memory, such as
    ``Global Load 128``, bits a thread; empty for none. ``threads`` are those that took part each time, of 32 lanes;
    None where that was not counted.
    """

    kernel: str
    offset: int
    sass: str
    cost: Cost
    file: str = ""
    line: int = 0
    access: str = ""
    threads: float | None = None


@dataclass(frozen=True)
class LineCode:
    """A line and the instructions that were made of it, in the order of their addresses."""

    number: int
    cost: Cost
    instructions: tuple[SassInstruction, ...]
    barrier: Place | None = None  # the barrier that warps at it are held by, where that is on another line


@dataclass(frozen=True)
class FileCode:
    """A file: its lines that instructions were made of, and its text by lines, None where nobody kept it."""

    name: str
    cost: Cost
    lines: tuple[LineCode, ...]
    text: tuple[str, ...] | None


@dataclass(frozen=True)
class FunctionCode:
    """Instructions of a function, in the order of their addresses."""

    kernel: str
    cost: Cost
    instructions: tuple[SassInstruction, ...]


@dataclass(frozen=True)
class SourceCosts:
    """Files, functions as far as they have no lines, and functions whole, each with the most samples first.

    ``totals`` are of all code, without what was not counted: samples, weighted as those of a launch share its duration;
    instructions; sectors (L2, global memory) and wavefronts (L1, shared memory), all and the excessive ones.
    """

    totals: Mapping[str, float]
    files: tuple[FileCode, ...]
    functions: tuple[FunctionCode, ...]
    listing: tuple[FunctionCode, ...] = ()


def source_costs(code: Code, texts: Mapping[str, str]) -> SourceCosts:
    """Return what lines and instructions cost in all launches of ``code``; ``texts`` are files whole, by name."""
    frame, stalls = _together(code.sass)
    totals = _totals(frame)
    work = _Work(frame, stalls, totals.get(SAMPLES, 0.0))
    lines: dict[str, dict[int, list[int]]] = {}  # the rows of each line, by file
    every: dict[Hashable, list[int]] = {}  # of each function
    bare: dict[Hashable, list[int]] = {}  # of each, as far as they have no line
    places = (frame[name].tolist() for name in ("kernel", "base", "file", "line"))
    for row, (kernel, base, file, line) in enumerate(zip(*places, strict=True)):
        every.setdefault((kernel, base), []).append(row)
        own = lines.setdefault(file, {}).setdefault(line, []) if line > 0 else bare.setdefault((kernel, base), [])
        own.append(row)
    held = barriers(code.sass)
    files = [_file(work, name, rows, texts, held) for name, rows in sorted(lines.items())]
    functions, listing = ([work.function(rows) for rows in some.values()] for some in (bare, every))
    return SourceCosts(
        totals,
        tuple(sorted(files, key=lambda one: (-one.cost.samples, -one.cost.instructions, one.name))),
        *(
            tuple(sorted(some, key=lambda one: (-one.cost.samples, -one.cost.instructions)))
            for some in (functions, listing)
        ),
    )


def split_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a source as a compiler counts them: a form feed or a line separator ends none."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return tuple(lines if lines[-1] else lines[:-1])


def _together(sass: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return a row for each instruction of all launches, in their order, and the columns of stall reasons."""
    stalls = list(filter(is_stall, map(str, sass)))
    made: dict[str, Any] = {
        "kernel": sass["kernel"].astype(object),
        "base": sass["address"] - sass["offset"].astype("uint64"),
        "sass": sass["sass"].fillna(""),
        "file": sass["file"].astype(object).fillna(""),
        "line": sass["line"].fillna(0).astype("int64"),
        "access": _accesses(sass),
    }
    columns = [*PLACE, SAMPLES, *COUNTERS, THREADS, *stalls]
    frame = sass.assign(**made)[columns]
    if sass["launch"].nunique() > 1:
        frame = frame.groupby(PLACE, sort=False).sum(min_count=1).reset_index()
    return frame.reset_index(drop=True), stalls


def _accesses(sass: pd.DataFrame) -> list[str]:
    """Return what each instruction does to memory; empty texts where that was not counted."""
    if KINDS[0] not in sass:
        return [""] * len(sass)
    bits = sass[KINDS[2]].fillna(0).astype("int64")
    spaces, accesses = (sass[name].astype(object).fillna("") for name in KINDS[:2])
    rows = zip(spaces, accesses, bits, strict=True)
    return [f"{space} {access} {size or ''}".strip() if space or access else "" for space, access, size in rows]


def _totals(frame: pd.DataFrame) -> dict[str, float]:
    sums = frame[[SAMPLES, *COUNTERS]].sum(min_count=1)
    return {str(name): float(sum) for name, sum in sums.items() if sum == sum and (sum or name != SAMPLES)}


class _Work:
    """The rows of all instructions, from which costs are made."""

    def __init__(self, frame: pd.DataFrame, stalls: Sequence[str], samples: float) -> None:
        self._stalls = [name.removeprefix(STALL_COLUMN) for name in stalls]
        self._samples = samples
        self._numbers = frame[[*COSTS, *stalls]].fillna(0.0).to_numpy(float)
        self._counts_threads = bool(frame[THREADS].notna().any())
        ends = frame.groupby(["kernel", "base"])["offset"].transform("max")
        columns = ["kernel", "offset", "sass", "file", "line", "access", "base"]
        self._facts = [tuple(row) for row in frame[columns].assign(end=ends).to_numpy()]
        self._made: dict[int, SassInstruction] = {}

    def cost(self, rows: Sequence[int]) -> Cost:
        """Return what instructions cost together, by their rows."""
        return self._cost(self._numbers[list(rows)].sum(axis=0).tolist())

    def instructions(self, rows: Sequence[int]) -> tuple[SassInstruction, ...]:
        return tuple(map(self._instruction, rows))

    def _instruction(self, row: int) -> SassInstruction:
        if row not in self._made:
            kernel, offset, sass, file, line, access, base, end = self._facts[row]
            numbers = self._numbers[row].tolist()
            cost, threads = self._cost(numbers), numbers[len(COSTS) - 1]
            known = threads / cost.instructions if self._counts_threads and cost.instructions else None
            sass = _with_offset(sass, int(base), int(end))
            self._made[row] = SassInstruction(kernel, int(offset), sass, cost, file, int(line), access, known)
        return self._made[row]

    def function(self, rows: Sequence[int]) -> FunctionCode:
        return FunctionCode(self._facts[rows[0]][0], self.cost(rows), self.instructions(rows))

    def _cost(self, numbers: Sequence[float]) -> Cost:
        own, instructions, excess, conflicts, sectors, wavefronts = numbers[: len(COSTS) - 1]
        share = own / self._samples if self._samples else 0.0
        waits = tuple(self._waits(own, numbers[len(COSTS) :])) if own else ()
        return Cost(share, instructions, excess, conflicts, sectors, wavefronts, waits)

    def _waits(self, own: float, waits: Sequence[float]) -> Iterator[tuple[str, float]]:
        ranked = sorted(zip(waits, self._stalls, strict=True), key=lambda one: (-one[0], one[1]))
        yield from ((name, count / own) for count, name in ranked[:WAITS] if count >= LEAST_WAIT * own)


TARGET = re.compile(r"0x[0-9a-f]+(?=[;,\s)]*$)")  # of a jump, the last operand
JUMPS = ("BRA", "BSSY", "CALL", "JMP", "BSYNC", "BRX", "JMX")


def _with_offset(sass: str, base: int, end: int) -> str:
    """Return an instruction whose jump within its function leads to an offset, as its column has them.

    The report has the address at which the code was loaded in that process.
    """
    opcode = next((word for word in sass.split() if not word.startswith("@")), "")
    found = TARGET.search(sass) if opcode.startswith(JUMPS) else None
    at = int(found[0], 16) - base if found else -1
    return f"{sass[: found.start()]}0x{at:04x}{sass[found.end() :]}" if found and 0 <= at <= end else sass


def _file(
    work: _Work,
    name: str,
    rows: Mapping[int, Sequence[int]],
    texts: Mapping[str, str],
    held: Mapping[Place, Place],
) -> FileCode:
    lines = [
        LineCode(line, work.cost(own), work.instructions(own), held.get((name, line)))
        for line, own in sorted(rows.items())
    ]
    text = split_lines(texts[name]) if name in texts else None
    return FileCode(name, work.cost(sorted(row for own in rows.values() for row in own)), tuple(lines), text)
