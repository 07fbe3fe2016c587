"""Does matrix work on halves or bytes without tensor cores.

Hardware: a tensor core multiplies small matrices in one instruction. On an H200 that is 16 times as many sums of
products a cycle as on floats in the FMA pipe, and 8 times as many as with HFMA2.

Cost: the FMA pipe, the issue slots and shared memory do in many instructions what one would.

What to try: a library product (cuBLAS, CUTLASS); `nvcuda::wmma` or `mma.sync` in kernels of one's own, `wgmma` on 9.0;
tiles whose sides are multiples of 16. Sums may stay floats.

Thresholds: multiply-adds are an eighth of all instructions, as where each loads and converts two operands of its own in
a loop that takes three more, on halves, or on floats that were halves: the workload's dtype says so, as a bfloat16
becomes a float by a shift, which no counter tells from others, or there are conversions (one in 500: a tile of 256
converts one value for 128 sums); an operand load for 32 of them at least, from shared memory or global memory, which no
polynomial has; and 64 operations a byte, of DRAM and of what the workload needs, which nothing has that uses each value
once. Products of floats are no finding: tensor cores would round them. Of a library's product of floats "What would
pay" names TF32, where the time in which its units were busy is longer than that takes. The time after is that of a
product at the rate a cycle that a library's reached on such a GPU, else at 70 % of the tensor cores' peak; but no less
than it takes to get operands out of shared memory, where a warp has 16 x 16 results, the tile of `nvcuda::wmma`: two
pieces of 512 bytes for 4096 products of halves, half as much for bytes. That is what binds such kernels first
(`attention_values_in_floats_fix` of the fault gallery has L1's data pipe 81 % busy, its tensor cores 42 %); more
results a warp, or `wgmma` on 9.0, go on from there. Bounds of L2 and DRAM stay.
Of integers half of all instructions must be products that only
one half of the FMA pipe does, `dp4a` among them, the same loads must feed them, and the ALU pipe hardly work: what
hashes has shifts and logic beside each product. That they are bytes is *assumed*.
Without counts of operations on halves only the workload's dtype can tell that floats were halves.
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
        message="multiplies matrices of integers, not on tensor cores, which do it with bytes",
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
    wavefronts = operations / 2 / TILE_PRODUCTS * TILE_BYTES / WAVEFRONT_BYTES
    return max(alone, facts.duration_ns * wavefronts / (count * cycles) / reachable(facts, L1_DATA))


def _were_halves(facts: Facts, done: float) -> bool:
    """Return whether the floats that are multiplied were halves in memory."""
    return facts.dtype in HALVES or operations(facts, "fp16_add_per_cycle") >= CONVERTED * done


def _is_product(facts: Facts, done: float, flops: float) -> bool:
    """Return whether multiply-adds are much of the work, on operands that are loaded often and used often."""
    loads = LANES * (facts.value("shared_load_instructions") + facts.value("global_load_instructions"))
    many = done >= OF_ALL * LANES * facts.value("instructions") > 0
    needed = max(facts.value("dram_bytes"), facts.algorithmic_bytes or 0)  # what lies in L2 has few bytes of DRAM
    return many and loads * FMA_A_LOAD >= done and flops >= FLOPS_A_BYTE * needed
