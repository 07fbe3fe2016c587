"""The two tables of a run as Parquet: tidy, dictionary-coded, zstd, the same bytes for the same rows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import DamagedData

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

METRIC_COLUMNS = ("launch", "metric", "value", "text", "unit")
SAMPLE_COLUMNS = ("bench_id", "workload", "version", "round", "position", "time_ns", "sm_clock_mhz", "late")
ZSTD_LEVEL = 9  # 1 MB of metrics packs in 20 ms; level 19 saves 4 % more and takes ten times as long


def metrics_parquet(metrics: pd.DataFrame) -> bytes:
    """Return the tidy metrics (launch, metric, value, text, unit) as Parquet, sorted by metric and launch.

    That order puts the values of one metric side by side, where they compress best.
    """
    return _encode(metrics.sort_values(["metric", "launch"], key=_as_text, kind="stable"), metrics_schema())


def samples_parquet(samples: pd.DataFrame) -> bytes:
    """Return the samples of a bench as Parquet, in the order in which they were taken."""
    return _encode(samples, samples_schema())


def metrics_schema() -> pa.Schema:
    """Return the Arrow types of the metrics table."""
    import pyarrow as pa

    coded = pa.dictionary(pa.int32(), pa.string())
    types = (pa.int32(), coded, pa.float64(), pa.string(), coded)
    return pa.schema(list(zip(METRIC_COLUMNS, types, strict=True)))


def samples_schema() -> pa.Schema:
    """Return the Arrow types of the samples table."""
    import pyarrow as pa

    text = (pa.string(),) * 3
    types = (*text, pa.int32(), pa.int32(), pa.float64(), pa.float64(), pa.bool_())
    return pa.schema(list(zip(SAMPLE_COLUMNS, types, strict=True)))


def decode(data: bytes, schema: pa.Schema, name: str) -> pd.DataFrame:
    """Return a table that one of the functions above wrote, dictionary columns as categories.

    Raises DamagedData, which names the file, for bytes that are not Parquet or hold other columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
        if table.schema.names != schema.names:
            raise DamagedData(f"{name} has the columns {table.schema.names}, not {schema.names}")
        frame: pd.DataFrame = table.cast(schema).to_pandas()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedData(f"{name} cannot be read: {error}") from error
    return frame


def empty(schema: pa.Schema) -> pd.DataFrame:
    """Return a table with the columns of ``schema`` and no rows."""
    frame: pd.DataFrame = schema.empty_table().to_pandas()
    return frame


def _encode(frame: pd.DataFrame, schema: pa.Schema) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [_column(frame[field.name], field) for field in schema]
    sink = io.BytesIO()
    pq.write_table(
        pa.table(columns, schema=schema),
        sink,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        use_byte_stream_split=["value"] if "value" in schema.names else False,
        use_dictionary=[f.name for f in schema if f.name not in ("value", "time_ns", "sm_clock_mhz")],
    )
    return sink.getvalue()


def _column(values: pd.Series[Any], field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_floating(field.type):  # absent stays NaN: the reader gets float64 either way
        return pa.array(values.to_numpy(dtype="float64"), type=field.type)
    if pa.types.is_dictionary(field.type):  # from plain text: categories in another order must not change the bytes
        return pa.array(values.astype(object), type=pa.string(), from_pandas=True).dictionary_encode()
    return pa.array(values, type=field.type, from_pandas=True)


def _as_text(values: pd.Series[Any]) -> pd.Series[Any]:
    return values.astype(str) if values.name == "metric" else values
