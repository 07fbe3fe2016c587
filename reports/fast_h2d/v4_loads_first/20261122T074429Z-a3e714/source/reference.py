"""Inputs of the gather and its result, byte by byte."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return table [rows, token_bytes] uint8, src and dst [tokens] int64, and both indices once more for the host.

    Sources are drawn without repetition: a token that is read twice would come from L2 the second time. Destinations
    are a permutation, so that every row of the output is written once.
    """
    rows, tokens = workload["rows"], workload["tokens"]
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = (rows, workload["token_bytes"])
    table = torch.randint(0, 256, shape, generator=generator, device=device, dtype=torch.uint8)
    src = torch.randperm(rows, generator=generator, device=device)[:tokens]
    dst = torch.randperm(tokens, generator=generator, device=device)
    return table, src, dst, src.clone(), dst.clone()


def reference(table, src, dst, src_host, dst_host) -> tuple:
    """Return (out,)."""
    out = torch.empty(len(src), table.shape[1], dtype=table.dtype, device=table.device)
    out[dst] = table[src]
    return (out,)
