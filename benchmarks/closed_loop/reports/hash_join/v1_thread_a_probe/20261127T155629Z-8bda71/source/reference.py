"""A table of unique keys in buckets, keys to look for, of which two thirds are there, and what is found."""

import torch

FACTOR, WORD = 2654435761, 1 << 32


def _bucket(key, buckets: int):
    return key.long() * FACTOR % WORD % buckets


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return start [buckets + 1], key [entries], payload [entries], probe [probes], all int32 and not negative."""
    generator = torch.Generator(device=device).manual_seed(seed)
    buckets, entries, probes = workload["buckets"], workload["entries"], workload["probes"]
    odd = 2 * int(torch.randint(0, 1 << 29, (1,), generator=generator, device=device)) + 1
    every = torch.arange(entries + entries // 2, device=device) * odd % (1 << 31)  # an odd factor: each key once
    key = every[:entries]
    of = _bucket(key, buckets)
    key = key[torch.argsort(of, stable=True)]
    start = torch.zeros(buckets + 1, dtype=torch.int32, device=device)
    start[1:] = torch.cumsum(torch.bincount(of, minlength=buckets), 0)
    payload = torch.randint(0, 1 << 30, (entries,), generator=generator, device=device, dtype=torch.int32)
    chosen = torch.randint(0, every.numel(), (probes,), generator=generator, device=device)
    return start, key.int(), payload, every[chosen].int()


def reference(start, key, payload, probe) -> tuple:
    """Return (result,)."""
    ordered, place = torch.sort(key)
    at = torch.searchsorted(ordered, probe).clamp_(max=key.numel() - 1)
    return (torch.where(ordered[at] == probe, payload[place[at]], -1),)
