"""Reading the details page as ncu prints it in a terminal, out of the text around it: logs, READMEs, messages.

A row of its tables has a label, a unit and a rounded value. A label is read where it says one metric, whatever release
and chip (``catalogue.labels``), and ncu's own names are. What stands behind a row, as people write there, is passed
over, and so is a prefix that all lines of the page have. Values in another locale, tables of several launches at a time
and launches without sizes are never guessed at, and what may belong to another kernel belongs to none.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.labels import OF_SECTIONS, OF_TABLES
from ncu_assist.ncu.contents import Contents
from ncu_assist.ncu.csv_page import (
    AGAIN,
    BLOCK,
    CHOSEN,
    GRID,
    KERNEL,
    METRIC,
    Said,
    contents_of,
    metric_name,
    no_sizes,
    sized,
    unread_notes,
)
from ncu_assist.quantity import number_of

SIZE = r"\(\d+, \d+, \d+\)"
WHERE = r"Context (?P<context>\d+), Stream (?P<stream>\d+)(?:, Device (?P<device>\d+), CC (?P<cc>\d+\.\d+))?"
SIZES = rf"(?P<grid>{SIZE})x(?P<block>{SIZE}), {WHERE}"
KERNEL_LINE = re.compile(rf"(?P<name>\S.*) {SIZES}")
KERNEL_LINE_UNTIL_2022 = re.compile(rf"(?P<name>\S.*), \d{{4}}-\w{{3}}-\d{{2}} [\d:]{{8}}, {WHERE}")
END_OF_KERNEL_LINE = re.compile(SIZES)  # of one that a terminal wrapped
COLUMNS = {  # of a raw page, by what the line of a kernel says
    "name": KERNEL, "grid": GRID, "block": BLOCK, "context": "Context", "stream": "Stream", "device": "Device",
    "cc": "CC",
}  # fmt: skip
FORM = "NAME (64, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0"
PROCESS = re.compile(r"\[(?P<pid>\d+)\] (?P<program>.+)@(?P<host>[\w.:-]+)")
# A kernel in another form than ncu's, another process or command, a heading: what follows may be of another launch.
ANOTHER = re.compile(rf"==[A-Z]+==|#{{1,6}} |```|~~~|[$>] .*\bncu\b|.*{SIZE}x{SIZE}|.*\bContext \d+, Stream \d+")
SECTION = re.compile(r"Section: (\S.*)")
TABLE = re.compile(r"Table Name : (\S.*)")
RULER = re.compile(r"-{3,}(?: -{3,}){2,}")
RULER_LINE = re.compile(rf"^([^\n]{{0,40}}?)[ \t]*{RULER.pattern}", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
ROW_CELLS = 3
OVER_SEVERAL, OF_NO_KERNEL = ("table", "over several launches"), ("table", "of no kernel line")  # why it is left out
NO_TITLE, MISFIT = ("table", "without a title"), ("row", "outside of its columns")
VALUE_AT_END = re.compile(r"\s-?[\d,]*\d(?:\.\d+)?$")
LEAST_OF_LABEL = 4  # letters
FIRST_ROWS = (
    "ncu prints the first rows of its sections only, unless it is asked for more: --print-details all, "
    "--csv --page raw, or a report (-o)"
)
MOST_WRAPPED = 20  # lines of a terminal that the line of a kernel takes


def is_printed(text: str) -> bool:
    """Tell whether a text holds a table as ncu prints it: behind its title or, on the raw page, behind its kernel."""
    plain = _plain(text)
    return any(_begins_table(plain, found.start()) for found in RULER_LINE.finditer(plain) if not found[1].strip())


def _plain(text: str) -> str:
    """Return a text without colours, and without what stands before each of ncu's rulers: ``> ``, ``// ``, a rank."""
    text = COLOUR.sub("", text) if "\x1b" in text else text
    before = {found[1].strip() for found in RULER_LINE.finditer(text)} - {""}
    if len(before) != 1:
        return text
    return re.sub(rf"^[ \t]*{re.escape(before.pop())}", "", text, flags=re.MULTILINE)


