"""The roofline of a run: what it computed a second over operations a byte, under what this GPU can reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import dist

from ncu_assist.analysis.roofline import (
    ONLY_CONSTANTS,
    Roof,
    RooflineNumbers,
    RooflinePoint,
    binding_of,
    clock_factor,
    is_counted,
    points,
    roofline_numbers,
    share_at_clock,
    share_of,
)
from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.quantity import quantity
from ncu_assist.render.html.charts import (
    Anchor,
    Axis,
    Box,
    Chart,
    ChartPoint,
    ChartSection,
    ChartText,
    Shape,
    around,
    arrow,
    box_of,
    circle,
    line,
    log_axis,
    short_of,
    spread,
    with_room,
)
from ncu_assist.render.table import Cell, Column, Table, Term, number
from ncu_assist.render.words.terms import term_of
from ncu_assist.render.words.values import to_profile
from ncu_assist.rules.model.resources import LATENCY

WIDTH, HEIGHT = 1160, 480
LEFT, RIGHT, TOP, BOTTOM = 78.0, 810.0, 34.0, 424.0
LABEL_ROW = 18.0  # between labels
LABELS_WIDTH = 310.0  # room that labels of bandwidths need left of their roofs
RADIUS = 6.0
STEPS = 100  # along a sloping roof, where no label should stand


LEGEND = {
    "point": "● operations per byte of DRAM",
    "point-l2": "○ the same per byte of L2",
    "roof-limit": "◆ the lowest roof above the kernel",
    "roof-assumed": "dashed: assumed, not measured",
}


SIDES = ("baseline", "candidate")  # what the two runs are called where nobody says


def drawing(scene: RooflineNumbers, description: str, sides: tuple[str, str] = SIDES) -> Chart:
    """Return the drawing of a scene with at least one point that has an intensity; ``sides`` are names of both runs.

    Its legend says what those marks mean that there are.
    """
    x, y = _axes(scene)
    roofs, names = _draw_roofs(scene, x, y)
    marks, labels = _draw_points(scene, x, y, names, sides)
    shapes = (*roofs, *marks)
    there = {name for shape in shapes for name in shape.cls.split()}
    return Chart(
        "roofline-figure",
        "Operations a second under what this GPU allows",
        description,
        WIDTH,
        HEIGHT,
        shapes,
        (*names, *labels),
        x,
        y,
        "Arithmetic intensity [operations per byte of DRAM traffic]",
        "Performance [operations per second]",
        legend=" · ".join(words for name, words in LEGEND.items() if name in there),
    )


def _axes(scene: RooflineNumbers) -> tuple[Axis, Axis]:
    every = (*scene.points, *scene.before)
    across = [value for one in every for value in (one.of_dram, one.of_l2) if value]
    ridges = [flat.per_second / slope.per_second for flat in scene.flats for slope in scene.slopes]
    low = min([*(value / 3 for value in across), *(ridge / 100 for ridge in ridges)])
    high = max([*(value * 3 for value in across), *(ridge * 4 for ridge in ridges)])
    if ridges:  # so far to the left that the names of the sloping roofs fit beside them
        part = LABELS_WIDTH / (RIGHT - LEFT)
        low = min(low, (min(ridges) / high**part) ** (1 / (1 - part)))
    up = [one.per_second for one in every]
    tops = [flat.per_second for flat in scene.flats] or [slope.per_second * high for slope in scene.slopes]
    ends = min(value / 4 for value in up), max([*(value * 2 for value in up), *(top * 1.6 for top in tops)])
    x = log_axis((low, high), LEFT, RIGHT, text=lambda value: quantity(value, ""))
    return x, log_axis(ends, BOTTOM, TOP, text=lambda value: quantity(value, ""))


def _draw_roofs(scene: RooflineNumbers, x: Axis, y: Axis) -> tuple[list[Shape], list[ChartText]]:
    """Return the roofs, the binding one last, which then lies above; flats start at the steepest slope."""
    top = max((flat.per_second for flat in scene.flats), default=y.high)
    shapes = [_roof_shape(one, _slope(one, top, x, y), scene) for one in scene.slopes]
    steepest = max((one.per_second for one in scene.slopes), default=None)
    shapes += [_roof_shape(one, _flat(one, steepest, x, y), scene) for one in scene.flats]
    shapes.sort(key=lambda shape: "roof-limit" in shape.cls)
    places = spread([y.at(one.per_second) + 4.5 for one in scene.flats], LABEL_ROW, TOP + 6, BOTTOM)
    names = [_roof_label(one, RIGHT + 16, place, scene) for one, place in zip(scene.flats, places, strict=True)]
    leaders = [
        _leader(RIGHT, y.at(one.per_second), RIGHT + 13, p - 4.5) for one, p in zip(scene.flats, places, strict=True)
    ]
    more, further = _slope_names(scene, top, x, y)
    return [*leaders, *more, *shapes], [*names, *further]


def _roof_shape(roof: Roof, d: str, scene: RooflineNumbers) -> Shape:
    kind = "roof roof-limit" if roof == scene.binding else "roof" if roof.measured else "roof roof-assumed"
    return Shape(d, kind, f"{name_of(roof)}: {roof.why}")


def _roof_label(roof: Roof, x: float, y: float, scene: RooflineNumbers) -> ChartText:
    text, is_lowest = name_of(roof), roof == scene.binding
    anchor: Anchor = "start" if x > RIGHT else "end"
    return ChartText(
        f"◆ {text}, {'binds' if scene.binds else 'lowest roof'}" if is_lowest else text,
        x,
        y,
        anchor,
        "strong" if is_lowest else "",
    )


def _leader(x1: float, y1: float, x2: float, y2: float) -> Shape:
    return Shape(line(x1, y1, x2, y2), "leader")


def _slope(roof: Roof, top: float, x: Axis, y: Axis) -> str:
    """Return the path of a bandwidth, from where it enters the chart to the highest flat roof."""
    first = max(x.low, y.low / roof.per_second)
    last = min(x.high, min(top, y.high) / roof.per_second)
    return line(x.at(first), y.at(first * roof.per_second), x.at(last), y.at(last * roof.per_second))


def _flat(roof: Roof, steepest: float | None, x: Axis, y: Axis) -> str:
    first = max(x.low, roof.per_second / steepest) if steepest else x.low
    return line(x.at(first), y.at(roof.per_second), RIGHT, y.at(roof.per_second))


def _slope_names(scene: RooflineNumbers, top: float, x: Axis, y: Axis) -> tuple[list[Shape], list[ChartText]]:
    """Return the labels of bandwidths, in rows left of the leftmost of them, where nothing else can be."""
    if not scene.slopes:
        return [], []
    order = sorted(scene.slopes, key=lambda one: -one.per_second)
    height = y.at(min(top, y.high)) + 16
    shapes, names = [], []
    for row, one in enumerate(order):
        at = height + LABEL_ROW * row
        value = y.low * (y.high / y.low) ** ((y.start - at) / (y.start - y.end))
        left, own = (x.at(value / rate) for rate in (order[0].per_second, one.per_second))
        names.append(_roof_label(one, round(left - 14, 2), round(at + 4.5, 2), scene))
        shapes.append(_leader(round(left - 11, 2), at, own, at))
    return shapes, names


def _draw_points(
    scene: RooflineNumbers, x: Axis, y: Axis, names: Iterable[ChartText], sides: tuple[str, str]
) -> tuple[list[Shape], list[ChartText]]:
    before = [one for one in scene.before if one.of_dram]
    ghosts = {one.precision.label: _place_of(one, x, y) for one in before}
    shapes = [
        Shape(circle(*ghosts[one.precision.label], RADIUS), "point-ghost", f"{sides[0]}: {hint_of(one)}")
        for one in before
    ]
    for one in scene.points:
        shapes += _point_marks(one, ghosts.get(one.precision.label), one is scene.main, x, y)
    return shapes, _point_labels(scene, x, y, list(names), sides)


def _place_of(point: RooflinePoint, x: Axis, y: Axis) -> ChartPoint:
    return x.at(point.of_dram or 0.0), y.at(point.per_second)


def _point_marks(point: RooflinePoint, ghost: ChartPoint | None, is_main: bool, x: Axis, y: Axis) -> list[Shape]:
    if not point.of_dram:
        return []
    here, shapes = _place_of(point, x, y), list[Shape]()
    if point.of_l2:
        there = x.at(point.of_l2)
        shapes.append(_leader(there, here[1], *here))
        shapes.append(Shape(circle(there, here[1], RADIUS - 1.5), "point-l2", hint_of(point)))
    if ghost and abs(here[0] - ghost[0]) + abs(here[1] - ghost[1]) > 2 * RADIUS + 8:
        shapes += [
            Shape(line(*ghost, *here), "step"),
            Shape(arrow(*ghost, *short_of(ghost, here, RADIUS + 1)), "step-head"),
        ]
    kind = "point point-main" if is_main else "point"
    return [*shapes, Shape(circle(*here, RADIUS), kind, hint_of(point))]


def _on_roofs(scene: RooflineNumbers, x: Axis, y: Axis) -> list[Box]:
    """Return small boxes along all roofs, which labels should not cross."""
    boxes = [Box(LEFT, y.at(one.per_second) - 2, RIGHT, y.at(one.per_second) + 2) for one in scene.flats]
    top = max((one.per_second for one in scene.flats), default=y.high)
    for slope in scene.slopes:
        for step in range(STEPS + 1):
            value = x.low * (x.high / x.low) ** (step / STEPS)
            if y.holds(value * slope.per_second) and value * slope.per_second <= top:
                a, b = x.at(value), y.at(value * slope.per_second)
                boxes.append(Box(a - 2, b - 2, a + 2, b + 2))
    return boxes


NEAR = 60.0  # units between two dots of one precision: labels of each would stand beside the other too


def _point_labels(
    scene: RooflineNumbers, x: Axis, y: Axis, names: Sequence[ChartText], sides: tuple[str, str]
) -> list[ChartText]:
    """Return the labels of points, the main one first, each where nothing else is, and no other point nearer if it may.

    Beside points of a baseline each says of which side it is; one label has both where they are near each other.
    """
    before = {one.precision.label: one for one in scene.before if one.of_dram}
    ghosts = [_place_of(one, x, y) for one in before.values()]
    places = [_place_of(one, x, y) for one in scene.points if one.of_dram]
    dots = [*places, *ghosts]
    places += [(x.at(one.of_l2), y.at(one.per_second)) for one in scene.points if one.of_l2]
    taken = [Box(a - 8, b - 8, a + 8, b + 8) for a, b in (*places, *ghosts)] + [box_of(one) for one in names]
    taken += _on_roofs(scene, x, y)
    whole, made = Box(LEFT + 4, TOP, WIDTH, BOTTOM - 2), list[ChartText]()
    wanted = list[tuple[str, float, float, str]]()
    for one in sorted(scene.points, key=lambda p: p is not scene.main):
        here, old = _place_of(one, x, y), before.get(one.precision.label)
        if not one.of_dram:
            continue
        if old is not None and dist(here, _place_of(old, x, y)) < NEAR:
            rates = f"{sides[0]} {rate_of_point(old)} → {sides[1]} {rate_of_point(one)}"
            wanted.append((f"{one.precision.label}: {rates}", *here, "strong"))
            del before[one.precision.label]
        else:
            wanted.append((f"{sides[1]} {label_of(one)}" if scene.before else label_of(one), *here, "strong"))
    wanted += [(f"{sides[0]} {rate_of_point(one)}", *_place_of(one, x, y), "") for one in before.values()]
    for text, across, up, cls in wanted:
        every = around(text, across, up, RADIUS + 5, cls)
        own = [one for one in every if all(box_of(one).away(across, up) <= box_of(one).away(*dot) for dot in dots)]
        words = with_room([*own, *every], taken, whole)
        taken.append(box_of(words))
        made.append(words)
    return made


POINT_COLUMNS = (
    Column("precision"),
    Column("operations", "right", "number"),
    Column("a second", "right", "number"),
    Column("per byte of DRAM", "right", "number"),
    Column(
        "per byte of L2", "right", "number", Term("per byte of L2", "", "operations a byte that L2 looked up for L1")
    ),
    Column("lowest roof"),
    Column("of what the roofs allow", "right", "number"),
)
ROOF_COLUMNS = (Column("roof"), Column("a second", "right", "number"), Column("where from"))

SHARED_LOOKUPS = 1.05  # bytes received for each looked up: less cannot be told from passes that differ
NOT_DRAWN = f"not drawn: {ONLY_CONSTANTS}"


def points_table(scene: RooflineNumbers, sides: tuple[str, str] = SIDES) -> Table:
    """Return the points of the run, the baseline's numbers before its own where they differ."""
    dram, rows = scene.dram, []
    before = {one.precision.label: one for one in scene.before}
    for one in scene.points:
        rows.append(_point_row(one, before.pop(one.precision.label, None), dram))
    rows += [_point_row(one, None, dram, NOT_DRAWN) for one in scene.trifles]
    rows += [_point_row(one, None, dram, f"of {sides[0]} only") for one in before.values()]
    note = f"{sides[0]} → {sides[1]}, one number where both have it; what the roofs allow is of {sides[1]}"
    made = Table("roofline-points", "Points of the roofline", POINT_COLUMNS, tuple(rows)).without_empty()
    return replace(made, note=note) if scene.before else made


