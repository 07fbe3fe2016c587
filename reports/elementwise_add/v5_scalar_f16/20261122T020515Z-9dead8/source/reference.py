"""Inputs of the element-wise sum and its result in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return a and b [n], normal, in the workload's dtype."""
    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = getattr(torch, workload["dtype"])

    def normal():
        return torch.randn(workload["n"], generator=generator, device=device).to(dtype)

    return normal(), normal()


def reference(a, b) -> tuple:
    """Return (c,) in float64: exact for float16, and for float32 unless exponents lie 29 apart."""
    return (a.double() + b.double(),)
