"""Where each instruction of a cubin comes from: its line, the line that called this, and so on outwards."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ncu_assist.ncu.cubin.elf import Elf
from ncu_assist.ncu.cubin.line_program import Row, sequences

LINES = ".debug_line"
# A line program is read at 1 to 3 MB a second; that of a whole library would take longer than the rest of a report.
MOST_BYTES = 4 << 20
Line = tuple[str, int]
Chain = tuple[Line, ...]  # innermost first


@dataclass(frozen=True)
class _Stretches:
    """The offsets of one section at which another line begins, in their order, and from where code is inlined."""

    offsets: Sequence[int]
    chains: Sequence[Chain | None]  # None behind the end of code, and where the table contradicts itself


@dataclass(frozen=True)
class Inlining:
    """The lines of a cubin's code by section."""

    sections: dict[str, _Stretches]

    def chain(self, section: str, offset: int) -> Chain | None:
        """Return where the instruction at an offset of a section comes from; None where the cubin does not say."""
        known = self.sections.get(section)
        place = bisect_right(known.offsets, offset) - 1 if known else -1
        return known.chains[place] if known and place >= 0 else None


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
    return Inlining({name: _sorted(chains) for name, chains in found.items()})


def _sorted(chains: dict[int, Chain | None]) -> _Stretches:
    offsets = sorted(chains)
    return _Stretches(offsets, [chains[offset] for offset in offsets])


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
