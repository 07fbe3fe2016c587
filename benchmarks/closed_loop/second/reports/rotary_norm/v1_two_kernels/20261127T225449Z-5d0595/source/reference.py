"""Heads of different sizes, weights near 1, and what is normalised and turned, in float64."""

import torch

DIM = 128


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [tokens, heads, 128] and weight [128]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    x = torch.randn(workload["tokens"], workload["heads"], DIM, generator=generator, device=device)
    size = 0.1 + 3 * torch.rand(workload["tokens"], workload["heads"], 1, generator=generator, device=device)
    weight = 1 + 0.1 * torch.randn(DIM, generator=generator, device=device)
    return (x * size).bfloat16(), weight.bfloat16()


def reference(x, weight) -> tuple:
    """Return (y,)."""
    x = x.double()
    h = x / (x.square().mean(dim=2, keepdim=True) + 1e-6).sqrt() * weight.double()
    token = torch.arange(x.shape[0], device=x.device, dtype=torch.float64)
    turn = 10000 ** (-torch.arange(DIM // 2, device=x.device, dtype=torch.float64) / (DIM // 2))
    angle = (token[:, None] * turn)[:, None, :]
    low, high = h[..., : DIM // 2], h[..., DIM // 2 :]
    cosine, sine = angle.cos(), angle.sin()
    return (torch.cat([low * cosine - high * sine, high * cosine + low * sine], dim=2),)