def _begins_table(text: str, ruler: int) -> bool:
    """Tell whether one of the two lines before a ruler says of what the table is: a description may stand between."""
    end_of_heading = ruler
    for _ in range(3):
        end_of_heading = max(text.find("\n", end_of_heading + 1), end_of_heading)
    has_heading = METRIC in text[ruler:end_of_heading]
    for _ in range(2):
        end = max(text.rfind("\n", 0, ruler), 0)
        ruler = text.rfind("\n", 0, end) + 1
        line = text[ruler:end].strip()
        if _kernel_line(line, []):
            return True
        title = SECTION.fullmatch(line) or TABLE.fullmatch(line)
        if title:
            return has_heading or title[1] == CHOSEN or title[1] in OF_SECTIONS or title[1] in OF_TABLES
    return False


def _kernel_line(text: str, before: list[str]) -> re.Match[str] | None:
    """Return the line of a kernel; the end of one that a terminal wrapped with the lines ``before`` it."""
    whole = " ".join([*before, text]) if END_OF_KERNEL_LINE.fullmatch(text) else text
    return KERNEL_LINE.fullmatch(whole) or KERNEL_LINE_UNTIL_2022.fullmatch(whole)


@dataclass
class _Printed:
    """One launch as printed."""

    facts: dict[str, str]
    metrics: dict[str, Said] = field(default_factory=dict)
    others: list[Said] = field(default_factory=list)  # again, with another value, from a table of its own
    tables: set[tuple[str, str]] = field(default_factory=set)  # section and table of those that were read


@dataclass
class _Reader:
    """Goes through the lines; ``unread`` counts what stands under labels that do not say one metric, by place."""

    launches: list[_Printed] = field(default_factory=list)
    has_tables: bool = False  # those of --print-details all
    unread: Counter[str] = field(default_factory=Counter)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)  # tables and rows, by the reason
    process: dict[str, str] = field(default_factory=dict)
    section: str = ""
    table: str = ""
    launch: _Printed | None = None
    cells: tuple[slice, ...] = ()  # of the table that is open
    in_heading: bool = False  # the last row was that of the columns' names
    is_loose: bool = False  # a blank line stood in the table: it may have ended
    is_known: bool = True  # nothing with the last title was read of this launch
    reason: tuple[str, str] | None = None  # why nothing of the last table is read
    wrapped: list[str] = field(default_factory=list)  # the last lines of no known form, since a blank one

    def line(self, text: str) -> None:
        """Take a line without the blanks around it."""
        lines, self.wrapped = self.wrapped, []
        if ruler := RULER.match(text):
            self._ruler(ruler.group())
        elif found := SECTION.fullmatch(text):
            self._open(found[1])
        elif found := TABLE.fullmatch(text):
            self.has_tables = True
            self._open(self.section, found[1])
        elif found := _kernel_line(text, lines):
            self._kernel(found)
        elif found := PROCESS.fullmatch(text):
            self.process = {"Process ID": found["pid"], "Process Name": found["program"], "Host Name": found["host"]}
            self._end()
        elif not text:
            self.is_loose, self.reason = True, None
        elif self.cells and self._row(text):
            pass
        elif ANOTHER.match(text):
            self._end()
            self.wrapped = [text]
        else:
            is_row = self.reason is None and VALUE_AT_END.search(text) and self._knows(text)
            self.left_out.update([MISFIT] if is_row else [])
            self.wrapped = [*lines[-MOST_WRAPPED:], text]

    def _open(self, section: str, table: str = "") -> None:
        self.section, self.table, self.cells, self.reason = section, table, (), None
        self.is_known = not (self.launch and (section, table) in self.launch.tables)

    def _end(self) -> None:
        self.launch = None
        self._open("")

    def _kernel(self, found: re.Match[str]) -> None:
        said = {COLUMNS[group]: value for group, value in found.groupdict().items() if value is not None}
        self.launch = _Printed({"ID": str(len(self.launches)), **self.process, **said})
        self.launches.append(self.launch)
        self._open("")

    def _ruler(self, ruler: str) -> None:
        if self.cells:
            self.cells = self.cells if self.in_heading else ()
            self.in_heading = self.is_loose = False
            return
        if self.reason:
            return
        ends = [-1, *(found.start() for found in re.finditer(" ", ruler)), len(ruler)]
        place = self.section, self.table
        if len(ends) - 1 > ROW_CELLS:
            self.reason = OVER_SEVERAL
        elif self.launch is None:
            self.reason = OF_NO_KERNEL
        elif self.is_known and place in self.launch.tables:  # a second one behind the same title
            self.reason = NO_TITLE
        if self.reason:
            self.left_out[self.reason] += 1
            return
        assert self.launch is not None
        self.launch.tables.add(place)
        self.cells = tuple(slice(start + 1, end) for start, end in pairwise(ends))
        self.is_loose = self.in_heading = False

    def _row(self, text: str) -> bool:
        """Take a row: cells as wide as the ruler says, with blanks between them; return whether it was one."""
        assert self.launch is not None
        label, unit, value = (text[cell].strip() for cell in self.cells)
        if label == METRIC:
            self.in_heading = True
            return True
        if any(text[cell.stop : cell.stop + 1].strip() for cell in self.cells) or not value or " " in unit:
            if self._knows(text):
                self.left_out[MISFIT] += 1
                return True
            return False
        name = metric_name(self.section, label, self.table) if label else None
        if name is None and self.is_loose:
            self.cells = ()
            return False
        if name is None:
            if label:
                self.unread[self.table or self.section] += 1
        else:
            self._metric((name, unit, value))
        return True

    def _metric(self, said: Said) -> None:
        assert self.launch is not None
        known = self.launch.metrics.setdefault(said[0], said)
        if known == said:
            return
        if self.is_known:
            self.launch.others.append(said)
        else:  # the same section again, with other values: of another launch
            self.left_out[OF_NO_KERNEL] += 1
            self._end()
            self.reason = OF_NO_KERNEL

    def _knows(self, text: str) -> bool:
        """Tell whether a line that does not fit the columns begins as a row does."""
        labels = OF_TABLES.get(self.table, {}) if self.table else OF_SECTIONS.get(self.section, {})
        return any(text.startswith(label) for label in labels if len(label) >= LEAST_OF_LABEL)


