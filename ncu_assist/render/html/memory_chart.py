"""The memory chart of a run: what moves between kernel, caches and memories, and which link is the limit."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import quantity
from ncu_assist.render.html.drawing import Box, Shape, Words
from ncu_assist.render.html.memory_drawing import Marked, arrows, boxes, delta
from ncu_assist.render.html.memory_layout import WIDTH, layout
from ncu_assist.render.html.memory_links import BOX_LIMITS, FLOWS, IN_BOXES, TITLES, Flow
from ncu_assist.render.html.run_commands import to_profile
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table, number
from ncu_assist.render.html.term import Term, term_of
from ncu_assist.rules.model.bounds import filled
from ncu_assist.rules.model.of_run import Told
from ncu_assist.rules.model.resources import HOST_LINK, RESOURCES

HOST_RULE = "host-link-bound"
OF_PEAK = Term("of peak", "", "ncu's own share of peak of the metric in this row; of host memory: of what was measured")
COLUMNS = (
    Column("from"), Column("to"), Column("figure"), Column("value", "right", "number"),
    Column("of peak", "right", "number", OF_PEAK),
)  # fmt: skip
COMPARED = (Column("baseline", "right", "number"), Column("change", "right", "number"))
Values = tuple[float | None, float | None, str]  # of the run, of the baseline, and their unit


@dataclass(frozen=True)
class MemoryChart:
    """A memory chart ready to be drawn; ``missing`` instead of all else where nothing was counted.

    ``says`` is its outcome in a sentence, ``figures`` is a table of every number under ncu's name.
    """

    says: str = ""
    boxes: tuple[tuple[Box, str], ...] = ()
    shapes: tuple[Shape, ...] = ()
    words: tuple[Words, ...] = ()
    figures: Table | None = None
    description: str = ""
    has_baseline: bool = False
    missing: str = ""
    collect: str = ""
    id: str = "memory-figure"
    width: int = WIDTH
    height: int = 0


def memory_chart(shown: Shown, baseline: Shown | None = None) -> MemoryChart:
    """Return the memory chart of what a run shows; with ``baseline`` its arrows as dashed edges, and what changed."""
    if all(flow.amount(shown) is None for flow in FLOWS):
        return MemoryChart(missing="No traffic of the memory was counted.", collect=to_profile(shown))
    place, marked = layout(shown, baseline), _marked(shown)
    shapes, labels = arrows(shown, baseline, place, marked)
    drawn, texts = boxes(shown, place, marked)
    says = _says(shown, marked)
    return MemoryChart(
        says=says,
        boxes=tuple(drawn),
        shapes=tuple(shapes),
        words=(*texts, *labels),
        figures=_figures(shown, baseline),
        description=f"{says} Every figure stands in the table below.",
        has_baseline=baseline is not None,
        height=round(place.height),
    )


def _marked(shown: Shown) -> Marked:
    """Return what stands for the resource that binds; nothing where none does."""
    bound = shown.bottleneck.name if shown.bottleneck else ""
    name = HOST_LINK if shown.told and _is_of_link(shown.told) else bound
    flows = [flow for flow in FLOWS if name in flow.limits and flow.has_traffic(shown)]
    flows = sorted(flows, key=lambda one: -(one.percent(shown) or 0.0))[:1]
    parts = frozenset(part for part, names in BOX_LIMITS.items() if name in names)
    return Marked(frozenset(flow.id for flow in flows), parts, name)


def _is_of_link(told: Told) -> bool:
    """Return whether the diagnosis is about the link to the host: of what is wasted, where no unit is busier."""
    first = told.diagnosis.first
    if first is None or HOST_LINK not in first.finding.relieves:
        return False
    busy = filled(told.facts)
    return first.finding.rule == HOST_RULE or max(busy, key=lambda name: busy[name]) == HOST_LINK


def _says(shown: Shown, marked: Marked) -> str:
    if marked.flows or marked.boxes:
        bound = shown.bottleneck
        share = f", {bound.percent:.0f} % of its peak" if bound and bound.name == marked.name else ""
        name = f"the {marked.name}" if marked.name == HOST_LINK else marked.name
        return f"What binds is {name}{share} (◆)."
    shares = [(percent, flow) for flow in FLOWS if (percent := flow.percent(shown)) is not None]
    percent, busiest = max(shares, key=lambda one: one[0], default=(0.0, FLOWS[0]))
    near = f"; the busiest, {_ends(busiest)}, is at {percent:.1f} % of its peak" if percent else ""
    why = f" What binds is {marked.name}." if marked.name in RESOURCES and marked.name != "memory" else ""
    return f"No link of the memory is the limit{near}.{why}"


def _ends(flow: Flow) -> str:
    return f"{TITLES[flow.source]} to {TITLES[flow.target]}"


def _figures(shown: Shown, baseline: Shown | None) -> Table:
    rows = [row for flow in FLOWS for row in _rows(flow, shown, baseline)]
    for part, keys in IN_BOXES.items():
        rows += [_of_box(part, key, shown, baseline) for key, _ in keys if _value(key, shown) is not None]
    columns = (*COLUMNS, *COMPARED) if baseline else COLUMNS
    return Table("memory-figures", "Figures of the memory chart", columns, tuple(rows), filterable=True)


def _of_box(part: str, key: str, shown: Shown, baseline: Shown | None) -> tuple[Cell, ...]:
    values = (_value(key, shown), _value(key, baseline), ROWS[key].unit)
    return _row((TITLES[part], ""), term_of(key), values, None, baseline is not None)


def _value(key: str, shown: Shown | None) -> float | None:
    return shown.combined.values[key] if shown else None


def _rows(flow: Flow, shown: Shown, baseline: Shown | None) -> list[tuple[Cell, ...]]:
    rows, main = list[tuple[Cell, ...]](), flow.told(shown)[:1]
    ends = TITLES[flow.source], TITLES[flow.target]
    for one in flow.figures:
        value, old = one.value(shown), one.value(baseline) if baseline else None
        if value is None and old is None:
            continue
        unit = "byte" if one.is_sectors else ROWS[one.key].unit
        percent = flow.percent(shown) if one in main else None
        rows.append(_row(ends, one.term, (value, old, unit), percent, baseline is not None))
    return rows


def _row(ends: tuple[str, str], term: Term, values: Values, percent: float | None, compared: bool) -> tuple[Cell, ...]:
    value, old, unit = values
    share = number(f"{percent:.1f} %", percent) if percent is not None else Cell()
    source, target = ends
    cells = (Cell(source), Cell(target or ABSENT), Cell(term.label, term=term), _number(value, unit), share)
    if not compared:
        return cells
    change = delta(value, old)
    moved = number(change, (value or 0.0) / old - 1 if old else 0.0) if change else Cell()
    return (*cells, _number(old, unit), moved)


def _number(value: float | None, unit: str) -> Cell:
    return number(quantity(value, unit), value) if value is not None else Cell()
