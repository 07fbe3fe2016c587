"""The two tables of a run as Parquet: tidy, dictionary-coded, zstd, the same bytes for the same rows."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import DamagedData
from ncu_assist.frame import catalogue_sha256, is_used
from ncu_assist.frame.columns import Columns, Samples, distinct

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ncu_assist.ncu.kept_report import KeptMetrics

CATALOGUE_KEY, ROWS_KEY = "ncu-assist.catalogue", "ncu-assist.rows"  # which catalogue's metrics stand in how many rows
METRIC_COLUMNS = ("launch", "metric", "value", "text", "unit")
SAMPLE_TEXTS = ("bench_id", "workload", "version")
SAMPLE_COLUMNS = (*SAMPLE_TEXTS, "round", "position", "time_ns", "sm_clock_mhz", "late")
INSTANCE_COLUMNS = ("launch", "metric", "instance", "id", "id_text", "value", "text")
# Addresses and moments of sampling stand a fixed step apart; numbers that a chip counted repeat over several columns.
INSTANCE_ENCODINGS = {"launch": "DELTA_BINARY_PACKED", "instance": "DELTA_BINARY_PACKED", "id": "DELTA_BINARY_PACKED"}
SMALL = 19  # for what is written once and seldom read: a sixth less
ROWS_IN_GROUP = 1 << 18
ZSTD_LEVEL = 9  # 1 MB of metrics packs in 20 ms; level 19 saves 4 % more and takes ten times as long
REMEMBERED = 32  # runs of a story, some 100 kB each


def metrics_parquet(metrics: pd.DataFrame) -> bytes:
    """Return the tidy metrics (launch, metric, value, text, unit) as Parquet, sorted by metric and launch.

    That order puts the values of one metric side by side, where they compress best. Metrics of the catalogue stand
    first, in row groups of their own: they are all that most commands read.
    """
    import numpy as np

    names = metrics["metric"].astype("category").cat
    used = np.array([is_used(name) for name in names.categories], dtype=bool)
    rank = np.empty(len(used), dtype=np.int64)
    rank[np.lexsort((names.categories.to_numpy(dtype=str), ~used))] = np.arange(len(used))
    codes = names.codes.to_numpy()
    order = np.lexsort((metrics["launch"].to_numpy(), rank[codes]))
    first = int(np.count_nonzero(used[codes]))
    schema = metrics_schema().with_metadata({CATALOGUE_KEY: catalogue_sha256(), ROWS_KEY: str(first)})
    return _encode([metrics.take(order[:first]), metrics.take(order[first:])], schema)


def samples_parquet(samples: pd.DataFrame) -> bytes:
    """Return the samples of a bench as Parquet, in the order in which they were taken."""
    return _encode([samples], samples_schema())


def instances_parquet(instances: pd.DataFrame) -> bytes:
    """Return the values that metrics have one by one, see ``Report.instances``, as Parquet, in their order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, sink = instances_schema(), io.BytesIO()
    table = pa.table([_column(instances[field.name], field) for field in schema], schema=schema)
    coded = ["metric", "id_text", "text"]
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=SMALL,
        use_dictionary=coded,
        column_encoding=INSTANCE_ENCODINGS | {"value": "PLAIN"},
        row_group_size=len(instances) or 1,
        write_statistics=False,
    )
    return sink.getvalue()


def decode_instances(data: bytes, name: str) -> pd.DataFrame:
    """Return what ``instances_parquet`` was given; raises as ``decode`` does."""
    import pandas as pd
    import pyarrow as pa

    schema = instances_schema()
    with _named(name):
        table = _opened(data, schema, name).read().cast(schema)
        frame: pd.DataFrame = table.to_pandas(types_mapper={pa.uint64(): pd.UInt64Dtype()}.get)
    names: pd.Index[str] = pd.Index(sorted(map(str, frame["metric"].cat.categories)), dtype=str)
    texts = {column: frame[column].astype(object).where(frame[column].notna(), None) for column in ("id_text", "text")}
    return frame.assign(metric=frame["metric"].cat.set_categories(names), **texts)


@functools.cache
def instances_schema() -> pa.Schema:
    """Return the Arrow types of the table of instances."""
    import pyarrow as pa

    coded = pa.dictionary(pa.int32(), pa.string())
    types = (pa.int32(), coded, pa.int32(), pa.uint64(), pa.string(), pa.float64(), pa.string())
    return pa.schema(list(zip(INSTANCE_COLUMNS, types, strict=True)))