def _point_row(
    point: RooflinePoint, before: RooflinePoint | None, dram: Roof | None, note: str = ""
) -> tuple[Cell, ...]:
    unit = unit_of(point.precision.label)
    drawn = note != NOT_DRAWN
    share, binding = (share_of(point, dram), binding_of(point, dram)) if drawn else (None, None)
    units = (unit, f"{unit}/s", "", "")
    values = zip(_numbers(point), _numbers(before), units, strict=True)
    return (
        Cell(point.precision.label, term=term_of(point.precision.work, point.precision.label), note=note),
        *(_both_values(value, old, shown) for value, old, shown in values),
        Cell(binding.label) if binding else Cell(),
        number(f"{100 * share:.1f} %", share) if share is not None else Cell(),
    )


def _numbers(point: RooflinePoint | None) -> tuple[float | None, ...]:
    return (point.operations, point.per_second, point.of_dram, point.of_l2) if point else (None,) * 4


def _both_values(value: float | None, old: float | None, unit: str) -> Cell:
    if value is None:
        return Cell()
    now, was = quantity(value, unit), quantity(old, unit) if old else ""
    return number(now if was in ("", now) else f"{was} → {now}", value)


def roofs_table(scene: RooflineNumbers) -> Table:
    """Return the roofs and where they come from."""
    rows = tuple(
        (Cell(one.label, note="" if one.measured else "assumed"), number(rate_of(one), one.per_second), Cell(one.why))
        for one in scene.roofs
    )
    return Table("roofline-roofs", "Roofs of the roofline", ROOF_COLUMNS, rows)


