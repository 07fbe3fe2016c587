# Baseline: torch.compile. It leaves the product to the library and makes one kernel of what stands behind it.
#
# expected: `tensor-underfed` or `at-compute-roofline` for the product, as in v0, and one pass over the outputs less:
#   1.03 to 1.045 times v0 at square8k, 1.06 to 1.085 at wide, half of what v1 wins.
# measured: on an H200, 2026-11-26: 1.526 ms at square8k, 1.077 times v0, 1.21 at wide: 45 % of what v1 wins.
#   `at-compute-roofline` of the product; the second launch takes 89 us under ncu. The fastest at odd, 80.0 us.
import torch
import torch.nn.functional as F

# A graph a shape. Past the limit (8 by default) torch runs the function eagerly and says so only in a log.
torch._dynamo.config.cache_size_limit = 64


@torch.compile(dynamic=False)
def layer(x, weight, bias, out):
    out.copy_(F.gelu(torch.mm(x, weight.mT) + bias, approximate="tanh"))


def gemm_bias_gelu(x, weight, bias, out):
    layer(x, weight, bias, out)
