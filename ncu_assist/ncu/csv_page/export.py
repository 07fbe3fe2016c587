"""Reading what ncu prints as CSV: the raw page, with and without ``--print-units base``, and rows of named metrics.

Such an export is lossy; see ``LACKS``. Values are those of the report to the printed precision, in base units.

What can be seen of damage: every cell is quoted, so a file that ends anywhere inside a row is recognised, also inside
its last value. A file that ends exactly behind a row (with or without its newline) cannot be told from a shorter
export; neither can a digit that was changed, nor an empty text from an absent value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.contents import Contents, LaunchFacts, SessionFacts
from ncu_assist.ncu.csv_page.launches import launch_of
from ncu_assist.ncu.csv_page.metric_rows import read_metric_rows
from ncu_assist.ncu.csv_page.rows import Layout, cells, layout
from ncu_assist.ncu.csv_page.text import AGAIN, MetricTable, decode, find_table, is_table
from ncu_assist.ncu.csv_page.values import Values

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


def is_csv(head: bytes) -> bool:
    """Tell whether a file that starts with these bytes is for ``read_csv``: to be read, or refused in its own words.

    True for text that looks like a table, in UTF-8 or UTF-16, and for lines of ncu that stand before one. 64 KiB are
    enough unless the profiled program printed more than that before its table.
    """
    return is_table(head)


def read_csv(data: bytes, name: str) -> Contents:
    """Return what a page holds; ``name`` is the file's, for messages.

    Of a raw page all launches have the columns of the file as metrics, sorted by name; a cell without a value is NaN.
    The session holds the host only. Raises DamagedData when the table is cut, inconsistent, empty, or written under a
    locale that makes its numbers ambiguous, UsageProblem for labels without names, the source page and any other text.
    """
    table = find_table(decode(data), name)
    if isinstance(table, MetricTable):
        return read_metric_rows(table, name)
    where = layout(table, name)
    values = Values(name, where.metrics, table.units[where.first_metric :])
    rows = _Rows(where, name)
    for row in table.rows:
        parts = cells(row, where, name)
        rows.add(parts, values.add(parts[where.first_metric :]))
    rows.check()
    return Contents(
        launches=tuple(rows.launches),
        name_lists=(tuple(sorted(where.metrics)),),
        texts=tuple(rows.texts),
        units=values.units,
        session=SessionFacts(versions={}, host=rows.host),
        values=_in_order(values, len(rows.launches)),
    )


class _Rows:
    """The launches read so far, and the texts they share."""

    def __init__(self, where: Layout, name: str) -> None:
        self.launches: list[LaunchFacts] = []
        self.texts: dict[str, int] = {}  # each text and its number, in the order of the numbers
        self.host: str | None = None
        self._ids: set[str] = set()
        self._where, self._name = where, name
        self._place = {column: place for place, column in enumerate(_order(where.metrics))}

    def add(self, parts: list[str], texts: dict[int, str]) -> None:
        """Add one launch from its cells and the texts among its metrics, by column."""
        facts = {fact: parts[place] for fact, place in self._where.facts.items()}
        self._ids.add(facts["ID"])
        self.host = self.host or facts.get("Host Name") or None
        numbers = {self._place[at]: self.texts.setdefault(text, len(self.texts)) for at, text in texts.items()}
        self.launches.append(launch_of(facts, 0, dict(sorted(numbers.items())), self._name))

    def check(self) -> None:
        """Raise DamagedData when a launch stands in the file twice."""
        if len(self._ids) < len(self.launches):
            raise DamagedData(f"{self._name} is damaged: several rows have the same ID", AGAIN)


def _order(names: tuple[str, ...]) -> list[int]:
    """Return the columns in the order of their sorted names."""
    return sorted(range(len(names)), key=names.__getitem__)


def _in_order(values: Values, launches: int) -> np.ndarray[Any, Any]:
    import numpy as np

    table = np.frombuffer(values.numbers, dtype=np.float64).reshape(launches, len(values.names))
    return np.ascontiguousarray(table[:, _order(values.names)]).ravel()
