"""The kernel does matrix work on halves or bytes without tensor cores.

What the hardware does: a tensor core multiplies small matrices in one instruction. On an H200 that gives 16 times as
many multiply-adds a cycle as floats on the FMA pipe, and 8 times as many as HFMA2.

Why it costs time: the FMA pipe, the issue slots and shared memory need many instructions for what one would do.

What to try: a library product (cuBLAS, CUTLASS); `nvcuda::wmma` or `mma.sync` in your own kernels, `wgmma` on 9.0;
tiles whose sides are multiples of 16. Sums may stay floats.

When it is reported: multiply-adds are an eighth of all instructions or more. A loop in which each multiply-add loads
and converts two operands of its own, with three more instructions, has that many. There is an operand load, from shared
or global memory, for at least every 32 multiply-adds; a polynomial has none. And there are 64 operations for each byte,
both of DRAM traffic and of what the workload needs; work that uses each value once has fewer.

The multiply-adds are on halves, or on floats that were halves. The workload's dtype says so: a bfloat16 becomes a float
by a shift, which no counter tells from other shifts. Conversions also say so (one in 500: a tile of 256 converts one
value for 128 multiply-adds). Without counts of operations on halves only the dtype can tell. Products of floats are not
reported, because tensor cores would round them. For a library's product of floats "What would pay" names TF32 if its
units were busy for longer than TF32 takes.

For integers, half of all instructions must be products that only one half of the FMA pipe does, `dp4a` among them. The
same loads must feed them, and the ALU pipe must hardly work: hashes have shifts and logic next to each product. That
the integers are bytes is *assumed*.

How the saving is estimated: the time after the fix is that of a product at the rate a cycle of a library's product on
this GPU model, else at 70 % of the tensor cores' peak. It is no less than the time to get operands out of shared memory
if a warp has 16 x 16 results, the tile of `nvcuda::wmma`: two pieces of 512 bytes for 4096 products of halves, half as
much for bytes. That is the first limit of such kernels (`attention_values_in_floats_fix` of the fault gallery keeps
L1's data pipe 81 % busy and its tensor cores 42 %). More results a warp, or `wgmma` on 9.0, go further. The limits of
L2 and DRAM stay.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES, WAVEFRONT_BYTES
from ncu_assist.ceilings.floor import OF_HALVES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import (
    ADU,
    ALU,
    FMA,
    FMA_HEAVY,
    ISSUE,
    L1_PARTS,
    LSU,
    TENSOR,
    UNIFORM,
    busy,
    heavy_instructions,
    operations,
    tensor_ns,
    tensor_operations,
)
from ncu_assist.rules.model.resources import L1_DATA
from ncu_assist.rules.model.savings import reachable
from ncu_assist.rules.model.traffic import cycles_a_wavefront

ID = "no-tensor-core"
NEEDS: tuple[str, ...] = (
    "fp32_fma_per_cycle",
    "sm_cycles_elapsed",
    "instructions",
    "shared_load_instructions",
    "global_load_instructions",
    "dram_bytes",
)
USES: tuple[str, ...] = ("fp16_fma_per_cycle", "fp16_add_per_cycle", "pipe_fma_heavy")
OF_ALL = 1 / 8
CONVERTED = 1 / 500
FMA_A_LOAD = 32
FLOPS_A_BYTE = 64.0
HALVES = ("bfloat16", "float16")
HALF = 0.5  # of all instructions
OPERATIONS_OF_DP4A = 8  # of a lane: four products and sums of bytes
# All that a loop of products keeps busy: one instruction takes the place of hundreds, their loops and addresses.
OF_A_PRODUCT = (FMA, FMA_HEAVY, ALU, ADU, UNIFORM, ISSUE, LSU, TENSOR)
# Of 16 x 16 x 16 products, with operands that shared memory hands out once for each: 16 x 16 halves of either side.
TILE_PRODUCTS, TILE_BYTES = 16**3, 2 * 16 * 16 * 2
SPEED_UP = 8.0  # where the chip's rate is not known: HFMA2 against tensor cores on 8.0 and 9.0, the lesser ratio


def find(facts: Facts) -> Finding | None:
    """Return what tensor cores would save; None where they work already, or the work is no product of halves."""
    return _halves(facts) or _bytes(facts)


def _bytes(facts: Facts) -> Finding | None:
    """Return what tensor cores would save of a product of bytes: multiply-adds of integers, and hardly anything else.

    Whatever mixes or hashes integers has shifts and logic beside its products, which the ALU pipe does.
    """
    done, every = LANES * heavy_instructions(facts), facts.value("instructions")
    flops = OPERATIONS_OF_DP4A * done
    if done < HALF * LANES * every or busy(facts, ALU) >= busy(facts, FMA_HEAVY) / 8 or tensor_operations(facts) > 0:
        return None
    if not _is_product(facts, done, flops):
        return None
    after = _after_ns(facts, flops / OF_HALVES["int8"])
    return Finding(
        rule=ID,
        message="multiplies matrices of integers without tensor cores, which multiply bytes",
        saved_ns=facts.duration_ns * (1.0 - 1.0 / SPEED_UP) if after is None else max(0.0, facts.duration_ns - after),
        evidence=("pipe_fma_heavy", "pipe_tensor_cycles", "shared_load_instructions"),
        relieves=(*OF_A_PRODUCT, *L1_PARTS),
        assumed=True,
        advice="multiply bytes on tensor cores: mma.sync or wgmma with s8 operands, or a library's product",
    )


def _halves(facts: Facts) -> Finding | None:
    halves = operations(facts, "fp16_fma_per_cycle")
    floats = operations(facts, "fp32_fma_per_cycle")
    packed = halves >= floats
    done = halves if packed else floats
    flops = (4 if packed else 2) * done
    if not _is_product(facts, done, flops) or tensor_operations(facts) > flops:
        return None
    if not packed and not _were_halves(facts, done):
        return None
    after = _after_ns(facts, flops)
    with_tensor = facts.duration_ns / SPEED_UP if after is None else after
    words = "HFMA2" if packed else "FMA on floats that were converted"
    return Finding(
        rule=ID,
        message=f"multiplies matrices of halves with {words}, not on tensor cores",
        saved_ns=max(0.0, facts.duration_ns - with_tensor),
        evidence=("fp16_fma_per_cycle" if packed else "fp32_fma_per_cycle", "pipe_tensor_cycles", "pipe_fma"),
        relieves=(*OF_A_PRODUCT, *L1_PARTS),
        assumed=after is None,
        advice="multiply on tensor cores: mma.sync or wgmma, or a library's product",
    )


def _after_ns(facts: Facts, operations: float) -> float | None:
    """Return how long tensor cores and what feeds them take for operations on halves; None where nobody can tell."""
    alone = tensor_ns(facts, operations)
    count, cycles = facts.get("sm_count"), facts.get("sm_cycles_elapsed")
    if alone is None or not count or not cycles:
        return alone
    busy = operations / 2 / TILE_PRODUCTS * TILE_BYTES / WAVEFRONT_BYTES * cycles_a_wavefront(facts)
    return max(alone, facts.duration_ns * busy / (count * cycles) / reachable(facts, L1_DATA))


def _were_halves(facts: Facts, done: float) -> bool:
    """Return whether the floats that are multiplied were halves in memory."""
    return facts.dtype in HALVES or operations(facts, "fp16_add_per_cycle") >= CONVERTED * done


def _is_product(facts: Facts, done: float, flops: float) -> bool:
    """Return whether multiply-adds are much of the work, on operands that are loaded often and used often."""
    loads = LANES * (facts.value("shared_load_instructions") + facts.value("global_load_instructions"))
    many = done >= OF_ALL * LANES * facts.value("instructions") > 0
    needed = max(facts.value("dram_bytes"), facts.algorithmic_bytes or 0)  # what lies in L2 has few bytes of DRAM
    return many and loads * FMA_A_LOAD >= done and flops >= FLOPS_A_BYTE * needed
