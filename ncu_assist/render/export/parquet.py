"""Parquet: zstd, plain types that DuckDB, Spark and pandas agree on, nothing of pandas in the footer.

What there is to say about the table is JSON in the key ``ncu-assist.export`` of the footer. The footer names the
version of the library that wrote it, so bytes are the same for the same version of pyarrow.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ncu_assist.render.export.base import Export
from ncu_assist.render.export.columns import ExportColumn, columns, pieces

if TYPE_CHECKING:
    import pyarrow as pa

BINARY = True
ABOUT = "ncu-assist.export"
ZSTD_LEVEL = 9
GROUP_ROWS = 1 << 17


def chunks(export: Export) -> Iterator[bytes]:
    """Yield the file in one piece: compressed, a launch of ``--set full`` takes 30 kB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = columns(export.frame)
    about = {**export.head(), "units": {name: unit for name, unit in export.units.items() if unit}}
    schema = pa.schema([(c.name, _type(c)) for c in table])
    sink = io.BytesIO()
    # Without Arrow's own schema in the footer a reader gets the types of Parquet, whatever wrote them.
    options = {"compression": "zstd", "compression_level": ZSTD_LEVEL, "store_schema": False}
    # Dictionaries of numbers and least and largest values would make a wide table half as large again.
    options |= {"use_dictionary": [c.name for c in table if c.kind == "text"], "write_statistics": False}
    with pq.ParquetWriter(sink, schema, **options) as writer:
        for start, end in pieces(len(export.frame), 1, GROUP_ROWS):
            arrays = [_array(column, start, end) for column in table]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        writer.add_key_value_metadata({ABOUT: json.dumps(about)})
    yield sink.getvalue()


def _type(column: ExportColumn) -> pa.DataType:
    import pyarrow as pa

    types: dict[str, Any] = {
        "integer": pa.int64(),
        "unsigned": pa.uint64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "text": pa.string(),
        "list": pa.list_(pa.string()),
        "time": pa.timestamp("ms", tz="UTC"),
    }
    return types[column.kind]


def _array(column: ExportColumn, start: int, end: int) -> pa.Array:
    import pyarrow as pa

    values = column.values(start, end)
    if column.kind == "time":
        values = [value and datetime.fromisoformat(value) for value in values]
    return pa.array(values, type=_type(column))
