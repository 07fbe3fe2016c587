"""Finding the table of a page in the text around it, and taking its rows apart, cell by cell.

ncu quotes every cell but escapes nothing inside: a name may hold quotes, commas and line ends, so no CSV parser reads
these rows. A row is taken apart from both ends: names stand in the middle, and no cell behind them holds a quote.
"""

from __future__ import annotations

import codecs
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, pairwise
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import DamagedData, NcuAssistError, UsageProblem
from ncu_assist.ncu.contents import Contents, LaunchFacts, RuleFacts, SessionFacts
from ncu_assist.ncu.oddities import double_sentences
from ncu_assist.quantity import number_of

if TYPE_CHECKING:
    import numpy as np


EXPORT = "ncu --import FILE.ncu-rep --csv --page raw --print-units base"
AGAIN = f"export the report again: {EXPORT}"

QUOTE, SEPARATOR = '"', '","'  # of cells, all of which are quoted
HEADER = re.compile(r'^"(?:ID|Process ID(?=".*"Invocations"))","', re.MULTILINE)
ROW_START = re.compile(r'^"\d+","', re.MULTILINE | re.ASCII)
CHATTER = re.compile(r"^==[A-Z]+==", re.MULTILINE)  # such as ==PROF== Disconnected from process 3165
SOURCE_PAGE = re.compile(r'^"(?:Address|Line No|#)","Source"|^"(?:File Name|Kernel Name)","', re.MULTILINE)
SAVED_AGAIN = re.compile(r'^"?ID"?[ ]*[,;\t][ ]*"?Process ID', re.MULTILINE)
FIRST_COLUMNS = '"ID","Process ID"'
ANY_SEPARATOR = re.compile(r"[,;\t]")
NO_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def is_csv(head: bytes) -> bool:
    """Tell whether a file that starts with these bytes is for ``read_csv``: to be read, or refused in its own words.

    True for text that looks like a table, in UTF-8 or UTF-16, and for lines of ncu that stand before one. 64 KiB are
    enough unless the profiled program printed more than that before its table.
    """
    text = decode(head)
    if any(pattern.search(text) for pattern in (HEADER, SOURCE_PAGE, SAVED_AGAIN, CHATTER)):
        return True
    return bool(ANY_SEPARATOR.search(text.lstrip().partition("\n")[0])) and is_text(head)


def has_export(text: str) -> bool:
    """Tell whether a text holds a table in CSV that has ncu's columns."""
    return any(f'"{KERNEL}"' in text[found.start() : text.find("\n", found.end())] for found in HEADER.finditer(text))


def is_text(head: bytes) -> bool:
    """Tell whether a file that starts with these bytes is a text, one with words in it."""
    text = decode(head)
    whole = text.rstrip("\ufffd")  # the first bytes may end inside a character
    return bool(text.strip()) and not NO_TEXT.search(whole)


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


