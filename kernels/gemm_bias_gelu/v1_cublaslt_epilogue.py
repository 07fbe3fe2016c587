# Baseline: one launch of cublasLt, whose epilogue adds the bias and applies GELU. That is the tanh form in cublasLt
# (CUBLASLT_EPILOGUE_GELU_BIAS), and in torch on a GPU where it falls back to launches of its own. On the CPU the same
# call means GELU by erf, 2e-4 away in the norm.
#
# expected: `tensor-underfed` or `at-compute-roofline`, as the product of v0, and the epilogue at almost no cost: 1.06
#   to 1.09 times v0 at square8k, 1.12 to 1.17 at wide. cublasLt chooses among other kernels where an epilogue is asked
#   for, and may choose a slower one. At odd, where rows do not start on 16 bytes, an older kernel on mma.sync.
# measured: on an H200, 2026-11-26: 1.383 ms at square8k, 795 TFLOP/s, 1.188 times v0; 1.313 at wide. Tensor cores 96 %
#   busy while SMs are active: `at-compute-roofline`. 250 us at odd, three times v0. GELU is by tanh: in a recording of
#   2026-11-22, not kept, the norm of the error was v10's to 2e-9 where erf would add 1e-5, at all workloads but odd,
#   where roundings hide it.
import torch


def gemm_bias_gelu(x, weight, bias, out):
    torch._addmm_activation(bias, x, weight.mT, use_gelu=True, out=out)
