"""Inputs of the softmax over rows and its result in float64."""

import math

import torch

SPREAD, OFFSET = 3.0, 100.0  # without the maximum subtracted, exp(100) is infinite in float32 and exp(-100) zero
PERIOD = 16  # of the planted rows


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [rows, cols], normal around an offset of each row's own, perhaps with planted rows among them."""
    generator = torch.Generator(device=device).manual_seed(seed)
    rows, cols = workload["rows"], workload["cols"]
    x = torch.randn(rows, cols, generator=generator, device=device).mul_(SPREAD)
    x += torch.rand(rows, 1, generator=generator, device=device).mul_(2 * OFFSET).sub_(OFFSET)
    if workload["planted"]:
        _plant(x, generator)
    return (x,)


def _plant(x, generator) -> None:
    """Overwrite nine of sixteen rows, or values in them."""
    draw = torch.rand(x.shape, generator=generator, device=x.device)
    one = draw == draw.amax(dim=1, keepdim=True)  # a random column
    kinds = (
        torch.where(draw < 0.5, -math.inf, x),  # masked, as attention does; a row of one column may be masked whole
        torch.full_like(x, -math.inf),  # NaN: nothing to divide by
        torch.where(one, math.inf, x),  # NaN everywhere, as torch has it: the sum is NaN
        torch.where(one, math.nan, x),
        torch.full_like(x, math.nan),
        torch.where(draw < 0.5, -1e4, 1e4),
        draw * 2e4 - 1e4,
        torch.where(draw < 0.5, -3e38, 3e38),  # times log2(e) they overflow
        torch.full_like(x, 77.7),
    )
    for place, kind in enumerate(kinds):
        x[place::PERIOD] = kind[place::PERIOD]


def reference(x) -> tuple:
    """Return (y,) in float64."""
    return (torch.softmax(x.double(), dim=1),)
