# Changes: one Triton kernel for any two-input chain. The operator is a function that the kernel gets as a constant of
#   the compilation, so that it is inlined: what is general in the source costs nothing in the machine code.
# parent: v0
#
# expected: `at-dram-roofline`, level with v1 and v3: 1.00 to 1.03 of the copy at n26. 1024 elements by four warps are
#   two 128-bit accesses of each input a thread. At n16 as much later as Triton's own launch costs on the host, which a
#   held stream hides.
# measured: 184.2 us at n26, level with v1, 0.4 % behind v3.
import triton
import triton.language as tl

SIZE = 1024


@triton.jit
def sum_relu(x, y):
    return tl.maximum(x + y, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def element_wise(a_ptr, b_ptr, out_ptr, n, OPERATOR: tl.constexpr, SIZE: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = index < n
    a, b = tl.load(a_ptr + index, mask=inside), tl.load(b_ptr + index, mask=inside)
    tl.store(out_ptr + index, OPERATOR(a, b), mask=inside)


def add_relu(a, b, out):
    n = out.numel()
    if n:
        element_wise[(triton.cdiv(n, SIZE),)](a, b, out, n, sum_relu, SIZE, num_warps=4)
