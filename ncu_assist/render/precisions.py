"""The kinds of operations that counters tell apart, and how many of them a run did beside those that its work needs."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.analysis.yardstick import TENSOR
from ncu_assist.quantity import quantity

NOTABLE = 0.01  # of the operations needed: addresses and scalars come to less
LANES = 32  # results of a warp's instruction
FMA = 2  # operations of a multiply-add


@dataclass(frozen=True)
class Precision:
    """One kind of operations: the key of its count, the rates that measure its ceiling, and what those count.

    ``chip_fp64``, ``chip_fma`` and ``chip_tensor`` are multiply-adds in ``ChipFacts``' rates: what is assumed where
    nothing was measured; all 0 where the table of chips says nothing of it.
    """

    label: str
    work: str
    rates: tuple[str, ...]
    operations: float  # of one unit of these rates
    chip_fp64: float = 0.0
    chip_fma: float = 0.0
    chip_tensor: float = 0.0


def _tensor(what: str, rates: tuple[str, ...], of_halves: float, of_fp64: float = 0.0) -> Precision:
    return Precision(f"Tensor {what}", f"tensor_ops_{what.lower()}", rates, 1.0, of_fp64, 0.0, of_halves)


# What tensor cores do of one type beside halves: NVIDIA's architecture papers of 8.0 and 9.0, dense.
PRECISIONS: tuple[Precision, ...] = (
    Precision("FP64", "fp64_flops", ("fp64",), FMA * LANES, chip_fp64=1.0),
    Precision("FP32", "fp32_flops", ("fma",), FMA * LANES, chip_fma=1.0),
    Precision("FP16", "fp16_flops", ("fp16",), 2 * FMA * LANES),  # HFMA2: pairs
    _tensor("FP64", ("mma_fp64", "wgmma_fp64"), 0.0, of_fp64=2.0),
    _tensor("TF32", ("mma_tf32", "wgmma_tf32"), 0.5),
    _tensor("BF16", ("mma_bf16", "wgmma_bf16", "mma_fp16", "wgmma_fp16"), 1.0),
    _tensor("FP16", ("mma_fp16", "wgmma_fp16", "mma_bf16", "wgmma_bf16"), 1.0),
    _tensor("FP8", ("mma_fp8", "wgmma_fp8"), 2.0),
    _tensor("INT8", ("mma_int8", "wgmma_int8"), 2.0),
)


def operations_words(shown: Shown) -> str:
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
