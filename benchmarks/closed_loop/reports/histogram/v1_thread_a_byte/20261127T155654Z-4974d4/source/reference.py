"""Bytes of which the small ones are more frequent, and their counts."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return data [n]: floor(256 u^3) with u even, so that a seventh of all bytes is 0."""
    generator = torch.Generator(device=device).manual_seed(seed)
    u = torch.rand(workload["n"], generator=generator, device=device)
    return ((256 * u * u * u).clamp_(max=255).to(torch.uint8),)


def reference(data) -> tuple:
    """Return (counts,)."""
    return (torch.bincount(data.long(), minlength=256),)
