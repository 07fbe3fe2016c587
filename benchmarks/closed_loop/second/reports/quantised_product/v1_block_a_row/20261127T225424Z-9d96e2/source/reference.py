"""Weights of four bits with a scale for 64 of a row, a vector, and their product in float64."""

import torch

GROUP = 64


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return packed [rows, columns / 2] uint8, scale [rows, columns / 64] and x [columns], both float32."""
    generator = torch.Generator(device=device).manual_seed(seed)
    rows, columns = workload["rows"], workload["columns"]
    packed = torch.randint(0, 256, (rows, columns // 2), generator=generator, device=device, dtype=torch.uint8)
    scale = 0.01 + 0.02 * torch.rand(rows, columns // GROUP, generator=generator, device=device)
    return packed, scale, torch.randn(columns, generator=generator, device=device)


def reference(packed, scale, x) -> tuple:
    """Return (y,)."""
    rows, groups = scale.shape
    halves = [(half.double() - 8).view(rows, groups, GROUP // 2) for half in (packed & 15, packed >> 4)]
    x = x.double().view(groups, GROUP)
    sums = sum(torch.einsum("rgk,gk->rg", half, x[:, place::2]) for place, half in enumerate(halves))
    return ((sums * scale.double()).sum(dim=1),)