def find_table(text: str, name: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return header, units and rows of a page: a text a row, which may span lines where a name does.

    A raw page has a row for each launch. One with a row for each metric of a launch has no units. ``name`` is the file.

    Raises DamagedData for a table that is cut or has no row of units and for any other text, UsageProblem for another
    page of a report.
    """
    found = HEADER.search(text)
    if found is None:
        raise _no_raw_page(text, name)
    header, newline, body = text[found.start() :].partition("\n")
    columns = split_line(header)
    has_metric_rows = METRIC in columns
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
    return columns, () if has_metric_rows else _units(body[: starts[0]], columns, name), rows


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
    return no_report(name)


def no_report(name: str) -> DamagedData:
    """Return what is said of a text that no reader is for."""
    return DamagedData(
        f"{name}: this is a text, not an Nsight Compute report or an export of its raw page",
        "check the file's name; `ncu -o NAME` writes reports, and ncu-assist list names the runs that are here",
    )


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


def layout(columns: tuple[str, ...], name: str) -> Layout:
    """Return the layout of a table; raises UsageProblem when it is no raw page, DamagedData for a name that repeats."""
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
    sizes = [pieces[where.facts[one]] for one in (BLOCK, GRID) if one in where.facts]
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


NUMBER = re.compile(r"-?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
# ncu prints two decimals or six. Three of them behind one to three digits are a thousand of another locale: 117.344.
DOT_GROUP = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")
NUMBER_LIKE = re.compile(r"[-+.,'0-9]")
SEPARATED_DIGITS = re.compile("[-+0-9.,'\N{RIGHT SINGLE QUOTATION MARK} \N{NO-BREAK SPACE}\u202f\ufffd]+")
FLAG = "(!) "  # which ncu puts before what it has no value for
NO_NUMBER = {"nan", "-nan", "nan(ind)", "-nan(ind)", "n/a"}  # n/a: ncu does not know the name, or not on this chip
INFINITE = {"inf": math.inf, "-inf": -math.inf}
ABSENT = {"", "no data"}
TEXT_METRICS = {  # a list of numbers among them is a text too
    "device__attribute_confidential_computing_mode",
    "device__attribute_display_name",
    "launch__cluster_scheduling_policy",
    "launch__func_cache_config",
    "launch__kernel_name",
    "launch__tpc_enabled",
}
ROLLUP = re.compile(r"\.(sum|avg|max|min|ratio|pct)\b")  # ncu's documentation, Metrics Structure
MOST_KNOWN = 1 << 17  # cells whose values are remembered: some 15 MB
MOST_SHOWN = 40  # characters of a cell in a message
NAN = math.nan


class Values:
    """The metric columns of a file, and the values of its rows so far.

    ``numbers`` has one double for each column of each row, in base units; NaN for texts and absences. ``odd`` has what
    stands in place of a number that can be, by name, as printed and as read: no value, an infinite one, or less than 0.
    """

    def __init__(self, file: str, names: tuple[str, ...], units: tuple[str, ...]) -> None:
        self.numbers = array("d")
        self.names = names
        self.odd: dict[str, tuple[str, float]] = {}
        self._file, self._printed = file, units
        bases = [base_unit(unit) for unit in units]
        self.units = {name: base for name, (base, _) in zip(names, bases, strict=True)}
        self._powers = [power for _, power in bases]
        known: dict[int, dict[str, float]] = {}  # by power of ten: the values of cells, which columns share
        self._known = [
            {} if name in TEXT_METRICS else known.setdefault(power, {})
            for name, power in zip(names, self._powers, strict=True)
        ]

    def add(self, cells: list[str]) -> dict[int, str]:
        """Append the values of a row and return its texts by column.

        Raises DamagedData for a number as another locale writes it, and for a text where a number belongs.
        """
        texts: dict[int, str] = {}
        append = self.numbers.append
        for column, (cell, known) in enumerate(zip(cells, self._known, strict=True)):
            value = known.get(cell)
            if value is None:
                value = self._value(column, cell)
                if value is None:
                    texts[column], value = cell, NAN
                elif value < 0 or (not math.isfinite(value) and cell not in ABSENT):
                    self.odd.setdefault(self.names[column], (f"{cell} {self._printed[column]}".rstrip(), value))
                else:  # what is odd is looked at in each column
                    if len(known) >= MOST_KNOWN:
                        known.clear()
                    known[cell] = value
            append(value)
        return texts

    def _value(self, column: int, cell: str) -> float | None:
        """Return the value of a cell, or None for a text."""
        if cell in ABSENT or cell.removeprefix(FLAG).lower() in NO_NUMBER:
            return NAN
        if self.names[column] in TEXT_METRICS:
            return None
        if NUMBER.fullmatch(cell) and not DOT_GROUP.fullmatch(cell):
            # Scaled as a decimal and rounded once: 0.1 Gbyte is exactly 1e8 byte.
            return float(f"{cell.replace(',', '')}e{self._powers[column]}")
        if cell in INFINITE:
            return INFINITE[cell]
        if cell.endswith(")") and cell[0] in "-0123456789(":
            # --print-metric-instances puts the instances behind the value
            return self._value(column, cell.partition("(")[0].rstrip())
        if NUMBER_LIKE.match(cell) or self._printed[column] or _counts(self.names[column]):
            raise self._no_number(column, cell)
        return None

    def _no_number(self, column: int, cell: str) -> DamagedData:
        name, shown = self.names[column], cell[:MOST_SHOWN]
        if SEPARATED_DIGITS.fullmatch(cell):
            return DamagedData(
                f"{self._file} cannot be read safely: {name} is {shown!r}, not a number as ncu prints it in English "
                "(1,234.56)",
                f"set LC_ALL=C, or on Windows an English region format, and {AGAIN}",
            )
        return DamagedData(f"{self._file} is damaged: {name} is {shown!r}, where a number belongs", AGAIN)


def _counts(name: str) -> bool:
    """Tell whether a metric is a number by its name, though ncu prints no unit beside it: the end says how it adds."""
    return name.partition("__")[0] not in ("launch", "device") and bool(ROLLUP.search(name))


PREFIXES = {"": 0, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
PREFIXED = ("byte", "hz")
# Base units of time stay in the family of their spelling: 'us' is of today's ncu, 'usecond' of older ones.
SECONDS = {"ns": -9, "us": -6, "ms": -3, "s": 0}
LONG_SECONDS = {"nsecond": -9, "usecond": -6, "msecond": -3, "second": 0}
NANO = -9  # a time counts in nanoseconds, a rate in events per second


def base_unit(unit: str) -> tuple[str, int]:
    """Return the base unit of ``unit`` and the power of ten that takes a value there.

    A unit that is not known is its own base, with power 0: never a guess.
    """
    over, slash, under = unit.partition("/")
    base_over, power_over = _over(over)
    if not slash:
        return base_over, power_over
    base_under, power_under = _under(under)
    return f"{base_over}/{base_under}", power_over + power_under


def _over(unit: str) -> tuple[str, int]:
    for family, base in ((SECONDS, "ns"), (LONG_SECONDS, "nsecond")):
        if unit in family:
            return base, family[unit] - NANO
    return _prefixed(unit)


def _under(unit: str) -> tuple[str, int]:
    """Return the base of what stands below the line, and the power it gives the value.

    A rate in sector/us is a million times one in sector/s. But ncu prints 8190 %/byte as 8.19 %/Kbyte: it takes a
    prefix for a scale of the value wherever it stands, and so does this.
    """
    for family, base in ((SECONDS, "s"), (LONG_SECONDS, "second")):
        if unit in family:
            return base, -family[unit]
    return _prefixed(unit)


def _prefixed(unit: str) -> tuple[str, int]:
    for base in PREFIXED:
        prefix = unit.removesuffix(base)
        # 'Ghz' but 'Gbyte' and, without a prefix, 'hz' and 'byte': case matters, 'mbyte' would be milli
        if prefix != unit and prefix in PREFIXES:
            return base, PREFIXES[prefix]
    return unit, 0


BRACKET = re.compile(r"[<>()\[\]{}]")
OPENING = {">": "<", ")": "(", "]": "[", "}": "{"}


def function_name(signature: str) -> str:
    """Return the name without return type, namespaces, template arguments and parameters.

    ``void ops::scale<float, 2>(T1 *, int)`` is ``scale``. A text that is no signature is its own name, so that a name
    printed without parameters, of a Triton kernel for instance, comes back as it is.
    """
    words = _outside_brackets(signature).removesuffix(" const").split()
    return (words[-1].rpartition("::")[2] if words else "") or signature


def _outside_brackets(text: str) -> str:
    """Return what stands outside all brackets, up to the parameter list."""
    kept, open_brackets, at = [], [""], 0
    for found in BRACKET.finditer(text):
        sign = found.group()
        if len(open_brackets) == 1:
            kept.append(text[at : found.start()])
        if sign not in OPENING:
            open_brackets.append(sign)
        elif sign != ">" or open_brackets[-1] == "<":  # the > of -> or of a comparison closes nothing
            opening = OPENING[sign]  # the innermost of this kind closes, and with it a < inside that only compared
            while opening in open_brackets and open_brackets.pop() != opening:
                pass
        at = found.end()
    kept.append(text[at:] if len(open_brackets) == 1 else "")
    return "".join(kept)


DEFAULT_DOMAIN = "<default domain>"
BETWEEN = re.compile(r'""\s+(?:\d+\s+)?""')  # the number of a second thread may stand between two ranges
EDGES = re.compile(r'\s*(?:\d+\s+)?""(.*)""\s*', re.DOTALL)
RANGE_ID = re.compile(r"\d+:")
ATTRIBUTES = 6  # after domain and name: payload type and value, colour type and colour, message type and message
PLAIN = ":none" * ATTRIBUTES


def push_pop_ranges(cell: str) -> tuple[tuple[str, str], ...]:
    """Return domain and name of the ranges of a push/pop cell, outermost first; raises ValueError when it is none."""
    return tuple(_range(entry) for entry in _entries(cell))


def start_end_ranges(cell: str) -> tuple[tuple[str, str], ...]:
    """Return the ranges of a start/end cell, where each begins with its number; raises ValueError when it is none."""
    return tuple(_range(RANGE_ID.sub("", entry, count=1)) for entry in _entries(cell))


def _entries(cell: str) -> list[str]:
    if not cell.strip():
        return []
    inside = EDGES.fullmatch(cell)
    if inside is None:
        raise ValueError("no NVTX ranges")
    return BETWEEN.split(inside.group(1))


def _range(entry: str) -> tuple[str, str]:
    """Return domain and name of 'domain:name:…'. A domain with a colon cannot be told from its range: it ends there."""
    domain, _, rest = entry.partition(":")
    if rest.count(":") < ATTRIBUTES:
        raise ValueError("an NVTX range without its attributes")
    return domain, _range_name(rest)


def _range_name(rest: str) -> str:
    if rest.endswith(PLAIN):
        return rest[: -len(PLAIN)]
    # A range pushed with a message has it twice, as its name and last: both with the same number of colons.
    parts = rest.split(":")
    size = (len(parts) - ATTRIBUTES + 1) // 2
    name, message = ":".join(parts[:size]), ":".join(parts[-size:])
    return name if name == message else rest.rsplit(":", ATTRIBUTES)[0]


WHOLE = re.compile("[0-9]{1,19}")
MANGLED = "_Z"  # how a name starts that --print-kernel-base mangled printed
_function_name = lru_cache(maxsize=1024)(function_name)


def launch_of(facts: Mapping[str, str], names: int, texts: dict[int, int], file: str) -> LaunchFacts:
    """Return the launch that these cells, by column, describe; ``names`` and ``texts`` as in LaunchFacts."""
    signature = facts[KERNEL]
    try:
        pushed, started = push_pop_ranges(facts.get(PUSH_POP, "")), start_end_ranges(facts.get(START_END, ""))
    except ValueError as error:
        raise DamagedData(
            f"{file} is damaged: the NVTX ranges of launch {facts['ID']} cannot be read", AGAIN
        ) from error
    return LaunchFacts(
        kernel=_function_name(signature),
        signature=signature,
        mangled=signature if signature.startswith(MANGLED) else "",
        grid=dimensions(facts.get(GRID, "")),
        block=dimensions(facts.get(BLOCK, "")),
        process=_whole(facts.get("Process ID")),
        context=_whole(facts.get("Context")),
        stream=_whole(facts.get("Stream")),
        ranges=tuple(name for domain, name in pushed if domain == DEFAULT_DOMAIN),
        domain_ranges=tuple(f"{domain}:{name}" for domain, name in pushed if domain != DEFAULT_DOMAIN),
        start_end_ranges=tuple(name if domain == DEFAULT_DOMAIN else f"{domain}:{name}" for domain, name in started),
        names=names,
        texts=texts,
    )


def _whole(cell: str | None) -> int | None:
    return int(cell) if cell and WHOLE.fullmatch(cell) else None


RULES_LACKED = "rules and their findings"  # but where they were read
LACKS = (
    "digits beyond two decimals, or six in columns with a scaled unit or instances",
    "negative values above -0.005, which print as 0 or -0.00",
    "instances of metrics, and with them all per-line and per-instruction values",
    RULES_LACKED,
    "source code and SASS",
    "mangled names, and in signatures most namespaces and the casts of template arguments",
    "versions of driver and ncu, clock control, replay mode, command line, time of the run",
    "metrics whose names begin with 'breakdown:' or 'group:', and the unit of idc__requests.sum",
)


def read_csv(data: bytes, name: str) -> Contents:
    """Return what a page holds; ``name`` is the file's, for messages.

    Of a raw page all launches have the columns of the file as metrics, sorted by name; a cell without a value is NaN.
    The session holds the host only. Raises DamagedData when the table is cut, inconsistent, empty, or written under a
    locale that makes its numbers ambiguous, UsageProblem for labels without names, the source page and any other text.
    """
    header, units, rows = find_table(decode(data), name)
    if not units:
        return read_metric_rows(header, rows, name)
    where = layout(header, name)
    values = Values(name, where.metrics, units[where.first_metric :])
    order = sorted(range(len(where.metrics)), key=where.metrics.__getitem__)  # the columns, by name
    place = {column: at for at, column in enumerate(order)}
    launches: dict[str, LaunchFacts] = {}  # by the ID in the file
    texts: dict[str, int] = {}  # each text and its number, in the order of the numbers
    host: str | None = None
    for row in rows:
        parts = cells(row, where, name)
        said = values.add(parts[where.first_metric :])
        facts = {fact: parts[at] for fact, at in where.facts.items()}
        host = host or facts.get("Host Name") or None
        numbers = {place[at]: texts.setdefault(text, len(texts)) for at, text in said.items()}
        launches[facts["ID"]] = launch_of(facts, 0, dict(sorted(numbers.items())), name)
    if len(launches) < len(rows):
        raise DamagedData(f"{name} is damaged: several rows have the same ID", AGAIN)
    return Contents(
        launches=tuple(launches.values()),
        name_lists=(tuple(sorted(where.metrics)),),
        texts=tuple(texts),
        units=values.units,
        session=SessionFacts(versions={}, host=host),
        notes=tuple(_odd_notes(values.odd, known_only=True)),
        values=_in_order(values, order, len(launches)),
    )


MOST_NAMED = 3  # metrics in a note


def _odd_notes(odd: Mapping[str, tuple[str, float]], *, known_only: bool) -> Iterator[str]:
    """Yield which metrics stand without a value that can be; ``known_only``: of those alone that anything here reads.

    ncu's raw page has several that are nan in every report; whoever asked for a metric by its name wants to know.
    """
    if not odd:
        return
    from ncu_assist.ncu.catalogue.metrics import CATALOGUE
    from ncu_assist.ncu.catalogue.rows import STRAYS, WHOLE

    known = frozenset[str]().union(*(row.every_name for row in CATALOGUE.values())) if known_only else odd
    own = {name: said for name, said in odd.items() if name in known}
    without = [f"{name} {cell}" for name, (cell, value) in own.items() if not isfinite(value)]
    if without:
        yield f"ncu printed no value, as it does not know the metric here or could not count it: {_some(without)}"
    negative = [
        f"{name} {cell}" for name, (cell, value) in own.items() if -inf < value < (-STRAYS * WHOLE * ("%" in cell))
    ]
    if negative:
        yield f"below zero, which no counter can be: {_some(negative)}; nothing is concluded from it"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _in_order(values: Values, order: list[int], launches: int) -> np.ndarray[Any, Any]:
    import numpy as np

    table = np.frombuffer(values.numbers, dtype=np.float64).reshape(launches, len(values.names))
    return np.ascontiguousarray(table[:, order]).ravel()


# Pages with a row for each metric: what ``ncu --csv`` prints. Rows of 'Command line profiler metrics', and those of
# sections with ``--print-metric-name name``, have ncu's own names. A row with a label is read where section and label
# say one metric ("Memory Throughput" is a percentage in one section and bytes per second in another), else counted.
Said = tuple[str, str, str]  # of one metric of a launch: name, unit and value, as printed


@dataclass(frozen=True)
class PrintedLaunch:
    """A launch as printed: its facts, by column of a raw page, its metrics and what NVIDIA's rules say of it."""

    facts: dict[str, str]
    metrics: list[Said]
    rules: list[RuleFacts] = field(default_factory=list)


METRIC, UNIT, VALUE = "Metric Name", "Metric Unit", "Metric Value"
SECTION = "Section Name"
# What --print-summary per-kernel prints in place of the value, of how many launches.
SUMMARY, INVOCATIONS = ("Minimum", "Maximum", "Average"), "Invocations"
OF_KERNEL = ("Process ID", KERNEL, BLOCK, GRID, "Device")  # a summary has no ID
RULE, RULE_KIND, RULE_WORDS, GAIN_KIND, GAIN = (
    "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup",
)  # fmt: skip
KINDS = {"OPT": "optimization", "WRN": "warning", "INF": "ok", "ERR": "error"}
METRIC_NAME = re.compile(r"[a-z][a-z0-9]*(?:__|_)[\w.:]+")  # of ncu 2019 and later; a label has blanks or no _
IN_LABEL = re.compile(r"[A-Za-z0-9_.:]+__[\w.:]+")  # of --print-metric-name label-name
CAPABILITY = re.compile(r"(\d+)\.(\d)")  # of the column CC
LONGEST_LABEL = 300  # with a name in it; names have up to 120 signs
CHOSEN = "Command line profiler metrics"  # the section of --metrics
TOTALS = {GRID: "launch__grid_size", BLOCK: "launch__block_size"}
UNSIZED = "before 2022.2 ncu has them in the section Launch Statistics alone"
PAGE_OF_WEB = re.compile(r" \(https?://[^\s)]*\)")  # of a link in a message, whose words stand before it
PERCENT = re.compile(r"[0-9,]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")


def read_metric_rows(header: Sequence[str], rows: Sequence[str], file: str) -> Contents:
    """Return the launches of a page with a row for each metric, or the averages of such that a summary has.

    What the columns of a launch say and a raw page has as metrics is added: sizes and compute capability. Raises
    UsageProblem when no row has a metric's name, DamagedData when the table is cut or inconsistent.
    """
    where = _layout(header, file)
    is_summary = INVOCATIONS in where.facts
    value = SUMMARY[-1] if is_summary else VALUE
    launches: dict[str, PrintedLaunch] = {}
    labels: dict[str, int] = {}
    for row in rows:
        pieces = row.split(SEPARATOR)
        if _is_rule(pieces, where):
            if (launch := launches.get(pieces[0][1:])) and (rule := _rule(pieces, where)):
                launch.rules.append(rule)
            continue
        parts = cells(row, where, file)
        facts = {fact: parts[place] for fact, place in where.facts.items()}
        if is_summary:
            facts["ID"] = SEPARATOR.join(facts.get(column, "") for column in OF_KERNEL)
        said = dict(zip(where.columns, parts, strict=True))
        launch = launches.setdefault(facts["ID"], PrintedLaunch(facts, []))
        if launch.facts != facts:
            raise DamagedData(f"{file} is damaged: rows of launch {facts['ID']} name different kernels", AGAIN)
        section = said.get(SECTION, "")
        name = metric_name(section, said[METRIC])
        if name is None:
            labels[section] = labels.get(section, 0) + 1
        else:
            launch.metrics.append((name, said[UNIT], said[value]))
    kept, notes = sized(list(launches.values()))
    if not kept:
        raise _labels_only(file)
    return contents_of(file, kept, (*unread_notes(labels), *notes))


def _layout(columns: Sequence[str], file: str) -> Layout:
    known = {*BEFORE_NAMES, *NAMES, *AFTER_NAMES, INVOCATIONS}
    facts = {each: place for place, each in enumerate(columns) if each in known}
    if {METRIC, UNIT, *SUMMARY} <= set(columns) and KERNEL not in columns:
        raise over_kernels(file)
    needed = {INVOCATIONS, *SUMMARY} if INVOCATIONS in columns else {"ID", VALUE}
    if not {KERNEL, METRIC, UNIT, *needed} <= set(columns) or len(set(columns)) < len(columns):
        raise _labels_only(file)
    places = [facts[each] for each in NAMES if each in facts]
    return Layout(tuple(columns), facts, range(places[0], places[-1] + 1), max(facts.values()) + 1)


def _is_rule(pieces: Sequence[str], where: Layout) -> bool:
    """Tell whether a row holds a rule's words, which may be anything, and no metric."""
    place = where.columns.index(METRIC)
    return len(where.columns) > place + 3 and pieces[place : place + 3] == ["", "", ""]


def _rule(pieces: Sequence[str], where: Layout) -> RuleFacts | None:
    """Return what a rule says; None for a row without its name. ncu has estimates since 2023."""
    place = where.columns.index(METRIC) + 3
    after = [GAIN_KIND, GAIN] if GAIN in where.columns else []
    if where.columns[place:] != (RULE, RULE_KIND, RULE_WORDS, *after) or len(pieces) < len(where.columns):
        return None
    *own, last = pieces[place:]
    name, kind, *words = [*own, last.removesuffix(QUOTE)]
    *words, speedup_type, percent = words if after else [*words, "", ""]
    section = pieces[where.columns.index(SECTION)] if SECTION in where.columns else ""
    return rule_facts(name, section, kind, SEPARATOR.join(words), speedup_type, percent)


def rule_facts(name: str, section: str, kind: str, words: str, speedup_type: str, percent: str) -> RuleFacts | None:
    """Return a finding of NVIDIA's rules in the form of a report: ``name`` is empty where only its words are printed.

    ``section`` is the title then, else the identifier. None without words.
    """
    from ncu_assist.ncu.catalogue.rule_words import rule_of

    words = PAGE_OF_WEB.sub("", " ".join(words.split()))
    if not words:
        return None
    rule, identifier, title = rule_of(section, words) or (name, section, name or section)
    if name and name != rule:
        rule, title = name, name
    gain = float(percent.replace(",", "")) if PERCENT.fullmatch(percent) else None
    return RuleFacts(
        rule=rule,
        section=(section if name else identifier) or None,
        title=title,
        message=words,
        kind=KINDS.get(kind),
        speedup_type=speedup_type if gain is not None and speedup_type in ("local", "global") else None,
        speedup_pct=gain,
        focus_metrics=(),
    )


def sized(launches: Sequence[PrintedLaunch]) -> tuple[list[PrintedLaunch], list[str]]:
    """Return the launches that have metrics, with the totals of their sizes, and notes on those and the others.

    Where no sizes are printed, as by ncu before 2022.2, grid and block are their totals, along x.
    """
    kept, totals, unsized = [], 0, 0
    for launch in launches:
        if not launch.metrics:
            continue
        if GRID in launch.facts:
            kept.append(launch)
            continue
        said = {name: value.replace(",", "") for name, _, value in launch.metrics}
        sizes = {fact: f"({size}, 1, 1)" for fact, name in TOTALS.items() if (size := said.get(name, "")).isdecimal()}
        is_sized = len(sizes) == len(TOTALS)
        totals, unsized = totals + is_sized, unsized + (not is_sized)
        kept.append(replace(launch, facts=launch.facts | sizes) if is_sized else launch)
    notes = []
    if totals:
        notes.append(
            f"of {number_of(totals, 'launch')} only the totals of grid and block are printed, and stand as their x"
        )
    if unsized:
        notes.append(f"of {number_of(unsized, 'launch')} neither grid nor block is printed: {UNSIZED}")
    if len(kept) < len(launches):
        notes.append(f"left out: {number_of(len(launches) - len(kept), 'launch')} without metrics")
    return kept, notes


def metric_name(section: str, label: str, table: str = "", chip: str | None = None) -> str | None:
    """Return the metric that a row of a section is of; None for a label that does not say one for certain.

    ``table`` is the title of a table within the section, empty for that at its head; ``chip`` a compute capability.
    """
    from ncu_assist.ncu.catalogue.labels import OF_CHIPS, OF_SECTIONS, OF_TABLES

    if len(label) > LONGEST_LABEL:
        return None
    if METRIC_NAME.fullmatch(label):
        return label
    found = IN_LABEL.findall(label)
    if len(found) == 1:
        return str(found[0])
    known = OF_TABLES.get(table, {}) if table else OF_SECTIONS.get(section, {})
    return known.get(label) or OF_CHIPS.get(chip or "", {}).get(table, {}).get(label)


def contents_of(file: str, rows: Sequence[PrintedLaunch], notes: tuple[str, ...]) -> Contents:
    """Return what a page holds, out of its launches."""
    import numpy as np

    pairs = sorted({(name, unit) for row in rows for name, unit, _ in row.metrics})
    place = {pair: i for i, pair in enumerate(pairs)}
    read = Values(file, tuple(name for name, _ in pairs), tuple(unit for _, unit in pairs))
    lists: dict[tuple[str, ...], int] = {}
    texts: dict[str, int] = {}
    values: list[float] = []
    launches: list[LaunchFacts] = []
    differing: set[str] = set()
    for row in rows:
        facts, metrics = row.facts, row.metrics
        line, printed = [""] * len(pairs), dict[str, tuple[str, str]]()
        for name, unit, value in metrics:
            if printed.setdefault(name, (unit, value)) != (unit, value):
                differing.add(name)
            line[place[name, unit]] = value
        start = len(read.numbers)
        said = read.add(line)
        own, words = dict(_of_columns(facts)), {}
        for name, unit, _ in metrics:
            at = place[name, unit]
            own[name] = read.numbers[start + at]
            if at in said:
                words[name] = said[at]
        names = tuple(sorted(own))
        numbered = {names.index(name): texts.setdefault(text, len(texts)) for name, text in sorted(words.items())}
        launch = launch_of(facts, lists.setdefault(names, len(lists)), numbered, file)
        launches.append(replace(launch, rules=tuple(row.rules), unsized=GRID not in facts))
        values += [own[name] for name in names]
    units = dict.fromkeys((name for names in lists for name in names), "") | read.units
    host = next((row.facts["Host Name"] for row in rows if row.facts.get("Host Name")), None)
    session = SessionFacts(versions={}, host=host)
    every = (
        *_averages(launches, rows),
        *notes,
        *_odd_notes(read.odd, known_only=False),
        *double_sentences((), differing),
    )
    return Contents(tuple(launches), tuple(lists), tuple(texts), units, session, every, values=np.array(values))


def _averages(launches: Sequence[LaunchFacts], rows: Sequence[PrintedLaunch]) -> Iterator[str]:
    """Yield which launches are averages over several."""
    counts = [(row.facts.get(INVOCATIONS, "1"), launch.kernel) for row, launch in zip(rows, launches, strict=True)]
    several = [f"{count} launches of {kernel}" for count, kernel in counts if count != "1"]
    if several:
        yield f"averages, of which times and shares are those of one launch: {_some(several)}"


def _of_columns(facts: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield what the columns of a launch say under the name of the metric that says the same."""
    for fact, name in TOTALS.items():
        x, y, z = dimensions(facts.get(fact, ""))
        if x:
            yield name, float(x * y * z)
    capability = CAPABILITY.fullmatch(facts.get("CC", ""))
    for part, number in zip(("major", "minor"), capability.groups() if capability else (), strict=False):
        yield f"device__attribute_compute_capability_{part}", float(number)


def unread_notes(labels: Mapping[str, int]) -> Iterator[str]:
    """Yield what is not read, if anything is not; ``labels`` has how many rows, by section or table."""
    if labels:
        sections = ", ".join(sorted(filter(None, labels)))
        values = number_of(sum(labels.values()), "value")
        yield f"{values} not read, as no label there says one metric for certain: {sections}"


def over_kernels(file: str) -> UsageProblem:
    """Return what is said of a summary that is not of kernels one by one."""
    words = (
        "is a summary over different kernels, as ncu --print-summary per-gpu prints it: none can be told from another"
    )
    return UsageProblem(f"{file} {words}", f"print it with ncu --print-summary per-kernel, or {AGAIN}")


def _labels_only(file: str) -> UsageProblem:
    return UsageProblem(
        f"{file} is a page of a report, but of no row can be said for certain which metric of which launch it has",
        f"export the raw page: {EXPORT}",
    )
