"""Which instruction a warp waits for: the sampler names the one that could not start, not the one that was slow."""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

GLOBAL_READS = frozenset({"LD", "LDG", "LDL", "ATOM", "ATOMG", "TEX", "TLD", "TLD4", "SULD", "LDGSTS"})
SHARED_READS = frozenset({"LDS", "LDSM", "ATOMS", "SHFL", "MUFU", "S2R", "S2UR", "LDC", "I2F", "F2I", "F2F", "POPC"})
WRITES = frozenset({"ST", "STG", "STL", "RED", "REDG", "ATOM", "ATOMG"})
# By stall reason: the instructions whose result it is about. Its register says which one of them.
PRODUCERS = {"long_scoreboard": GLOBAL_READS, "short_scoreboard": SHARED_READS}
# By stall reason: the nearest of these above is what the warp stands at.
STOPS = {
    "barrier": frozenset({"BAR", "UCGABAR_WAIT", "SYNCS"}),
    "membar": frozenset({"MEMBAR", "ERRBAR"}),
    "drain": WRITES,
}
PREDICATE = re.compile(r"^\s*@!?U?P\w+\s+")
REGISTER = re.compile(r"\b(U?)R(\d+)(\.64)?")
UNIFORM = 256  # added to the number of a register that all lanes share: R0 to R254 come first
RESULT = re.compile(r"\s*(U?)R(\d+)\S*\s*")
NO_RESULT = WRITES - {"ATOM", "ATOMG"} | {"STS", "STSM", "BAR", "BRA", "EXIT", "NOP", "MEMBAR"}
WIDTHS = {"128": 4, "64": 2, "WIDE": 2, "4": 4, "2": 2}
OPERAND_LOADS = frozenset({"LDS", "LDSM"})
MATRIX, MATRIX_REGISTERS = frozenset({"HMMA", "IMMA", "DMMA"}), 4  # operands are named by their first register only


@dataclass(frozen=True)
class Instruction:
    """One instruction: its opcode without modifiers, the registers that it writes, reads, and names at all."""

    head: str
    written: frozenset[int]
    read: frozenset[int]
    named: frozenset[int]


@functools.lru_cache(maxsize=1 << 16)
def read_instruction(text: str) -> Instruction:
    """Return what one line of SASS reads and writes, as far as its spelling says."""
    opcode, _, operands = PREDICATE.sub("", text).strip().partition(" ")
    head, *modifiers = opcode.split(".")
    parts = [part for part in operands.split(",") if not re.fullmatch(r"\s*!?U?P[T\d]\s*", part)]
    width = next((WIDTHS[one] for one in modifiers if one in WIDTHS), 1)
    result = None if head in NO_RESULT or not parts else RESULT.fullmatch(parts[0])
    first = _number(result.group(1), result.group(2)) if result else 0
    written = frozenset(range(first, first + width)) if result else frozenset[int]()
    span = MATRIX_REGISTERS if head in MATRIX else 1
    sources = parts[1:] if result else parts
    return Instruction(head, written, registers(",".join(sources), span), registers(operands, span))


def registers(operands: str, span: int = 1) -> frozenset[int]:
    """Return the registers that operands name; ``span``: how many each stands for at least."""
    found = REGISTER.findall(operands)
    return frozenset(_number(*name) + k for *name, pair in found for k in range(max(span, 2 if pair else 1)))


def _number(uniform: str, number: str) -> int:
    return int(number) + (UNIFORM if uniform else 0)


@dataclass(frozen=True)
class Function:
    """The instructions of one function in their order, with the places at which each register is written."""

    code: Sequence[Instruction]
    writers: dict[int, list[int]] = field(default_factory=dict)
    readers: dict[int, set[int]] = field(default_factory=dict)  # by the instruction whose result they use

    @classmethod
    def of(cls, texts: Sequence[str]) -> Function:
        """Return the function of these lines of SASS."""
        made = cls([read_instruction(text) for text in texts])
        for place, one in enumerate(made.code):
            for register in one.named:
                before = made.writers.get(register)
                made.readers.setdefault(before[-1], set()).add(place) if before else None
            for register in one.written:
                made.writers.setdefault(register, []).append(place)
        return made

    def blamed(self, place: int, reason: str) -> int:
        """Return the instruction that a warp at ``place`` waits for; ``place`` where it is that one itself."""
        if reason in STOPS:
            return self._above(place, STOPS[reason])
        if reason not in PRODUCERS:
            return place
        found = [self.writer(register, place) for register in self.code[place].named]
        makers = [one for one in found if one is not None and self.code[one].head in PRODUCERS[reason]]
        # Of several the last one issued; one below the reader is of the round before.
        return max(makers, key=lambda one: (one < place, one)) if makers else self._above(place, PRODUCERS[reason])

    def matrix_instruction(self, place: int) -> int:
        """Return the matrix instruction that a load from shared memory is for; ``place`` where it is for none."""
        if self.code[place].head not in OPERAND_LOADS:
            return place
        return min((one for one in self.users(place) if self.code[one].head in MATRIX), default=place)

    def users(self, place: int) -> set[int]:
        """Return the instructions below that use the result of one, by address: loops are not followed."""
        return self.readers.get(place, set())

    def writer(self, register: int, place: int) -> int | None:
        """Return the instruction whose result a register holds before ``place``: the last above, or else below."""
        places = self.writers.get(register, [])
        return places[bisect_left(places, place) - 1] if places else None  # -1: the last, of the round before

    def _above(self, place: int, heads: frozenset[str]) -> int:
        return next((one for one in range(place - 1, -1, -1) if self.code[one].head in heads), place)
