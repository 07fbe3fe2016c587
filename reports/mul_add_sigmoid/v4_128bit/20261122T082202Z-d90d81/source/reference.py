"""Inputs of sigmoid(a * b + c) and its result in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return a, b and c [n]: normal, c four times as wide and every 64th of its elements 200 times.

    So the argument passes 89, where exp(x) is no float32 any more, in about one element of 100. The first c is 30: the
    norm of even a few results is that of one near 1.
    """
    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = getattr(torch, workload["dtype"])

    def normal():
        return torch.randn(workload["n"], generator=generator, device=device, dtype=dtype)

    a, b, c = normal(), normal(), normal().mul_(4)
    c[::64] *= 50
    c[:1] = 30
    return a, b, c


def reference(a, b, c) -> tuple:
    """Return (out,) in float64, in which the product is exact."""
    return (torch.sigmoid_(a.double().mul_(b).add_(c)),)
