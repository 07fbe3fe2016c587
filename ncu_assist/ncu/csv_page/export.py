"""Reading what ncu prints as CSV: the raw page, with and without ``--print-units base``, and rows of named metrics.

Such an export is lossy; see ``LACKS``. Values are those of the report to the printed precision, in base units.

What can be seen of damage: every cell is quoted, so a file that ends anywhere inside a row is recognised, also inside
its last value. A file that ends exactly behind a row (with or without its newline) cannot be told from a shorter
export; neither can a digit that was changed, nor an empty text from an absent value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.contents import Contents, LaunchFacts, SessionFacts
from ncu_assist.ncu.csv_page.launches import launch_of
from ncu_assist.ncu.csv_page.text import (
    AFTER_NAMES,
    AGAIN,
    BEFORE_NAMES,
    BLOCK,
    EXPORT,
    GRID,
    NAMES,
    REQUIRED,
    SEPARATOR,
    CsvPage,
    Layout,
    cells,
    decode,
    dimensions,
    find_table,
    layout,
)
from ncu_assist.ncu.csv_page.values import Values
from ncu_assist.ncu.oddities import double_sentences

if TYPE_CHECKING:
    import numpy as np

LACKS = (
    "digits beyond two decimals, or six in columns with a scaled unit or instances",
    "negative values above -0.005, which print as 0 or -0.00",
    "instances of metrics, and with them all per-line and per-instruction values",
    "rules and their findings",
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
    table = find_table(decode(data), name)
    if not table.units:
        return read_metric_rows(table, name)
    where = layout(table, name)
    values = Values(name, where.metrics, table.units[where.first_metric :])
    order = sorted(range(len(where.metrics)), key=where.metrics.__getitem__)  # the columns, by name
    place = {column: at for at, column in enumerate(order)}
    launches: dict[str, LaunchFacts] = {}  # by the ID in the file
    texts: dict[str, int] = {}  # each text and its number, in the order of the numbers
    host: str | None = None
    for row in table.rows:
        parts = cells(row, where, name)
        said = values.add(parts[where.first_metric :])
        facts = {fact: parts[at] for fact, at in where.facts.items()}
        host = host or facts.get("Host Name") or None
        numbers = {place[at]: texts.setdefault(text, len(texts)) for at, text in said.items()}
        launches[facts["ID"]] = launch_of(facts, 0, dict(sorted(numbers.items())), name)
    if len(launches) < len(table.rows):
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


# Pages with a row for each metric, as far as they carry ncu's own names: what ``ncu --csv --metrics …`` prints.
# The rows of 'Command line profiler metrics' do, those of sections with ``--print-metric-name name``. A row with a
# label is left out and counted: "Memory Throughput" is a percentage in one section and bytes per second in another.
Said = tuple[str, str, str]  # of one metric of a launch: name, unit and value, as printed
METRIC, UNIT, VALUE = "Metric Name", "Metric Unit", "Metric Value"
SECTION = "Section Name"
METRIC_NAME = re.compile(r"[a-z][a-z0-9]*(?:__|_)[\w.:]+")  # of ncu 2019 and later; a label has blanks or no _
IN_LABEL = re.compile(r"[A-Za-z0-9_.:]+__[\w.:]+")  # of --print-metric-name label-name
CAPABILITY = re.compile(r"(\d+)\.(\d)")  # of the column CC


def read_metric_rows(table: CsvPage, file: str) -> Contents:
    """Return the launches of a page with a row for each metric.

    What the columns of a launch say and a raw page has as metrics is added: sizes and compute capability. Raises
    UsageProblem when no row has a metric's name, DamagedData when the table is cut or inconsistent.
    """
    where = _layout(table.header, file)
    launches: dict[str, tuple[dict[str, str], list[Said]]] = {}
    labels: dict[str, int] = {}
    for row in table.rows:
        parts = _cells(row, where, file)
        if parts is None:
            continue
        facts = {fact: parts[place] for fact, place in where.facts.items()}
        said = dict(zip(where.columns, parts, strict=True))
        known, metrics = launches.setdefault(facts["ID"], (facts, []))
        if known != facts:
            raise DamagedData(f"{file} is damaged: rows of launch {facts['ID']} name different kernels", AGAIN)
        name = _name(said[METRIC])
        if name is None:
            section = said.get(SECTION, "")
            labels[section] = labels.get(section, 0) + 1
        else:
            metrics.append((name, said[UNIT], said[VALUE]))
    if not any(metrics for _, metrics in launches.values()):
        raise _labels_only(file)
    return _contents(file, list(launches.values()), tuple(_notes(labels)))


def _layout(columns: Sequence[str], file: str) -> Layout:
    known = {*BEFORE_NAMES, *NAMES, *AFTER_NAMES}
    facts = {each: place for place, each in enumerate(columns) if each in known}
    if not {*REQUIRED, METRIC, UNIT, VALUE} <= set(columns) or len(set(columns)) < len(columns):
        raise _labels_only(file)
    places = [facts[each] for each in NAMES if each in facts]
    return Layout(tuple(columns), facts, range(places[0], places[-1] + 1), max(facts.values()) + 1)


def _cells(row: str, where: Layout, file: str) -> list[str] | None:
    """Return the cells of a row; None for one that holds a rule's words, which may be anything, and no metric."""
    pieces = row.split(SEPARATOR)
    place = where.columns.index(METRIC)
    if len(where.columns) > place + 3 and pieces[place : place + 3] == ["", "", ""]:
        return None
    return cells(row, where, file)


