"""Small integers and their running sums, which fit into int32."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [rows, columns], between -1000 and 1000."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = (workload["rows"], workload["columns"])
    return (torch.randint(-1000, 1001, shape, generator=generator, device=device, dtype=torch.int32),)


def reference(x) -> tuple:
    """Return (y,)."""
    return (torch.cumsum(x.long(), dim=1),)
