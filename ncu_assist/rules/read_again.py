"""Loads of what an earlier line of the same kernel has read already: the later sweeps over an array are too many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ncu_assist.rules.blame import Function, registers

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
