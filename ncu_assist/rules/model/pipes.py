"""What rules on compute share: how busy a pipe was, what a loop of nothing else reaches, what tensor cores can do."""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES, SCHEDULERS, SECTOR_BYTES
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import SM_PARTS

# A loop of nothing but FMA shows 85 to 95 % of the pipe (docs/sources.md): the lower end where this
# GPU was not measured. Done is what reaches 0.95 of it.
LOOP_REACHES = 0.85
DONE = 0.95
# Nsight Compute calls a pipe a bottleneck from 80 % on (its rule HighPipeUtilization); of all time, of which no pipe
# gets more than savings.REACHABLE, 0.9.
BINDS = 0.72
# Of the time in which SMs are active: from here on Nsight Compute says that a pipe "might become a bottleneck" (its
# rule HighPipeUtilization). It is one where warps wait for just that pipe more than for anything else.
MIGHT_BIND = 0.60
MOST_OF_ALL = 0.5  # of all operations
# A bf16 product of 8192^3 in a library where the GPU was not measured: 705 of 989 TFLOP/s on an H200, at the clock
# that its power allows (docs/sources.md). Measured ones hold it by the cycle, 3,734 of 4,096 operations: 0.91.
PRODUCT_REACHES = 0.7
HALF_RATE = 0.5  # instructions a cycle and scheduler, of either half of the FMA pipe
HALF_IDLE = 0.5  # of the time: a product that is fed has its tensor cores busy for most of it
ASKED_AGAIN = 2.0  # what SMs read from L2 over what came from DRAM: each byte is used twice on average
CAME_UNASKED = 1.25  # the other way round: a stream of whole lines brings what is asked for
TENSOR_HALVES = ("tensor_ops_fp16", "tensor_ops_bf16")
TENSOR_OTHERS = ("tensor_ops_tf32", "tensor_ops_fp64", "tensor_ops_fp8", "tensor_ops_int8")
# What multiplies matrices best: mma.sync, but wgmma on 9.0. What 10.0 has (tcgen05) no counter of ours tells.
WGMMA = "9.0"
MMA_IS_BEST = ("7.5", "8.0", "8.6", "8.9", "12.0")
ISSUE, FMA, ALU, FP64, XU = "instruction issue", "FMA pipe", "ALU pipe", "FP64 pipe", "XU pipe"
LSU, TENSOR, ADU, UNIFORM = "LSU pipe", "tensor cores", "ADU pipe", "uniform pipe"
# Instructions of the ADU pipe: two FMAs a read of a constant keep it 98 % busy at 0.46 reads a cycle.
ADU_A_CYCLE = 0.5
LEAST_LSU_A_CYCLE = 0.5  # instructions of a warp: the fewest that any chip has
FMA_HEAVY = "FMA heavy pipe"  # the half of the FMA pipe that also multiplies integers, bytes among them
# By pipe: the stall reasons that are about room in it, or a turn in the queue that leads there (Nsight Compute, Kernel
# Profiling Guide, "Warp Stall Reasons"). FP64 of chips with few of its units is asked through the queue of textures.
QUEUES: dict[str, tuple[str, ...]] = {
    ISSUE: ("not_selected", "dispatch_stall"),
    FMA: ("math_pipe_throttle",),
    FMA_HEAVY: ("math_pipe_throttle",),
    ALU: ("math_pipe_throttle",),
    FP64: ("math_pipe_throttle", "tex_throttle"),
    XU: ("mio_throttle", "math_pipe_throttle"),
    ADU: ("mio_throttle",),
    LSU: ("lg_throttle", "mio_throttle"),
}
# States of a warp that end with fewer instructions: it issues, competes for a slot or a pipe, waits for its own result.
OF_INSTRUCTIONS = ("not_selected", "math_pipe_throttle", "dispatch_stall", "wait", "branch_resolving", "no_instruction")
ACCESSES = (
    "global_load_instructions", "global_store_instructions", "shared_load_instructions", "shared_store_instructions",
    "local_load_instructions", "local_store_instructions", "shared_atomics", "global_reductions", "global_atomics",
)  # fmt: skip
HALF_SUMS, HALF_PRODUCTS = ("fp16_add_per_cycle",), ("fp16_mul_per_cycle", "fp16_fma_per_cycle")
# Products and sums of an exact division, root or reciprocal, as nvcc 13 makes them for 9.0: 6, 5 and 3 of floats
# (`bodies_exact_root` of the fault gallery), 8 of doubles (`doubles_divided_each_step`).
FLOATS_A_ROUTINE, DOUBLES_A_ROUTINE = 5, 8
DOUBLE, OF_DOUBLES, DOUBLE_BYTES = "float64", "fp64", 8  # dtype and `math` of kernel.toml
FLOATS = tuple(f"fp{bits}_{op}_per_cycle" for bits in (16, 32, 64) for op in ("add", "mul", "fma"))
L1_PARTS = ("L1 data pipe", "L1 input", "L1 writeback", "L1 output", "L1 fill")
L2_PARTS = ("L2 input", "L2 tags", "L2 data", "L2 lookups", "L2 output")


