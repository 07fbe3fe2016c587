"""One pipe is full with work that another pipe could do or that need not be done.

What the hardware does: in each cycle an SM carries out, by kind of instruction, 128 adds or multiplies of floats (FMA),
64 integer operations (ALU) or integer multiplies (half of the FMA pipe), 64 or only 2 operations in double precision
(FP64), 16 special functions and conversions (XU), and 32 lanes of loads, stores or shuffles (LSU). The table of
arithmetic throughput in the CUDA C++ Programming Guide has the figures of each chip. Each of the four schedulers issues
one instruction a cycle, whatever its kind, so a mix of kinds can fill all issue slots and no pipe.

Why it costs time: the slowest of these at its limit sets the time, and the others wait. An exact division, root or
power is a routine: a special function, five multiplies and adds of floats (eight of doubles) that correct it, and a
branch around a call for rare operands, such as denormals. A division of integers by a number known only at run time is
a routine as well: 17 instructions, or 75 in 64 bits. A multiply by a reciprocal computed before the loop, with one
correction, takes 7 and 20.

What to try, by `detail.pipe`:
`fma`: fuse multiplies and adds into one instruction (`fmaf`, no `__fadd_rn`/`__fmul_rn`, no `-fmad=false`); move
integer multiplies out of loops. `alu`: merge logic, work on packed values, leave part of the work to the FMA pipe.
`fma_heavy` (the half of the FMA pipe that multiplies integers): shifts and adds for constants, 32 bits instead of 64,
reciprocals computed once instead of divisions.
`fp64`: floats, if their precision is enough; look for constants without `f` and for `double` in between. If it is not
enough, `math = "fp64"` in kernel.toml says that the work needs doubles, and they are no longer reported.
`xu`: multiply by reciprocals computed once instead of dividing; use a polynomial for part of the functions.
`adu`: fewer branches, barriers and constants at an index known only at run time; let several elements a thread share
them.
`uniform`: move what is the same for all threads out of the loop.
`lsu`: exchange fewer values between lanes: add up in each thread first, use `__reduce_add_sync` for integers.
`issue` (the issue slots, not a pipe): fewer instructions for the same result, for example several elements a thread
that share addresses, angles or weights; wider accesses; packed or cheaper instructions.

When it is reported: a pipe is busy for 72 % of all time: 80 %, where Nsight Compute calls it a bottleneck, of the 90 %
that any unit reaches. XU and FP64 bind from 60 % of active time, where Nsight Compute says that they might become a
bottleneck, because they take several cycles for an instruction and are used in bursts. FP64 also binds below that if it
is the busiest unit and most warps are ready and queue for a pipe or for their turn. Other pipes bind from 60 % if warps
wait most for room in that pipe or for their turn. Issue slots bind if they are nearer to their limit than anything
else, and no pipe above 60 % does the products that are the work or is itself full. Otherwise the pipe is why
instructions queue (unfused adds and multiplies fill 98 % of the slots and 94 % of the FMA pipe). Pipes are judged while
SMs are active, so a last wave that leaves most SMs idle does not hide a full pipe. Without counts of instructions the
rule cannot tell products from integers, or shuffles from loads, and reports nothing about these.

`issue` is also reported if the kernel carries out at least four times the operations on floats that kernel.toml
declares: the algorithm repeats them, in several passes or once for each of those that share a result. The factor is
four because a count may take a multiply and an add for one, and a tree over lanes adds up twice what a loop adds once.
What surrounds a special function on the XU pipe (at most eight multiplies and adds, two operations each) does not count
as superfluous. Nothing is reported if tensor cores do the work, because they pad their tiles.

How the saving is estimated: by kind of work. Multiplies and adds: the smaller half, if few were fused. Doubles: what
the ratio of the two rates leaves, if they are a choice. Data that are doubles and that nobody converts leave nothing,
and neither does work that kernel.toml calls `fp64`; without dtype and kernel.toml this is *assumed*, because no counter
tells it. Special functions: half, because a polynomial of eight steps on the FMA pipe takes as long as one function, so
sharing them halves the time. Counts of bits: half, if the ALU has room for the adders that replace them (seven adders
of two operations make four words of eight). Conversions between floats and doubles: all. ALU and FMA pipe: half of what
one has more than the other, but nothing if a quarter of all instructions is integer work on the FMA pipe already.
Compilers move adds and moves there as multiplies, and leave logic and shifts, which only the ALU does. Shuffles: all
but the time to issue the rest. Integer products, branches and constants at an index: all elements of a thread need
these once, and a thread takes as many elements as its widest access brings. Three quarters are saved if a lane accesses
4 bytes now, half if it accesses 16, as long as the issue slots have room for the rest.

For `issue`, all instructions that are neither operations on floats, products of integers nor accesses are saved:
addresses, loops, moves. Less than a quarter is not reported, because the best loops have as much. Exact routines are
counted by their branches; each keeps its special function and one product. Each instruction is saved with its issue
slot and the wait for its result. If the work is on integers alone, the rule cannot tell it from addresses, and if
operations on floats were not counted, it knows no work at all: half, *assumed*.
Repeated operations are saved with their accesses, addresses and barriers. DRAM, L2 and the link keep their work, and
the floor stays. The declared count was written by a person, so this saving is *assumed*. Integer divisions are counted
by their three special functions and conversions. With a reciprocal their products fall from 6 to 3, and in 64 bits from
44 to 14.

If most warps store nothing, neither to global nor to shared memory, and no atomics, the advice begins with that. Either
they find nothing, in a search, or they only test their bounds: a grid that is larger than the work. What they cost is
not estimated.

All savings count only the lanes that work (idle lanes are `warp-divergence`), and leave pipes and memory the time for
their own work.
"""