EACH_ALONE = (
    "There is no roofline for launches of different kernels together: each has its own operations and bytes. "
    "The page of a run has the roofline of one launch."
)
NO_WORK = (
    "No floating-point work was counted: no FP64, FP32, FP16 or tensor-core operations. "
    "A roofline says nothing about such a kernel. The memory chart shows its data traffic."
)
CONSTANTS = f"Pairs of halves were counted, but {ONLY_CONSTANTS}."


def roofline(
    shown: RunView, baseline: RunView | None = None, of: str = "", sides: tuple[str, str] = SIDES
) -> ChartSection:
    """Return the roofline of what a run shows; the points of ``baseline`` are ghosts, with arrows to those of the run.

    ``of`` names the launch that is shown of several kernels, ``sides`` the two runs. Of different kernels together
    there is none.
    A precision is one of ncu's: operations of instructions, and those of the tensor cores by the type of their input.
    """
    if shown.combined.is_of_kernels or (baseline and baseline.combined.is_of_kernels):
        return ChartSection(missing=EACH_ALONE)
    if not is_counted(shown):
        lacks = "operations" if shown.combined.duration_ns else "operations and duration"
        what = f"The counters of a roofline ({lacks}) were not collected."
        return ChartSection(missing=what, collect=to_profile(shown))
    scene = roofline_numbers(shown, baseline)
    if scene is None:
        says = f"{NO_WORK} {CONSTANTS}" if points(shown) else NO_WORK
        return ChartSection((f"Of {of}: {says}" if of else says,))
    is_drawn = any(one.of_dram for one in scene.points)
    says = _outcome(scene)
    parts = [says, *(f"{label_of(one)}." for one in scene.points), *(f"Roof: {name_of(one)}." for one in scene.roofs)]
    return ChartSection(
        (says,),
        drawing(scene, " ".join(parts), sides) if is_drawn else None,
        points_table(scene, sides),
        folded=("Roofs: where they come from", roofs_table(scene)),
        notes=tuple(filter(None, [f"Of {of}." if of else "", *_notes(shown, scene, is_drawn)])),
    )