def busy(facts: Facts, name: str) -> float:
    """Return how busy a part of the SM was from start to end, 0 to 1; where two counters tell, the larger."""
    return max(facts.busy(one) for one in SM_PARTS if one.name == name)


def while_active(facts: Facts, name: str) -> float:
    """Return how busy a part of the SM was while its multiprocessor had a warp, 0 to 1; of all time if unknown."""
    return busy(facts, name) * 100.0 / (facts.get("sm_active_share") or 100.0)


def is_bound_by(facts: Facts, name: str) -> bool:
    """Return whether a pipe, or the issue slots, bind: at BINDS, or from MIGHT_BIND on if warps wait for it most."""
    first = next(iter(facts.combined.stalls), "")
    return busy(facts, name) >= BINDS or (while_active(facts, name) >= MIGHT_BIND and first in QUEUES.get(name, ()))


def is_matrix_work(facts: Facts) -> bool:
    """Return whether most of the work is done by tensor cores: by operations, else by how busy they and FMA were.

    A cycle of the tensor cores is worth eight of the FMA pipe at least, so where they are busy as long they do most.
    """
    done = tensor_operations(facts, (*TENSOR_HALVES, *TENSOR_OTHERS))
    others = (facts.get("fp32_flops") or 0.0) + (facts.get("fp16_flops") or 0.0)
    if any(facts.get(key) is not None for key in (*TENSOR_HALVES, *TENSOR_OTHERS)):
        return done > 0.0 and done >= MOST_OF_ALL * (done + others)
    return 0.0 < busy(facts, TENSOR) >= busy(facts, FMA)


def fma_ceiling(facts: Facts) -> tuple[float, bool]:
    """Return how busy an FMA pipe that is done must be, 0 to 1, and whether that is assumed, not measured."""
    rate = facts.ceilings.rate("pipe", "fma", "ncu") if facts.ceilings else None
    measured = rate.pct_of_peak if rate else None
    return (DONE * LOOP_REACHES, True) if measured is None else (DONE * measured / 100.0, False)


def is_best_instruction(facts: Facts) -> bool | None:
    """Return whether the tensor cores are given this chip's best instruction; None where nobody can tell."""
    chip = facts.device.compute_capability if facts.device else ""
    if chip != WGMMA:
        return True if chip in MMA_IS_BEST else None
    newer = facts.get("pipe_tensor_gmma")
    return None if newer is None else newer > 0


def operations(facts: Facts, *keys: str) -> float:
    """Return how many instructions of threads there were of kinds that are counted a cycle."""
    return sum(facts.get(key) or 0.0 for key in keys) * facts.value("sm_cycles_elapsed")


def float_instructions(facts: Facts) -> float:
    """Return how many instructions of warps were operations on floats of any width."""
    return operations(facts, *FLOATS) / LANES


def memory_instructions(facts: Facts) -> float:
    """Return how many instructions of warps were loads, stores and atomics."""
    return sum(facts.get(key) or 0.0 for key in ACCESSES)


def shuffles(facts: Facts) -> float:
    """Return how many instructions of warps were shuffles, or whatever else the LSU does beside accesses; at least.

    One whose lanes are all switched off by a predicate passes it as well, and is counted as no access: a tree whose
    upper half has nothing to do.
    """
    on, taking_part = facts.get("threads_per_instruction_predicated"), facts.get("threads_per_instruction")
    off = max(0.0, taking_part - on) / LANES * facts.value("instructions") if on and taking_part else 0.0
    return max(0.0, done_by_lsu(facts) - memory_instructions(facts) - off)


