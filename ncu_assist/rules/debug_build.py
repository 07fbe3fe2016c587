"""Built without optimisation: with `nvcc -G`, or with ptxas at `-O0`.

Compiler: without optimisation each value gets a register of its own and is moved from one to the next, constants and
addresses are put into registers again at each use, functions are called and save registers in local memory. With `-G`
products and sums are not fused either, and accesses are generic (`LD`, not `LDG` or `LDS`), as nobody works out which
memory a pointer leads to.

Cost: several times as many instructions, most of which wait for the one before. Counters are of that build: what other
rules find may not be there in an optimised one, and what is there then may not show yet.

What to try: build without `-G` and without `-Xptxas -O0` (Triton: `DISABLE_PTXAS_OPT`); `-lineinfo` keeps the source
lines. Then profile again.

Thresholds: ptxas deletes a move of a register into itself (`MOV R4, R4`) at every level but `-O0`, where 1 to 43 % of
the instructions of a kernel are such; of 528 optimised kernels none has one (docs/sources.md, Builds without
optimisation). From half a percent on it is told. The code must be in the report. With `-G` accesses are generic.

The time is at least that of the moves, of calls and of what they save, among the instructions that were executed; each
takes its turn and the wait for its result along. What fused products and addresses worked out once would win comes on
top, and nobody knows it before that build was measured.

It is ranked by that time, but behind what the launch waits for, as it says the same of every launch of a build. Each
other finding then says to compile with optimisation first, and is *assumed*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import L1_PARTS, TENSOR, float_instructions, instruction_time, memory_instructions
from ncu_assist.rules.model.resources import SM_PARTS

ID = "debug-build"
NEEDS: tuple[str, ...] = ()
USES: tuple[str, ...] = ()
UNOPTIMISED = 0.005  # of the instructions: moves of a register into itself
MOST_AT_WORK = 0.3  # of the instructions executed: 0.02 to 0.12 in public reports of builds with -G
HEAD = re.compile(r"\s*(?:@!?U?P\w+\s+)?(\w+)")
SELF_MOVE = re.compile(r"\s*(?:@!?U?P\w+\s+)?MOV (R\d+), \1\s*$")
# What an optimising compiler leaves next to none of: copies of registers, of predicates and of descriptors of memory,
# fillings, calls of functions and what these save in local memory.
NEEDLESS = ("MOV", "R2UR", "PLOP3", "NOP", "CALL", "RET", "BMOV", "LDL", "STL")
GENERIC, OF_ONE_MEMORY = ("LD", "ST", "ATOM"), ("LDG", "STG", "LDS", "STS", "ATOMG", "ATOMS", "RED")
RELIEVES = (*dict.fromkeys(one.name for one in SM_PARTS if one.name != TENSOR), *L1_PARTS)


def may_be_unoptimised(facts: Facts) -> bool:
    """Tell whether the code is worth a look: without optimisation few instructions are accesses or operations on
    floats, as most are moves; True where they were not counted.
    """
    every = facts.get("instructions")
    return not every or float_instructions(facts) + memory_instructions(facts) < MOST_AT_WORK * every


def is_unoptimised(instructions: Sequence[str]) -> bool:
    """Tell whether SASS was built without optimisation."""
    moves = sum(SELF_MOVE.match(one) is not None for one in instructions)
    return moves > UNOPTIMISED * len(instructions)


def executed(instructions: Sequence[str], counts: Sequence[float]) -> dict[str, float]:
    """Return how often warps executed each opcode without modifiers; where that was not counted, how often it stands.

    ``counts`` are of each instruction; empty or all zero where they were not counted.
    """
    found: dict[str, float] = {}
    each = counts if any(counts) else [1.0] * len(instructions)
    for text, count in zip(instructions, each, strict=True):
        if head := HEAD.match(text):
            found[head[1]] = found.get(head[1], 0.0) + count
    return found


def find(facts: Facts) -> Finding | None:
    """Return that the code was built without optimisation; None where it was not, or where it was not read."""
    opcodes = facts.unoptimised
    every = sum(opcodes.values())
    if not every:
        return None
    share = sum(opcodes.get(one, 0.0) for one in NEEDLESS) / every
    with_what = "nvcc -G" if _of(GENERIC, opcodes) >= _of(OF_ONE_MEMORY, opcodes) else "ptxas at -O0"
    less = "without -G (-lineinfo keeps the lines)" if with_what == "nvcc -G" else "without -Xptxas -O0"
    return Finding(
        rule=ID,
        message=(
            f"built without optimisation ({with_what}): {100 * share:.0f} % of what it executes are moves, calls and "
            "what these save, which an optimising compiler leaves out, and more besides"
        ),
        saved_ns=share * instruction_time(facts) * facts.duration_ns,
        evidence=("instructions", "fp32_flops", "local_load_requests", "registers"),
        relieves=RELIEVES,
        assumed=True,
        advice=f"compile it with optimisation, so {less}, and profile it again",
    )


def _of(heads: Sequence[str], opcodes: Mapping[str, float]) -> float:
    return sum(opcodes.get(one, 0.0) for one in heads)