from __future__ import annotations

from dataclasses import replace

from ncu_assist.ceilings.chips import LANES, SCHEDULERS
from ncu_assist.quantity import percent, quantity
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import (
    ADU,
    ADU_A_CYCLE,
    ALU,
    BINDS,
    DOUBLES_A_ROUTINE,
    FMA,
    FMA_HEAVY,
    FP64,
    ISSUE,
    L1_PARTS,
    LSU,
    QUEUES,
    UNIFORM,
    XU,
    busy,
    divisions,
    done_by_lsu,
    exact_routines,
    float_needs,
    heavy_instructions,
    instruction_time,
    is_bound_by,
    memory_instructions,
    needs_doubles,
    operations,
    shuffles,
    while_active,
    xu_instructions,
)
from ncu_assist.rules.model.resources import SM_PARTS
from ncu_assist.rules.model.savings import UNKNOWN_PART, busiest_unit, loads, reachable
from ncu_assist.rules.model.traffic import is_widest

ID = "pipe-bound"
NEEDS: tuple[str, ...] = ("sm_active_share", "issue_slots_busy")
USES: tuple[str, ...] = (
    "pipe_fma", "pipe_alu", "pipe_xu", "pipe_lsu", "pipe_adu", "pipe_uniform", "sm_cycles_elapsed", "warps_selected",
    "global_load_instructions", "shared_load_instructions", "fp32_add_per_cycle", "fp32_mul_per_cycle",
    "fp32_fma_per_cycle", "pipe_fp64_cycles", "sm_count", "branches",
)  # fmt: skip
UNFUSED_LEAST = 0.1  # of what the FMA pipe does: a tenth is within what the pipe itself varies by (85 to 95 %)
SHUFFLES_LEAST = 0.5  # of what the LSU does: else it is bound by memory instructions
SLOW_BINDS = 0.6
MOST_READY = 50.0  # percent of all warp states
WORK_OF = {
    "adu": "branches, barriers and constants at an index",
    "uniform": "what is the same for all threads of a warp",
}
# Operations that are carried out over those declared: a product and a sum may be counted as one, and a tree over lanes
# has two sums for one of a loop (a work-efficient scan: n - 1 up, n - 1 down).
LOOSELY_COUNTED = 4.0
PASSES_IN_L1 = L1_PARTS[:3]  # what a pass over shared memory takes of L1, all but what L2 brings and gets
OPERATIONS_A_FUNCTION = 2.0 * DOUBLES_A_ROUTINE
PRODUCTS = 0.5  # of all instructions are multiply-adds
OVERHEAD_LEAST = 0.25  # of all instructions: less is what a tiled product has as well (`at-compute-roofline`)
ARE_THE_WORK = 0.75  # of all instructions: a loop of nothing else, as hashes and random numbers are
OWN_PRODUCTS = 0.25  # of all instructions are products of integers: fewer go with the addresses of others
FUNCTIONS_SAVED = 0.5
WIDEST, FLOAT_BYTES = 16.0, 4.0  # bytes of an access of a lane
ADDER = 3.5  # operations of three inputs a count that is spared: seven adders of two make four words of eight
FP64_TO_FMA = 0.5  # where the chip is not known: the best ratio that any has
INTEGERS = (FMA, FMA_HEAVY, ALU)
OUT_OF_LOOPS = "take exact divisions, roots and powers out of the loop: multiply by reciprocals worked out once"
# The compiler's options for single precision (nvcc manual, -prec-div and -prec-sqrt); doubles have no fast functions.
ROUTINES = (
    f"{OUT_OF_LOOPS}, or use the fast functions (`rsqrtf`, `__fdividef`, `__powf`; for all of a file "
    "`-prec-div=false -prec-sqrt=false`) where their precision does"
)
ROUTINES_OF_DOUBLES = f"{OUT_OF_LOOPS}, or divide floats where their precision does"
DIVIDED = "divide by the same number once: multiply by its reciprocal, worked out before the loop, and correct by one"
SPECIAL = "special functions, conversions or counts of bits"
PIPES = {
    "fma": FMA,
    "fma_heavy": FMA_HEAVY,
    "alu": ALU,
    "fp64": FP64,
    "xu": XU,
    "lsu": LSU,
    "adu": ADU,
    "uniform": UNIFORM,
}
ADVICE = {
    "fma": "let products and sums be one instruction",
    "integers": "leave part of the integer work to the ALU pipe, shifts and sums for products, or move it out of loops",
    "fma_heavy": "multiply integers less: shifts and sums for constants, 32 bits for 64, no division in a loop",
    "alu": "work on packed values, or leave part of the integer work to the FMA pipe",
    "fp64": "use floats where their precision does, and write constants with an f",
    "xu": "multiply by reciprocals worked out once, or use a polynomial for part of the functions",
    "bits": "count the bits of several words at once: sums with carries first, then one count",
    "lsu": "add up in each thread before lanes exchange values",
    "adu": "use fewer branches, barriers and constants read at an index: let a thread do several elements",
    "uniform": "work out before a loop what is the same for all threads",
    "issue": "use fewer instructions: let elements share what they have in common",
}
# Whatever a warp does for others to see, but for bulk copies (of a thread for all) and surfaces.
STORES = (
    "global_store_instructions", "shared_store_instructions", "shared_atomics", "global_reductions", "global_atomics",
)  # fmt: skip
STORE_NOTHING_MOST = 0.5  # of all warps
WIDER = ", and access 16 bytes at a time"


