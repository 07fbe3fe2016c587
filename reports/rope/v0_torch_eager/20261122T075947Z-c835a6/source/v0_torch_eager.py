# Baseline: the formula of the model code, one torch operator after the other, the tables built anew in every call. They
#   are built in float64: in float32 the angles drift, to 1e-3 at position 8191, and the check refuses that.
#
# expected: `redundant-traffic` over fifteen launches. Tables are small (8 MB); the chain is not: two products, the
#   negated half, the concatenated halves and their sum move q ten times where two would do (bfloat16: fourteen, the
#   products are float32). 0.20 of the copy in float32, 0.14 in bfloat16. At decode `launch-bound`.
import torch


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