def done_by_lsu(facts: Facts) -> float:
    """Return how many instructions of warps the LSU pipe did; on a chip that is not known at least so many."""
    a_cycle = lsu_a_cycle(facts) or LEAST_LSU_A_CYCLE
    share = facts.value("pipe_lsu") * (facts.get("sm_active_share") or 100.0) / 1e4
    return share * a_cycle * facts.value("sm_cycles_elapsed") * facts.value("sm_count")


def lsu_a_cycle(facts: Facts) -> float | None:
    """Return the instructions of a warp that the LSU pipe takes in a cycle; None on a chip that is not known.

    Chips of games and workstations have half as many load/store units a multiprocessor as those of data centres.
    """
    rate = facts.ceilings.rate("pipe", "lsu", "ncu") if facts.ceilings else None
    if rate is not None and rate.per_cycle_per_sm and rate.pct_of_peak:
        return rate.per_cycle_per_sm / (rate.pct_of_peak / 100.0)
    return facts.chip.lsu / LANES if facts.chip and facts.chip.lsu else None


def swaps(facts: Facts) -> float:
    """Return the instructions of compare-and-swap on shared memory, which floats are added by there; 0 without such.

    Each has a load of the old value before it, while other atomics have none: between half and twice as many.
    """
    atomics, loads = facts.get("shared_atomics") or 0.0, facts.get("shared_load_instructions") or 0.0
    return atomics if atomics / 2 <= loads <= 2 * atomics else 0.0


def instruction_time(facts: Facts) -> float:
    """Return the part of the time that goes with the number of instructions, 0 to 1.

    An instruction that is spared takes its turn with it, and the wait for its result.
    """
    stalls = facts.combined.stalls
    issuing = 100.0 - sum(stalls.values()) if stalls else 0.0  # is no stall: what they leave of 100 %
    states = (issuing + sum(facts.stall(reason) for reason in OF_INSTRUCTIONS)) / 100.0
    return max(busy(facts, ISSUE), states * (facts.get("sm_active_share") or 100.0) / 100.0)


def xu_instructions(facts: Facts) -> float:
    """Return how many instructions of warps were special functions, conversions or counts of bits."""
    lanes = facts.chip.xu if facts.chip else LANES / 2  # a cycle
    return busy(facts, XU) * lanes / LANES * facts.value("sm_cycles_elapsed") * (facts.get("sm_count") or 0.0)


def exact_routines(facts: Facts) -> float:
    """Return how many divisions, roots and powers to the last bit warps carried out; 0 where that is not known.

    Each starts from a special function, corrects it by products and sums, and branches around the way that rare
    operands take: a branch and the point where lanes meet again. What is not to the last bit has no such branch.
    """
    return min(xu_instructions(facts), (facts.get("branches") or 0.0) / 2.0)


def float_needs(facts: Facts) -> tuple[float, float]:
    """Return how many instructions of warps on floats the work needs, and how many are inside of exact routines.

    Halves that are made floats need no sum of their own: Hopper converts them by one (HADD2.F32).
    """
    singles, doubles = (operations(facts, *_of_width(bits)) / LANES for bits in (32, 64))
    sums, others = (operations(facts, *keys) / LANES for keys in (HALF_SUMS, HALF_PRODUCTS))
    routines = exact_routines(facts)
    inside = min(doubles, DOUBLES_A_ROUTINE * routines) if doubles else min(singles, FLOATS_A_ROUTINE * routines)
    halves = others if singles > sums > others else sums + others
    return singles + doubles + halves - inside, inside


def _of_width(bits: int) -> tuple[str, ...]:
    return tuple(f"fp{bits}_{op}_per_cycle" for op in ("add", "mul", "fma"))


def heavy_instructions(facts: Facts) -> float:
    """Return how many instructions of warps only the heavy half of the FMA pipe could do; 0 where that is not known.

    Floats go to both halves alike, so they are what it did beyond the other half. It takes half an instruction a cycle.
    """
    both, heavy = busy(facts, FMA), busy(facts, FMA_HEAVY)
    cycles = facts.value("sm_cycles_elapsed") * (facts.get("sm_count") or 0.0)
    return max(0.0, 2.0 * (heavy - both)) * SCHEDULERS * HALF_RATE * cycles


