"""Particles in a box, ordered by cell, and the density at each in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return position [particles, 3] float32, each number x, y, z in [0, side), and start [side^3 + 1] int32."""
    generator = torch.Generator(device=device).manual_seed(seed)
    side = workload["side"]
    position = side * torch.rand(workload["particles"], 3, generator=generator, device=device)
    cell = _cell(position, side)
    position = position[torch.argsort(cell, stable=True)].contiguous()
    start = torch.zeros(side**3 + 1, dtype=torch.int32, device=device)
    start[1:] = torch.cumsum(torch.bincount(cell, minlength=side**3), 0)
    return position, start


def _cell(position, side: int):
    x, y, z = position.long().clamp_(max=side - 1).unbind(1)
    return (z * side + y) * side + x


def reference(position, start) -> tuple:
    """Return (density,): each particle with the first, second, … of every cell near it."""
    side = round((start.numel() - 1) ** (1 / 3))
    place, wide = position.long().clamp_(max=side - 1), position.double()
    counts = start[1:] - start[:-1]
    density = torch.zeros(position.shape[0], dtype=torch.float64, device=position.device)
    near = torch.arange(-1, 2, device=position.device)
    for offset in torch.cartesian_prod(near, near, near):
        other = place + offset
        inside = ((other >= 0) & (other < side)).all(dim=1)
        of = _cell(other.clamp_(min=0), side)
        first, count = start[of].long(), torch.where(inside, counts[of], 0)
        for number in range(int(count.max())):
            there = number < count
            squared = (wide - wide[torch.where(there, first + number, 0)]).square().sum(dim=1)
            density += torch.where(there, (1 - squared).clamp_(min=0) ** 3, 0.0)
    return (density,)
