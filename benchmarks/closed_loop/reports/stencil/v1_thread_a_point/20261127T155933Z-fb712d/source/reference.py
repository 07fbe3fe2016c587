"""A normal field and its next step in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [depth, height, width]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = [workload[name] for name in ("depth", "height", "width")]
    return (torch.randn(shape, generator=generator, device=device),)


def reference(x) -> tuple:
    """Return (y,)."""
    x = x.double()
    y = x.clone()
    inside = x[1:-1, 1:-1, 1:-1]
    around = (
        x[:-2, 1:-1, 1:-1]
        + x[2:, 1:-1, 1:-1]
        + x[1:-1, :-2, 1:-1]
        + x[1:-1, 2:, 1:-1]
        + x[1:-1, 1:-1, :-2]
        + x[1:-1, 1:-1, 2:]
    )
    y[1:-1, 1:-1, 1:-1] = inside + (around - 6 * inside) / 8
    return (y,)
