"""Windows of correlated channels; their means and covariances in float64."""

import torch

SOURCES = 4  # that all channels of a window hear, each in its own mixture
OFFSET = 100.0  # standard deviations between channels: sums of raw products would cancel to noise


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [windows, channels, samples]: a mixture of sources, noise of a channel's own, a large offset."""
    generator = torch.Generator(device=device).manual_seed(seed)
    windows, channels, samples = (workload[name] for name in ("windows", "channels", "samples"))

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device=device, dtype=getattr(torch, workload["dtype"]))

    x = normal(windows, channels, samples).mul_(0.5)
    x.baddbmm_(normal(windows, channels, SOURCES).mul_(0.5), normal(windows, SOURCES, samples))
    return (x.add_(normal(windows, channels, 1), alpha=OFFSET),)


def reference(x) -> tuple:
    """Return (mean, cov) in float64."""
    centred = x.double()
    mean = centred.mean(dim=2)
    centred -= mean.unsqueeze(2)
    return mean, torch.bmm(centred, centred.mT) / (x.shape[2] - 1)
