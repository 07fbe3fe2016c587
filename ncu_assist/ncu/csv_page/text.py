"""Finding the table of a page in the text around it, and taking its rows apart, cell by cell.

ncu quotes every cell but escapes nothing inside: a name may hold quotes, commas and line ends, so no CSV parser reads
these rows. A row is taken apart from both ends: names stand in the middle, and no cell behind them holds a quote.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise

from ncu_assist.errors import DamagedData, NcuAssistError, UsageProblem

EXPORT = "ncu --import FILE.ncu-rep --csv --page raw --print-units base"
AGAIN = f"export the report again: {EXPORT}"

QUOTE, SEPARATOR = '"', '","'  # of cells, all of which are quoted
HEADER = re.compile(r'^"ID","', re.MULTILINE)
ROW_START = re.compile(r'^"\d+","', re.MULTILINE | re.ASCII)
CHATTER = re.compile(r"^==[A-Z]+==", re.MULTILINE)  # such as ==PROF== Disconnected from process 3165
DETAILS_COLUMNS = {"Metric Name", "Metric Value"}
SOURCE_PAGE = re.compile(r'^"(?:Address|Line No|#)","Source"|^"(?:File Name|Kernel Name)","', re.MULTILINE)
SAVED_AGAIN = re.compile(r'^"?ID"?[ ]*[,;\t][ ]*"?Process ID', re.MULTILINE)
FIRST_COLUMNS = '"ID","Process ID"'
ANY_SEPARATOR = re.compile(r"[,;\t]")
NO_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class CsvPage:
    """The table of a page: header, units, and one text a row, which may span lines where a name does.

    A raw page has a row for each launch. One with a row for each metric of a launch has no row of units.
    """

    header: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[str, ...]


def is_csv(head: bytes) -> bool:
    """Tell whether a file that starts with these bytes is for ``read_csv``: to be read, or refused in its own words.

    True for text that looks like a table, in UTF-8 or UTF-16, and for lines of ncu that stand before one. 64 KiB are
    enough unless the profiled program printed more than that before its table.
    """
    text = decode(head)
    if any(pattern.search(text) for pattern in (HEADER, SOURCE_PAGE, SAVED_AGAIN, CHATTER)):
        return True
    first_line = text.lstrip().partition("\n")[0]
    whole = text.rstrip("\ufffd")  # the first bytes may end inside a character
    return bool(ANY_SEPARATOR.search(first_line)) and not NO_TEXT.search(whole)


def decode(data: bytes) -> str:
    """Return the text of an export: UTF-8, or UTF-16 as PowerShell redirects it; lines end with a newline only.

    Bytes that are no UTF-8 become U+FFFD: a name may hold any, and where a number does, it is found not to be one.
    """
    encoding = next((name for bom, name in BOMS.items() if data.startswith(bom)), "utf-8")
    if encoding == "utf-8" and b"\0" in data[:4]:
        encoding = {b'"\0': "utf-16-le", b"=\0": "utf-16-le", b'\0"': "utf-16-be", b"\0=": "utf-16-be"}.get(
            data[:2], "utf-8"
        )
    return data.decode(encoding, errors="replace").replace("\r\n", "\n")


def find_table(text: str, name: str) -> CsvPage:
    """Return the table of a page; ``name`` is that of the file.

    Raises DamagedData for a table that is cut or has no row of units, UsageProblem for any other page or text.
    """
    found = HEADER.search(text)
    if found is None:
        raise _no_raw_page(text, name)
    header, newline, body = text[found.start() :].partition("\n")
    columns = split_line(header)
    has_metric_rows = set(columns) >= DETAILS_COLUMNS
    if not has_metric_rows and not (newline and columns):
        raise DamagedData(f"{name} is damaged: it ends in the row of column names", AGAIN)
    if HEADER.search(body):
        hint = "put each into a file of its own"
        raise DamagedData(f"{name} holds more than one export, one behind the other", hint)
    starts = [found.start() for found in ROW_START.finditer(body)]
    if starts[:1] == [0] and not has_metric_rows:
        raise DamagedData(f"{name} is damaged: the second row, which holds the units, is missing", AGAIN)
    if not starts:
        raise DamagedData(f"{name} is damaged: it ends before the first launch", AGAIN)
    ends = [*(start - 1 for start in starts[1:]), len(body)]
    rows = tuple(_row(body[start:end]) for start, end in zip(starts, ends, strict=True))
    return CsvPage(columns, () if has_metric_rows else _units(body[: starts[0]], columns, name), rows)


def split_line(line: str) -> tuple[str, ...]:
    """Return the cells of a line in which no cell holds a quote; none when its last cell is not closed."""
    return tuple(line[1:-1].split(SEPARATOR)) if len(line) > 1 and line[0] == line[-1] == QUOTE else ()


def _units(second_row: str, columns: tuple[str, ...], name: str) -> tuple[str, ...]:
    units = split_line(_row(second_row))
    starts_empty = second_row.startswith(QUOTE + SEPARATOR)
    if not starts_empty or len(units) != len(columns) or any(QUOTE in unit for unit in units):
        raise DamagedData(
            f"{name} is damaged: the second row should hold {len(columns)} units, it holds {len(units)}", AGAIN
        )
    return units


def _row(text: str) -> str:
    """Return a row without the lines of ncu and the blank ones that stand behind it."""
    lines = text.split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or (CHATTER.match(lines[-1]) and SEPARATOR not in lines[-1])):
        lines.pop()
    return "\n".join(lines)


def _no_raw_page(text: str, name: str) -> NcuAssistError:
    if not text.strip():
        return DamagedData(f"{name} is empty", AGAIN)
    if SOURCE_PAGE.search(text):
        return UsageProblem(
            f"{name} is the source page of a report: it holds lines of code, not the metrics of launches",
            f"export the raw page: {EXPORT}",
        )
    if SAVED_AGAIN.search(text):
        return DamagedData(
            f"{name} was saved again by another program: its cells are not separated and quoted as ncu writes them, "
            "so changed numbers could not be seen",
            AGAIN,
        )
    last = text[text.rfind("\n") + 1 :]
    if last and FIRST_COLUMNS.startswith(last):
        return DamagedData(f"{name} is damaged: it ends in the row of column names", AGAIN)
    if CHATTER.search(text):
        return DamagedData(f"{name} holds messages of ncu, but no table", AGAIN)
    return UsageProblem(f"{name} is no report of Nsight Compute and no export of its raw page", f"export one: {EXPORT}")


PUSH_POP = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
START_END = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
KERNEL, BLOCK, GRID = "Kernel Name", "Block Size", "Grid Size"
NAMES = (PUSH_POP, START_END, KERNEL)  # columns whose cells may hold anything, side by side
BEFORE_NAMES = ("ID", "Process ID", "Process Name", "Host Name")
AFTER_NAMES = ("Kernel Time", "Context", "Stream", BLOCK, GRID, "Device", "CC")
REQUIRED = ("ID", KERNEL, BLOCK, GRID)
RANGES_CELL = re.compile(r'(?:\s*(?:\d+\s+)?"".*""\s*)?', re.DOTALL)
DIMENSIONS = re.compile(r"\((\d{1,10}), *(\d{1,10}), *(\d{1,10})\)", re.ASCII)
MOST_PIECES = 20  # of the ranges in one row, where their names hold "," themselves; beyond, the row counts as damaged


@dataclass(frozen=True)
class Layout:
    """Which column of a raw page is what: facts by name, then metrics from ``first_metric`` on."""

    columns: tuple[str, ...]
    facts: dict[str, int]
    names: range  # of the columns in NAMES
    first_metric: int

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metric columns, in the order of the file."""
        return self.columns[self.first_metric :]


