"""A sparse matrix whose rows are of very different lengths, a vector, and their product in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return start [rows + 1], column [entries] (ascending within a row or not), value [entries], x [columns].

    An entry falls into row floor(rows * u^2) with u even: few rows hold many entries, and some hold none.
    """
    generator = torch.Generator(device=device).manual_seed(seed)
    rows, columns, entries = workload["rows"], workload["columns"], workload["entries"]
    u = torch.rand(entries, generator=generator, device=device, dtype=torch.float64)
    counts = torch.bincount((rows * u * u).long().clamp_(max=rows - 1), minlength=rows)
    counts = counts[torch.randperm(rows, generator=generator, device=device)]
    start = torch.zeros(rows + 1, dtype=torch.int32, device=device)
    start[1:] = torch.cumsum(counts, 0)
    column = torch.randint(0, columns, (entries,), generator=generator, device=device, dtype=torch.int32)
    value = torch.randn(entries, generator=generator, device=device)
    return start, column, value, torch.randn(columns, generator=generator, device=device)


def reference(start, column, value, x) -> tuple:
    """Return (y,)."""
    rows = start.numel() - 1
    row = torch.repeat_interleave(torch.arange(rows, device=x.device), (start[1:] - start[:-1]).long())
    y = torch.zeros(rows, dtype=torch.float64, device=x.device)
    return (y.index_add_(0, row, value.double() * x.double()[column.long()]),)
