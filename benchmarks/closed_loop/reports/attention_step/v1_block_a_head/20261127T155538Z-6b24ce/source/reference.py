"""Normal queries, keys and values, and the attention of one query a head in float64."""

import torch

DIM = 64


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return q [heads, 64], k [heads, keys, 64], v [heads, keys, 64]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    heads, keys = workload["heads"], workload["keys"]
    shapes = ((heads, DIM), (heads, keys, DIM), (heads, keys, DIM))
    return tuple(torch.randn(shape, generator=generator, device=device) for shape in shapes)


def reference(q, k, v) -> tuple:
    """Return (out,)."""
    scores = torch.einsum("hd,hkd->hk", q.double(), k.double()) / 8
    return (torch.einsum("hk,hkd->hd", torch.softmax(scores, dim=1), v.double()),)