def layout(table: CsvPage, name: str) -> Layout:
    """Return the layout of a table; raises UsageProblem when it is no raw page, DamagedData for a name that repeats."""
    columns = table.header
    if len(set(columns)) < len(columns):
        twice = Counter(columns).most_common(1)[0][0]
        raise DamagedData(f"{name} is damaged: it has the column {twice} more than once", AGAIN)
    known = {*BEFORE_NAMES, *NAMES, *AFTER_NAMES}
    facts = {each: place for place, each in enumerate(columns) if each in known}
    strange = [each for each in REQUIRED if each not in facts]
    if strange:
        raise UsageProblem(f"{name} is no raw page as ncu writes it now: it has no column {strange[0]!r}", AGAIN)
    first_metric = max(facts.values()) + 1
    strange = [each for each in columns[:first_metric] if each not in facts]
    strange += [each for each in columns[first_metric:] if not each or " " in each]
    if strange:
        raise UsageProblem(f"{name} is no raw page: its column {strange[0]!r} is no metric", f"export one: {EXPORT}")
    places = [facts[each] for each in NAMES if each in facts]
    return Layout(columns, facts, range(places[0], places[-1] + 1), first_metric)


def cells(row: str, where: Layout, name: str) -> list[str]:
    """Return the cells of a row; raises DamagedData when it is cut or has not one for each column."""
    launch = f"the row of launch {row[1:].split(QUOTE, 1)[0]}"
    if row[-1] != QUOTE:
        raise DamagedData(f"{name} is damaged: {launch} ends inside a cell", AGAIN)
    pieces = row[1:-1].split(SEPARATOR)
    if len(pieces) > len(where.columns):
        pieces = _joined(pieces, where) or pieces
    if len(pieces) != len(where.columns) or not _stands(pieces, where):
        raise DamagedData(
            f"{name} is damaged: the cells of {launch} do not fit the columns of the table "
            f"({len(pieces)} cells, {len(where.columns)} columns)",
            AGAIN,
        )
    return pieces


def dimensions(cell: str) -> tuple[int, int, int]:
    """Return the three numbers of a size such as '(256, 1, 1)'; zeros where there is none, as for a range."""
    found = DIMENSIONS.fullmatch(cell)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def _stands(pieces: list[str], where: Layout) -> bool:
    """Tell whether each cell stands in its column: the sizes do, and no quote is left behind the names."""
    sizes = (pieces[where.facts[BLOCK]], pieces[where.facts[GRID]])
    return all(not size or DIMENSIONS.fullmatch(size) for size in sizes) and not any(
        QUOTE in cell for cell in pieces[where.names.stop :]
    )


def _joined(pieces: list[str], where: Layout) -> list[str]:
    """Return a row's pieces with those put together that a range was split into; none unless exactly one way fits."""
    begin, end = where.names.start, len(pieces) - (len(where.columns) - where.names.stop) - 1
    middle, cells_of_ranges = pieces[begin:end], len(where.names) - 1
    if len(middle) > MOST_PIECES or not cells_of_ranges or any(map(DIMENSIONS.fullmatch, middle)):
        return []  # the sizes of a launch among them: two rows whose line end was lost
    ways = [
        [*pieces[:begin], *ranges, *pieces[end:]]
        for cuts in combinations(range(1, len(middle)), cells_of_ranges - 1)
        if all(map(RANGES_CELL.fullmatch, ranges := _merged(middle, cuts)))
    ]
    return ways[0] if len(ways) == 1 else []


def _merged(pieces: list[str], cuts: tuple[int, ...]) -> list[str]:
    bounds = (0, *cuts, len(pieces))
    return [SEPARATOR.join(pieces[a:b]) for a, b in pairwise(bounds)]