def find(facts: Facts) -> Finding | None:
    """Return the saturated pipe that could be left most; None where none is, or it does what the work needs.

    Operations that are superfluous go first: with them goes whatever else their passes do.
    """
    found = [
        one
        for pipe in (_unfused, _integers, _heavy, _fp64, _xu, _shuffles, _others, _mixed)
        if (one := pipe(facts)) is not None
    ]
    return _done_again(facts) or max(found, key=lambda one: one.saved_ns, default=None)


def _done_again(facts: Facts) -> Finding | None:
    """Far more operations on floats than the work needs, on an SM that has no room for them."""
    done, needed = (facts.get("fp32_flops") or 0.0) + (facts.get("fp64_flops") or 0.0), facts.flops
    if not needed or facts.get("tensor_flops") or not any(is_bound_by(facts, pipe) for pipe in (ISSUE, FMA, FP64)):
        return None
    needed_here = needed + OPERATIONS_A_FUNCTION * LANES * xu_instructions(facts)
    if done < LOOSELY_COUNTED * needed_here:
        return None
    spared = 1.0 - needed_here / done
    return Finding(
        rule=ID,
        message=f"{quantity(done, 'flop')} are carried out where the work needs {quantity(needed, 'flop')}, "
        f"{done / needed:.0f} times as many, and instructions fill {percent(while_active(facts, ISSUE))} of the issue "
        "slots while SMs are active",
        saved_ns=facts.duration_ns * instruction_time(facts) * spared * _lanes_at_work(facts),
        evidence=(
            "issue_slots_busy",
            "instructions",
            "fp32_flops",
            *(("fp64_flops",) if facts.get("fp64_flops") else ()),
        ),
        relieves=(*(one.name for one in SM_PARTS), *PASSES_IN_L1),
        waste="instructions",
        detail={"pipe": "issue"},
        assumed=True,
        advice="do each operation once: an algorithm with fewer passes, or results that several share worked out once",
    )


