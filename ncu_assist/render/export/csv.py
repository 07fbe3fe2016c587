"""CSV as pandas, DuckDB and spreadsheets read it: one line of names, commas, UTF-8, absent values empty.

Numbers have as many digits as it takes to read the same value back. Lists are JSON. Two things differ from the text
that was measured, since CSV cannot escape: a text that a spreadsheet would run as a formula has an apostrophe before
it, and what steers a terminal is spelled out. Parquet and JSON have such texts as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ncu_assist.render.escape import plain
from ncu_assist.render.export.base import Export
from ncu_assist.render.export.columns import ExportColumn, columns, pieces

BINARY = False
FORMULA = ("=", "+", "-", "@", "\t")  # what makes spreadsheets take a text for a formula (OWASP, CSV Injection)
QUOTED = frozenset(',"\n')


def chunks(export: Export) -> Iterator[bytes]:
    """Yield the table; what there is to say about it has no place in CSV."""
    table = columns(export.frame)
    yield (",".join(_cell(column.name) for column in table) + "\n").encode()
    known: dict[str, str] = {}
    for start, end in pieces(len(export.frame), len(table)):
        cells = [_cells(column, start, end, known) for column in table]
        yield "".join(",".join(row) + "\n" for row in zip(*cells, strict=True)).encode()


def _cells(column: ExportColumn, start: int, end: int, known: dict[str, str]) -> list[str]:
    """Return a column's cells; ``known`` spares escaping the same text again."""
    values = column.values(start, end)
    if column.kind == "text":
        return [_known(value, known) for value in values]
    return ["" if value is None else _number_or_list(column, value) for value in values]


def _number_or_list(column: ExportColumn, value: Any) -> str:
    if column.kind == "list":
        return _cell(json.dumps(value, ensure_ascii=False))
    return str(value).lower() if column.kind == "bool" else str(value)


def _known(text: str | None, known: dict[str, str]) -> str:
    if text is None:
        return ""
    if text not in known:
        known[text] = _cell(text)
    return known[text]


def _cell(text: str) -> str:
    shown = plain(text)
    if text.startswith(FORMULA):
        shown = f"'{shown}"
    return '"' + shown.replace('"', '""') + '"' if QUOTED & set(shown) else shown
