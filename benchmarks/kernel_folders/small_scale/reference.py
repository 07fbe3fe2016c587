"""A vector of normal numbers and its double."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [n] float32."""
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(workload["n"], generator=generator, device=device),)


def reference(x) -> tuple:
    """Return 2 x in float64."""
    return (2.0 * x.double(),)
