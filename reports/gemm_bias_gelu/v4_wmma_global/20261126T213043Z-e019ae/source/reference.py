"""Inputs of a linear layer with GELU and its result in float64."""

import torch
import torch.nn.functional as F


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [m, k], weight [n, k] and bias [n] in bfloat16.

    Products and biases are normal with deviation 1: GELU gets values of deviation 1.4, most of them where it is curved,
    and a bias in the wrong column is seen.
    """
    generator = torch.Generator(device=device).manual_seed(seed)
    m, n, k = workload["m"], workload["n"], workload["k"]

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=device)

    weight = drawn(n, k).mul_(max(k, 1) ** -0.5)
    return drawn(m, k).bfloat16(), weight.bfloat16(), drawn(n).bfloat16()


def reference(x, weight, bias) -> tuple:
    """Return (out,) in float64, where TF32 plays no part."""
    return (F.gelu(x.double() @ weight.double().mT + bias.double(), approximate="tanh"),)
