"""Inputs of some lightning-attention decode steps and their results in float64, step by step."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return q, k, v [steps, batch, heads, dim] bfloat16, slope [heads] and state [batch, heads, dim, dim] float32."""
    steps, batch, heads, dim = (workload[name] for name in ("steps", "batch", "heads", "dim"))
    generator = torch.Generator(device=device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device=device)

    q = (normal(steps, batch, heads, dim) * dim**-0.5).bfloat16()
    k, v = (normal(steps, batch, heads, dim).bfloat16() for _ in range(2))
    slope = torch.exp2(-8.0 * torch.arange(1, heads + 1, device=device, dtype=torch.float32) / heads)
    state = normal(batch, heads, dim, dim).mul_((-torch.expm1(-2.0 * slope)).rsqrt().view(heads, 1, 1))
    return q, k, v, slope, state


def reference(q, k, v, slope, state) -> tuple:
    """Return (out, new_state) in float64; out has every step, so each is checked."""
    q, k, v = (tensor.double() for tensor in (q, k, v))
    now, decay = state.double(), torch.exp(-slope.double()).view(-1, 1, 1)
    out = torch.empty_like(q)
    for one_q, one_k, one_v, one_out in zip(q, k, v, out, strict=True):
        now.mul_(decay).addcmul_(one_k.unsqueeze(-1), one_v.unsqueeze(-2))
        one_out.copy_((one_q.unsqueeze(-2) @ now).squeeze(-2))
    return out, now
