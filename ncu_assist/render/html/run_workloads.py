"""All workloads of a run in a table: time, verdict against the version before, rates, check."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_assist.analysis.run_view import Shown, WorkloadRow, gigabytes_per_second
from ncu_assist.analysis.yardstick import COPY, LINK, TENSOR, Yardstick, measure_of
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.badge import Badge, verdict_badge
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.html.term import Term
from ncu_assist.render.html.yardstick import share_term
from ncu_assist.render.l2_words import IN_L2, no_rates
from ncu_assist.verdict import Verdict
from ncu_assist.versions import short_name

RATE = Term("GB/s", "bytes of kernel.toml / median", "each input read once, each output written once")
LINK_RATE = Term("GB/s", "[host] bytes of kernel.toml / median", "what has to cross the host link")
FLOPS = Term("Tflop/s", "flops of kernel.toml / median", "the operations that the work needs")
RATES = {COPY.title: RATE, LINK.title: LINK_RATE, TENSOR.title: FLOPS}
ERROR = Term("worst error", "||out - ref|| / ||ref||", "largest of all outputs and seeds")
COLUMNS = (
    Column("workload"),
    Column("dtype"),
    Column("median", "right", "number"),
    Column("q1 to q3", "right", ""),
    Column("against"),  # the version before, by name
    Column("GB/s", "right", "number", RATE),
    Column(COPY.title, "right", "number", share_term(COPY)),
    Column("check"),
    Column("worst error", "right", "number", ERROR),
)


def workloads_table(shown: Shown, verdicts: Mapping[str, Verdict]) -> Table:
    """Return the workloads in the order of the run; ``verdicts`` are those that both versions were timed on."""
    several = len({row.workload.dtype for row in shown.rows}) > 1  # else the title of the page says it
    measure = measure_of(shown.rows)
    rows = tuple(_row(row, verdicts.get(row.workload.name), several, measure) for row in shown.rows)
    note = "; ".join(no_rates(shown.rows))
    return Table("workloads-table", "Time of every workload", _columns(shown, measure), rows, note=note).without_empty()


def _row(row: WorkloadRow, verdict: Verdict | None, several: bool, measure: Yardstick) -> tuple[Cell, ...]:
    timing, check = row.timing, row.check
    of_it = row.share_of(measure)
    error = check.norm_error if check else None
    return (
        Cell(one_line(row.workload.name)),
        Cell(one_line(row.workload.dtype)) if several else Cell(),
        number(duration(timing.median_ns), timing.median_ns) if timing else Cell(),
        Cell(f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}") if timing else Cell(),
        _against(verdict),
        _rate(row, measure),
        number(f"{100 * of_it:.0f} %", of_it) if of_it is not None else Cell(),
        _check(row),
        number(f"{error:.2g}", error) if error is not None else Cell(),
    )


def _rate(row: WorkloadRow, measure: Yardstick) -> Cell:
    if measure is TENSOR:
        flops = row.flops_per_second
        return number(f"{flops / 1e12:.1f}", flops) if flops is not None else Cell()
    if row.bytes_per_second is not None:
        return number(gigabytes_per_second(row), row.bytes_per_second)
    return Cell(IN_L2[row.in_l2], tone="dim") if row.in_l2 and row.timing else Cell()


def _against(verdict: Verdict | None) -> Cell:
    badge = verdict_badge(verdict)
    if badge is None or verdict is None:
        return Cell()
    return Cell(badge.text, repr(verdict.speedup) if verdict.speedup else "", badge=badge)


def _columns(shown: Shown, measure: Yardstick) -> tuple[Column, ...]:
    before = short_name(one_line(shown.before.version)) if shown.before else ""
    titled = {
        "against": Column(f"against {before}", "left", "number"),
        COPY.title: Column(measure.title, "right", "number", share_term(measure)),
        "GB/s": Column(RATES[measure.title].label, "right", "number", RATES[measure.title]),
    }
    return tuple(titled.get(column.title, column) for column in COLUMNS)


def _check(row: WorkloadRow) -> Cell:
    if row.check is None:
        return Cell()
    if row.check.passed:
        return Cell("passed", badge=Badge("✓ passed", "good"))
    return Cell("FAILED", badge=Badge("✗ FAILED", "bad"), note=one_line(row.check.reason))
