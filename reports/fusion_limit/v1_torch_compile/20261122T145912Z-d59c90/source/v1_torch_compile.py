# Baseline: the same chain through torch.compile, which fuses what stands before the product of matrices.
#
# expected: `redundant-traffic`: means and centring in one kernel, a row in registers, then the library's product. Three
#   passes instead of four: 1.1 to 1.3 times v0.
import torch

# A graph a shape. Past the limit (8 by default) torch runs the function eagerly and says so only in a log.
torch._dynamo.config.cache_size_limit = 64


@torch.compile(dynamic=False)
def chain(x, mean, cov):
    means = x.mean(dim=2)
    centred = x - means.unsqueeze(2)
    mean.copy_(means)
    cov.copy_(torch.bmm(centred, centred.mT) / (x.shape[2] - 1))


def fusion_limit(x, mean, cov):
    chain(x, mean, cov)