def read_printed(text: str, file: str) -> Contents:
    """Return the launches of a text; ``file`` is its name, for messages.

    ncu before 2022.2 prints no sizes beside a kernel. Of its launches grid and block are what the section Launch
    Statistics has, their totals, along x. Raises UsageProblem when no launch can be read, DamagedData for values that
    are not printed in English or no numbers.
    """
    reader = _Reader()
    for line in _plain(text).split("\n"):
        reader.line(line.strip())
    printed = [(one.facts, [*one.metrics.values(), *one.others]) for one in reader.launches]
    rows, notes = sized(printed)
    if not rows:
        raise _nothing(reader, file)
    left_out = [f"left out: {number_of(count, what)} {why}" for (what, why), count in sorted(reader.left_out.items())]
    of_sections = any(title not in ("", CHOSEN) for one in reader.launches for title, _ in one.tables)
    first_rows = [FIRST_ROWS] if of_sections and not reader.has_tables else []
    return contents_of(file, rows, (*first_rows, *unread_notes(reader.unread), *notes, *left_out))


def _nothing(reader: _Reader, file: str) -> UsageProblem:
    if reader.left_out[OVER_SEVERAL]:
        words = "is a summary over launches, as ncu --print-summary prints it: no launch can be told from another"
    elif not reader.launches:
        words = f"holds tables of ncu, but no line of a kernel: {FORM}"
    elif reader.left_out[MISFIT]:
        words = "holds tables of ncu whose columns were lost: cells do not stand below one another"
    elif any(one.metrics for one in reader.launches):
        return no_sizes(file)
    elif reader.unread:
        words = "holds tables of ncu, but none of their labels says one metric for certain"
    else:
        words = "names kernels, but has no table of them whose cells stand below one another"
    return UsageProblem(f"{file} {words}", AGAIN)
