# Baseline: product, bias and GELU as torch runs them one after the other, three launches, each rounding to bfloat16.
#
# expected: the product is the library's, on wgmma at 0.85 to 0.95 of what such a GPU reaches: `at-compute-roofline`,
#   or `tensor-underfed` by the few percent that are missing. Bias and GELU read and write the outputs once each, out
#   of L2 in part: `redundant-traffic` over the chain, 6 to 8 % of the time at square8k, 12 to 16 % at wide.
# measured: 1.667 ms at square8k, 84 us at few_rows. The product alone is 1425 us of it, the sum with the bias 178, GELU
#   76: 15 %, not 6 to 8. `tensor-underfed`, 1.20x, over the chain; `redundant-traffic` second, 1.11x.
import torch


def gemm_bias_gelu(x, weight, bias, out):
    torch.mm(x, weight.mT, out=out)
    torch.add(out, bias, out=out)
    torch.ops.aten.gelu.out(out, approximate="tanh", out=out)
