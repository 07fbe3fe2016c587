"""As much of ELF as line tables need: sections by name, and where relocations point."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

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
