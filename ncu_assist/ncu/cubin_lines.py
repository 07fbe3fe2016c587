"""Where each instruction of a cubin comes from: its line, the line that called this, and so on outwards.

A cubin is an ELF file; its line table is DWARF's line programs, with the two operations that NVIDIA adds for inlined
code.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ncu_assist.errors import DamagedData

MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian: every cubin since CUDA 5
TABLE_AT, COUNT_AT = 0x28, 0x3C  # in the header: where the section headers stand; how many, and which holds the names
SECTION, SYMBOL, RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
MOST_LETTERS = 1 << 14  # of a section's name, which holds the mangled one of its function
NO_BITS = 8  # a section of this type takes no place in the file


@dataclass(frozen=True)
class Section:
    """One section: its name, where it lies in the file, and the section that its entries refer to."""

    name: str
    start: int
    size: int
    link: int


@dataclass(frozen=True)
class Elf:
    """The sections of a file, by number; ``data`` is the file."""

    data: bytes
    sections: tuple[Section, ...]

    @classmethod
    def of(cls, data: bytes) -> Elf:
        """Return the sections of a file; raises DamagedData where it is no ELF file, or is cut."""
        if data[: len(MAGIC)] != MAGIC:
            raise DamagedData("the code in the report is no ELF file")
        (at,), (count, names) = _unpacked(data, "<Q", TABLE_AT), _unpacked(data, "<HH", COUNT_AT)
        if at + count * SECTION.size > len(data) or not names < count:
            raise _cut()
        heads = list(SECTION.iter_unpack(data[at : at + count * SECTION.size]))
        texts = data[heads[names][4] : heads[names][4] + heads[names][5]]
        return cls(data, tuple(_section(head, texts, len(data)) for head in heads))

    def bytes_of(self, name: str) -> bytes:
        """Return what the first section of this name holds; empty without one."""
        found = next((one for one in self.sections if one.name == name), None)
        return self.data[found.start : found.start + found.size] if found else b""

    def targets(self, name: str) -> dict[int, tuple[str, int]]:
        """Return where each relocated word of a section points: by its offset, a section's name and an offset there."""
        found = next((one for one in self.sections if one.name == f".rela{name}"), None)
        if found is None or found.link >= len(self.sections):
            return {}
        symbols = list(self._entries(self.sections[found.link], SYMBOL))
        entries = self._entries(found, RELOCATION)
        return {offset: self._target(symbols, info >> 32, addend) for offset, info, addend in entries}

    def _target(self, symbols: list[tuple[int, ...]], number: int, addend: int) -> tuple[str, int]:
        if number >= len(symbols) or symbols[number][3] >= len(self.sections):
            raise DamagedData("the code in the report is damaged: a relocation points nowhere")
        return self.sections[symbols[number][3]].name, symbols[number][4] + addend

    def _entries(self, section: Section, entry: struct.Struct) -> Iterator[tuple[int, ...]]:
        size = section.size - section.size % entry.size
        return entry.iter_unpack(self.data[section.start : section.start + size])


def _section(head: tuple[int, ...], texts: bytes, limit: int) -> Section:
    name, kind, start, size = head[0], head[1], head[4], head[5]
    if kind != NO_BITS and start + size > limit:
        raise _cut()
    text = texts[name : name + MOST_LETTERS].partition(b"\0")[0].decode("utf-8", "replace")
    return Section(text, start, 0 if kind == NO_BITS else size, head[6])


def _unpacked(data: bytes, form: str, at: int) -> tuple[int, ...]:
    if at + struct.calcsize(form) > len(data):
        raise _cut()
    return struct.unpack_from(form, data, at)


def _cut() -> DamagedData:
    return DamagedData("the code in the report is damaged: it ends too early")


