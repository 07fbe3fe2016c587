# One torch operator.
import torch


def small_scale(x, y):
    torch.mul(x, 2.0, out=y)
