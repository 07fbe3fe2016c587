"""The few numbers of a run that stand out: time, bandwidth, how near to a copy, what binds it, what DRAM moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ncu_assist.analysis.run_view import Shown, WorkloadRow
from ncu_assist.analysis.yardstick import TENSOR
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.html.term import Term, term_of
from ncu_assist.render.html.yardstick import share_term
from ncu_assist.render.l2_words import IN_L2, copy_words, l2_words

BANDWIDTH = Term(
    "Effective bandwidth", "bytes of kernel.toml / median", "each input read once, each output written once"
)
LINK_RATE = Term(
    "From the host", "[host] bytes of kernel.toml / median", "what has to cross the host link, over the median"
)
FLOP_RATE = Term("Operations", "flops of kernel.toml / median", "the operations that the work needs, over the median")
LESS = 0.995  # of what must move: above, it is printed as 1.00x


@dataclass(frozen=True)
class Tile:
    """A number that stands out, with what it is; ``note`` is a dim line below."""

    term: Term
    text: str
    note: str = ""


def tiles(shown: Shown) -> tuple[Tile, ...]:
    """Return what is known of them, measured times first, then what the counters say."""
    return (*(_timed(shown.row) if shown.row else ()), *_counted(shown))


def _timed(row: WorkloadRow) -> Iterator[Tile]:
    timing, moved, of_it = row.timing, row.workload.algorithmic_bytes, row.share
    if timing:
        spread = f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}, {timing.samples} samples"
        yield Tile(Term("Median time"), duration(timing.median_ns), spread)
    crossed = row.workload.host_bytes
    if timing and crossed:
        rate = quantity(crossed / (timing.median_ns * 1e-9), "byte/s")
        yield Tile(LINK_RATE, rate, f"of {quantity(crossed, 'byte')} that must cross")
    elif row.bytes_per_second and moved:
        yield Tile(BANDWIDTH, quantity(row.bytes_per_second, "byte/s"), f"of {quantity(moved, 'byte')} that must move")
    elif timing and row.in_l2:
        yield Tile(BANDWIDTH, IN_L2[row.in_l2], l2_words(row))
    if row.measure is TENSOR and row.flops_per_second:
        needed = f"of {quantity(row.workload.flops or 0, 'flop')} that the work needs"
        yield Tile(FLOP_RATE, quantity(row.flops_per_second, "flop/s"), needed)
    if of_it:
        measure = row.measure
        kept = copy_words(row.in_l2) if measure is not TENSOR else ""
        term = replace(share_term(measure), label=measure.title.capitalize())
        yield Tile(term, f"{100 * of_it:.0f} %", f"{measure.what} is 100 %{f'; {kept}' if kept else ''}")


def _counted(shown: Shown) -> Iterator[Tile]:
    under, moved, bound = shown.combined.duration_ns, shown.combined.values["dram_bytes"], shown.counted.bottleneck
    if bound:
        of = "" if shown.counted is shown else " of the longest launch"
        yield Tile(Term("Bound by"), bound.name, f"{bound.percent:.0f} % at the busiest unit{of}")
    if under is not None:
        count = len(shown.combined.launches)
        yield Tile(term_of("duration", "Under ncu"), duration(under), f"{count} launch{'es' * (count > 1)}")
    if moved is not None:
        yield Tile(term_of("dram_bytes", "DRAM traffic"), quantity(moved, "byte"), _against(shown.row, moved))


def _against(row: WorkloadRow | None, moved: float) -> str:
    needed = row.workload.algorithmic_bytes if row else None
    if not needed:
        return ""
    less = "; less, as what was written last still lies in L2 at the end" if moved < LESS * needed else ""
    return f"{moved / needed:.2f}x of what must move{less}"
