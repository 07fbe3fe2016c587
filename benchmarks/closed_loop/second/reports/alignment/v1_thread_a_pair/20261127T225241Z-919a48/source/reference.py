"""Pairs of sequences of four letters of which one resembles the other, and their best local scores."""

import torch

EQUAL, OTHER, GAP = 2, -1, -1


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return a [pairs, rows] and b [pairs, columns], uint8 from 0 to 3; b copies a from its middle, a fifth changed."""
    generator = torch.Generator(device=device).manual_seed(seed)
    pairs, rows, columns = (workload[name] for name in ("pairs", "rows", "columns"))
    a, b = (
        torch.randint(0, 4, (pairs, length), generator=generator, device=device, dtype=torch.uint8)
        for length in (rows, columns)
    )
    copied = a[:, rows // 2 :][:, :columns]
    stays = torch.rand(copied.shape, generator=generator, device=device) < 0.8
    b[:, : copied.shape[1]] = torch.where(stays, copied, b[:, : copied.shape[1]])
    return a, b


def reference(a, b) -> tuple:
    """Return (score,): diagonal by diagonal, entry i of a diagonal is cell (i, diagonal - i), 0 on the border."""
    (pairs, rows), columns = a.shape, b.shape[1]
    before = torch.zeros(pairs, rows + 1, dtype=torch.int32, device=a.device)
    last, best = before.clone(), before[:, 0].clone()
    for diagonal in range(2, rows + columns + 1):
        low, high = max(1, diagonal - columns), min(rows, diagonal - 1)
        letters = b[:, diagonal - high - 1 : diagonal - low].flip(1)
        step = torch.where(a[:, low - 1 : high] == letters, EQUAL, OTHER)
        gap = torch.maximum(last[:, low - 1 : high], last[:, low : high + 1]) + GAP
        now = torch.zeros_like(last)
        now[:, low : high + 1] = torch.maximum(before[:, low - 1 : high] + step, gap).clamp_(min=0)
        before, last, best = last, now, torch.maximum(best, now.amax(dim=1))
    return (best,)
