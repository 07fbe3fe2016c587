"""One table in each format: every value comes back, absent is absent, the bytes are the same."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from ncu_assist.render.export import FORMATS, Export
from ncu_assist.render.export.csv import FORMULA
from ncu_assist.render.export.parquet import ABOUT

NAMES = ["plain", "=cmd|' /C calc'!A0", "@SUM(1)", 'a "b", c', "two\nlines", "\x1b[31mred\x00", "ü∑", "", None]


def frame() -> pd.DataFrame:
    count = len(NAMES)
    return pd.DataFrame(
        {
            "launch": pd.Series(range(count), dtype="int32"),
            "kernel": pd.Series(NAMES, dtype=object),
            "ranges": [("step 1", 'a,"b"'), (), *[("x",)] * (count - 2)],
            "stream": pd.array([7, None, *[1] * (count - 2)], dtype="Int64"),
            "id": pd.array([2**64 - 2, None, *[1] * (count - 2)], dtype="UInt64"),
            "dram__bytes.sum": [1.0, 0.1 + 0.2, 1e22, float("nan"), float("inf"), -1e-300, 5e-324, 0.0, 2.0**53],
            "unit": pd.Categorical(["byte"] * (count - 1) + [None]),
            "late": [True, False] * 4 + [True],
            "created": pd.Series([pd.Timestamp(1_700_000_000, unit="s", tz="UTC")] * (count - 1) + [pd.NaT]),
        }
    )


def export(**changes: Any) -> Export:
    return Export("launches", **({"frame": frame(), "about": {"redacted": True}} | changes))


def written(name: str, one: Export) -> bytes:
    return b"".join(FORMATS[name].chunks(one))


def read_csv() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written("csv", export()).decode(), newline="")))


def test_csv_reads_back_in_pandas_and_pythons_own_reader() -> None:
    rows = read_csv()
    found = pd.read_csv(io.BytesIO(written("csv", export())))
    numbers = frame()["dram__bytes.sum"].to_numpy()
    assert np.array_equal(found["dram__bytes.sum"].to_numpy(), numbers, equal_nan=True)
    assert [row["dram__bytes.sum"] for row in rows][:4] == ["1.0", "0.30000000000000004", "1e+22", ""]
    assert json.loads(rows[0]["ranges"]) == ["step 1", 'a,"b"']
    assert [row["stream"] for row in rows][:2] == ["7", ""]
    assert rows[0]["id"] == str(2**64 - 2)
    assert rows[0]["created"] == "2023-11-14T22:13:20Z"
    assert rows[0]["late"] == "true"
    assert [row["kernel"] for row in rows][3:5] == ['a "b", c', "two\nlines"]


def test_in_csv_no_text_is_a_formula_or_steers_a_terminal() -> None:
    names = [row["kernel"] for row in read_csv()]
    assert names[1:3] == ["'=cmd|' /C calc'!A0", "'@SUM(1)"]
    assert names[5:7] == ["\\x1b[31mred\\x00", "ü∑"]
    assert not any(name.startswith(FORMULA) for name in names)
    data = written("csv", export(frame=pd.DataFrame({"=a": ["\r=b"]})))
    assert data == b"'=a\n\\x0d=b\n"


def test_json_is_one_object_with_types_and_units() -> None:
    answer = json.loads(written("json", export(units={"dram__bytes.sum": "byte"}, notes=("odd",))))
    assert (answer["schema"], answer["table"], answer["redacted"]) == ("ncu-assist.export/1", "launches", True)
    assert answer["notes"] == ["odd"]
    columns = {column["name"]: (column["type"], column["unit"]) for column in answer["columns"]}
    assert columns["dram__bytes.sum"] == ("float", "byte")
    assert columns["ranges"] == ("list", None)
    rows = answer["rows"]
    assert [row["kernel"] for row in rows] == NAMES
    assert [row["dram__bytes.sum"] for row in rows][3:5] == [None, None]
    assert (rows[0]["ranges"], rows[1]["ranges"]) == (["step 1", 'a,"b"'], [])
    assert (rows[0]["id"], rows[1]["id"], rows[0]["late"]) == (2**64 - 2, None, True)


def test_parquet_has_plain_types_and_nothing_of_pandas() -> None:
    data = written("parquet", export(units={"dram__bytes.sum": "byte", "launch": ""}))
    file = pq.ParquetFile(io.BytesIO(data))
    assert set(file.metadata.metadata) == {ABOUT.encode()}
    about = json.loads(file.metadata.metadata[ABOUT.encode()])
    assert (about["schema"], about["units"]) == ("ncu-assist.export/1", {"dram__bytes.sum": "byte"})
    table = file.read()
    assert [str(field.type) for field in table.schema] == [
        *("int64", "string", "list<element: string>", "int64", "uint64", "double", "string", "bool"),
        "timestamp[ms, tz=UTC]",
    ]
    rows = table.to_pylist()
    assert [row["kernel"] for row in rows] == NAMES
    assert [row["dram__bytes.sum"] for row in rows][2:5] == [1e22, None, float("inf")]
    assert rows[0]["ranges"] == ["step 1", 'a,"b"']
    assert (rows[0]["id"], rows[1]["stream"], rows[-1]["created"]) == (2**64 - 2, None, None)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_do_not_depend_on_how_the_frame_is_kept(name: str) -> None:
    first, other = export(), export(frame=frame().astype({"unit": object, "kernel": "category"}))
    assert written(name, first) == written(name, first)
    assert written(name, first) == written(name, other)


@pytest.mark.parametrize("name", FORMATS)
def test_a_table_without_rows_has_its_columns(name: str) -> None:
    data = written(name, export(frame=frame().iloc[:0]))
    if name == "parquet":
        table = pq.read_table(io.BytesIO(data))
        assert (table.num_rows, table.num_columns) == (0, 9)
        assert str(table.schema.field("kernel").type) == "string"
    elif name == "json":
        assert json.loads(data)["rows"] == []
    else:
        assert data == b"launch,kernel,ranges,stream,id,dram__bytes.sum,unit,late,created\n"


@pytest.mark.parametrize("name", FORMATS)
def test_more_rows_than_a_piece(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ncu_assist.render.export import columns

    whole = written(name, export())
    monkeypatch.setattr(columns.pieces, "__defaults__", (18,))
    if name != "parquet":  # its row groups are of another size
        assert len(list(FORMATS[name].chunks(export()))) > 4
    assert written(name, export()) == whole


def test_a_name_that_is_no_unicode_is_spelled_out() -> None:
    odd = export(frame=pd.DataFrame({"kernel": pd.Series(["a\ud800b"], dtype=object)}))
    assert written("csv", odd) == b"kernel\na\\ud800b\n"
    assert json.loads(written("json", odd))["rows"] == [{"kernel": "a\\ud800b"}]
    assert pq.read_table(io.BytesIO(written("parquet", odd))).to_pylist() == [{"kernel": "a\\ud800b"}]
