"""Normal images and filters, and their convolution in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return x [batch, channels, height, width] and w [filters, channels, 3, 3]."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = [workload[name] for name in ("batch", "channels", "height", "width")]
    filters = (workload["filters"], workload["channels"], 3, 3)
    return (
        torch.randn(shape, generator=generator, device=device),
        torch.randn(filters, generator=generator, device=device),
    )


def reference(x, w) -> tuple:
    """Return (y,)."""
    return (torch.nn.functional.conv2d(x.double(), w.double(), padding=1),)
