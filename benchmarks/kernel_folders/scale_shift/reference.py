"""Blocks of 2048 normal numbers, and 1.5 x + 1."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [2048 blocks] float32."""
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(2048 * workload["blocks"], generator=generator, device=device),)


def reference(x) -> tuple:
    """Return 1.5 x + 1 in float64."""
    return (1.5 * x.double() + 1.0,)
