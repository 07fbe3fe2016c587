# The library's product of float32, on the FMA pipe: tensor cores take float32 as TF32 only where that is asked for.
import torch


def float_product(a, b, c):
    torch.mm(a, b, out=c)
