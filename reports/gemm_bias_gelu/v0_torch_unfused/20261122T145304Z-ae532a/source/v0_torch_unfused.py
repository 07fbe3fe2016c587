# Baseline: product, bias and GELU as torch runs them one after the other, three launches, each rounding to bfloat16.
#
# expected: the product is the library's, on wgmma at 0.85 to 0.95 of what such a GPU reaches: `at-compute-roofline`,
#   or `tensor-underfed` by the few percent that are missing. Bias and GELU read and write the outputs once each, out
#   of L2 in part: `redundant-traffic` over the chain, 6 to 8 % of the time at square8k, 12 to 16 % at wide.
# measured: nothing yet.
import torch


def gemm_bias_gelu(x, weight, bias, out):
    torch.mm(x, weight.mT, out=out)
    torch.add(out, bias, out=out)
    torch.ops.aten.gelu.out(out, approximate="tanh", out=out)