def _name(cell: str) -> str | None:
    """Return the name of a metric in a cell; None for a label without one."""
    if METRIC_NAME.fullmatch(cell):
        return cell
    found = IN_LABEL.findall(cell)
    return str(found[0]) if len(found) == 1 else None


def _contents(file: str, rows: list[tuple[dict[str, str], list[Said]]], notes: tuple[str, ...]) -> Contents:
    import numpy as np

    pairs = sorted({(name, unit) for _, metrics in rows for name, unit, _ in metrics})
    place = {pair: i for i, pair in enumerate(pairs)}
    read = Values(file, tuple(name for name, _ in pairs), tuple(unit for _, unit in pairs))
    lists: dict[tuple[str, ...], int] = {}
    texts: dict[str, int] = {}
    values: list[float] = []
    launches: list[LaunchFacts] = []
    differing: set[str] = set()
    for facts, metrics in rows:
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
        launches.append(launch_of(facts, lists.setdefault(names, len(lists)), numbered, file))
        values += [own[name] for name in names]
    units = dict.fromkeys((name for names in lists for name in names), "") | read.units
    host = next((facts["Host Name"] for facts, _ in rows if facts.get("Host Name")), None)
    session = SessionFacts(versions={}, host=host)
    every = (*notes, *_odd_notes(read.odd, known_only=False), *double_sentences((), differing))
    return Contents(tuple(launches), tuple(lists), tuple(texts), units, session, every, values=np.array(values))


def _of_columns(facts: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield what the columns of a launch say under the name of the metric that says the same."""
    for name, size in (("launch__grid_size", facts[GRID]), ("launch__block_size", facts[BLOCK])):
        x, y, z = dimensions(size)
        if x:
            yield name, float(x * y * z)
    capability = CAPABILITY.fullmatch(facts.get("CC", ""))
    for part, number in zip(("major", "minor"), capability.groups() if capability else (), strict=False):
        yield f"device__attribute_compute_capability_{part}", float(number)


def _notes(labels: Mapping[str, int]) -> Iterator[str]:
    if labels:
        sections = ", ".join(sorted(filter(None, labels)))
        yield f"{sum(labels.values())} values stand under labels instead of ncu's names and are not read: {sections}"


def _labels_only(file: str) -> UsageProblem:
    return UsageProblem(
        f"{file} is the details page of a report: its units change from row to row and its labels are not unique, "
        "so it cannot be read by metric",
        f"export the raw page: {EXPORT}",
    )
