# Changes: the tables are built once for a position range and kept, as model code means to do (and undoes where the
#   cache hangs on a length that grows, or on a cast in the call).
#
# expected: `redundant-traffic`, as v0: the tables were ten small launches of some microseconds, a percent or two of
#   the time at 8192 positions. Five launches are left, and they are the time. At decode more than half of v0's
#   launches go, and that is a factor of two or three.
import functools

import torch


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


def rope(q, first, base, out):
    _, seq, dim = q.shape
    cos, sin = tables(first, seq, dim, base, q.device)
    torch.add(q * cos, rotate_half(q) * sin, out=out)
