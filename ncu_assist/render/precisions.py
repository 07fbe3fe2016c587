"""How many operations a run did, beside those that its work needs, in words."""

from __future__ import annotations

from ncu_assist.analysis.roofline import PRECISIONS
from ncu_assist.analysis.run_view import RunView
from ncu_assist.analysis.yardstick import TENSOR
from ncu_assist.quantity import quantity

NOTABLE = 0.01  # of the operations needed: addresses and scalars come to less


def operations_words(shown: RunView) -> str:
    """Return the operations needed and those counted, e.g. ``1.10 Tflop needed; counted: Tensor BF16 1.10 Tflop``.

    Empty but for work whose least time operations set, and without counters.
    """
    row, values = shown.row, shown.combined.values
    needed = row.workload.flops if row and row.measure is TENSOR else None
    counted = [(one.label, values[one.work] or 0.0) for one in PRECISIONS]
    found = [(label, count) for label, count in counted if needed and count >= NOTABLE * needed]
    if not needed or not found:
        return ""
    each = (f"{label} {quantity(count, 'flop')} ({count / needed:.2f}x)" for label, count in found)
    return f"{quantity(needed, 'flop')} needed; counted: {', '.join(each)}"