def _unfused(facts: Facts) -> Finding | None:
    """Products and sums of their own, where both could be one instruction.

    A compiler that may fuse them does: where it has, those that are left are no pairs.
    """
    add, mul, fma = (operations(facts, f"fp32_{op}_per_cycle") for op in ("add", "mul", "fma"))
    if fma >= min(add, mul):
        return None
    part = min(add, mul) / (add + mul + fma) if add + mul + fma else 0.0
    share = busy(facts, FMA)
    if max(share, busy(facts, ISSUE)) < BINDS or part < UNFUSED_LEAST:
        return None
    words = f"{100 * part:.0f} % of its work are sums that could be one instruction with a product"
    keys = ("fp32_add_per_cycle", "fp32_mul_per_cycle", "fp32_fma_per_cycle")
    return _finding(facts, "fma", share * part, words, keys, (ISSUE,))


def _integers(facts: Facts) -> Finding | None:
    """Integers and logic on one of the two pipes that can do much of them."""
    alu, fma = busy(facts, ALU), busy(facts, FMA)
    if not is_bound_by(facts, ALU if alu >= fma else FMA):
        return None
    if alu >= fma:
        if _part_on_heavy(facts) >= OWN_PRODUCTS:
            return None
        return _finding(facts, "alu", (alu - fma) / 2 * _lanes_at_work(facts), "integers and logic", ("pipe_fma",))
    if facts.lacks("fp32_fma_per_cycle"):
        return None
    floats = operations(facts, *(f"{kind}_{op}_per_cycle" for kind in ("fp32", "fp16") for op in ("add", "mul", "fma")))
    if floats > _lanes(facts, fma) / 2:
        return None
    return _finding(
        facts, "fma", (fma - alu) / 2 * _lanes_at_work(facts), "mostly integer multiplications",
        ("fp32_fma_per_cycle",), advice=ADVICE["integers"],
    )  # fmt: skip


def _heavy(facts: Facts) -> Finding | None:
    """Products of integers, which one half of the FMA pipe does; divisions consist of them."""
    share = busy(facts, FMA_HEAVY)
    if not OWN_PRODUCTS <= _part_on_heavy(facts) < ARE_THE_WORK or not is_bound_by(facts, FMA_HEAVY):
        return None
    if found := _divided(facts, "fma_heavy"):
        return found
    words = "products of integers, divisions among them, which no other pipe does"
    saved, keys = share * _shared(facts) * _lanes_at_work(facts), ("pipe_fma", "pipe_alu")
    return _finding(facts, "fma_heavy", saved, words, keys, (FMA, ALU, ISSUE))


def _part_on_heavy(facts: Facts) -> float:
    """Return the part of all instructions that is integer work on the heavy half of the FMA pipe, 0 to 1."""
    every = facts.get("instructions")
    return heavy_instructions(facts) / every if every and not facts.lacks("pipe_fma_heavy") else 0.0


def _divided(facts: Facts, pipe: str) -> Finding | None:
    """Return what divisions of integers cost beyond a product with a reciprocal each; None where there are none.

    All of the XU pipe's work is theirs, and a part of the products and of all instructions.
    """
    every, done = facts.get("instructions"), divisions(facts)
    if not every or done is None:
        return None
    count, (instructions, products) = done
    issued, multiplied = (
        min(1.0, count * (now - then) / whole)
        for (now, then), whole in ((instructions, every), (products, heavy_instructions(facts)))
    )
    limits = loads(facts)
    rest = max(limits[ISSUE] * (1.0 - issued), limits[FMA_HEAVY] * (1.0 - multiplied))
    gone = busy(facts, XU) if pipe == "xu" else instruction_time(facts) * min(issued, multiplied)
    saved = max(0.0, min(gone, 1.0 - rest)) * _lanes_at_work(facts)
    words = "integer divisions, {} instructions each where a product with a reciprocal takes {}".format(*instructions)
    return _finding(facts, pipe, saved, words, ("pipe_alu",), (*INTEGERS, XU, ISSUE), DIVIDED)


