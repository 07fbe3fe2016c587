"""Which instruction is to blame: the one that a warp waits for, the load of what was read before.

The sampler names the instruction that could not start, not the one that was slow.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ncu_assist.ncu.catalogue.stalls import MBARRIER

GLOBAL_READS = frozenset({"LD", "LDG", "LDL", "ATOM", "ATOMG", "TEX", "TLD", "TLD4", "SULD", "LDGSTS"})
SHARED_READS = frozenset({"LDS", "LDSM", "ATOMS", "SHFL", "MUFU", "S2R", "S2UR", "LDC", "I2F", "F2I", "F2F", "POPC"})
WRITES = frozenset({"ST", "STG", "STL", "RED", "REDG", "ATOM", "ATOMG"})
# By stall reason: the instructions whose result it is about. Its register says which one of them.
PRODUCERS = {"long_scoreboard": GLOBAL_READS, "short_scoreboard": SHARED_READS}
# By stall reason: the nearest of these above is what the warp stands at.
STOPS = {
    "barrier": frozenset({"BAR", "UCGABAR_WAIT", "SYNCS"}),
    MBARRIER: frozenset({"SYNCS"}),
    "membar": frozenset({"MEMBAR", "ERRBAR"}),
    "drain": WRITES,
}
PREDICATE = re.compile(r"^\s*@!?U?P\w+\s+")
REGISTER = re.compile(r"\b(U?)R(\d+)(\.64)?")
UNIFORM = 256  # added to the number of a register that all lanes share: R0 to R254 come first
RESULT = re.compile(r"\s*(U?)R(\d+)\S*\s*")
NO_RESULT = WRITES - {"ATOM", "ATOMG"} | {"STS", "STSM", "BAR", "BAR.ARV", "BRA", "EXIT", "NOP", "MEMBAR"}
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
    head = "BAR.ARV" if opcode.startswith("BAR.ARV") else head  # it holds nobody
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


LOADS = frozenset({"LD", "LDG", "LDGSTS"})
ADDRESS = re.compile(r"(?<!desc)\[([^\[\]]*R\d[^\[\]]*)\]")  # not the descriptor in desc[UR4][R2.64]
CONSTANT = re.compile(r"\bc\[0x0\]\[(0x[0-9a-f]+)\]")  # where the arguments of a launch are
WIDE = re.compile(r"^\s*(?:@!?U?P\w+\s+)?\w+\.(?:\w+\.)*(?:64|WIDE)\b")  # of two registers: an address takes both
WORD = 4
MOST_STEPS = 200  # of an address's computation; one that takes more is not known
Line = tuple[str, int]


def read_again(texts: Sequence[str], lines: Sequence[Line], sectors: Sequence[float]) -> list[int]:
    """Return the loads of one function, by their place, whose line reads an array that an earlier line has read.

    Arrays are told by the pointers among the launch's arguments that an address is made of. A line reads one again if
    it asks for as many ``sectors`` as the first that reads it: one that asks for fewer, as for what a loop left over,
    may read another part.
    """
    function = Function.of(texts)
    arrays = {place: _pointers(function, texts, place) for place in _loads(function, sectors)}
    sums: dict[frozenset[int], dict[Line, float]] = {}  # lines in the order of their code
    for place, array in arrays.items():
        own = sums.setdefault(array, {})
        own[lines[place]] = own.get(lines[place], 0.0) + sectors[place]
    return [place for place, array in arrays.items() if array and lines[place] in _later(sums[array])]


def _loads(function: Function, sectors: Sequence[float]) -> list[int]:
    return [place for place, one in enumerate(function.code) if one.head in LOADS and sectors[place] > 0]


def _later(sums: dict[Line, float]) -> set[Line]:
    first, *others = sums
    return {line for line in others if sums[line] >= sums[first]}


def _pointers(function: Function, texts: Sequence[str], place: int) -> frozenset[int]:
    """Return where in constant memory the pointers lie that an address is made of; none where that is not known."""
    wide, halves = set[int](), set[int]()
    for step, maker in enumerate(_makers(function, texts, place)):
        from_memory = function.code[maker].head.startswith("LD") and not CONSTANT.search(texts[maker])
        if step == MOST_STEPS or from_memory:
            return frozenset()
        found = {int(offset, 16) for offset in CONSTANT.findall(texts[maker])}
        (wide if WIDE.match(texts[maker]) else halves).update(found)
    return frozenset(wide | {one for one in halves if one + WORD in halves})


def _makers(function: Function, texts: Sequence[str], place: int) -> Iterator[int]:
    """Yield the instructions whose results an address is made of, each once."""
    brackets = ADDRESS.findall(texts[place])
    todo = [(register, place) for register in registers(brackets[-1])] if brackets else []
    seen = set[int]()
    while todo:
        maker = function.writer(*todo.pop())
        if maker is not None and maker not in seen:
            seen.add(maker)
            yield maker
            todo += [(register, maker) for register in function.code[maker].read]
