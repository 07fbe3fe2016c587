# Baseline: the same through torch.compile, which writes a Triton kernel for each size and dtype.
# dtypes: float32, float16
#
# expected: `at-dram-roofline` at 2^26, level with v0: the kernel is as good as it gets and there is nothing to fuse.
#   At 2^20 and 2^22 no difference either, since the guards that torch checks before the launch run on the host.
# measured: level at 2^26 and 2^28. In float16 1.22 times slower than v0 at 2^24, 5 % at 2^22.
import torch

# A graph a size and dtype. Past the limit (8 by default) torch runs the function eagerly and says so only in a log.
torch._dynamo.config.cache_size_limit = 64


@torch.compile(dynamic=False)
def add(a, b, c):
    c.copy_(a + b)


def elementwise_add(a, b, c):
    add(a, b, c)
