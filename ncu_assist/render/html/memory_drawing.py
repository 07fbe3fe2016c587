"""The memory chart as shapes and texts: boxes with their figures, arrows as wide as their share of the peak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import quantity
from ncu_assist.render.html.drawing import Box, Shape, Words, line
from ncu_assist.render.html.memory_layout import Layout
from ncu_assist.render.html.memory_links import FLOWS, IN_BOXES, TITLES, Figure, Flow

LEAST, MOST = 1.5, 16.0  # width of an arrow without and with all of its peak
HEAD = 12.0
SIGN = "◆"
SAME_BYTES = ("l2_sectors_read", "l2_sectors_write")  # what the bytes of the link above all are
SEEN = 1.0  # of the widths of two arrows: less cannot be told apart
TEXTS = 17.0  # between lines of a box


@dataclass(frozen=True)
class Marked:
    """What binds: the flows and the boxes that stand for it, and its name."""

    flows: frozenset[str] = frozenset()
    boxes: frozenset[str] = frozenset()
    name: str = ""


def arrows(shown: Shown, before: Shown | None, place: Layout, marked: Marked) -> tuple[list[Shape], list[Words]]:
    """Return all arrows with their labels; of the baseline the edges of its arrows, dashed."""
    shapes, words = list[Shape](), list[Words]()
    for flow in FLOWS:
        if flow.id in place.lanes:
            made, said = _arrow(flow, shown, before, place, flow.id in marked.flows)
            shapes += made
            words += said
    return shapes, words


def boxes(shown: Shown, place: Layout, marked: Marked) -> tuple[list[tuple[Box, str]], list[Words]]:
    """Return the boxes with their classes, and what stands in them."""
    words, drawn = list[Words](), list[tuple[Box, str]]()
    for part, box in place.boxes.items():
        kind = "box box-limit" if part in marked.boxes else "box box-quiet" if part in place.quiet else "box"
        drawn.append((box, kind))
        words += _inside(part, box, shown, marked if part in marked.boxes else None, part in place.quiet)
    return drawn, words


def width_of(percent: float | None) -> float:
    """Return the width of an arrow; of one whose share of peak is not known the least."""
    return round(LEAST + (MOST - LEAST) * min(max(percent or 0.0, 0.0), 100.0) / 100.0, 2)


def delta(value: float | None, before: float | None) -> str:
    """Return how far a figure moved from the baseline's, e.g. ``▼ -12.0 %``; empty where a side lacks it."""
    if value is None or before is None:
        return ""
    if value == before:
        return "="
    sign = "▲" if value > before else "▼"
    if before == 0:
        return f"{sign} new"
    share = 100 * (value - before) / before
    if abs(share) >= 1000:
        return f"{sign} {value / before:.0f}x"
    return "=" if f"{abs(share):.1f}" == "0.0" else f"{sign} {share:+.1f} %"


def _arrow(
    flow: Flow, shown: Shown, before: Shown | None, place: Layout, limit: bool
) -> tuple[list[Shape], list[Words]]:
    start, end, y = place.lanes[flow.id]
    percent, ahead = flow.percent(shown), HEAD if end > start else -HEAD
    wide, quiet = width_of(percent), not flow.has_traffic(shown)
    kind = " link-limit" if limit else " link-quiet" if quiet else ""
    tip = end - (2 if ahead > 0 else -2)
    hint = f"{flow.what}: {', '.join(said(flow, shown))}"
    shapes = [Shape(line(start, y, tip - ahead, y), f"link{kind}", hint, str(wide))]
    half = max(5.0, wide / 2 + 3)
    shapes.append(Shape(f"M{tip:g} {y:g}L{tip - ahead:g} {y - half:g}L{tip - ahead:g} {y + half:g}Z", f"head{kind}"))
    if before is not None:
        edge = width_of(flow.percent(before)) / 2
    if before is not None and abs(2 * edge - wide) >= SEEN:
        shapes += [Shape(line(start, y + side * edge, tip - ahead, y + side * edge), "link-before") for side in (-1, 1)]
    return shapes, _labels(flow, shown, before, (start + end) / 2, y, limit)


def _labels(flow: Flow, shown: Shown, before: Shown | None, x: float, y: float, limit: bool) -> list[Words]:
    """Return the main figure above an arrow, its share of peak beside or below it, what else there is, the change."""
    main, *others = flow.told(shown) or (None,)
    if main is None:
        return [Words("not counted", x, y - 13, "middle")]
    first, more = main.text(main.value(shown) or 0.0), _more(shown, others)
    percent = flow.percent(shown) if flow.has_traffic(shown) else None
    if more and percent is not None:
        first = f"{first} · {percent:.1f} %"
    texts = [Words(f"{SIGN} {first}" if limit else first, x, y - 13, "middle", "strong" if limit else "label")]
    if second := more or (f"{percent:.1f} % of peak" if percent is not None else ""):
        texts.append(Words(second, x, y + 22, "middle"))
    moved = delta(main.value(shown), main.value(before)) if before else ""
    return [*texts, Words(moved, x, y + (38 if second else 22), "middle", "label")] if moved else texts


def _more(shown: Shown, others: Sequence[Figure]) -> str:
    """Return the next figure of a link; empty without one that says more."""
    return next((one.text(one.value(shown) or 0.0) for one in others if one.key not in SAME_BYTES), "")


def said(flow: Flow, shown: Shown) -> Iterable[str]:
    """Yield the figures of a flow in words."""
    for one in flow.figures:
        value = one.value(shown)
        yield f"{one.term.label} {one.text(value) if value is not None else 'not counted'}"


def _inside(part: str, box: Box, shown: Shown, limit: Marked | None, quiet: bool) -> list[Words]:
    x = (box.left + box.right) / 2
    lines = [(TITLES[part], "strong" if not quiet else "")]
    if quiet:
        lines.append(("no traffic", ""))
    for key, label in IN_BOXES.get(part, ()) if not quiet else ():
        value = shown.combined.values[key]
        if value is not None:
            number = quantity(value, ROWS[key].unit)
            lines.append((f"{number} inst" if label == "inst" else f"{label} {number}".strip(), "label"))
    if limit:
        lines += [(f"{SIGN} limit", "strong"), (limit.name, "strong")]
    top = (box.top + box.bottom) / 2 - TEXTS * (len(lines) - 1) / 2 + 4.5
    return [Words(text, x, round(top + TEXTS * i, 2), "middle", cls) for i, (text, cls) in enumerate(lines)]
