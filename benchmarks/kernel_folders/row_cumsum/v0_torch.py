# Baseline: the library's cumulative sum.
import torch


def row_cumsum(x, out):
    torch.cumsum(x, dim=1, out=out)
