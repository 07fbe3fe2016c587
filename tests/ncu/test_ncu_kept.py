"""Code comes back from its file as it was read, and a file that is anything else is an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
import zstandard

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.compressed import compress, read_plain
from ncu_assist.ncu.source import kept
from ncu_assist.ncu.source.contents import LaunchSource
from ncu_assist.ncu.source.kept import KeptCode, launches_of, packed, unpacked
from ncu_assist.ncu.source.reading import read_source, tables_of

DATA = Path(__file__).parent.parent / "data"


def read(name: str, folder: Path) -> list[LaunchSource]:
    path = folder / "plain.ncu-rep"
    path.write_bytes(read_plain(DATA / f"{name}_h200_2025.3.1.ncu-rep.zst"))
    return list(read_source(path).found)


@pytest.fixture(scope="module")
def transpose(tmp_path_factory: pytest.TempPathFactory) -> list[LaunchSource]:
    return read("transpose_full", tmp_path_factory.mktemp("plain"))


def again(found: list[LaunchSource], wanted: set[int]) -> list[LaunchSource]:
    code = unpacked(packed(found, "ab") or b"", "x")
    assert code
    assert code.report_sha256 == "ab"
    return launches_of(code, wanted) or []


def check_same(one: list[LaunchSource], other: list[LaunchSource]) -> None:
    before, after = tables_of(one), tables_of(other)
    pd.testing.assert_frame_equal(before.sass, after.sass)
    pd.testing.assert_frame_equal(before.lines, after.lines)
    assert list(before.chains) == list(after.chains)
    assert list(before.texts.items()) == list(after.texts.items())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transpose_full", "triton_full", "library_full", "repeats_full"])
def test_tables_of_it_are_those_of_the_report(name: str, tmp_path: Path) -> None:
    found = read(name, tmp_path)
    check_same(found, again(found, {one.launch for one in found}))


@pytest.mark.slow
def test_launches_of_several_child_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each numbers its files for itself."""
    monkeypatch.setattr("ncu_assist.ncu.source.reading.BATCH_BYTES", 1)
    found = read("transpose_full", tmp_path)
    assert len({id(one.files) for one in found}) == 2  # of two kernels
    check_same(found, again(found, {0, 1, 2}))


@pytest.mark.slow
def test_some_of_the_launches(transpose: list[LaunchSource]) -> None:
    check_same(transpose[1:2], again(transpose, {1}))
    assert [one.launch for one in again(transpose, {2, 0})] == [0, 2]


def test_launches_that_are_not_kept(transpose: list[LaunchSource]) -> None:
    code = unpacked(packed(transpose[:1], "") or b"", "x")
    assert code
    assert launches_of(code, {0, 1}) is None


def test_the_same_code_gives_the_same_bytes(transpose: list[LaunchSource]) -> None:
    assert packed(transpose, "ab") == packed(transpose, "ab")


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_what_json_has_no_word_for_is_not_kept(transpose: list[LaunchSource], odd: float) -> None:
    values = transpose[0].values.copy()
    values[0, 0] = odd
    assert packed([replace(transpose[0], values=values)], "") is None


def test_no_code_and_too_much_are_not_kept(transpose: list[LaunchSource], monkeypatch: pytest.MonkeyPatch) -> None:
    assert packed([], "") is None
    monkeypatch.setattr(kept, "MOST_BYTES", 1000)
    assert packed(transpose, "") is None


def content(found: list[LaunchSource]) -> dict[str, Any]:
    plain = zstandard.ZstdDecompressor().decompress(packed(found, "ab") or b"")
    made: dict[str, Any] = msgspec.json.decode(plain)
    return made


def test_a_schema_of_later_is_not_read(transpose: list[LaunchSource]) -> None:
    made = {"schema": "ncu-assist.code/2", "launches": content(transpose)["launches"]}
    assert unpacked(compress(msgspec.json.encode(made)), "x") is None


WRONG: list[tuple[str, str, Any]] = [
    ("functions", "files", [9] * 1000),
    ("functions", "files", []),
    ("functions", "lines", [-1]),
    ("functions", "chains", [0]),
    ("functions", "start", -16),
    ("functions", "start", 1 << 64),
    ("functions", "sass", ["NOP ;"]),
    ("launches", "functions", [99]),
    ("launches", "functions", [-1]),
    ("launches", "metrics", 99),
    ("launches", "values", [[1.0]]),
    ("launches", "launch", -1),
    ("launches", "kernel", None),
    ("launches", "values", [["one"]]),
]


@pytest.mark.parametrize(("part", "name", "value"), WRONG)
def test_a_file_that_contradicts_itself(transpose: list[LaunchSource], part: str, name: str, value: Any) -> None:
    made = content(transpose)
    assert unpacked(compress(msgspec.json.encode(made)), "x") is not None
    made[part][0][name] = value
    with pytest.raises(DamagedData, match=r"^k/v@r: code "):
        unpacked(compress(msgspec.json.encode(made)), "k/v@r: code")


@pytest.mark.parametrize(
    "data", [b"", b"{}", compress(b"{}"), compress(b"[1"), compress(b"\xff"), compress(b"1" * 99)[:9]]
)
def test_a_file_that_is_something_else(data: bytes) -> None:
    with pytest.raises(DamagedData, match=r"^x "):
        unpacked(data, "x")


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 1 << 20)
    with pytest.raises(DamagedData, match="takes more than 1 MiB"):
        unpacked(compress(b" " * (4 << 20)), "x")


def test_numbers_stand_for_what_occurs_often(transpose: list[LaunchSource]) -> None:
    made = content(transpose)
    assert made["schema"] == KeptCode("", (), (), (), (), ()).schema
    assert all(isinstance(number, int) for number in made["functions"][0]["chains"])
    assert [] in made["launches"][0]["values"]  # a metric that counted nothing
