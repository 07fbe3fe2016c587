"""JSON: one object, schema ncu-assist.export/1, an object each row; what is absent, and infinity, is null."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from operator import add
from typing import Any

from ncu_assist.render.export.base import Export
from ncu_assist.render.export.columns import ExportColumn, columns, pieces

BINARY = False


def chunks(export: Export) -> Iterator[bytes]:
    """Yield the object: what there is to say, ``columns`` with name, type and unit, then ``rows``, one a line."""
    table = columns(export.frame)
    described = [{"name": c.name, "type": c.kind, "unit": export.units.get(c.name)} for c in table]
    head = [f" {_dumped(name)}: {_dumped(value)}" for name, value in export.head().items()]
    listed = ",\n  ".join(_dumped(one) for one in described)
    yield ("{\n" + ",\n".join(head) + f',\n "columns": [\n  {listed}\n ],\n "rows": [').encode()
    known: dict[str, str] = {}
    names = [_dumped(column.name) + ": " for column in table]
    for start, end in pieces(len(export.frame), len(table)):
        cells = [_cells(column, start, end, known) for column in table]
        lines = ["\n  {" + ", ".join(map(add, names, row)) + "}" for row in zip(*cells, strict=True)]
        yield ("," if start else "").encode() + ",".join(lines).encode()
    yield b"\n ]\n}\n"


def _cells(column: ExportColumn, start: int, end: int, known: dict[str, str]) -> list[str]:
    """Return a column's values as JSON; ``known`` spares escaping the same text again."""
    values = column.values(start, end)
    if column.kind == "float":
        return [repr(value) if value is not None and isfinite(value) else "null" for value in values]
    if column.kind in ("integer", "unsigned"):
        return ["null" if value is None else str(value) for value in values]
    if column.kind != "text":
        return [_dumped(value) for value in values]
    known.update((text, _dumped(text)) for text in set(values) - known.keys() if text is not None)
    return ["null" if text is None else known[text] for text in values]


def _dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False)  # ASCII only: harmless on a terminal too