def _lanes(facts: Facts, share: float) -> float:
    """Return how many instructions of threads keep the FMA pipe so busy."""
    rate = facts.chip.fma if facts.chip else 0
    return share * rate * (facts.get("sm_count") or 0.0) * facts.value("sm_cycles_elapsed")


def _fp64(facts: Facts) -> Finding | None:
    share = busy(facts, FP64)
    if while_active(facts, FP64) < SLOW_BINDS and not _is_crowded(facts, FP64):
        return None
    if _are_routines(facts):
        words = "divisions and roots of doubles, a routine each"
        saved = instruction_time(facts) * _spared(facts)[0] * _lanes_at_work(facts)
        return _finding(
            facts, "fp64", saved, words, ("fp64_flops", "branches"), (ISSUE, *INTEGERS), ROUTINES_OF_DOUBLES
        )
    if needs_doubles(facts):
        return None
    ratio = facts.chip.fp64 / facts.chip.fma if facts.chip else FP64_TO_FMA
    is_declared = facts.dtype is not None or bool(facts.work)
    words = f"in floats it would take {ratio:.2f} of the time, if their precision does"
    if is_declared:
        words += ' (`math = "fp64"` in kernel.toml says that it does not)'
    found = _finding(facts, "fp64", share * (1.0 - ratio), words, ("fp64_flops",))
    return replace(found, assumed=not is_declared)


def _are_routines(facts: Facts) -> bool:
    """Return whether most operations on floats are inside of exact routines."""
    floats, inside = float_needs(facts)
    return inside > floats


def _is_crowded(facts: Facts, pipe: str) -> bool:
    """Return whether a pipe is the busiest unit, and most warps could issue but for room in a pipe or their turn.

    Warps that are ready do not wait for a latency, so that the pipe they are ready for sets the pace.
    """
    ready = sum(facts.stall(reason) for reason in dict.fromkeys((*QUEUES[ISSUE], *QUEUES[pipe])))
    busiest = busiest_unit(facts)
    return busiest is not None and busiest.name == pipe and ready >= MOST_READY


def _xu(facts: Facts) -> Finding | None:
    share = busy(facts, XU)
    if while_active(facts, XU) < SLOW_BINDS:
        return None
    functions = share * (facts.chip.xu if facts.chip else LANES / 2) * (facts.get("sm_count") or 0.0)
    floats = sum(facts.get(f"fp32_{op}_per_cycle") or 0.0 for op in ("add", "mul", "fma"))
    doubles = sum(facts.get(f"fp64_{op}_per_cycle") or 0.0 for op in ("add", "mul", "fma"))
    # an operation of doubles between floats: two operands there, the result back
    if doubles >= functions / 3 and not needs_doubles(facts):
        words, every = "conversions between floats and doubles", facts.get("instructions")
        kept = 1.0 - min(1.0, xu_instructions(facts) / every) if every else 0.0  # operations stay, on floats
        saved = min(share, 1.0 - kept * min(1.0, loads(facts)[ISSUE]))
        return _finding(facts, "xu", saved, words, ("pipe_fp64",), (FP64, ISSUE), ADVICE["fp64"])
    # a division in integers: to float, the reciprocal, and back, then products of integers
    if max(floats, doubles) >= functions / 3:
        return _finding(facts, "xu", share * FUNCTIONS_SAVED, SPECIAL, ("fp32_mul_per_cycle",))
    if _counts_bits(facts, functions):
        return _bits(facts, share)
    if found := _divided(facts, "xu"):
        return found
    words = "conversions and reciprocals of integer division"
    return _finding(facts, "xu", share, words, ("fp32_mul_per_cycle",))


def _bits(facts: Facts, share: float) -> Finding:
    """Counts of bits, half of which go where words are added with carries first, on the ALU pipe."""
    spared = share * FUNCTIONS_SAVED
    counts = spared * (facts.chip.xu if facts.chip else LANES / 2)  # lanes a cycle
    adders = (ADDER - 1.0) * counts / ((facts.chip and facts.chip.integer) or 2 * LANES)  # less a sum a count
    saved = min(spared, 1.0 - min(1.0, loads(facts)[ALU] + adders / reachable(facts, ALU)))
    return _finding(facts, "xu", saved, SPECIAL, ("pipe_alu",), advice=ADVICE["bits"])


