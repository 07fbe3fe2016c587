# Baseline: the chain of v1 through torch.compile: one Triton kernel, tables still cached.
#
# expected: near `at-dram-roofline` in float32: q is read twice (as itself and as the other half), the second time from
#   L1 or L2, and the tables from L2, twice as many bytes as q itself. 0.85 to 0.95 of the copy; in bfloat16, where the
#   float32 tables weigh four times as much as q, 0.7 to 0.85 and `l2-bound`.
import functools

import torch

# A graph a shape and dtype. Past the limit (8 by default) torch runs the function eagerly and says so only in a log.
torch._dynamo.config.cache_size_limit = 64


@functools.lru_cache(maxsize=8)
def tables(first, seq, dim, base, device):
    exponent = torch.arange(0, -dim, -2, dtype=torch.float64, device=device) / dim
    positions = torch.arange(first, first + seq, dtype=torch.float64, device=device)
    angles = torch.outer(positions, torch.pow(float(base), exponent))
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().float(), angles.sin().float()


def rotate_half(x):
    low, high = x.chunk(2, dim=-1)
    return torch.cat((-high, low), dim=-1)


@torch.compile(dynamic=False)
def rotate(q, cos, sin, out):
    out.copy_(q * cos + rotate_half(q) * sin)


def rope(q, first, base, out):
    _, seq, dim = q.shape
    rotate(q, *tables(first, seq, dim, base, q.device), out)
