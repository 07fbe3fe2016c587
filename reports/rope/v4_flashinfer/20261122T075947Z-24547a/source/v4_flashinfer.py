# Baseline: FlashInfer's kernel with a table of cosines and sines, which it wants in float32; it takes strides, so that
#   positions may be its tokens although heads lie in front. A decode step has its heads as tokens. Half types only; a
#   head of 64, 128, 256 or 512. FlashInfer compiles it when this file is imported, most of a minute the first time,
#   and links with -lcuda: a whole toolkit has that as lib64/stubs/libcuda.so. Where it is missing, a symbolic link
#   libcuda.so to the driver's libcuda.so.1, in a folder on LIBRARY_PATH, does.
# packages: flashinfer
# dtypes: bfloat16
#
# expected: `l2-bound`, as v2: 128-bit accesses, but a thread reads 64 bytes of the table for the 16 that it turns. 0.7
#   to 0.85 of the copy. At decode `launch-bound`.
import functools

import torch
from flashinfer.rope import get_rope_module

MODULE = get_rope_module()


@functools.lru_cache(maxsize=8)
def tables(first, seq, dim, base, device):
    exponent = torch.arange(0, -dim, -2, dtype=torch.float64, device=device) / dim
    positions = torch.arange(first, first + seq, dtype=torch.float64, device=device)
    angles = torch.outer(positions, torch.pow(float(base), exponent))
    return torch.cat((angles.cos(), angles.sin()), dim=-1).float()


@functools.lru_cache(maxsize=8)
def rows(seq, heads, device):
    """The row of the table that each token takes."""
    tokens = torch.zeros(heads, device=device) if seq == 1 else torch.arange(seq, device=device)
    return tokens.int()


def rope(q, first, base, out):
    heads, seq, dim = q.shape
    if q.numel() == 0:
        return
    tokens, turned = (q, out) if seq == 1 else (q.transpose(0, 1), out.transpose(0, 1))
    none = slice(0, 0)  # heads of k
    table, taken = tables(first, seq, dim, base, q.device), rows(seq, heads, q.device)
    MODULE.apply_rope_pos_ids_cos_sin_cache(tokens, tokens[:, none], turned, turned[:, none], table, taken, False)
