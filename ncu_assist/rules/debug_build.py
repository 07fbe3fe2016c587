"""The kernel was built without optimisation: with `nvcc -G`, or with ptxas at `-O0`.

What the compiler does: without optimisation each value gets a register of its own and is moved from one register to the
next. Constants and addresses are loaded into registers again at each use. Functions are called and save registers in
local memory. With `-G` multiplies and adds are not fused either, and memory accesses are generic (`LD`, not `LDG` or
`LDS`), because the compiler does not work out which memory a pointer points to.

Why it costs time: there are several times as many instructions, and most of them wait for the one before. The counters
describe this build. What other rules find may not exist in an optimised build, and other faults may appear there.

What to try: build without `-G` and without `-Xptxas -O0` (Triton: `DISABLE_PTXAS_OPT`); `-lineinfo` keeps the source
lines. Then profile again.

When it is reported: more than half a percent of the instructions move a register into itself (`MOV R4, R4`). ptxas
deletes such moves at every level except `-O0`, where they are 1 to 43 % of the instructions of a kernel. None of 528
optimised kernels has one (docs/sources.md, Builds without optimisation). The code must be in the report. Generic
accesses mean `-G`. The finding ranks by its saving, as others do. Each other finding says to compile with optimisation
first, and is *assumed*: an optimised build may not have it.

How the saving is estimated: at least the time of the moves, calls and register saves among the executed instructions,
each with its issue slot and the wait for its result. Fused multiply-adds and addresses computed once save more, but how
much is not known before an optimised build is measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import (
    FP64,
    L1_PARTS,
    TENSOR,
    XU,
    float_instructions,
    instruction_time,
    memory_instructions,
)
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
# What an optimised build executes as often: products of matrices, of doubles, and special functions.
KEPT = (TENSOR, FP64, XU)
RELIEVES = (*dict.fromkeys(one.name for one in SM_PARTS if one.name not in KEPT), *L1_PARTS)
COUNTED = 0.5  # of the instructions that the launch executed: fewer are those that stand in the code, each once


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
    opcodes = facts.opcodes
    every = sum(opcodes.values())
    if not every:
        return None
    share = sum(opcodes.get(one, 0.0) for one in NEEDLESS) / every
    with_what = "nvcc -G" if _of(GENERIC, opcodes) >= _of(OF_ONE_MEMORY, opcodes) else "ptxas at -O0"
    less = "without -G (-lineinfo keeps the lines)" if with_what == "nvcc -G" else "without -Xptxas -O0"
    is_counted = every >= COUNTED * (facts.get("instructions") or float("inf"))
    of_what = "executed instructions" if is_counted else "instructions in its code (how often each ran was not counted)"
    return Finding(
        rule=ID,
        message=(
            f"built without optimisation ({with_what}): {100 * share:.0f} % of the {of_what} are moves, calls and "
            "register saves, which an optimising compiler leaves out"
        ),
        saved_ns=share * instruction_time(facts) * facts.duration_ns,
        evidence=("instructions", "fp32_flops", "local_load_requests", "registers"),
        relieves=RELIEVES,
        assumed=True,
        of_build=True,
        advice=f"compile it with optimisation, that is {less}, and profile it again: what else is found may be gone",
    )


def _of(heads: Sequence[str], opcodes: Mapping[str, float]) -> float:
    return sum(opcodes.get(one, 0.0) for one in heads)
