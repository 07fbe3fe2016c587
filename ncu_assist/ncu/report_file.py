"""The blocks of a report file: checks that none is cut, counts and selects results, without NVIDIA's reader.

A report is ``NVR\\0``, a sized file header, then blocks. A block is a sized header message and a payload: its sources
(cubins), its results (launches, then ranges, command lists and graphs), each with its size before it. NVIDIA's reader
takes a file that ends inside a block without a word; this module does not.
"""

from __future__ import annotations

import contextlib
import mmap
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ncu_assist.errors import DamagedData

Bytes = bytes | mmap.mmap  # a report in memory, or as it lies on disk

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


MAGIC = b"NVR\0"
OTHER_THAN_ZERO, ZEROS_READ = re.compile(rb"[^\0]"), 1 << 20  # bytes: the rest of a file may be gigabytes
VERSION = 1  # field of the file header
# Fields of a block header.
SOURCES, RESULTS, SESSION, STRINGS, PAYLOAD, PROCESS, RANGES, COMMAND_LISTS, GRAPHS = 1, 2, 3, 4, 5, 6, 7, 8, 9
KINDS = (SOURCES, RESULTS, RANGES, COMMAND_LISTS, GRAPHS)  # of entries, in their order in a payload
RESULT_KINDS = KINDS[1:]
# Fields of a source entry; one that adds to an earlier source has its number. SOURCE_CODE holds where functions are.
SOURCE_ID, SOURCE_CUBIN, SOURCE_CODE = 1, 4, 9
RESULT_METRIC, RESULT_SOURCES = 13, 15  # fields of a launch; RESULT_SOURCES holds a message with the ids in field 1
OTHER_METRIC, OTHER_SOURCES = 4, {RANGES: 15, COMMAND_LISTS: 17, GRAPHS: 17}  # fields of other results


@dataclass(frozen=True)
class Entry:
    """One message of a payload; ``kind`` is the header field that counts it: one of KINDS, or larger and unknown."""

    kind: int
    start: int
    end: int


@dataclass(frozen=True)
class Block:
    """One block: where its header message lies and which entries follow it."""

    header_start: int
    header_end: int
    entries: tuple[Entry, ...]

    @property
    def results(self) -> tuple[Entry, ...]:
        """Return the entries that are launches, ranges, command lists and graphs."""
        return tuple(entry for entry in self.entries if entry.kind in RESULT_KINDS)

    @property
    def unknown(self) -> int:
        """Return how many entries are of a kind that is not known here."""
        return sum(entry.kind not in KINDS for entry in self.entries)


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[Bytes]:
    """Give the bytes of a file without reading them all at once; raises DamagedData for an empty file."""
    if path.stat().st_size == 0:
        raise DamagedData("the report is empty", "profile again")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def forget(data: Bytes, entry: Entry) -> None:
    """Let go of the memory behind an entry that was read: a report may be larger than the memory there is."""
    if isinstance(data, mmap.mmap):
        start = entry.start // mmap.PAGESIZE * mmap.PAGESIZE
        data.madvise(mmap.MADV_DONTNEED, start, entry.end - start)


def blocks(data: Bytes) -> tuple[Block, ...]:
    """Return the blocks of a report; raises DamagedData for anything else, also when it ends inside a block.

    The insides of the entries are not looked at; ``metric_counts`` walks those of the results.
    """
    if data[: len(MAGIC)] != MAGIC:
        what = "this is not an Nsight Compute report: it does not start with NVR"
        hint = "check the file's name; a report is made by: ncu --set full -o FILE PROGRAM"
        raise DamagedData(f"{what}, as those do whatever they are called; one of Nsight Systems does not", hint)
    start, at = _sized(data, len(MAGIC), len(data))
    for _ in fields(data, start, at):
        pass
    found = []
    while at < len(data):
        block, at = _block(data, at)
        found.append(block)
    if not found:
        raise DamagedData("the report is damaged: it holds nothing but a header", "profile again")
    return tuple(found)


def version(data: Bytes) -> int:
    """Return the version of the form of the file, from its header; 0 where it has none."""
    start, end = _sized(data, len(MAGIC), len(data))
    return next((f.value for f in fields(data, start, end) if f.number == VERSION), 0)


def results(data: Bytes) -> Iterator[Entry]:
    """Yield the results of a report in order: launches, and ranges or graphs where ncu replayed those."""
    for block in blocks(data):
        yield from block.results


def metric_counts(data: Bytes) -> tuple[int, ...]:
    """Return how many different metrics each result holds, in order; a reader has to return as many."""
    return tuple(len(_metric_ids(data, entry)) for entry in results(data))


def select(data: Bytes, keep: Set[int], cubins: Set[int] | None = None) -> bytes:
    """Return the report with only the results numbered in ``keep``, and only the cubins that these refer to.

    Whoever knows the numbers of these ``cubins`` gives them.
    """
    found = blocks(data)
    kept = {entry for number, entry in enumerate(e for block in found for e in block.results) if number in keep}
    needed = {source for entry in kept for source in sources_of(data, entry)} if cubins is None else cubins
    out = [data[: found[0].header_start - 4]]
    for block in found:
        entries = [e for e in block.entries if e in kept or (e.kind == SOURCES and source_id(data, e) in needed)]
        out.append(_rebuilt(data, block, entries))
    return b"".join(out)


