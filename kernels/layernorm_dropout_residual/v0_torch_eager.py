# Baseline: layer_norm, dropout and the sum, one torch operator after the other. torch's generator makes other draws
# than reference.py, so the check reads from the result what was kept.
# draws: its own
#
# expected: `redundant-traffic` over three launches: layer_norm reads and writes a matrix, dropout reads and writes one
#   and stores a byte an element, the sum reads two and writes one: 7.25 passes in float32 where three would do, 7.5 in
#   bfloat16: 0.4 of the copy. At one_row `launch-bound`.
# measured: 552 us at c4k_f32, 0.34 of the copy, and 313 at c4k_bf16, 0.30: the bytes as predicted, at a lower rate.
import torch
import torch.nn.functional as F

KEEP_OF, EPS = 1 << 16, 1e-5


def layernorm_dropout_residual(x, residual, gamma, beta, keep, seed, out):
    torch.manual_seed(seed)
    y = F.dropout(F.layer_norm(x, x.shape[1:], gamma, beta, EPS), 1 - keep / KEEP_OF)
    torch.add(residual, y, out=out)