# DWARF 2 to 4, section 6.2. Length of the rest, version, length of the header from here on; then, from version 4 on
# after one more byte, the step of addresses, a flag, what the special operations are made of, the first of them.
HEAD, VERSIONS, STEPS = struct.Struct("<IHI"), (2, 3, 4), struct.Struct("<BBbBB")
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
END_SEQUENCE, SET_ADDRESS = 1, 2
# NVIDIA's, DW_LNE_NVIDIA_inlined_call to readers of DWARF: the number of the row that is the call, 0 for none, and a
# function's name. That rows are numbered from 1 in each sequence is what nvdisasm -gi shows.
INLINED_CALL = 0x90
MOST_BITS = 63  # of a number
Target = tuple[str, int]  # a section's name and an offset in it


class Row(NamedTuple):
    """From an offset of a section on, code is of this line; ``is_end``: no code from here on.

    ``call`` numbers the row of the same sequence that it is inlined at, from 1; 0 for none.
    """

    section: str
    offset: int
    file: str
    line: int
    call: int
    is_end: bool


class _Header(NamedTuple):
    step: int  # bytes of the smallest instruction
    line_base: int
    line_range: int
    first_special: int
    operands: bytes  # of each operation below ``first_special``: how many numbers follow
    files: tuple[str, ...]  # file 1 first
    program: int  # where it starts
    end: int


def sequences(data: bytes, targets: Mapping[int, Target]) -> Iterator[list[Row]]:
    """Yield the rows of each sequence, which is a function, of the line tables in ``.debug_line``.

    ``targets`` are its relocations, by offset. Raises DamagedData for what is no such table, or cut.
    """
    at = 0
    while at < len(data):
        try:
            header = _header(data, at)
            machine, place = _Machine(header, targets), header.program
            while place < header.end:
                place = machine.step(data, place)
        except (IndexError, struct.error) as error:
            raise DamagedData("the code in the report is damaged: its line table ends too early") from error
        yield from machine.done
        at = header.end


def _header(data: bytes, at: int) -> _Header:
    length, version, rest = HEAD.unpack_from(data, at)
    start, end = at + HEAD.size, at + 4 + length
    if version not in VERSIONS or start + rest > end or end > len(data):
        raise DamagedData("the line table of the code in the report cannot be read")
    opcodes = start + STEPS.size + (version >= 4)
    step, _, base, span, special = STEPS.unpack_from(data, opcodes - STEPS.size)
    if version >= 4:  # the step comes first, then what only machines with several operations an instruction need
        step = data[start]
    if not (span and special):
        raise DamagedData("the code in the report is damaged: its line table has no operations")
    names = opcodes + special - 1
    files = _files(data, names, start + rest)
    return _Header(step, base, span, special, data[opcodes:names], files, start + rest, end)


def _files(data: bytes, at: int, end: int) -> tuple[str, ...]:
    """Return the files of a table with their folders; file 0 is none."""
    folders, found = [""], []
    while (text := _text(data, at, end)) is not None:
        folders.append(text)
        at += len(text.encode("utf-8", "surrogateescape")) + 1
    at += 1
    while (text := _text(data, at, end)) is not None:
        at += len(text.encode("utf-8", "surrogateescape")) + 1
        folder, at = _unsigned(data, at)
        _, at = _unsigned(data, at)
        _, at = _unsigned(data, at)
        found.append(f"{folders[folder]}/{text}" if folder else text)
    return tuple(found)


def _text(data: bytes, at: int, end: int) -> str | None:
    """Return the text at an offset, None where there is an empty one."""
    stop = data.find(b"\0", at, end)
    if stop < 0:
        raise IndexError
    return data[at:stop].decode("utf-8", "surrogateescape") if stop > at else None