def _block(data: Bytes, at: int) -> tuple[Block, int]:
    start, end = _sized(data, at, len(data))
    if start == end:  # of a file that goes on with zeros: each four of them would be a block
        words = f"the block at byte {at} says nothing of itself"
        if not OTHER_THAN_ZERO.search(data, at, at + ZEROS_READ):
            words = f"{len(data) - at} bytes behind its last block are zeros, as in a copy that did not end"
        raise DamagedData(f"the report is damaged: {words}", "profile again")
    counts = {f.number: f.value for f in fields(data, start, end) if f.wire == VARINT}
    limit = end + counts.get(PAYLOAD, 0)
    if limit > len(data):
        raise _cut(end, counts.get(PAYLOAD, 0), len(data))
    entries, at = [], end
    for kind in (*KINDS, *sorted(kind for kind in counts if kind > max(KINDS))):  # these are of a newer ncu
        for _ in range(counts.get(kind, 0) if at < limit else 0):
            body, at = _sized(data, at, limit)
            entries.append(Entry(kind, body, at))
    counted = sum(counts.get(kind, 0) for kind in KINDS)
    if 0 < len(entries) < counted:  # a launch that the header counts as something else would be lost without a word
        held = f"holds {len(entries)} of the {counted} entries that it counts"
        raise DamagedData(f"the report is damaged: the block at byte {start} {held}", "profile again")
    if at != limit:
        raise DamagedData(f"the report is damaged: {limit - at} bytes at byte {at} belong to nothing", "profile again")
    return Block(start, end, tuple(entries)), limit


def _sized(data: Bytes, at: int, limit: int) -> tuple[int, int]:
    size = int.from_bytes(data[at : at + 4], "little") if at + 4 <= limit else 4
    if at + 4 + size > limit:
        raise _cut(at, size, limit)
    return at + 4, at + 4 + size


def _cut(at: int, size: int, limit: int) -> DamagedData:
    return DamagedData(
        f"the report is damaged: {size} bytes should follow byte {at}, but it ends at byte {limit}", "profile again"
    )


def _metric_ids(data: Bytes, entry: Entry) -> set[int]:
    number = RESULT_METRIC if entry.kind == RESULTS else OTHER_METRIC
    found = (f for f in fields(data, entry.start, entry.end) if f.number == number)
    return {read_varint(data, f.body + 1, f.end)[0] for f in found}


def cubin_id(data: Bytes, entry: Entry) -> int | None:
    """Return the number of the cubin that a source holds; None for one that only adds to another."""
    found = {f.number: f.value for f in fields(data, entry.start, entry.end) if f.number in (SOURCE_ID, SOURCE_CUBIN)}
    return found.get(SOURCE_ID) if found.get(SOURCE_CUBIN) else None


def source_id(data: Bytes, entry: Entry) -> int | None:
    """Return the number of the cubin that a source holds or adds to."""
    return next((f.value for f in fields(data, entry.start, entry.end) if f.number == SOURCE_ID), None)


def sources_of(data: Bytes, entry: Entry) -> Iterator[int]:
    """Yield the numbers of the cubins that a result refers to."""
    for field in fields(data, entry.start, entry.end):
        if entry.kind == RESULTS and field.number == RESULT_SOURCES:
            yield from (f.value for f in fields(data, field.body, field.end) if f.number == SOURCE_ID)
        elif field.number == OTHER_SOURCES.get(entry.kind):
            yield field.value


def _rebuilt(data: Bytes, block: Block, entries: list[Entry]) -> bytes:
    payload = b"".join(_with_size(data[e.start : e.end]) for e in entries)
    kinds = {*KINDS, *(entry.kind for entry in block.entries)}
    replaced = {kind: sum(e.kind == kind for e in entries) for kind in kinds}
    replaced[PAYLOAD] = len(payload)
    header = b"".join(
        write_varint(f.number << 3) + write_varint(replaced[f.number])
        if f.wire == VARINT and f.number in replaced
        else data[f.start : f.end]
        for f in fields(data, block.header_start, block.header_end)
    )
    return _with_size(header) + payload


def _with_size(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message


SESSION_KINDS: dict[tuple[int, ...], str] = {  # field numbers inside the session details of a block header
    (3, 5): "host",
    (4, 5): "host",
    (3, 2): "system",
    (4, 2): "system",
    (4, 7, 1): "address",
    (3, 7, 1): "address",
    (11,): "command line",
}
LAUNCH_SETTINGS = 9  # the program, its arguments, its folder, its environment


@dataclass(frozen=True)
class SessionTexts:
    """Names of hosts, and commands: the command line of ncu, the program with its arguments and environment."""

    hosts: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def session_texts(plain: Path) -> SessionTexts:
    """Return what an uncompressed report says; nothing for another kind of file. Takes milliseconds at any size."""
    try:
        with mapped(plain) as data:
            found = list(_texts(data))
    except DamagedData:
        return SessionTexts()
    hosts = dict.fromkeys(text for kind, text in found if kind == "host")
    commands = dict.fromkeys(text for kind, text in found if kind in ("command line", "launch settings"))
    return SessionTexts(tuple(hosts), tuple(commands))


def _texts(data: Bytes) -> Iterator[tuple[str, str]]:
    for block in blocks(data):
        for field in fields(data, block.header_start, block.header_end):
            if field.number == SESSION and field.wire == BYTES:
                for path, _, text in texts(data, field.body, field.end):
                    yield ("launch settings" if path[0] == LAUNCH_SETTINGS else SESSION_KINDS.get(path, "")), text
