"""Cubins with a line table, made by hand, and those of recorded reports."""

from __future__ import annotations

import struct
from pathlib import Path

from ncu_assist.ncu import report_file
from ncu_assist.ncu.compressed import read_plain

SECTION = ".text.k"
FILES = ("a.cu", "lib.h")  # 1 and 2
ADDRESS, END = bytes([0, 9, 2]) + bytes(8), bytes([0, 1, 1])  # set_address 0, end_sequence
FIRST_SPECIAL, LINE_BASE, LINE_RANGE = 10, -5, 14


def cubins_of(path: Path) -> list[bytes]:
    """Return the cubins that a report holds, as they are."""
    data = read_plain(path)
    entries = [entry for block in report_file.blocks(data) for entry in block.entries]
    fields = (f for e in entries if e.kind == report_file.SOURCES for f in report_file.fields(data, e.start, e.end))
    return [bytes(data[f.body : f.end]) for f in fields if f.number == report_file.SOURCE_CUBIN]


def cubin(*programs: bytes, version: int = 2) -> bytes:
    """Return an ELF file whose only function has these line programs, one a table."""
    tables = [_table(program, version) for program in programs]
    lines = b"".join(tables)
    starts = [sum(len(one) for one in tables[:n]) for n in range(len(tables))]
    relocations = b"".join(struct.pack("<QQq", lines.find(ADDRESS, start) + 3, 1 << 32, 0) for start in starts)
    symbols = bytes(24) + struct.pack("<IBBHQQ", 0, 0, 0, 4, 0, 0)
    return _elf({".symtab": symbols, ".debug_line": lines, ".rela.debug_line": relocations, SECTION: b"code"})


def row(offset: int = 0, line: int = 0) -> bytes:
    """Return a special operation: so many bytes and lines on, and a row."""
    return bytes([FIRST_SPECIAL + offset * LINE_RANGE + line - LINE_BASE])


def inlined(call: int) -> bytes:
    """Return NVIDIA's operation: what follows is inlined at the row of this number."""
    return bytes([0, 3, 0x90, call, 0])


def file(number: int) -> bytes:
    return bytes([4, number])


def _table(program: bytes, version: int) -> bytes:
    names = b"dir\0\0" + b"".join(name.encode() + bytes([0, 1, 0, 0]) for name in FILES) + b"\0"
    ops = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    steps = bytes([1]) + (bytes([1]) if version >= 4 else b"") + struct.pack("<BbBB", 1, LINE_BASE, LINE_RANGE, 10)
    rest = steps + ops + names
    body = struct.pack("<HI", version, len(rest)) + rest + program
    return struct.pack("<I", len(body)) + body


def _elf(parts: dict[str, bytes]) -> bytes:
    names = b"\0" + b"\0".join(name.encode() for name in parts) + b"\0.names\0"
    sections = {**parts, ".names": names}
    at, bodies, heads = 64, b"", bytes(64)
    for name, body in sections.items():
        number = names.index(b"\0" + name.encode() + b"\0") + 1
        heads += struct.pack("<IIQQQQIIQQ", number, 1, 0, 0, at, len(body), 1, 0, 1, 0)
        bodies, at = bodies + body, at + len(body)
    head = b"\x7fELF\x02\x01".ljust(0x28, b"\0") + struct.pack("<Q", at)
    return head.ljust(0x3C, b"\0") + struct.pack("<HH", len(sections) + 1, len(sections)) + bodies + heads
