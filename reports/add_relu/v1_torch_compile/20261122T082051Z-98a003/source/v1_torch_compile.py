# Baseline: the same chain through torch.compile, which fuses it into one Triton kernel.
#
# expected: `at-dram-roofline`, 1.00 to 1.03 of the copy at n26: 1.6 times v0. The bytes of the chain over those of the
#   fused kernel bound it by 1.67.
import torch

# A graph a size and dtype. Past the limit (8 by default) torch runs the function eagerly and says so only in a log.
torch._dynamo.config.cache_size_limit = 64


@torch.compile(dynamic=False)
def chain(a, b, out):
    out.copy_(torch.relu(a + b))


def add_relu(a, b, out):
    chain(a, b, out)
