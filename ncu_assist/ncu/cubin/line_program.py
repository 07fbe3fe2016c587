"""The line table of a cubin: DWARF's line programs, with the two operations that NVIDIA adds for inlined code."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ncu_assist.errors import DamagedData

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
            found = _sequences(data, header, targets)
        except (IndexError, struct.error) as error:
            raise DamagedData("the code in the report is damaged: its line table ends too early") from error
        yield from found
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


def _sequences(data: bytes, header: _Header, targets: Mapping[int, Target]) -> list[list[Row]]:
    machine = _Machine(header, targets)
    at = header.program
    while at < header.end:
        at = machine.step(data, at)
    return machine.done


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
