# Baseline: the chain through torch.compile, which fuses it into one Triton kernel.
#
# expected: `at-dram-roofline`, 1.00 to 1.03 of the copy at n26: twice v0 but for a per cent or two. The bytes of the
#   chain over those of the fused kernel bound it by 2.
# measured: 241.5 us at n26, 1.05 of the copy, 2.07 times v0: a little more than predicted.
import torch

# A graph a size and dtype. Past the limit (8 by default) torch runs the function eagerly and says so only in a log.
torch._dynamo.config.cache_size_limit = 64


@torch.compile(dynamic=False)
def chain(a, b, c, out):
    out.copy_(torch.sigmoid(a * b + c))


def mul_add_sigmoid(a, b, c, out):
    chain(a, b, c, out)
