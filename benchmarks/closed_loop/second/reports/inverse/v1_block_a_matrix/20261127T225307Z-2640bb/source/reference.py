"""Matrices that are strictly diagonally dominant, and their inverses in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [batch, n, n]: even between -1 and 1, and n + 0.5 more on the diagonal."""
    generator = torch.Generator(device=device).manual_seed(seed)
    batch, n = workload["batch"], workload["n"]
    x = 2 * torch.rand(batch, n, n, generator=generator, device=device) - 1
    return (x + (n + 0.5) * torch.eye(n, device=device),)


def reference(x) -> tuple:
    """Return (y,)."""
    return (torch.linalg.inv(x.double()),)
