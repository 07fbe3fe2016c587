# Changes: masks inside the kernel instead of padded copies around it. Lanes past dim load nothing and
#   store nothing, so the traffic is the algorithm's own. dim is a constant of the compilation: with dim at run time the
#   accesses are not known to be aligned, and the same kernel takes a third longer (112 against 85 us at b64_d96).
#
# expected: near the ceiling at large batch (one read and one write of the state, 128-bit accesses). What
#   is left: at d = 96 a quarter of the columns' lanes sit masked, and a program loads all, then stores all.
# measured: 84.5 us at b64_d96 (0.89 of the copy), 323 at b256_d96, 136 at b64_d128 (0.95).
import triton
import triton.language as tl


@triton.jit
def decode_masked(
    q_ptr, k_ptr, v_ptr, slope_ptr, state_ptr, out_ptr, new_state_ptr, heads, dim: tl.constexpr, SIZE: tl.constexpr
):
    head = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, SIZE)
    inside = index < dim
    tile = head * dim * dim + index[:, None] * dim + index[None, :]
    tile_inside = inside[:, None] & inside[None, :]
    vector = head * dim + index

    q = tl.load(q_ptr + vector, mask=inside, other=0.0).to(tl.float32)
    k = tl.load(k_ptr + vector, mask=inside, other=0.0).to(tl.float32)
    v = tl.load(v_ptr + vector, mask=inside, other=0.0).to(tl.float32)
    decay = tl.exp(-tl.load(slope_ptr + head % heads))
    state = tl.load(state_ptr + tile, mask=tile_inside, other=0.0)
    new_state = decay * state + k[:, None] * v[None, :]
    tl.store(new_state_ptr + tile, new_state, mask=tile_inside)
    tl.store(out_ptr + vector, tl.sum(q[:, None] * new_state, axis=0).to(tl.bfloat16), mask=inside)


def lightning_decode(q, k, v, slope, state, out, new_state):
    batch, heads, _, dim = q.shape
    size = triton.next_power_of_2(dim)
    decode_masked[(batch * heads,)](q, k, v, slope, state, out, new_state, heads, dim, size, num_warps=8)