def needs_doubles(facts: Facts) -> bool:
    """Return whether the work needs doubles: by the data or by kernel.toml, so that they are no choice of the kernel.

    By `math` and the dtype where these are known: no counter tells sums that would lose too much in floats from those
    that would not. Else what is loaded are doubles, 8 bytes a lane and more that nobody converts: two floats beside
    each other would be converted one by one, on the XU pipe, before they are operands of doubles.
    """
    if facts.dtype is not None or facts.work:
        return facts.dtype == DOUBLE or OF_DOUBLES in facts.work
    width = facts.get("sectors_per_request_load_ideal") or 0.0  # of 32 bytes, for 32 lanes: bytes a lane
    converted = xu_instructions(facts)
    return width >= DOUBLE_BYTES and converted < width / (DOUBLE_BYTES / 2) * facts.value("global_load_requests")


# Divisions of integers by numbers known at run time, as nvcc 13 makes them for 9.0: what of each goes and stays where a
# product with a reciprocal that was worked out once and one correction stand in their place, in instructions, and in
# instructions of the heavy pipe, of which the upper half of a product takes two.
Division = tuple[tuple[int, int], tuple[int, int]]


DIVISION_32: Division = ((17, 7), (6, 3))
DIVISION_64: Division = ((75, 20), (44, 14))


def divisions(facts: Facts) -> tuple[float, Division] | None:
    """Return how many divisions of integers warps did, and which; None where special functions are of something else.

    Each has three of those: to float, the reciprocal, and back. Of 64 bits it is a subroutine with 44 products.
    """
    count, products = xu_instructions(facts) / 3.0, heavy_instructions(facts)
    if not count or sum(float_needs(facts)) > xu_instructions(facts) or products < DIVISION_32[1][0] * count:
        return None
    return count, DIVISION_64 if products >= DIVISION_64[1][0] * count else DIVISION_32


def lsu_instructions(facts: Facts) -> float | None:
    """Return how many instructions of warps the LSU pipe did; None on a chip that is not known."""
    return None if lsu_a_cycle(facts) is None else done_by_lsu(facts)


def tensor_operations(facts: Facts, types: tuple[str, ...] = TENSOR_HALVES) -> float:
    """Return the operations of the tensor cores, on halves unless said; a multiply-add is two."""
    return sum(facts.get(key) or 0.0 for key in types)


def reads_tiles_again(facts: Facts) -> bool:
    """Return whether a product on tensor cores that are mostly idle seems to fetch its tiles from DRAM several times.

    Either SMs ask L2 for much more than comes from DRAM: data are used by several of them, and what did not fit in L2
    between two uses came again. Or DRAM brings more than SMs ask for: lines leave L2 before all of them was used. False
    where the bytes that the work needs are known: they say it better (`redundant-traffic`). Weights that stream once
    through a product of few rows are asked for once, and come once. Where neither was counted a product whose tensor
    cores are mostly idle is not taken for done.
    """
    if facts.algorithmic_bytes is not None or not is_matrix_work(facts) or busy(facts, TENSOR) >= HALF_IDLE:
        return False
    if facts.lacks("l2_sectors_read", "dram_bytes_read"):
        return True
    asked, came = SECTOR_BYTES * facts.value("l2_sectors_read"), facts.value("dram_bytes_read")
    return asked >= ASKED_AGAIN * came > 0.0 or came >= CAME_UNASKED * asked > 0.0


def tensor_ns(facts: Facts, operations: float) -> float | None:
    """Return how long the tensor cores take at the rate of a good product; None where their rate is not known."""
    chip, clock, count = facts.chip, facts.get("sm_clock"), facts.get("sm_count")
    if chip is None or chip.tensor_fp16 is None or not clock or not count:
        return None
    return 1e9 * operations / (_product_rate(facts, 2.0 * chip.tensor_fp16) * count * clock)


def has_library_rate(facts: Facts) -> bool:
    """Return whether a library's product was measured on such a GPU: else the rate of a good one is assumed."""
    return _library_rate(facts) is not None


def _product_rate(facts: Facts, peak: float) -> float:
    """Return the operations a cycle and SM of a good product: of the library's where that was measured."""
    return _library_rate(facts) or PRODUCT_REACHES * peak


def _library_rate(facts: Facts) -> float | None:
    rate = facts.ceilings.rate("tensor", "matmul_bf16", "events") if facts.ceilings else None
    return rate.per_cycle_per_sm if rate else None
