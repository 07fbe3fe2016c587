"""What the versions are held against on each workload: the floor, a device copy or the copy engine, every peer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ncu_assist.analysis.history import HistoryCell as Measured
from ncu_assist.analysis.history import HistoryTable, VersionRow
from ncu_assist.analysis.yardstick import TENSOR, Yardstick, measure_of
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.floor import floor_note
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table, number
from ncu_assist.render.html.term import Term
from ncu_assist.render.html.yardstick import share_term
from ncu_assist.render.words import factor
from ncu_assist.versions import short_name

FLOOR = "of floor"
FLOOR_TERM = Term(
    FLOOR,
    "floor_ns / median_ns",
    "the time that what the workload has to move or compute takes at the best rates measured, over the median: "
    "100 % is at the floor, a little more within the spread of those rates",
)


def held_tables(shown: HistoryTable) -> tuple[Table, ...]:
    """Return a table a workload, that of the workload shown first; none of those on which nothing was timed."""
    places = sorted(shown.places, key=lambda place: shown.workloads[place] != shown.shown)
    tables = (_table(shown, place) for place in places)
    return tuple(one for one in tables if one is not None)


def _table(shown: HistoryTable, place: int) -> Table | None:
    timed = [(rung, rung.cells[place]) for rung in shown.rungs if rung.cells and rung.cells[place].timing]
    peers = [(rung, cell) for rung, cell in timed if rung.is_peer]
    if not peers and not any(cell.floor for _, cell in timed):
        return None
    measure = measure_of(cell for _, cell in timed)
    columns = (
        Column("version"),
        Column("time", "right", "number"),
        Column(FLOOR, "right", "number", FLOOR_TERM),
        *([Column(measure.title, "right", "number", share_term(measure))] if measure is not TENSOR else []),
        *(_over(rung) for rung, _ in peers),
    )
    rows = tuple((*_row(rung, cell, measure), *_ratios(cell, peers)) for rung, cell in timed)
    name = one_line(shown.workloads[place] or ABSENT)
    return Table(f"held-{place}", name, columns, rows, note=_note(timed)).without_empty()


def _over(peer: VersionRow) -> Column:
    name, whole = one_line(short_name(peer.version)), one_line(peer.version)
    what = f"time of {whole} over that of the version, medians of one bench: 2x is twice as fast as it"
    return Column(f"over {name}", "right", "number", Term(f"over {name}", whole, what))


def _row(rung: VersionRow, cell: Measured, measure: Yardstick) -> Iterator[Cell]:
    yield Cell(one_line(rung.version))
    yield number(duration(cell.time_ns), cell.time_ns) if cell.time_ns is not None else Cell()
    of_floor = _share(cell.share_of_floor)
    yield replace(of_floor, note="assumed") if cell.floor and cell.floor.assumed else of_floor
    if measure is not TENSOR:  # which is the floor itself
        yield _share(cell.share_of(measure))


def _share(share: float | None) -> Cell:
    return number(f"{100 * share:.1f} %", share) if share is not None else Cell()


def _ratios(cell: Measured, peers: Sequence[tuple[VersionRow, Measured]]) -> Iterator[Cell]:
    for _, peer in peers:
        ratio = cell.over(peer)
        yield number(factor(ratio), ratio) if ratio is not None and peer is not cell else Cell()


def _note(timed: Sequence[tuple[VersionRow, Measured]]) -> str:
    """Return what the floor is, its time and the rate that it is by; runs of several GPUs have several."""
    floors: dict[str, list[str]] = {}
    for rung, cell in timed:
        if cell.floor:
            floors.setdefault(floor_note(cell.floor), []).append(one_line(short_name(rung.version)))
    if len(floors) == 1:
        return f"floor: {next(iter(floors))}"
    return "; ".join(f"floor of {', '.join(versions)}: {said}" for said, versions in floors.items())
