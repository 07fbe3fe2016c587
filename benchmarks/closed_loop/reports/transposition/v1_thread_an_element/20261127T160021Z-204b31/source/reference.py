"""A normal matrix and its transpose."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [rows, columns]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(workload["rows"], workload["columns"], generator=generator, device=device),)


def reference(x) -> tuple:
    """Return (y,)."""
    return (x.double().T.contiguous(),)
