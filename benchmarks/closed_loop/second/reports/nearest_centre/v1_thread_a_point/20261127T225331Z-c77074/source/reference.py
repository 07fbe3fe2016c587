"""Points and centres with whole coordinates, and the nearest centre of each point."""

import torch

LARGEST = 100


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return point [points, dim] and centre [centres, dim], float32 with whole numbers in them."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shapes = ((workload[name], workload["dim"]) for name in ("points", "centres"))
    return tuple(
        torch.randint(-LARGEST, LARGEST + 1, shape, generator=generator, device=device).float() for shape in shapes
    )


def reference(point, centre) -> tuple:
    """Return (label,): float64 holds these sums exactly, and argmin of what is made distinct takes the lowest."""
    point, centre = point.double(), centre.double()
    distance = (point * point).sum(1, keepdim=True) - 2 * point @ centre.T + (centre * centre).sum(1)
    number = torch.arange(centre.shape[0], device=point.device)
    return ((distance * centre.shape[0] + number).argmin(dim=1).int(),)
