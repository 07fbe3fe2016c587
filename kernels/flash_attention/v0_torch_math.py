# Baseline: the formula in torch, one operator after the other. Scores stay in float32, as rounding them to bfloat16
#   would put an error of 3 % on the power of a score of 8. From torch 2.8, which can multiply halves into floats.
#
# expected: `redundant-traffic` over five launches, eight causal: the scores are written, scaled, raised, rounded and
#   read again, 30 GB at d128 where 0.27 would do. 8 to 10 ms, 55 to 70 TFLOP/s; causal takes longer, for nothing is
#   left out: 20 to 28 TFLOP/s.
# measured: on an H100, 2026-11-26: 11.48 ms at d128, 48 TFLOP/s; causal 15.6 ms. `redundant-traffic`, 3.23x and 2.68x.
#   Launches are seven and eleven: element-wise passes go in halves.
import torch


def product(a, b):
    """A product of halves in float32; the CPU has none that takes halves."""
    return torch.bmm(a, b, out_dtype=torch.float32) if a.is_cuda else torch.bmm(a.float(), b.float())


def flash_attention(q, k, v, causal, out):
    queries, keys, dim = q.shape[2], k.shape[2], q.shape[3]
    if q.numel() == 0 or keys == 0:
        out.zero_()
        return
    q, k, v, result = (t.flatten(0, 1) for t in (q, k, v, out))
    scores = product(q, k.mT).mul_(dim**-0.5)
    if causal:
        unseen = torch.ones(queries, keys, dtype=torch.bool, device=q.device).triu_(keys - queries + 1)
        scores.masked_fill_(unseen, -float("inf"))
    powers = torch.softmax(scores, dim=2)
    if causal:
        powers[:, : max(0, queries - keys)] = 0.0  # those queries see no key
    torch.bmm(powers.to(q.dtype), v, out=result)
