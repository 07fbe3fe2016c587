"""Finding the table of a raw page in the text around it, and telling every other text apart."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

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
class Table:
    """The lines of a raw page: header, units, and one text a launch, which may span lines where a name does."""

    header: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True)
class MetricTable:
    """The lines of a page with a row for each metric of a launch, which has no row of units."""

    header: tuple[str, ...]
    rows: tuple[str, ...]


def is_table(head: bytes) -> bool:
    """Tell whether a file that starts with these bytes is a table in text, or what ncu prints before one."""
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


def find_table(text: str, name: str) -> Table | MetricTable:
    """Return the table of a page; ``name`` is that of the file.

    Raises DamagedData for a table that is cut or has no row of units, UsageProblem for any other page or text.
    """
    found = HEADER.search(text)
    if found is None:
        raise _no_raw_page(text, name)
    header, newline, body = text[found.start() :].partition("\n")
    columns = split_line(header)
    if columns and set(columns) >= DETAILS_COLUMNS:
        return _metric_table(columns, body, name)
    if not newline or not columns:
        raise DamagedData(f"{name} is damaged: it ends in the row of column names", AGAIN)
    if HEADER.search(body):
        raise _several(name)
    return _table(columns, body, name)


def split_line(line: str) -> tuple[str, ...]:
    """Return the cells of a line in which no cell holds a quote; none when its last cell is not closed."""
    return tuple(line[1:-1].split(SEPARATOR)) if len(line) > 1 and line[0] == line[-1] == QUOTE else ()


def _table(columns: tuple[str, ...], body: str, name: str) -> Table:
    if ROW_START.match(body):
        raise DamagedData(f"{name} is damaged: the second row, which holds the units, is missing", AGAIN)
    starts = [found.start() for found in ROW_START.finditer(body)]
    if not starts:
        raise _no_launch(name)
    units = split_line(_row(body[: starts[0]]))
    if not body.startswith(QUOTE + SEPARATOR) or len(units) != len(columns) or any(QUOTE in unit for unit in units):
        raise DamagedData(
            f"{name} is damaged: the second row should hold {len(columns)} units, it holds {len(units)}", AGAIN
        )
    return Table(columns, units, _rows(body, starts))


def _metric_table(columns: tuple[str, ...], body: str, name: str) -> MetricTable:
    if HEADER.search(body):
        raise _several(name)
    starts = [found.start() for found in ROW_START.finditer(body)]
    if not starts:
        raise _no_launch(name)
    return MetricTable(columns, _rows(body, starts))


def _rows(body: str, starts: list[int]) -> tuple[str, ...]:
    ends = [*(start - 1 for start in starts[1:]), len(body)]
    return tuple(_row(body[start:end]) for start, end in zip(starts, ends, strict=True))


def _no_launch(name: str) -> DamagedData:
    return DamagedData(f"{name} is damaged: it ends before the first launch", AGAIN)


def _several(name: str) -> DamagedData:
    return DamagedData(f"{name} holds more than one export, one behind the other", "put each into a file of its own")


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
