# Changes: Triton, one kernel. A program a tile of 128 x 256 outputs, groups of eight rows of tiles; bias and GELU
# happen to the sums in registers. Triton has no tanh of its own: it is written through an exponential that stays below
# 1.
#
# expected: `tensor-underfed`: wgmma with three stages, but each program's epilogue stands behind its product, and no
#   other program of that SM multiplies meanwhile. 0.75 to 0.9 of v1 at square8k; 0.6 to 0.8 at few_rows, 192 programs
#   for 132 SMs. At odd, where loads are of two bytes, below 0.3.
# measured: on an H200, 2026-11-26: 1.919 ms at square8k, 0.720 of v1; 0.548 at few_rows. `tensor-underfed`, 1.53x. 449
#   us at tails, 0.043 of v1 and as slow as at odd (454): n and k are multiples of 8, not of 16.
import triton
import triton.language as tl

BLOCK_M, BLOCK_N, BLOCK_K, GROUP = 128, 256, 64, 8


@triton.jit
def gelu(z):
    twice = 1.5957691216057308 * (z + 0.044715 * z * z * z)
    power = tl.exp(-tl.abs(twice))  # between 0 and 1: exp of a large number would be infinite
    # (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u))
    return z * tl.where(twice >= 0.0, 1.0, power) / (1.0 + power)


@triton.jit
def fused(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    WHOLE_K: tl.constexpr,
):
    tiles_m, tiles_n = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    first = tl.program_id(0) // (GROUP * tiles_n) * GROUP
    tall = min(tiles_m - first, GROUP)
    within = tl.program_id(0) % (GROUP * tiles_n)
    rows = (first + within % tall) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = within // tall * BLOCK_N + tl.arange(0, BLOCK_N)
    along = tl.arange(0, BLOCK_K)
    # Rows and columns behind the end read others again: they are not stored.
    x_ptrs = x_ptr + (rows % m).to(tl.int64)[:, None] * k + along[None, :]
    weight_ptrs = weight_ptr + (cols % n).to(tl.int64)[None, :] * k + along[:, None]
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        if WHOLE_K:
            x, weight = tl.load(x_ptrs), tl.load(weight_ptrs)
        else:
            x = tl.load(x_ptrs, mask=along[None, :] < k - start, other=0.0)
            weight = tl.load(weight_ptrs, mask=along[:, None] < k - start, other=0.0)
        sums = tl.dot(x, weight, sums)
        x_ptrs += BLOCK_K
        weight_ptrs += BLOCK_K
    bias = tl.load(bias_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
    out_ptrs = out_ptr + rows.to(tl.int64)[:, None] * n + cols[None, :]
    inside = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(out_ptrs, gelu(sums + bias[None, :]).to(out_ptr.dtype.element_ty), mask=inside)


def gemm_bias_gelu(x, weight, bias, out):
    (m, k), n = x.shape, weight.shape[0]
    if m and n:
        grid = (triton.cdiv(m, BLOCK_M) * triton.cdiv(n, BLOCK_N),)
        fused[grid](
            x, weight, bias, out, m, n, k, BLOCK_M, BLOCK_N, BLOCK_K, GROUP, k % BLOCK_K == 0, num_warps=8, num_stages=3
        )
