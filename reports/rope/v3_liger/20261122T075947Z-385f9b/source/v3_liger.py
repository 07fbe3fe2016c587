# Baseline: Liger's Triton kernel, a program a token for all heads of q and of k. It turns in place, so a copy goes
#   before it; half of the heads stand in for k. Batch and heads are one axis here, in front of the positions, so a
#   token has one head of each: 128 pairs a program, where the models that it is made for have thousands.
# packages: liger_kernel
#
# expected: `redundant-traffic` over two launches: twice the bytes. The copy alone takes the time of the floor, the
#   kernel longer than that, with four bytes a load and half of its threads idle: 0.35 to 0.45 of the copy in float32,
#   0.2 to 0.35 in bfloat16. At decode `launch-bound`.
import functools

import torch
from liger_kernel.ops.rope import rope_forward


@functools.lru_cache(maxsize=8)
def tables(first, seq, dim, base, device):
    exponent = torch.arange(0, -dim, -2, dtype=torch.float64, device=device) / dim
    positions = torch.arange(first, first + seq, dtype=torch.float64, device=device)
    angles = torch.outer(positions, torch.pow(float(base), exponent))
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().float(), angles.sin().float()


def rope(q, first, base, out):
    heads, seq, dim = q.shape
    if q.numel() == 0:
        return
    out.copy_(q)
    queries, keys = out.chunk(2) if heads % 2 == 0 else (out, torch.empty_like(out))  # as many of both
    rope_forward(queries.unsqueeze(1), keys.unsqueeze(1), *tables(first, seq, dim, base, q.device))
