"""Inputs, the result in float64, and which elements are kept: Philox4x32-10 in integers of 64 bits.

The eight draws of columns 8 g to 8 g + 7 of a row are the four words of the block with the counter (g, row, 0, 0) and
the seed as key, the lower 16 bits of a word before the upper ones. A column is kept where its draw is below keep.
"""

import torch

EPS = 1e-5
OFFSET = 10.0  # of rows, at most: in float32 the mean of squares less the square of the mean keeps five digits then
KEEP_OF, DRAWS = 1 << 16, 8
WORD = 0xFFFFFFFF
FACTORS, KEY_STEPS, ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x and residual [rows, cols], gamma and beta [cols], keep, and a seed of 64 bits made from this one."""
    generator = torch.Generator(device=device).manual_seed(seed)
    rows, cols, dtype = workload["rows"], workload["cols"], getattr(torch, workload["dtype"])

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device=device)

    x = normal(rows, cols)
    x += torch.rand(rows, 1, generator=generator, device=device).mul_(2 * OFFSET).sub_(OFFSET)
    gamma, beta = normal(cols).mul_(0.2).add_(1.0), normal(cols).mul_(0.2)
    of_dropout = (seed * 0x5851F42D4C957F2D + 0x14057B7EF767814F) % (1 << 63)  # both halves of the key are used
    return *(t.to(dtype) for t in (x, normal(rows, cols), gamma, beta)), workload["keep"], of_dropout


def reference(x, residual, gamma, beta, keep, seed, kept=None) -> tuple:
    """Return (out,) in float64; ``kept`` takes the place of the draws where a version has made its own."""
    if kept is None:
        kept = draws(*x.shape, seed, x.device) < keep
    return (residual.double() + torch.where(kept, _scaled(x, gamma, beta, keep), 0.0),)


def drawn(inputs, outputs) -> tuple:
    """Return what an output keeps, where it tells, and the probability of being kept.

    It does not tell where what is added is lost in the rounding of the residual.
    """
    x, residual, gamma, beta, keep, _ = inputs
    lost = 2 * torch.finfo(residual.dtype).eps * residual.double().abs() + 2e-5
    told = _scaled(x, gamma, beta, keep).abs() > lost
    return outputs[0] != residual, told, keep / KEEP_OF


def _scaled(x, gamma, beta, keep):
    wide = x.double()
    wide = wide - wide.mean(dim=1, keepdim=True)
    wide *= torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + EPS)
    return (wide * gamma.double() + beta.double()) * (KEEP_OF / max(keep, 1))


def draws(rows: int, cols: int, seed: int, device, first_row: int = 0):
    """Return the draw of every element, 0 to 65535."""
    groups = torch.arange((cols + DRAWS - 1) // DRAWS, device=device).expand(rows, -1)
    zero = torch.zeros_like(groups)
    row = torch.arange(first_row, first_row + rows, device=device)[:, None].expand_as(groups)
    words = philox((groups, row, zero, zero), seed)
    halves = [half for word in words for half in (word & 0xFFFF, word >> 16)]
    return torch.stack(halves, dim=-1).flatten(1)[:, :cols]


def philox(counter, seed: int) -> tuple:
    """Return the four words of Philox4x32-10 (Salmon and others, 2011) for counters of four words."""
    a, b, c, d = counter
    keys = [seed & WORD, seed >> 32 & WORD]
    for _ in range(ROUNDS):
        (high_a, low_a), (high_c, low_c) = _product(FACTORS[0], a), _product(FACTORS[1], c)
        a, b, c, d = high_c ^ b ^ keys[0], low_c, high_a ^ d ^ keys[1], low_a
        keys = [key + step & WORD for key, step in zip(keys, KEY_STEPS, strict=True)]
    return a, b, c, d


def _product(factor: int, word):
    """Return the upper and the lower word of a product; torch has no unsigned integers of 64 bits to hold it."""
    low, high = (factor & 0xFFFF) * word, (factor >> 16) * word
    return (high + (low >> 16)) >> 16, (low + ((high & 0xFFFF) << 16)) & WORD
