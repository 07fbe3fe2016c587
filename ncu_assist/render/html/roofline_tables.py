"""The tables beside a roofline: every point and every roof, with what they are counted and measured by."""

from __future__ import annotations

from ncu_assist.quantity import quantity
from ncu_assist.render.html.roofline_numbers import Point, Roof
from ncu_assist.render.html.roofline_scene import ONLY_CONSTANTS, Scene, binding_of, rate_of, share_of, unit_of
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.html.term import Term, term_of

POINTS = (
    Column("precision"),
    Column("operations", "right", "number"),
    Column("a second", "right", "number"),
    Column("per byte of DRAM", "right", "number"),
    Column("per byte of L2", "right", "number", Term("per byte of L2", "", "operations a byte between L1 and L2")),
    Column("lowest roof"),
    Column("of what the roofs allow", "right", "number"),
)
ROOFS = (Column("roof"), Column("a second", "right", "number"), Column("where from"))

FEW = f"not drawn: {ONLY_CONSTANTS}"


def points_table(scene: Scene) -> Table:
    """Return the points of the run, the baseline's numbers below its own."""
    dram, rows = scene.dram, []
    before = {one.precision.label: one for one in scene.before}
    for one in scene.points:
        rows.append(_row(one, before.pop(one.precision.label, None), dram))
    rows += [_row(one, None, dram, FEW) for one in scene.trifles]
    rows += [_row(one, None, dram, "in the baseline only") for one in before.values()]
    return Table("roofline-points", "Points of the roofline", POINTS, tuple(rows)).without_empty()


def _row(point: Point, before: Point | None, dram: Roof | None, note: str = "") -> tuple[Cell, ...]:
    unit = unit_of(point.precision.label)
    drawn = note != FEW
    share, binding = (share_of(point, dram), binding_of(point, dram)) if drawn else (None, None)
    units = (unit, f"{unit}/s", "", "")
    values = zip(_numbers(point), _numbers(before), units, strict=True)
    return (
        Cell(point.precision.label, term=term_of(point.precision.work, point.precision.label), note=note),
        *(_cell(value, old, shown) for value, old, shown in values),
        Cell(binding.label) if binding else Cell(),
        number(f"{100 * share:.1f} %", share) if share is not None else Cell(),
    )


def _numbers(point: Point | None) -> tuple[float | None, ...]:
    return (point.operations, point.per_second, point.of_dram, point.of_l2) if point else (None,) * 4


def _cell(value: float | None, old: float | None, unit: str) -> Cell:
    note = f"baseline {quantity(old, unit)}" if old else ""
    return number(quantity(value, unit), value, note) if value is not None else Cell(note=note)


def roofs_table(scene: Scene) -> Table:
    """Return the roofs and where they come from."""
    rows = tuple(
        (
            Cell(one.label, note="" if one.measured else "assumed"),
            number(rate_of(one), one.per_second),
            Cell(one.why),
        )
        for one in scene.roofs
    )
    return Table("roofline-roofs", "Roofs of the roofline", ROOFS, rows)
