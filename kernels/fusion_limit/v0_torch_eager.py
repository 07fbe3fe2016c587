# Baseline: the chain as torch runs it, a launch a step.
#
# expected: `redundant-traffic` over four launches: means read the samples, centring reads and writes them, the product
#   of matrices reads them again: four passes where one would do. The product, small matrices in float32, takes longer
#   than its bytes: 0.15 to 0.2 of the copy at c32, less at c8, where its tiles are mostly padding.
# measured: 906 us at c32, 0.14 of the copy; 0.16 at c8, 0.11 at c16. `redundant-traffic`, 1.72x, 2.17 GB for 0.55.
#   Centring takes 394 us for two passes, the product 367.
import torch


def fusion_limit(x, mean, cov):
    torch.mean(x, dim=2, out=mean)
    centred = x - mean.unsqueeze(2)
    torch.bmm(centred, centred.mT, out=cov)
    cov.div_(x.shape[2] - 1)
