"""Two normal matrices and their product in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return a [m, k] and b [k, n]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    m, n, k = workload["m"], workload["n"], workload["k"]
    return (
        torch.randn(m, k, generator=generator, device=device),
        torch.randn(k, n, generator=generator, device=device),
    )


def reference(a, b) -> tuple:
    """Return (c,)."""
    return (a.double() @ b.double(),)
