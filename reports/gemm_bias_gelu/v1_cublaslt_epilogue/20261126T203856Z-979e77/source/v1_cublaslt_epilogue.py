# Baseline: one launch of cublasLt, whose epilogue adds the bias and applies GELU. That is the tanh form in cublasLt
# (CUBLASLT_EPILOGUE_GELU_BIAS), and in torch on a GPU where it falls back to launches of its own. On the CPU the same
# call means GELU by erf, 2e-4 away in the norm.
#
# expected: `tensor-underfed` or `at-compute-roofline`, as the product of v0, and the epilogue at almost no cost: 1.06
#   to 1.09 times v0 at square8k, 1.12 to 1.17 at wide. cublasLt chooses among other kernels where an epilogue is asked
#   for, and may choose a slower one. At odd, where rows do not start on 16 bytes, an older kernel on mma.sync.
# measured: 1.408 ms at square8k, 781 TFLOP/s, 1.185 times v0; 1.31 at wide. Tensor cores 92 % busy:
#   `at-compute-roofline`. 250 us at odd, three times v0. GELU is by tanh: the norm of the
#   error is v10's to 2e-9 where erf would add 1e-5, at all workloads but odd, where roundings hide it.
import torch


def gemm_bias_gelu(x, weight, bias, out):
    torch._addmm_activation(bias, x, weight.mT, use_gelu=True, out=out)
