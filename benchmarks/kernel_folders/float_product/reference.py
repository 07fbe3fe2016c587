"""Two matrices of normal numbers, and their product in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return a [m, k] and b [k, n] float32."""
    generator = torch.Generator(device=device).manual_seed(seed)
    m, n, k = (workload[name] for name in "mnk")
    a = torch.randn(m, k, generator=generator, device=device)
    return a, torch.randn(k, n, generator=generator, device=device)


def reference(a, b) -> tuple:
    """Return the product in float64."""
    return (a.double() @ b.double(),)