@functools.cache
def metrics_schema() -> pa.Schema:
    """Return the Arrow types of the metrics table."""
    import pyarrow as pa

    coded = pa.dictionary(pa.int32(), pa.string())
    types = (pa.int32(), coded, pa.float64(), pa.string(), coded)
    return pa.schema(list(zip(METRIC_COLUMNS, types, strict=True)))


@functools.cache
def samples_schema() -> pa.Schema:
    """Return the Arrow types of the samples table."""
    import pyarrow as pa

    text = (pa.string(),) * 3
    types = (*text, pa.int32(), pa.int32(), pa.float64(), pa.float64(), pa.bool_())
    return pa.schema(list(zip(SAMPLE_COLUMNS, types, strict=True)))


@functools.cache
def _coded_samples() -> pa.Schema:
    """Return the schema of samples with texts by number."""
    import pyarrow as pa

    coded = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([field.with_type(coded) if field.name in SAMPLE_TEXTS else field for field in samples_schema()])


def decode(data: bytes, schema: pa.Schema, name: str) -> pd.DataFrame:
    """Return a table that one of the functions above wrote, dictionary columns as categories.

    Raises DamagedData, which names the file, for bytes that are not Parquet or hold other columns.
    """
    with _named(name):
        frame: pd.DataFrame = _opened(data, schema, name).read().cast(schema).to_pandas()
    return frame


@functools.lru_cache(maxsize=REMEMBERED)
def used_columns(data: bytes, name: str) -> Columns:
    """Return the numbers of the metrics that the catalogue knows: without pandas and, where it can be, the rest.

    Remembered, as a story, its diagnosis and its chart look at the same runs. Raises as ``decode`` does.
    """
    import pyarrow as pa

    with _named(name):
        file = _opened(data, metrics_schema(), name)
        table = file.read_row_groups(_used_groups(file), columns=["launch", "metric", "value"])
        table = _as(table, pa.schema([metrics_schema().field(column) for column in table.column_names]))
        launch, metric, value = _chunks(table, "launch", "metric", "value")
        return Columns(_array(launch), _array(metric.indices), metric.dictionary.to_pylist(), _array(value))


def sampled(data: bytes, name: str) -> Samples:
    """Return the samples of a bench without pandas; raises as ``decode`` does."""
    with _named(name):
        return _samples(_as(_opened(data, samples_schema(), name, coded=SAMPLE_TEXTS).read(), _coded_samples()))


def no_samples() -> Samples:
    """Return the samples of a run without timings."""
    return _samples(_coded_samples().empty_table())


def _samples(table: pa.Table) -> Samples:
    columns = zip(SAMPLE_COLUMNS, _chunks(table, *SAMPLE_COLUMNS), strict=True)
    return Samples({column: _array(values) for column, values in columns})


def measured(data: bytes, name: str) -> tuple[list[int], bool]:
    """Return which launches have metrics, sorted, and whether one has a metric twice; raises as ``decode`` does."""
    import numpy as np

    with _named(name):
        table = _as(_opened(data, metrics_schema(), name).read(), metrics_schema())
        launch, metric = _chunks(table, "launch", "metric")
        launches, codes = _array(launch).astype(np.int64), _array(metric.indices).astype(np.int64)
        pairs = np.sort(launches * (len(metric.dictionary) + 1) + codes)
        return distinct(launches), bool((pairs[1:] == pairs[:-1]).any())


def kept_metrics(data: bytes, name: str) -> KeptMetrics:
    """Return the whole table of metrics without pandas; raises as ``decode`` does."""
    from ncu_assist.ncu.kept_report import KeptMetrics

    with _named(name):
        table = _as(_opened(data, metrics_schema(), name).read(), metrics_schema())
        launch, metric, value, text, unit = _chunks(table, *METRIC_COLUMNS)
        said = {row: text[row].as_py() for row in _present(text)}
        numbers = (_array(column) for column in (launch, metric.indices, value, unit.indices))
        launch_, metric_, value_, unit_ = numbers
        units = [one or "" for one in unit.dictionary.to_pylist()]
        return KeptMetrics(launch_, metric_, metric.dictionary.to_pylist(), value_, unit_, units, said)


