"""Reading the details page as ncu prints it in a terminal, out of the text around it: logs, READMEs, messages.

A row of its tables has a label, a unit and a rounded value. A label is read where it says one metric, whatever release
and chip (``catalogue.labels``), and ncu's own names are. What stands beside a row, as people write there, is passed
over. Values in another locale, tables of several launches at a time and launches without sizes are never guessed at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.contents import Contents
from ncu_assist.ncu.csv_page import AGAIN, BLOCK, GRID, KERNEL, METRIC, Said, contents_of, metric_name, unread_notes
from ncu_assist.quantity import number_of

SECTION = re.compile(r"Section: (\S.*)")
TABLE = re.compile(r"Table Name : (\S.*)")
RULER = re.compile(r"-{3,}(?: -{3,}){2,}")
RULER_LINE = re.compile(rf"^[ \t]*{RULER.pattern}", re.MULTILINE)
PROCESS = re.compile(r"\[(?P<pid>\d+)\] (?P<program>.+)@(?P<host>[\w.:-]+)")
WHERE = r"Context (?P<context>\d+), Stream (?P<stream>\d+)(?:, Device (?P<device>\d+), CC (?P<cc>\d+\.\d+))?"
KERNEL_LINE = re.compile(rf"(?P<name>\S.*) (?P<grid>\(\d+, \d+, \d+\))x(?P<block>\(\d+, \d+, \d+\)), {WHERE}")
KERNEL_LINE_UNTIL_2022 = re.compile(rf"(?P<name>\S.*), \d{{4}}-\w{{3}}-\d{{2}} [\d:]{{8}}, {WHERE}")
TITLES = (SECTION, TABLE, KERNEL_LINE, KERNEL_LINE_UNTIL_2022)
ROW_CELLS = 3
TOTALS = {GRID: "launch__grid_size", BLOCK: "launch__block_size"}


def is_printed(text: str) -> bool:
    """Tell whether a text holds a table as ncu prints it: behind its title or, on the raw page, behind its kernel."""
    return any(_begins_table(text, found.start()) for found in RULER_LINE.finditer(text))


def _begins_table(text: str, ruler: int) -> bool:
    """Tell whether one of the two lines before a ruler says of what the table is: a description may stand between."""
    for _ in range(2):
        end = text.rfind("\n", 0, ruler)
        ruler = text.rfind("\n", 0, max(end, 0)) + 1
        if any(pattern.fullmatch(text[ruler : max(end, 0)].strip()) for pattern in TITLES):
            return True
    return False


@dataclass
class _Printed:
    """One launch as printed, or what stands under no kernel."""

    facts: dict[str, str]
    metrics: list[Said] = field(default_factory=list)
    tables: set[tuple[str, str]] = field(default_factory=set)  # section and table of those that were read


@dataclass
class _Reader:
    """Goes through the lines; ``unread`` counts what stands under labels that do not say one metric, by place."""

    launches: list[_Printed] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    strays: int = 0  # tables that stand under no kernel, or a second time under one
    summaries: int = 0
    process: dict[str, str] = field(default_factory=dict)
    section: str = ""
    table: str = ""
    launch: _Printed | None = None
    cells: tuple[slice, ...] = ()  # of the table that is open
    in_heading: bool = False  # the last row was that of the columns' names
    is_counted: bool = False  # the table that nothing is read of, which has three rulers

    def line(self, text: str) -> None:
        """Take a line without the blanks around it."""
        if ruler := RULER.match(text):
            self._ruler(ruler.group())
        elif found := SECTION.fullmatch(text):
            self._open(found[1])
        elif found := TABLE.fullmatch(text):
            self._open(self.section, found[1])
        elif found := KERNEL_LINE.fullmatch(text) or KERNEL_LINE_UNTIL_2022.fullmatch(text):
            self._kernel(found)
        elif found := PROCESS.fullmatch(text):
            self.process = {"Process ID": found["pid"], "Process Name": found["program"], "Host Name": found["host"]}
        elif not text:
            self.cells = ()
        elif self.cells:
            self._row(text)

    def _open(self, section: str, table: str = "") -> None:
        self.section, self.table, self.cells, self.is_counted = section, table, (), False

    def _kernel(self, found: re.Match[str]) -> None:
        said = found.groupdict(default="")
        facts = {
            "ID": str(len(self.launches)),
            KERNEL: said["name"],
            GRID: said.get("grid", ""),
            BLOCK: said.get("block", ""),
            "Context": said["context"],
            "Stream": said["stream"],
            "Device": said["device"],
            "CC": said["cc"],
        }
        self.launch = _Printed(self.process | facts)
        self.launches.append(self.launch)
        self._open("")

    def _ruler(self, ruler: str) -> None:
        if self.cells:
            self.cells = self.cells if self.in_heading else ()
            self.in_heading = False
            return
        ends = [-1, *(found.start() for found in re.finditer(" ", ruler)), len(ruler)]
        if len(ends) - 1 > ROW_CELLS:
            self.summaries += not self.is_counted
            self.is_counted = True
            return
        place = self.section, self.table
        if self.launch and place in self.launch.tables:
            self.launch = None
        if self.launch is None:
            self.strays += not self.is_counted
            self.is_counted = True
            return
        self.launch.tables.add(place)
        self.cells = tuple(slice(start + 1, end) for start, end in pairwise(ends))

    def _row(self, text: str) -> None:
        """Take a row: cells as wide as the ruler says, with blanks between them. Any other line is no row."""
        assert self.launch is not None
        label, unit, value = (text[cell].strip() for cell in self.cells)
        edges = [text[cell.stop : cell.stop + 1].strip() for cell in self.cells]
        if label == METRIC:
            self.in_heading = True
            return
        if any(edges) or not label or not value or " " in unit:
            return
        name = metric_name(self.section, label, self.table)
        if name is None:
            self.unread[self.table or self.section] += 1
        else:
            self.launch.metrics.append((name, unit, value))


def read_printed(text: str, file: str) -> Contents:
    """Return the launches of a text; ``file`` is its name, for messages.

    ncu before 2022.2 prints no sizes beside a kernel. Of its launches grid and block are what the section Launch
    Statistics has, their totals, along x. Raises UsageProblem when no launch can be read, DamagedData for values that
    are not printed in English or no numbers.
    """
    reader = _Reader()
    for line in text.split("\n"):
        reader.line(line.strip())
    rows, totals, without = [], 0, 0
    for launch in reader.launches:
        facts = launch.facts
        if not facts[GRID]:
            facts = _with_totals(launch)
            totals += bool(facts[GRID])
        if not launch.metrics or not facts[GRID]:
            without += 1
            continue
        rows.append((facts, launch.metrics))
    if not rows:
        raise _nothing(reader, file)
    return contents_of(file, rows, tuple(_notes(reader, totals, without)))


def _with_totals(launch: _Printed) -> dict[str, str]:
    said = {name: value.replace(",", "") for name, _, value in launch.metrics}
    sizes = {fact: said.get(name, "") for fact, name in TOTALS.items()}
    if not all(size.isdecimal() for size in sizes.values()):
        return launch.facts
    return launch.facts | {fact: f"({size}, 1, 1)" for fact, size in sizes.items()}


def _nothing(reader: _Reader, file: str) -> UsageProblem:
    if reader.summaries:
        words = "is a summary over launches, as --print-summary prints it: no launch can be told from another"
    elif not reader.launches:
        words = "holds tables of ncu, but no line that says of which kernel"
    elif reader.unread:
        words = "holds tables of ncu, but none of their labels says one metric for certain"
    else:
        words = "names kernels, but prints no sizes of them or no metrics: ncu before 2022.2 needs Launch Statistics"
    return UsageProblem(f"{file} {words}", AGAIN)


def _notes(reader: _Reader, totals: int, without: int) -> Iterator[str]:
    yield from unread_notes(reader.unread)
    if totals:
        yield f"of {number_of(totals, 'launch')} only the totals of grid and block are printed, and stand as their x"
    if without:
        yield f"{number_of(without, 'launch')} left out: no metrics or no sizes are printed of them"
    if reader.strays:
        yield f"{number_of(reader.strays, 'table')} not read: no line says of which kernel"
    if reader.summaries:
        yield f"{number_of(reader.summaries, 'table')} not read: over several launches"
