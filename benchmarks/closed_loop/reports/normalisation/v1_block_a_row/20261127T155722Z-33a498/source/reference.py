"""Rows with a mean of 3, weights and biases, and the normalised rows in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [rows, columns], weight [columns], bias [columns]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    rows, columns = workload["rows"], workload["columns"]
    x = torch.randn(rows, columns, generator=generator, device=device) + 3
    weight, bias = (torch.randn(columns, generator=generator, device=device) for _ in range(2))
    return x, weight, bias


def reference(x, weight, bias) -> tuple:
    """Return (y,)."""
    x = x.double()
    return (torch.nn.functional.layer_norm(x, x.shape[1:], weight.double(), bias.double(), 1e-5),)
