# Baseline: the chain as torch runs it, a launch a step.
#
# expected: `redundant-traffic` over four launches: means read the samples, centring reads and writes them, the product
#   of matrices reads them again: four passes where one would do. The product, small matrices in float32, takes longer
#   than its bytes: 0.15 to 0.2 of the copy at c32, less at c8, where its tiles are mostly padding.
import torch


def fusion_limit(x, mean, cov):
    torch.mean(x, dim=2, out=mean)
    centred = x - mean.unsqueeze(2)
    torch.bmm(centred, centred.mT, out=cov)
    cov.div_(x.shape[2] - 1)