def _present(values: pa.Array) -> list[int]:
    """Return the places of what is not absent; Arrow's own way there imports its computing."""
    import numpy as np

    valid = values.buffers()[0]
    if valid is None:
        return list(range(len(values)))
    bits = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")
    places: list[int] = np.flatnonzero(bits[values.offset : values.offset + len(values)]).tolist()
    return places


def instance_launches(data: bytes, name: str) -> list[int]:
    """Return which launches have values one by one, sorted; raises as ``decode`` does."""
    with _named(name):
        table = _as(_opened(data, instances_schema(), name).read(), instances_schema())
        return distinct(_array(*_chunks(table, "launch")))


def _as(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the types of a schema; what has them already is spared the import of Arrow's computing."""
    return table if table.schema.equals(schema) else table.cast(schema)


def _chunks(table: pa.Table, *names: str) -> list[pa.Array]:
    """Return columns of a table, each in one piece."""
    table = table.unify_dictionaries()
    return [table.column(name).combine_chunks() for name in names]


def _array(values: pa.Array) -> Any:
    """Return a column as numpy has it; Arrow's own way there imports pandas, which takes longer than the reading."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        texts = np.array([*values.dictionary.to_pylist(), None], dtype=object)  # the last for what is absent
        return texts[_array(values.indices) if values.null_count == 0 else values.indices.fill_null(-1).to_numpy()]
    if pa.types.is_boolean(values.type):
        return np.array(values.to_pylist(), dtype=bool)
    return np.from_dlpack(values) if values.null_count == 0 else values.to_numpy(zero_copy_only=False)


def _used_groups(file: pq.ParquetFile) -> list[int]:
    """Return the row groups with the metrics of the catalogue; all of them where it was another one that wrote."""
    facts, every = file.schema_arrow.metadata or {}, list(range(file.num_row_groups))
    if facts.get(CATALOGUE_KEY.encode()) != catalogue_sha256().encode():
        return every
    ends = accumulate(file.metadata.row_group(group).num_rows for group in every)
    return [group for group, end in zip(every, ends, strict=True) if end <= int(facts[ROWS_KEY.encode()])]


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedData(f"{name} cannot be read: {error}") from error


def _opened(data: bytes, schema: pa.Schema, name: str, coded: Sequence[str] = ()) -> pq.ParquetFile:
    """Return a table as a file; the texts in ``coded`` are then read by number."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(data), read_dictionary=list(coded))
    if file.schema_arrow.names != schema.names:
        raise DamagedData(f"{name} has the columns {file.schema_arrow.names}, not {schema.names}")
    return file


def empty(schema: pa.Schema) -> pd.DataFrame:
    """Return a table with the columns of ``schema`` and no rows."""
    frame: pd.DataFrame = schema.empty_table().to_pandas()
    return frame


def _encode(frames: list[pd.DataFrame], schema: pa.Schema) -> bytes:
    """Return the frames one below the other, each in row groups of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    options = {
        "compression": "zstd",
        "compression_level": ZSTD_LEVEL,
        "use_byte_stream_split": ["value"] if "value" in schema.names else False,
        "use_dictionary": [f.name for f in schema if f.name not in ("value", "time_ns", "sm_clock_mhz")],
    }
    with pq.ParquetWriter(sink, schema, **options) as writer:
        for frame in frames:
            columns = [_column(frame[field.name], field) for field in schema]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=ROWS_IN_GROUP)
    return sink.getvalue()


def _column(values: pd.Series[Any], field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_floating(field.type):  # absent stays NaN: the reader gets float64 either way
        return pa.array(values.to_numpy(dtype="float64"), type=field.type)
    if pa.types.is_dictionary(field.type):
        return _coded(values)
    return pa.array(values, type=field.type, from_pandas=True)


def _coded(values: pd.Series[Any]) -> pa.Array:
    """Return texts by number, numbered as they come: categories in another order must not change the bytes."""
    import pandas as pd
    import pyarrow as pa

    codes = values.astype("category").cat
    numbers, order = pd.factorize(codes.codes.to_numpy())
    names = codes.categories.to_numpy(dtype=object)[order]
    return pa.DictionaryArray.from_arrays(pa.array(numbers, type=pa.int32()), pa.array(names, type=pa.string()))
