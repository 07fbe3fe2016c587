# Baseline: product, bias and GELU as torch runs them one after the other, three launches, each rounding to bfloat16.
#
# expected: the product is the library's, on wgmma at 0.85 to 0.95 of what such a GPU reaches: `at-compute-roofline`,
#   or `tensor-underfed` by the few percent that are missing. Bias and GELU read and write the outputs once each, out
#   of L2 in part: `redundant-traffic` over the chain, 6 to 8 % of the time at square8k, 12 to 16 % at wide.
# measured: on an H200, 2026-11-26: 1.643 ms at square8k, 84.0 us at few_rows. Under ncu the product alone is 1395 us,
#   the sum with the bias 177, GELU 76: 15 %, not 6 to 8. `redundant-traffic`, 1.11x, over the chain, few_rows 1.15x.
import torch


def gemm_bias_gelu(x, weight, bias, out):
    torch.mm(x, weight.mT, out=out)
    torch.add(out, bias, out=out)
    torch.ops.aten.gelu.out(out, approximate="tanh", out=out)
