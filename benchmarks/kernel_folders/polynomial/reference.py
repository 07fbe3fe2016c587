"""Points within 0.95 of zero, normal coefficients, and the polynomial by Horner's rule, first coefficient first."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [n] and coefficients [terms] float32."""
    generator = torch.Generator(device=device).manual_seed(seed)
    x = 0.95 * (2.0 * torch.rand(workload["n"], generator=generator, device=device) - 1.0)
    return x, torch.randn(workload["terms"], generator=generator, device=device)


def reference(x, coefficients) -> tuple:
    """Return the values in float64."""
    points = x.double()
    total = torch.zeros_like(points)
    for coefficient in coefficients.double().tolist():
        total.mul_(points).add_(coefficient)
    return (total,)
