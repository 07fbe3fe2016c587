# Changes: one Triton kernel for any three-input chain, the operator a function that it gets as a constant of the
#   compilation.
# parent: v0
#
# expected: `at-dram-roofline`, level with v2 and v4: 1.00 to 1.03 of the copy at n26. Its exponential rounds x *
#   log2(e) once more than v4's: twice the error at large |x|, within the tolerance.
# measured: 242.3 us at n26, 0.2 % behind v4 and 0.3 % behind v2.
import triton
import triton.language as tl

SIZE = 1024


@triton.jit
def product_sum_sigmoid(x, y, z):
    return tl.sigmoid(x * y + z)


@triton.jit
def element_wise(a_ptr, b_ptr, c_ptr, out_ptr, n, OPERATOR: tl.constexpr, SIZE: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = index < n
    a, b = tl.load(a_ptr + index, mask=inside), tl.load(b_ptr + index, mask=inside)
    c = tl.load(c_ptr + index, mask=inside)
    tl.store(out_ptr + index, OPERATOR(a, b, c), mask=inside)


def mul_add_sigmoid(a, b, c, out):
    n = out.numel()
    if n:
        element_wise[(triton.cdiv(n, SIZE),)](a, b, c, out, n, product_sum_sigmoid, SIZE, num_warps=4)
