"""Launches and bytes of every version; where bytes set the least time, what fewer allow and what was won."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.analysis.history import HistoryCell as Measured
from ncu_assist.analysis.history import HistoryTable, VersionRow
from ncu_assist.analysis.yardstick import TENSOR
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.html.term import Term
from ncu_assist.render.words import factor
from ncu_assist.versions import short_name

MOVED = Term("DRAM bytes", "dram_bytes", "read from and written to DRAM by all launches together, under ncu")
NEEDED = Term(
    "of needed",
    "dram_bytes / algorithmic_bytes",
    "over each input read once and each output written once; below 1x, some of the results are still in L2",
)
WORTH = (
    "What fusion is worth at most: the bytes that a version saves over the first one that was counted, with caches as "
    "ncu had them before each launch; and the time that it won."
)
BESIDE_OPERATIONS = (
    "The bytes that every version moves. Here operations set the least time, so that fewer bytes promise no speed-up "
    "in proportion."
)
FACTS = 4  # the first columns: version, launches, bytes, of needed


def traffic_table(shown: HistoryTable) -> Table | None:
    """Return a row a version with counters on the workload shown; None where no version has several launches."""
    counted = [(rung, shown.cell(rung)) for rung in shown.rungs if _moved(shown.cell(rung))]
    if not any(len(cell.combined.launches) > 1 for _, cell in counted if cell.combined):
        return None
    first, bytes_count = counted[0], shown.yardstick is not TENSOR
    columns = _columns(first[0]) if bytes_count else _columns(first[0])[:FACTS]
    rows = tuple(tuple(_row(rung, cell, first[1]))[: len(columns)] for rung, cell in counted)
    return Table("traffic-table", "Launches and bytes of every version", columns, rows)


def traffic_words(shown: HistoryTable) -> str:
    """Return what the table is about: what bytes are worth is not said where operations set the least time."""
    return BESIDE_OPERATIONS if shown.yardstick is TENSOR else WORTH


def _columns(first: VersionRow) -> tuple[Column, ...]:
    name, whole = one_line(short_name(first.version)), one_line(first.version)
    fewer = f"the speed-up over {name} that fewer bytes bring at the same rate"
    worth = Term("worth", f"dram_bytes of {whole} / dram_bytes", fewer)
    won = Term("won", f"median_ns of {whole} / median_ns", f"the speed-up over {name}, medians of one bench")
    return (
        Column("version"),
        Column("launches", "right", "number"),
        Column("DRAM bytes", "right", "number", MOVED),
        Column("of needed", "right", "number", NEEDED),
        Column("worth", "right", "number", worth),
        Column("won", "right", "number", won),
    )


def _row(rung: VersionRow, cell: Measured, first: Measured) -> Iterator[Cell]:
    moved, needed = _moved(cell), _needed(cell)
    launches = len(cell.combined.launches) if cell.combined else 0
    yield Cell(one_line(rung.version))
    yield number(str(launches), launches)
    yield number(quantity(moved, "byte"), moved)
    yield _ratio(moved / needed if needed else None)
    yield _ratio(_moved(first) / moved if cell is not first else None)
    yield _ratio(cell.over(first) if cell is not first else None)


def _moved(cell: Measured) -> float:
    """Return the bytes that DRAM moved; 0 where they were not counted, or come from the host, as DRAM is idle then."""
    if cell.combined is None or cell.facts is None or cell.facts.host_bytes is not None:
        return 0.0
    return cell.combined.values["dram_bytes"] or 0.0


def _needed(cell: Measured) -> int:
    return (cell.facts.algorithmic_bytes or 0) if cell.facts else 0


def _ratio(value: float | None) -> Cell:
    return number(factor(value), value) if value else Cell()