def _outcome(scene: RooflineNumbers) -> str:
    """Return the outcome, e.g. ``FP32 work reaches 23 % of what DRAM allows at 3.1 operations a byte.``"""
    main, share = scene.main, share_of(scene.main, scene.dram)
    if scene.binding is None or share is None:
        return "No roof is known for this GPU."
    assumed = "" if scene.binding.measured else ", assumed,"
    at = f" at {quantity(main.of_dram, '')} operations a byte" if main.of_dram else ""
    roof = scene.binding.label if scene.binding == scene.dram else f"the roof of {scene.binding.label}"
    own = share_at_clock(scene)
    measured = f", measured at {quantity(scene.binding.clock or 0.0, 'Hz')}," if own else ""
    ran = f"; {100 * own:.0f} % at the {quantity(scene.clock or 0.0, 'Hz')} it ran at under ncu" if own else ""
    what = f"{100 * share:.0f} % of what {roof}{assumed}{measured} allows{at}{ran}"
    return f"{main.precision.label} work reaches {what}.{_bound_by(scene)}"


def _bound_by(scene: RooflineNumbers) -> str:
    """Return what binds, where it is not the lowest roof."""
    if scene.binds:
        return ""
    if scene.bound:
        busy = f", at {scene.bound.percent:.0f} % of its peak" if scene.bound.name != LATENCY else ""
        return f" What binds is {scene.bound.name}{busy}."
    return "" if scene.is_near else " It is so far below its roof that something else binds."


