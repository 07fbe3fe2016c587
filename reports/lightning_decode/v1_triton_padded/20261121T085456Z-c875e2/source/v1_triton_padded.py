# Changes: one fused Triton program a head. A Triton tile has power-of-two sides, so q, k, v and the
#   state are padded with zeros to 128 by copies, and the results are sliced out of padded buffers.
#
# expected: `redundant-traffic`. The kernel itself is near the ceiling, but at d = 96 it moves 128^2
#   elements for 96^2 (1.78x), and the helper copies around it (pad the state: read 1, write 1.78; slice
#   the new state: read 1, write 1) cost more than the kernel. At d = 128 nothing is padded: this is then
#   the fused kernel alone, equal to v2.
# measured: 452 us at b64_d96, slower than eager: the copies around the kernel cost more than fusing saves. At d = 128
#   (no padding) 136 us at b64, 0.95 of the copy.
import torch
import torch.nn.functional as F
import triton
import triton.language as tl

SIZE = 128


@triton.jit
def decode_padded(q_ptr, k_ptr, v_ptr, slope_ptr, state_ptr, out_ptr, new_state_ptr, heads, SIZE: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, SIZE)
    tile = head * SIZE * SIZE + index[:, None] * SIZE + index[None, :]
    vector = head * SIZE + index

    q = tl.load(q_ptr + vector).to(tl.float32)
    k = tl.load(k_ptr + vector).to(tl.float32)
    v = tl.load(v_ptr + vector).to(tl.float32)
    decay = tl.exp(-tl.load(slope_ptr + head % heads))
    new_state = decay * tl.load(state_ptr + tile) + k[:, None] * v[None, :]
    tl.store(new_state_ptr + tile, new_state)
    tl.store(out_ptr + vector, tl.sum(q[:, None] * new_state, axis=0).to(tl.bfloat16))


def lightning_decode(q, k, v, slope, state, out, new_state):
    batch, heads, _, dim = q.shape
    if dim > SIZE:
        raise ValueError(f"dim is {dim}, at most {SIZE} is supported")
    pad = SIZE - dim
    padded_out, padded_state = out, new_state
    if pad:
        q, k, v = (F.pad(tensor, (0, pad)) for tensor in (q, k, v))
        state = F.pad(state, (0, pad, 0, pad))
        padded_out, padded_state = torch.empty_like(q), torch.empty_like(state)
    decode_padded[(batch * heads,)](q, k, v, slope, state, padded_out, padded_state, heads, SIZE, num_warps=8)
    if pad:
        out.copy_(padded_out[..., :dim])
        new_state.copy_(padded_state[..., :dim, :dim])