def _counts_bits(facts: Facts, functions: float) -> bool:
    """Return whether there are too few products of integers for divisions, which have four for three conversions.

    No where they were not counted.
    """
    cycles = facts.get("sm_cycles_elapsed")
    if not cycles or facts.lacks("pipe_fma_heavy"):
        return False
    return heavy_instructions(facts) * LANES / cycles < functions / 2


def _shuffles(facts: Facts) -> Finding | None:
    """Shuffles, or whatever else the LSU does that is neither load, store nor atomic."""
    share, count = busy(facts, LSU), facts.get("sm_count")
    if facts.lacks("global_load_instructions", "shared_load_instructions"):
        return None
    done = done_by_lsu(facts)
    loads = memory_instructions(facts)
    if share < BINDS or not count or shuffles(facts) < SHUFFLES_LEAST * done:
        return None
    part = 1.0 - loads / done
    issue = busy(facts, ISSUE) * max(0.0, 1.0 - part * done / (facts.get("instructions") or done))
    words = f"{100 * part:.0f} % of its instructions are shuffles"
    return _finding(facts, "lsu", max(0.0, share * part - issue), words, ("shared_load_instructions",),
                    (ISSUE, *L1_PARTS))  # fmt: skip


def _others(facts: Facts) -> Finding | None:
    """Branches, barriers, constants at an index, or what is worked out once a warp."""
    name, pipe = max((("adu", ADU), ("uniform", UNIFORM)), key=lambda two: busy(facts, two[1]))
    are_barriers = pipe == ADU and next(iter(facts.combined.stalls), "") == "barrier"  # `barrier-stall` says that
    if are_barriers or not is_bound_by(facts, pipe):
        return None
    share, spared = busy(facts, pipe), _shared(facts) * _lanes_at_work(facts)
    # the issue slots lose those instructions and no others
    issued = max(0.0, loads(facts)[ISSUE] - spared * share * ADU_A_CYCLE / SCHEDULERS)
    saved = min(share * spared, 1.0 - issued)
    advice = _fewer_threads(facts) + ADVICE[name]
    return _finding(facts, name, saved, WORK_OF[name], ("issue_slots_busy",), (ISSUE,), advice)


BUSIEST = (("pipe_fma", "pipe_fma_cycles"), ("pipe_alu", "pipe_alu_cycles"))  # each by two counters
MIXED_PIPES = ("pipe_fma", "pipe_alu", "pipe_xu", "pipe_lsu")


def _mixed(facts: Facts) -> Finding | None:
    """Instructions of several kinds, which fill the issue slots and no pipe."""
    if any(facts.lacks(executed) and facts.lacks(cycles) for executed, cycles in BUSIEST):  # it may be full
        return None
    share, limits = busy(facts, ISSUE), loads(facts)
    pipe = max((one.name for one in SM_PARTS if one.name != ISSUE), key=lambda name: busy(facts, name))
    if not is_bound_by(facts, ISSUE) or limits[ISSUE] < max(limits.values()):
        return None
    if while_active(facts, pipe) >= SLOW_BINDS and not _is_shared_by_pipes(facts, pipe):
        return None
    (spared, is_known), active = _spared(facts), facts.value("sm_active_share") / 100.0 or 1.0
    if spared < OVERHEAD_LEAST:
        return None
    return Finding(
        rule=ID,
        message=f"instructions fill {100 * share / active:.0f} % of the issue slots while SMs are active, and no "
        f"pipe is full: the {pipe} is busiest, {100 * busy(facts, pipe) / active:.0f} %",
        saved_ns=facts.duration_ns * instruction_time(facts) * spared * _lanes_at_work(facts),
        evidence=("issue_slots_busy", "instructions", *(one for one in MIXED_PIPES if facts.get(one))),
        relieves=(ISSUE, *INTEGERS, FP64) if _are_routines(facts) else (ISSUE, *INTEGERS),
        waste="instructions",
        detail={"pipe": "issue"},
        assumed=not is_known,
        advice=ROUTINES
        if _are_routines(facts)
        else _fewer_threads(facts) + ADVICE["issue"] + (WIDER if _can_be_wider(facts) else ""),
    )


