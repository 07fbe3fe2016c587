# Changes, to v8: Triton. A program a row, the row in registers; the four words of a call of Philox are put side by
# side, so that eight elements are drawn for at a time as in CUDA. Rows of more than 16,384 columns go chunk by chunk
# and are read three times.
#
# expected: `at-dram-roofline` at c4k: 0.85 to 0.95 of the copy in float32, 0.8 to 0.92 in bfloat16, level with v8 or
#   5 % behind: the residual is loaded behind the sums, as in v6. At c128k 64 programs for 132 SMs,
#   `grid-underfill`. At c24 programs of one warp, `low-bytes-in-flight`. At c4093 accesses of one element, 0.6 to
#   0.8.
# measured: 185.8 us at c4k_f32, level with v8; 107.4 at c4k_bf16, as fast as v6. At c4093_bf16 51.7 us, 1.36 times v8.
import triton
import triton.language as tl

EPS = 1e-5
MOST_IN_REGISTERS = 16384
CHUNK = 8192
VALUES_A_WARP = 512  # 16 a thread


@triton.jit
def kept_of(first, row, keep, seed, SIZE: tl.constexpr):
    group = first // 8 + tl.arange(0, SIZE // 8)
    zero = group * 0
    a, b, c, d = tl.philox(seed, group, zero + row, zero, zero)
    words = tl.interleave(tl.interleave(a, c), tl.interleave(b, d))  # a b c d of a group side by side
    draws = tl.interleave(words & 0xFFFF, words >> 16)
    return draws.to(tl.int32) < keep


@triton.jit
def write(x, mean, inverse, kept, scale, residual_ptr, gamma_ptr, beta_ptr, out_ptr, start, col, inside):
    gamma = tl.load(gamma_ptr + col, mask=inside).to(tl.float32)
    beta = tl.load(beta_ptr + col, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + start + col, mask=inside).to(tl.float32)
    y = (x - mean) * inverse * gamma + beta
    out = tl.where(kept, residual + y * scale, residual)
    tl.store(out_ptr + start + col, out.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def row_whole(
    x_ptr, residual_ptr, gamma_ptr, beta_ptr, out_ptr, keep, seed, scale, eps, cols: tl.constexpr, SIZE: tl.constexpr
):
    row = tl.program_id(0)
    start = row.to(tl.int64) * cols
    col = tl.arange(0, SIZE)
    inside = col < cols
    x = tl.load(x_ptr + start + col, mask=inside, other=0.0).to(tl.float32)
    kept = kept_of(0, row, keep, seed, SIZE)
    mean = tl.sum(x, axis=0) / cols
    away = tl.where(inside, x - mean, 0.0)
    inverse = tl.rsqrt(tl.sum(away * away, axis=0) / cols + eps)
    write(x, mean, inverse, kept, scale, residual_ptr, gamma_ptr, beta_ptr, out_ptr, start, col, inside)


@triton.jit
def row_chunks(
    x_ptr, residual_ptr, gamma_ptr, beta_ptr, out_ptr, keep, seed, scale, eps, cols: tl.constexpr, SIZE: tl.constexpr
):
    row = tl.program_id(0)
    start = row.to(tl.int64) * cols
    total = tl.zeros((SIZE,), tl.float32)
    for first in range(0, cols, SIZE):
        col = first + tl.arange(0, SIZE)
        total += tl.load(x_ptr + start + col, mask=col < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros((SIZE,), tl.float32)
    for first in range(0, cols, SIZE):
        col = first + tl.arange(0, SIZE)
        x = tl.load(x_ptr + start + col, mask=col < cols, other=0.0).to(tl.float32)
        away = tl.where(col < cols, x - mean, 0.0)
        squares += away * away
    inverse = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)
    for first in range(0, cols, SIZE):
        col = first + tl.arange(0, SIZE)
        x = tl.load(x_ptr + start + col, mask=col < cols, other=0.0).to(tl.float32)
        kept = kept_of(first, row, keep, seed, SIZE)
        write(x, mean, inverse, kept, scale, residual_ptr, gamma_ptr, beta_ptr, out_ptr, start, col, col < cols)


def layernorm_dropout_residual(x, residual, gamma, beta, keep, seed, out):
    rows, cols = x.shape
    whole = max(8, triton.next_power_of_2(cols))
    size = whole if whole <= MOST_IN_REGISTERS else CHUNK
    kernel = row_whole if whole <= MOST_IN_REGISTERS else row_chunks
    scale = 65536 / max(keep, 1)
    warps = min(16, max(1, size // VALUES_A_WARP))
    kernel[(rows,)](x, residual, gamma, beta, out, keep, seed, scale, EPS, cols, size, num_warps=warps)
