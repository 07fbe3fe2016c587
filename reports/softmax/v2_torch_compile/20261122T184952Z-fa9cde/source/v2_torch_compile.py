# Baseline: softmax through torch.compile, which writes a Triton kernel a size: statistics in one pass, then a second
#   read.
#
# expected: at c4k the second read is served by L1 and L2, 0.8 to 0.95 of the copy. At c64k it comes from DRAM:
#   `redundant-traffic`, three passes for two, 0.6 to 0.66. At c256 rows stay in registers, several a program: 0.9 to
#   0.98.
# measured: 44.5 us at c4k, 0.73 of the copy: L1 served the whole second read, 71 instructions an element are what it
#   takes time for, `pipe-bound` (issue), 1.42x. 0.66 at c64k, `redundant-traffic`, 1.48x; 1.00 at c256.
import torch

# A graph a size. Past the limit (8 by default) torch runs the function eagerly and says so only in a log.
torch._dynamo.config.cache_size_limit = 64


@torch.compile(dynamic=False)
def rows_of(x, y):
    y.copy_(torch.softmax(x, dim=1))


def softmax(x, y):
    rows_of(x, y)
