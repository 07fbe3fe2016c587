"""Inputs of relu(a + b) and its result in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return a and b [n], normal: half of the sums are negative."""
    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = getattr(torch, workload["dtype"])

    def normal():
        return torch.randn(workload["n"], generator=generator, device=device, dtype=dtype)

    return normal(), normal()


def reference(a, b) -> tuple:
    """Return (out,) in float64; NaN stays NaN."""
    return ((a.double() + b.double()).clamp_(min=0),)