def _notes(shown: RunView, scene: RooflineNumbers, is_drawn: bool) -> Iterator[str]:
    if not is_drawn:
        yield "No bytes were counted at DRAM, so operations have no intensity and no point can be drawn."
    if shown.ceilings is None:
        yield "No ceiling was measured on this GPU model, so roofs are assumed. To measure them: ncu-assist ceilings"
    if without := [one.precision.label for one in scene.points if one.roof is None]:
        yield f"No peak is known for {', '.join(without)}."
    others = [(one, clock_factor(one, scene.clock)) for one in scene.flats]
    if moved := [
        f"{one.label} {factor:.2f} times as high, measured at {quantity(one.clock or 0.0, 'Hz')}"
        for one, factor in others
        if factor != 1.0
    ]:
        ran = quantity(scene.clock or 0.0, "Hz")
        yield f"At the {ran} of this run, the compute roofs are: {'; '.join(moved)}."
    looked_up, received = (shown.combined.values[key] for key in ("l2_sectors_read", "l1_bytes_from_l2"))
    if looked_up and received and received > SHARED_LOOKUPS * SECTOR_BYTES * looked_up:
        amounts = f"{quantity(SECTOR_BYTES * looked_up, 'byte')} for reads, of which SMs received"
        yield f"Bytes of L2 are those looked up, {amounts} {quantity(received, 'byte')}: one may answer several SMs."
    if (launches := len(shown.combined.launches)) > 1:
        yield f"Operations and bytes of all {launches} launches of one kernel, divided by their time under ncu."


def unit_of(label: str) -> str:
    """Return what a precision counts: integers of the tensor cores are no floating point."""
    return "OP" if "INT" in label else "FLOP"


def rate_of(roof: Roof) -> str:
    """Return what a roof allows, e.g. ``4.33 TB/s``."""
    is_bandwidth = roof.label.startswith(("DRAM", "L2"))
    return quantity(roof.per_second, "B/s" if is_bandwidth else f"{unit_of(roof.label)}/s")


def name_of(roof: Roof) -> str:
    """Return what a roof is called; an assumed one says so."""
    return f"{roof.label} {rate_of(roof)}{'' if roof.measured else ' assumed'}"


def rate_of_point(point: RooflinePoint) -> str:
    """Return the operations a second of a point."""
    return quantity(point.per_second, unit_of(point.precision.label) + "/s")


def label_of(point: RooflinePoint) -> str:
    """Return what stands at a point, e.g. ``FP32 2.78 TFLOP/s``."""
    return f"{point.precision.label} {rate_of_point(point)}"


def hint_of(point: RooflinePoint) -> str:
    """Return a point in words."""
    near = [(value, where) for value, where in ((point.of_dram, "DRAM"), (point.of_l2, "L2")) if value]
    return ", ".join([label_of(point), *(f"{quantity(value, '')} per byte of {where}" for value, where in near)])
