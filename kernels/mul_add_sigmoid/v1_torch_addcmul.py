# Baseline: the library's own fusion of two of the three steps, a * b + c in one launch.
#
# expected: `redundant-traffic` over two launches, 24 bytes an element where 16 would do. 0.67 of the copy at n26, 1.33
#   times v0.
# measured: 370 us at n26, 0.69 of the copy, 1.35 times v0.
import torch


def mul_add_sigmoid(a, b, c, out):
    torch.addcmul(c, a, b, out=out)
    torch.sigmoid(out, out=out)
