"""Inputs of the cumulative sums and their result in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return (x,), normal, [rows, cols]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn((workload["rows"], workload["cols"]), generator=generator, device=device),)


def reference(x) -> tuple:
    """Return (out,) in float64."""
    return (x.double().cumsum(dim=1),)
