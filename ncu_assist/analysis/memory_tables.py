"""The memory tables of ncu's window, of what a report holds: values by operation, as data."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.memory_flows import NS_PER_S
from ncu_assist.analysis.records import Combined
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.ncu.catalogue.memory_tables import MEMORY_TABLES, TOTAL, MemoryColumn, Names, OperationTable
from ncu_assist.ncu.catalogue.rows import ROWS

Counted = tuple[float | None, ...]


@dataclass(frozen=True)
class MemoryTable:
    """A table by operation: of each row its name and a value for each column, None where it was not counted.

    ``quiet`` names the operations that were counted and moved nothing: they have no row.
    """

    id: str
    title: str
    columns: tuple[MemoryColumn, ...]
    rows: tuple[tuple[str, Counted], ...]
    quiet: tuple[str, ...]


def memory_tables(combined: Combined) -> tuple[MemoryTable, ...]:
    """Return the tables of which the report holds any value; one without traffic has no rows."""
    made = (_made(one, combined) for one in MEMORY_TABLES)
    return tuple(one for one in made if one.rows or one.quiet)


_HIT, _MISS = (f"lts__t_sectors_srcunit_tex_op_read_lookup_{found}.sum" for found in ("hit", "miss"))
FOUND_FOR_L1 = f"{_HIT} / ({_HIT} + {_MISS})"


def found_for_l1(combined: Combined) -> float | None:
    """Return the percentage of L1's loads that L2 had, as the table of L2 has it; None where it was not counted."""
    return _found(combined.named(_HIT), combined.named(_MISS))


def _made(one: OperationTable, combined: Combined) -> MemoryTable:
    rows, quiet = list[tuple[str, Counted]](), list[str]()
    for name, columns in one.operations:
        counted = tuple(_value(combined, names) for names in columns)
        if any(counted):
            rows.append((name, _shown(one.id, combined, counted)))
        elif any(value is not None for value in counted) and not name.startswith(TOTAL):
            quiet.append(name)
    if len(rows) == 2 and rows[-1][0].startswith(TOTAL) and rows[0][1] == rows[-1][1]:
        rows.pop()  # it only repeats the one operation
    return MemoryTable(one.id, one.title, one.columns, tuple(rows), tuple(quiet))


def _shown(table: str, combined: Combined, counted: Counted) -> Counted:
    """Return the values of all columns of a row, from what was counted of it."""
    match table, counted:
        case "memory-l1", (instructions, requests, waves, peak, sectors, hit, miss):
            moved = _times(sectors, SECTOR_BYTES)
            each, found = _ratio(sectors, requests), _found(hit, miss)
            return instructions, requests, waves, peak, sectors, each, found, moved, miss
        case "memory-l2", (requests, sectors, peak, rate, hit, miss, device, host, peer):
            moved = _times(sectors, SECTOR_BYTES)
            each, found = _ratio(sectors, requests), rate if rate is not None else _found(hit, miss)
            return requests, sectors, peak, each, found, moved, _rate(combined, moved), device, host, peer
        case "memory-evictions", (hit, miss):
            return (hit or 0.0) + (miss or 0.0), hit, miss, _found(hit, miss)
        case "memory-dram", (sectors, peak, moved):
            moved = moved if moved is not None else _times(sectors, SECTOR_BYTES)
            return sectors if sectors is not None else _ratio(moved, SECTOR_BYTES), peak, moved, _rate(combined, moved)
    return counted


def _value(combined: Combined, names: Names) -> float | None:
    known = (combined.values[name] if name in ROWS else combined.named(name) for name in names)
    return next((value for value in known if value is not None), None)


def _found(hit: float | None, miss: float | None) -> float | None:
    return _ratio(hit, hit + miss, 100.0) if hit is not None and miss is not None else None


def _ratio(part: float | None, whole: float | None, factor: float = 1.0) -> float | None:
    return factor * part / whole if part is not None and whole else None


def _times(value: float | None, factor: float) -> float | None:
    return value * factor if value is not None else None


def _rate(combined: Combined, moved: float | None) -> float | None:
    """Return bytes a second over the time of the launches; None of different kernels, whose mean says nothing."""
    return None if combined.is_of_kernels else _ratio(moved, combined.duration_ns, NS_PER_S)
