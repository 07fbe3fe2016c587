"""Inputs of attention and its result in float64, a head at a time: the scores of one are 134 MB at 4096 x 4096."""

import torch

Q_SCALE = 2.0  # scores are two wide: of 4096 keys some hundred share a result
PLANTED, LIKENESS = 61, 0.3  # each such key is like one query, which draws half of its result from it or nearly all
# Each such head has scores that overflow without the maximum subtracted, one or two keys a result, and values that are
# as much smaller as there are fewer of them, so that all heads weigh the same in the norm.
WIDE_PERIOD, WIDE, NARROW = 8, 16.0, 0.125


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return q [batch, heads, queries, dim], k and v [batch, heads, keys, dim], and whether it is causal.

    A planted key is the last one that its query sees if it is causal: what was summed before has to be scaled down.
    """
    generator = torch.Generator(device=device).manual_seed(seed)
    batch, heads, queries, keys, dim = (workload[name] for name in ("batch", "heads", "queries", "keys", "dim"))

    def normal(rows):
        return torch.randn(batch * heads, rows, dim, generator=generator, device=device)

    q, k, v = normal(queries).mul_(Q_SCALE), normal(keys), normal(keys)
    if queries and keys:
        place = torch.arange(PLANTED // 2 % keys, keys, PLANTED, device=device)
        k[:, place] += LIKENESS * q[:, (place + queries - keys).clamp(0, queries - 1)]
    q[::WIDE_PERIOD] *= WIDE
    v[::WIDE_PERIOD] *= NARROW
    q, k, v = (t.to(torch.bfloat16).view(batch, heads, rows, dim) for t, rows in ((q, queries), (k, keys), (v, keys)))
    return q, k, v, workload["causal"]


def reference(q, k, v, causal) -> tuple:
    """Return (out,) in float64; a query that sees no key has zeros."""
    _, _, queries, dim = q.shape
    keys = k.shape[2]
    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    first = max(0, queries - keys) if causal else 0  # the first query that sees a key
    if keys == 0 or first == queries:
        return (out,)
    unseen = torch.ones(queries - first, keys, dtype=torch.bool, device=q.device).triu(keys - queries + first + 1)
    heads = [t.flatten(0, 1) for t in (q[:, :, first:], k, v, out[:, :, first:])]
    for one_q, one_k, one_v, one_out in zip(*heads, strict=True):
        scores = (one_q.double() @ one_k.double().mT).mul_(dim**-0.5)
        if causal:
            scores.masked_fill_(unseen, -float("inf"))
        one_out.copy_(torch.softmax(scores, dim=1) @ one_v.double())
    return (out,)
