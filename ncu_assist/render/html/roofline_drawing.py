"""Where everything of a roofline stands: axes, roofs with their labels, points, and the arrow from the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncu_assist.quantity import quantity
from ncu_assist.render.html.axis import Axis, log_axis
from ncu_assist.render.html.drawing import (
    Anchor,
    Box,
    Place,
    Shape,
    Words,
    around,
    arrow,
    box_of,
    circle,
    line,
    short_of,
    spread,
    with_room,
)
from ncu_assist.render.html.roofline_numbers import Point, Roof
from ncu_assist.render.html.roofline_scene import Scene, hint_of, label_of, name_of

WIDTH, HEIGHT = 1160, 480
LEFT, RIGHT, TOP, BOTTOM = 78.0, 810.0, 34.0, 424.0
ROW = 18.0  # between labels
LABELS_WIDTH = 310.0  # room that labels of bandwidths need left of their roofs
RADIUS = 6.0
STEPS = 100  # along a sloping roof, where no label should stand


@dataclass(frozen=True)
class Drawing:
    """The drawing; shapes lie below words."""

    x: Axis
    y: Axis
    shapes: tuple[Shape, ...]
    words: tuple[Words, ...]


def drawing(scene: Scene) -> Drawing:
    """Return the drawing of a scene with at least one point that has an intensity."""
    x, y = _axes(scene)
    roofs, names = _roofs(scene, x, y)
    marks, labels = _points(scene, x, y, names)
    return Drawing(x, y, (*roofs, *marks), (*names, *labels))


def _axes(scene: Scene) -> tuple[Axis, Axis]:
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


def _roofs(scene: Scene, x: Axis, y: Axis) -> tuple[list[Shape], list[Words]]:
    """Return the roofs, the binding one last, which then lies above; flats start at the steepest slope."""
    top = max((flat.per_second for flat in scene.flats), default=y.high)
    shapes = [_shape(one, _slope(one, top, x, y), scene) for one in scene.slopes]
    steepest = max((one.per_second for one in scene.slopes), default=None)
    shapes += [_shape(one, _flat(one, steepest, x, y), scene) for one in scene.flats]
    shapes.sort(key=lambda shape: "roof-limit" in shape.cls)
    places = spread([y.at(one.per_second) + 4.5 for one in scene.flats], ROW, TOP + 6, BOTTOM)
    names = [_word(one, RIGHT + 16, place, scene) for one, place in zip(scene.flats, places, strict=True)]
    leaders = [
        _leader(RIGHT, y.at(one.per_second), RIGHT + 13, p - 4.5) for one, p in zip(scene.flats, places, strict=True)
    ]
    more, further = _slope_names(scene, top, x, y)
    return [*leaders, *more, *shapes], [*names, *further]


def _shape(roof: Roof, d: str, scene: Scene) -> Shape:
    kind = "roof roof-limit" if roof == scene.binding else "roof" if roof.measured else "roof roof-assumed"
    return Shape(d, kind, f"{name_of(roof)}: {roof.why}")


def _word(roof: Roof, x: float, y: float, scene: Scene) -> Words:
    text, is_lowest = name_of(roof), roof == scene.binding
    anchor: Anchor = "start" if x > RIGHT else "end"
    return Words(
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


def _slope_names(scene: Scene, top: float, x: Axis, y: Axis) -> tuple[list[Shape], list[Words]]:
    """Return the labels of bandwidths, in rows left of the leftmost of them, where nothing else can be."""
    if not scene.slopes:
        return [], []
    order = sorted(scene.slopes, key=lambda one: -one.per_second)
    height = y.at(min(top, y.high)) + 16
    shapes, names = [], []
    for row, one in enumerate(order):
        at = height + ROW * row
        value = y.low * (y.high / y.low) ** ((y.start - at) / (y.start - y.end))
        left, own = (x.at(value / rate) for rate in (order[0].per_second, one.per_second))
        names.append(_word(one, round(left - 14, 2), round(at + 4.5, 2), scene))
        shapes.append(_leader(round(left - 11, 2), at, own, at))
    return shapes, names


def _points(scene: Scene, x: Axis, y: Axis, names: Iterable[Words]) -> tuple[list[Shape], list[Words]]:
    before = [one for one in scene.before if one.of_dram]
    ghosts = {one.precision.label: _place(one, x, y) for one in before}
    shapes = [_ghost(one, ghosts[one.precision.label]) for one in before]
    for one in scene.points:
        shapes += _marks(one, ghosts.get(one.precision.label), one is scene.main, x, y)
    return shapes, _labels(scene, x, y, list(names), list(ghosts.values()))


def _ghost(point: Point, place: Place) -> Shape:
    return Shape(circle(*place, RADIUS), "point-ghost", f"baseline: {hint_of(point)}")


def _place(point: Point, x: Axis, y: Axis) -> Place:
    return x.at(point.of_dram or 0.0), y.at(point.per_second)


def _marks(point: Point, ghost: Place | None, is_main: bool, x: Axis, y: Axis) -> list[Shape]:
    if not point.of_dram:
        return []
    here, shapes = _place(point, x, y), list[Shape]()
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


def _on_roofs(scene: Scene, x: Axis, y: Axis) -> list[Box]:
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


def _labels(scene: Scene, x: Axis, y: Axis, names: Sequence[Words], ghosts: Sequence[Place]) -> list[Words]:
    """Return the labels of points, the main one first, each where nothing else is."""
    places = [_place(one, x, y) for one in scene.points if one.of_dram]
    places += [(x.at(one.of_l2), y.at(one.per_second)) for one in scene.points if one.of_l2]
    taken = [Box(a - 8, b - 8, a + 8, b + 8) for a, b in (*places, *ghosts)] + [box_of(one) for one in names]
    taken += _on_roofs(scene, x, y)
    whole, made = Box(LEFT + 4, TOP, WIDTH, BOTTOM - 2), list[Words]()
    wanted = [
        (label_of(one), *_place(one, x, y), "strong")
        for one in sorted(scene.points, key=lambda p: p is not scene.main)
        if one.of_dram
    ]
    wanted += [("baseline", *place, "") for place in ghosts[:1]]
    for text, across, up, cls in wanted:
        words = with_room(around(text, across, up, RADIUS + 5, cls), taken, whole)
        taken.append(box_of(words))
        made.append(words)
    return made