class _Machine:
    """The registers of a line program, and the sequences it has made."""

    def __init__(self, header: _Header, targets: Mapping[int, Target]) -> None:
        self.header, self.targets = header, targets
        self.done: list[list[Row]] = []
        self._reset()

    def _reset(self) -> None:
        self.rows: list[Row] = []
        self.section, self.offset, self.file, self.line, self.call = "", 0, 1, 1, 0

    def step(self, data: bytes, at: int) -> int:
        """Do the operation at an offset; return the offset behind it."""
        code, header = data[at], self.header
        if code >= header.first_special:
            advance, line = divmod(code - header.first_special, header.line_range)
            self.offset += header.step * advance
            self.line += header.line_base + line
            self._row()
            return at + 1
        return self._extended(data, at + 1) if code == 0 else self._standard(code, data, at + 1)

    def _standard(self, code: int, data: bytes, at: int) -> int:
        if code == COPY:
            self._row()
        elif code == ADVANCE_LINE:
            advance, at = _signed(data, at)
            self.line += advance
        elif code == CONST_ADD_PC:
            self.offset += self.header.step * ((255 - self.header.first_special) // self.header.line_range)
        elif code == FIXED_ADVANCE_PC:
            self.offset += struct.unpack_from("<H", data, at)[0]
            at += 2
        else:
            for _ in range(self.header.operands[code - 1]):
                number, at = _unsigned(data, at)
                if code == ADVANCE_PC:
                    self.offset += self.header.step * number
                elif code == SET_FILE:
                    self.file = number
        return at

    def _extended(self, data: bytes, at: int) -> int:
        size, at = _unsigned(data, at)
        code = data[at]
        if code == END_SEQUENCE:
            self._row(is_end=True)
            self.done.append(self.rows)
            self._reset()
        elif code == SET_ADDRESS:
            self.section, self.offset = self.targets.get(at + 1, ("", 0))
        elif code == INLINED_CALL:
            self.call, _ = _unsigned(data, at + 1)
        return at + size

    def _row(self, is_end: bool = False) -> None:
        files = self.header.files
        file = files[self.file - 1] if 0 < self.file <= len(files) else ""
        self.rows.append(Row(self.section, self.offset, file, self.line, self.call, is_end))


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and the offset behind it."""
    number = shift = 0
    while data[at] >= 0x80:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if shift > MOST_BITS:
            raise DamagedData("the code in the report is damaged: a number in its line table does not end")
    return number | data[at] << shift, at + 1


def _signed(data: bytes, at: int) -> tuple[int, int]:
    number, end = _unsigned(data, at)
    return number - (1 << 7 * (end - at)) if data[end - 1] & 0x40 else number, end


LINES = ".debug_line"
# A line program is read at 1 to 3 MB a second; that of a whole library would take longer than the rest of a report.
MOST_BYTES = 4 << 20
Line = tuple[str, int]
Chain = tuple[Line, ...]  # innermost first


# Of a cubin's code by section: the offsets at which another line begins, in their order, and its chain; None behind the
# end of code, and where the table contradicts itself.
Inlining = dict[str, tuple[list[int], list[Chain | None]]]


def chain_at(inlining: Inlining, section: str, offset: int) -> Chain | None:
    """Return where the instruction at an offset of a section comes from; None where the cubin does not say."""
    offsets, chains = inlining.get(section, ([], []))
    place = bisect_right(offsets, offset) - 1
    return chains[place] if place >= 0 else None


def read_inlining(cubin: bytes) -> Inlining | None:
    """Return the lines of a cubin; None where it has none, or too many to be read in time. Raises DamagedData."""
    elf = Elf.of(cubin)
    data = elf.bytes_of(LINES)
    if not data or len(data) > MOST_BYTES:
        return None
    found: dict[str, dict[int, Chain | None]] = {}
    for rows in sequences(data, elf.targets(LINES)):
        # Of several rows of one offset the last is the instruction's.
        own = {(row.section, row.offset): chain for row, chain in zip(rows, _chains(rows), strict=True)}
        for (section, offset), chain in own.items():
            known = found.setdefault(section, {})
            known[offset] = chain or known.get(offset)  # where one function ends another may begin
    ordered = {name: sorted(chains) for name, chains in found.items()}
    return {name: (offsets, [found[name][at] for at in offsets]) for name, offsets in ordered.items()}


def _chains(rows: Sequence[Row]) -> list[Chain | None]:
    """Return the chain of each row, None of the end.

    A call stands above what is inlined at it, so no chain can be a circle.
    """
    found: list[Chain | None] = []
    for number, row in enumerate(rows, 1):
        own = (row.file, row.line)
        outer = found[row.call - 1] if 0 < row.call < number else None
        chain = (own, *outer) if outer else None if row.call else (own,)
        found.append(None if row.is_end else chain)
    return found
