"""The wire format of protocol buffers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_numbers_survive(number: int) -> None:
    data = b"x" + report_file.write_varint(number)
    assert report_file.read_varint(data, 1, len(data)) == (number, len(data))


@given(st.binary(max_size=60))
def test_any_bytes_are_walked_or_damaged(data: bytes) -> None:
    try:
        found = list(report_file.fields(data, 0, len(data)))
    except DamagedData:
        return
    assert [field.end for field in found[:-1]] == [field.start for field in found[1:]]
    assert sum(field.end - field.start for field in found) == len(data)
    list(report_file.texts(data, 0, len(data)))


def test_fields_of_each_wire_type() -> None:
    data = b"\x08\x96\x01" + b"\x12\x02hi" + b"\x19" + b"8" * 8 + b"\x25" + b"4" * 4
    found = [(f.number, f.wire, f.value) for f in report_file.fields(data, 0, len(data))]
    assert found == [(1, 0, 150), (2, 2, 2), (3, 1, 8), (4, 5, 4)]


@pytest.mark.parametrize("data", [b"\x08", b"\x12\x05hi", b"\x19123", b"\x0b", b"\x00\x01", b"\x80" * 11])
def test_what_does_not_fit_is_damaged(data: bytes) -> None:
    with pytest.raises(DamagedData):
        list(report_file.fields(data, 0, len(data)))


def test_texts_at_any_depth_with_their_place() -> None:
    inner = b"\x0a\x03abc"
    data = b"\x12" + bytes([len(inner)]) + inner + b"\x1a\x02hi"
    assert list(report_file.texts(data, 0, len(data))) == [((2, 1), 4, "abc"), ((3,), 9, "hi")]
