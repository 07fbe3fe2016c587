"""Inputs of the lightning-attention decode step and its result in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return q, k, v [batch, heads, 1, dim] bfloat16, slope [heads] and state [batch, heads, dim, dim] float32.

    Slopes are ALiBi's, 2^(-8 (h + 1) / heads): decays from 0.4 to 0.996 a step. The state has the
    variance 1 / (1 - decay^2) that the recurrence settles at when the elements of k^T v have variance
    one, so neither term of the update vanishes in any head. q carries the usual 1 / sqrt(dim).
    """
    batch, heads, dim = workload["batch"], workload["heads"], workload["dim"]
    generator = torch.Generator(device=device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device=device)

    dtype = getattr(torch, workload["dtype"])
    q = (normal(batch, heads, 1, dim) * dim**-0.5).to(dtype)
    k = normal(batch, heads, 1, dim).to(dtype)
    v = normal(batch, heads, 1, dim).to(dtype)
    slope = torch.exp2(-8.0 * torch.arange(1, heads + 1, device=device, dtype=torch.float32) / heads)
    settled = (-torch.expm1(-2.0 * slope)).rsqrt()
    state = normal(batch, heads, dim, dim).mul_(settled.view(heads, 1, 1))
    return q, k, v, slope, state


def reference(q, k, v, slope, state) -> tuple:
    """Return (out, new_state) in float64."""
    q, k, v, slope = (tensor.double() for tensor in (q, k, v, slope))
    new_state = state.double()
    new_state.mul_(torch.exp(-slope).view(-1, 1, 1)).addcmul_(k.transpose(-1, -2), v)
    return q @ new_state, new_state
