"""Effective bandwidth of each version against a device copy, or across the host link, or its operations, as bars."""

from __future__ import annotations

from ncu_assist.analysis.history import HistoryCell, HistoryTable, VersionRow
from ncu_assist.analysis.run_view import WorkloadRow, workload_row
from ncu_assist.analysis.yardstick import COPY, TENSOR, Yardstick
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.bars import Bar, Bars
from ncu_assist.render.html.ladder_chart import cut
from ncu_assist.render.html.term import Term
from ncu_assist.render.l2_words import l2_words

ROOM = 1.05  # to the right of what is fastest, so that the line of the copy stays in sight
LETTERS = 40
EFFECTIVE = "Each input read once and each output written once, over the median"
NEEDED = "The operations of kernel.toml over the median"
CROSSED = "What has to come from the host, over the median"


def effective(cell: HistoryCell) -> WorkloadRow | None:
    """Return the rates that a version's median comes to; None without a workload of its own."""
    return workload_row(cell.stored.run, cell.facts) if cell.stored and cell.facts else None


def bandwidth_bars(shown: HistoryTable) -> Bars | None:
    """Return the bars of the workload shown, full width being a little more than the fastest; None without any."""
    rows = [(rung, shown.cell(rung).share_of(shown.yardstick), effective(shown.cell(rung))) for rung in shown.rungs]
    known = [(rung, share, row) for rung, share, row in rows if row and share]
    if not known:
        return None
    full = ROOM * max(1.0, *(share for _, share, _ in known))
    bars = tuple(_bar(rung, share, _rate(row, shown.yardstick), full) for rung, share, row in known)
    on = f" on {one_line(shown.shown)}" if shown.shown else ""
    measure, why = shown.yardstick, l2_words(known[0][2])
    line = f"the line is {measure.what}, 100 %"
    if measure is TENSOR:
        return Bars(f"Operations a second of each version{on}", bars, f"{NEEDED}; {line}")
    if why:
        return Bars(f"Each version against {measure.what}{on}", bars, f"{line}; no bandwidth: {why}")
    return Bars(
        f"Effective bandwidth of each version{on}", bars, f"{EFFECTIVE if measure is COPY else CROSSED}; {line}"
    )


def _rate(row: WorkloadRow, measure: Yardstick) -> str:
    if measure is TENSOR:
        return quantity(row.flops_per_second, "flop/s") if row.flops_per_second else ""
    return quantity(row.bytes_per_second, "byte/s") if row.bytes_per_second else ""


def _bar(rung: VersionRow, reached: float, rate: str, full: float) -> Bar:
    text = f"{rate} · {100 * reached:.0f} %" if rate else f"{100 * reached:.0f} %"
    return Bar(Term(cut(one_line(rung.version), LETTERS)), reached / full, text, ceiling=1.0 / full)
