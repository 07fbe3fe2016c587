# Baseline: a gather in Triton over the mapped table, four tokens a program. width is a constant of the compilation, so
# that rows are known to start on 16 bytes.
#
# expected: `host-link-bound`, level with v4: the compiler gives a thread 16 bytes and a token a row of lanes, and loads
#   all four tokens before it stores any. Rows are padded to 1024 bytes under a mask; masked lanes ask for nothing.
# measured: 48.6 GB/s, level with v6.
import triton
import triton.language as tl

TOKENS = 4


@triton.jit
def gather_mapped(table, src, dst, out, tokens, width: tl.constexpr, TOKENS: tl.constexpr, SIZE: tl.constexpr):
    token = tl.program_id(0).to(tl.int64) * TOKENS + tl.arange(0, TOKENS)
    there = token < tokens
    source = tl.load(src + token, mask=there, other=0)
    target = tl.load(dst + token, mask=there, other=0)
    column = tl.arange(0, SIZE)
    inside = there[:, None] & (column < width)[None, :]
    rows = tl.load(table + source[:, None] * width + column[None, :], mask=inside)
    tl.store(out + target[:, None] * width + column[None, :], rows, mask=inside)


def fast_h2d(table, src, dst, src_host, dst_host, out):
    tokens, width = out.shape
    if tokens and width:
        size = triton.next_power_of_2(width)
        gather_mapped[(triton.cdiv(tokens, TOKENS),)](table, src, dst, out, tokens, width, TOKENS, size, num_warps=4)