def _fewer_threads(facts: Facts) -> str:
    """Return the advice to launch fewer threads, with a link to more, where most warps store nothing; else nothing.

    They start, test their bounds and end, or they search: only who wrote the kernel knows. Nothing is said where no
    warp stores, as its results then leave it by a way that is not counted here.
    """
    warps, stores = (facts.get("threads") or 0.0) / LANES, sum(facts.get(key) or 0.0 for key in STORES)
    if facts.lacks(*STORES) or not warps or not stores or facts.get("tma_loads") or facts.get("tma_stores"):
        return ""
    idle = 1.0 - stores / warps
    if idle <= STORE_NOTHING_MOST:
        return ""
    return f"{percent(idle)} of the warps store nothing: if they have no work, launch fewer threads; else "


def _can_be_wider(facts: Facts) -> bool:
    """Return whether loads and stores are enough of all instructions that fewer would be noticed, and not as wide as
    they can be.
    """
    every = facts.get("instructions")
    has_accesses = every is None or memory_instructions(facts) >= LEAST_WORTH * every
    return has_accesses and not (is_widest("load", facts) or is_widest("store", facts))


def _shared(facts: Facts) -> float:
    """Return the part of what elements have in common that goes where a thread takes as many as its widest access.

    By the bytes of a lane that a global access of now has, floats where that is not known; half of it where accesses
    are as wide as they can be: then a thread may still take twice as many.
    """
    widths = [facts.get(f"sectors_per_request_{verb}_ideal") for verb in ("load", "store")]  # 32 bytes of 32 lanes
    now = max((width for width in widths if width), default=FLOAT_BYTES)
    return max(UNKNOWN_PART, 1.0 - now / WIDEST)


def _lanes_at_work(facts: Facts) -> float:
    """Return the part of lanes that work, 0 to 1: what the idle ones cost is `warp-divergence`."""
    return (facts.get("threads_per_instruction") or LANES) / LANES


def _spared(facts: Facts) -> tuple[float, bool]:
    """Return the part of all instructions that can be spared (addresses, loops, moves), and whether that is known.

    Operations on floats, products of integers and accesses are needed; of an exact routine its function and a product.
    Where the work is of another kind, or was not counted, nobody can tell it from a loop's: half.
    """
    every, (floats, inside) = facts.get("instructions") or 0.0, float_needs(facts)
    if not floats + inside or not every:
        return UNKNOWN_PART, False
    functions = exact_routines(facts) + xu_instructions(facts)
    needed = floats + functions + heavy_instructions(facts) + memory_instructions(facts)
    return max(0.0, 1.0 - needed / every), True


def _is_shared_by_pipes(facts: Facts, pipe: str) -> bool:
    """Return whether instructions queue for their turn, and not for a busy pipe or because it does needed products."""
    first = next(iter(facts.combined.stalls), "")
    done = operations(facts, "fp32_fma_per_cycle", "fp16_fma_per_cycle", "fp64_fma_per_cycle")
    are_products = pipe == FMA and done >= PRODUCTS * LANES * (facts.get("instructions") or 0.0)
    return while_active(facts, pipe) < BINDS and not are_products and (not first or first in QUEUES[ISSUE])


def _finding(
    facts: Facts,
    pipe: str,
    saved: float,
    words: str,
    keys: tuple[str, ...],
    relieves: tuple[str, ...] = (),
    advice: str = "",
) -> Finding:
    active = facts.value("sm_active_share") / 100.0 or 1.0
    share = 100 * busy(facts, PIPES[pipe]) / active
    return Finding(
        rule=ID,
        message=f"keeps the {PIPES[pipe]} {share:.0f} % busy while SMs are active: {words}",
        saved_ns=facts.duration_ns * saved,
        evidence=(f"pipe_{pipe}", *keys),
        relieves=(PIPES[pipe], *((FMA_HEAVY,) if pipe == "fma" else ()), *relieves),
        detail={"pipe": pipe},
        advice=advice or ADVICE[pipe],
    )
