"""The wire format of protocol buffers: just enough to walk and rewrite a report without knowing its schema."""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

from ncu_assist.errors import DamagedData

Bytes = bytes | mmap  # a report in memory, or as it lies on disk

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FIXED_SIZE = {FIXED64: 8, FIXED32: 4}
MAX_VARINT_BYTES = 10


class Field(NamedTuple):
    """One field of a message: its number, its wire type, its value if a varint, and where it lies in the data."""

    number: int
    wire: int
    value: int  # of a varint; for other wire types the length in bytes
    start: int  # of the tag
    body: int  # of the payload
    end: int


def read_varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the varint at an offset and the offset behind it; raises DamagedData when it does not end in time."""
    if at < end and data[at] < 0x80:  # one byte: nearly all of them
        return data[at], at + 1
    result = shift = 0
    for position in range(at, min(end, at + MAX_VARINT_BYTES)):
        byte = data[position]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position + 1
        shift += 7
    raise DamagedData(f"the report is damaged: a number at byte {at} does not end")


def write_varint(number: int) -> bytes:
    """Return a non-negative number as a varint."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def fields(data: Bytes, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message in ``data[start:end]``; raises DamagedData where it is not one."""
    at = start
    while at < end:
        tag, body = read_varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, stop = read_varint(data, body, end)
        elif wire == BYTES:
            value, body = read_varint(data, body, end)
            stop = body + value
        else:
            value = FIXED_SIZE.get(wire, end)  # an unknown wire type ends past the end, on purpose
            stop = body + value
        if number == 0 or stop > end:
            raise DamagedData(f"the report is damaged: the field at byte {at} does not fit its message")
        yield Field(number, wire, value, at, body, stop)
        at = stop


def is_message(data: Bytes, start: int, end: int) -> bool:
    """Tell whether these bytes parse as a message; short text can parse by chance."""
    try:
        return all(True for _ in fields(data, start, end))
    except DamagedData:
        return False


def texts(data: Bytes, start: int, end: int, holding: bytes = b"") -> Iterator[tuple[tuple[int, ...], int, str]]:
    """Yield (field numbers from the outside in, offset, text) of every printable text in a message, at any depth.

    Only of texts that hold the bytes ``holding``: what lacks them is not walked.
    """
    for field in fields(data, start, end):
        if field.wire != BYTES or field.value == 0 or data.find(holding, field.body, field.end) < 0:
            continue
        text = _printable(data[field.body : field.end])
        if text is not None:
            yield (field.number,), field.body, text
        elif is_message(data, field.body, field.end):
            for path, at, inner in texts(data, field.body, field.end, holding):
                yield (field.number, *path), at, inner


def _printable(raw: bytes) -> str | None:
    """Return the text in these bytes, or None where they are not text: a message starts with a control character."""
    if raw[0] < 0x20:
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\n\r\t" for c in text) else None
