"""Inputs of the rotary embedding and its result in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return q [heads, seq, dim], normal, in the workload's dtype, the first position and theta."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = (workload["heads"], workload["seq"], workload["dim"])
    q = torch.randn(shape, generator=generator, device=device).to(getattr(torch, workload["dtype"]))
    return q, workload["first_position"], workload["theta"]


def reference(q, first, base) -> tuple:
    """Return (out,) in float64: an angle is off by at most position * 2^-52."""
    _, seq, dim = q.shape
    exponent = torch.arange(0, dim, 2, dtype=torch.float64, device=q.device) / dim
    positions = torch.arange(first, first + seq, dtype=torch.float64, device=q.device)
    angles = torch.outer(positions, torch.pow(float(base), -exponent))
    cos, sin = angles.cos(), angles.sin()
    low, high = q.double().chunk(2, dim=-1)
    return (torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1),)
