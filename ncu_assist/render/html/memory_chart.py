"""The memory chart of a run: what moves between kernel, caches and memories, where it stands, and what is the limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ncu_assist.analysis.memory_flows import (
    BOX_LIMITS,
    FLOWS,
    FOUND_FOR_L1,
    OPTIONAL,
    Counted,
    Figure,
    Flow,
    found_for_l1,
    memory_tables,
    port_share,
)
from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.ncu.catalogue.memory_tables import MemoryColumn, OperationTable
from ncu_assist.ncu.catalogue.rows import ROWS, most
from ncu_assist.quantity import quantity
from ncu_assist.render.html.charts import Box, Chart, ChartSection, ChartText, Shape, line
from ncu_assist.render.table import ABSENT, Cell, Column, Table, Term, number
from ncu_assist.render.words.terms import term_of
from ncu_assist.render.words.values import to_profile
from ncu_assist.rules.model.of_run import RuleResults
from ncu_assist.rules.model.resources import HOST_LINK, L1_DATA, RESOURCES, SHARED, refined
from ncu_assist.rules.model.savings import filled

BYTES_OF_SECTORS = f"{SECTOR_BYTES} bytes a sector"
# What stands in the boxes: key and label; percentages with one place.
IN_BOXES: dict[str, tuple[tuple[str, str], ...]] = {
    "kernel": (("instructions", "inst"),),
    "l1": (("l1_hit_rate", "Hit rate"), ("l1_busy", "Busiest")),
    "banks": (("bank_conflict_ways", "Conflict ways"), ("excess_wavefront_share", "Excess")),
    "l2": (("l2_hit_rate", "Hit rate"), ("l2_hit_rate_load", "loads"), ("l2_busy", "Busiest")),
    "dram": (("dram_throughput", "Busy"), ("dram_bandwidth", "")),
    "host": (),
}
TITLES = {
    "kernel": "Kernel", "global": "Global", "local": "Local", "async": "cp.async", "shared": "Shared", "tma": "TMA",
    "cluster": "Cluster", "l1": "L1/TEX cache", "banks": "Shared memory", "l2": "L2 cache", "dram": "Device memory",
    "host": "Host memory",
}  # fmt: skip
WIDTH = 1180
TOP, BELOW = 10.0, 10.0
LANE, LANE_WITH_DELTA = 60.0, 92.0  # of one arrow with its labels
QUIET = 42.0  # the row of a space without traffic
GAP = 12.0
BOX_COLUMNS: dict[str, tuple[float, float]] = {
    "kernel": (2, 98), "space": (236, 336), "l1": (486, 626), "l2": (778, 904), "memory": (1046, 1178),
}  # fmt: skip
UPPER = ("global", "local", "async")  # spaces in front of L1; the others are in front of shared memory
LOWER = ("shared", "tma", "cluster")
LEAST_HEIGHT = 122.0  # height of a box with its figures


@dataclass(frozen=True)
class MemoryLayout:
    """Boxes by part, the places of arrows by flow, the height of it all, and what of it binds: flows, boxes, a name."""

    boxes: Mapping[str, Box]
    lanes: Mapping[str, tuple[float, float, float]]  # from x, to x, y
    quiet: tuple[str, ...]  # spaces without traffic
    height: float
    binding_flows: frozenset[str]
    binding_boxes: frozenset[str]
    binding: str


def layout(shown: RunView, baseline: RunView | None = None) -> MemoryLayout:
    """Return the layout of what was used, by either side; other spaces are one low row, rare ones left out."""
    lane = LANE_WITH_DELTA if baseline else LANE
    runs = [one for one in (shown, baseline) if one is not None]
    moved = [flow for flow in FLOWS if any(map(flow.has_traffic, runs))]
    used = {part for flow in moved for part in (flow.source, flow.target)}
    boxes, y = dict[str, Box](), TOP
    for group, name in ((UPPER, "l1"), (LOWER, "banks")):
        start = y
        for space in (one for one in group if one in used or one not in OPTIONAL):
            height = 2 * lane if space in used else QUIET
            boxes[space] = _box("space", y, y + height)
            y += height + GAP
        y = max(y, start + (max(LEAST_HEIGHT, 2 * lane) if name in used else LEAST_HEIGHT) + GAP)
        boxes[name] = _box("l1", start, y - GAP)
    host, dram = 2 * lane if "host" in used else QUIET, max(LEAST_HEIGHT, 2 * lane + 20)
    end = max(y - GAP, TOP + dram + GAP + host)  # where only those two moved anything, they need the most room
    boxes |= {"kernel": _box("kernel", TOP, end), "l2": _box("l2", TOP, end)}
    boxes |= {"host": _box("memory", end - host, end), "dram": _box("memory", TOP, TOP + dram)}
    quiet = tuple(one for one in (*UPPER, *LOWER, "banks", "host") if one in boxes and one not in used)
    lanes = {
        flow.id: _lane_of(flow, boxes, lane)
        for flow in FLOWS
        if flow.source in boxes and flow.target in boxes and not {flow.source, flow.target} & set(quiet)
    }
    return MemoryLayout(boxes, lanes, quiet, end + BELOW, *_binding_parts(shown))


def _box(column: str, top: float, bottom: float) -> Box:
    left, right = BOX_COLUMNS[column]
    return Box(left, top, right, bottom)


def _lane_of(flow: Flow, boxes: Mapping[str, Box], lane: float) -> tuple[float, float, float]:
    """Return where an arrow runs: in the middle of the lower of its boxes, reads above writes."""
    one, other = boxes[flow.source], boxes[flow.target]
    narrow = min((one, other), key=lambda box: box.bottom - box.top)
    middle = (narrow.top + narrow.bottom) / 2
    y = middle + (lane / 2 if flow.id.endswith("-store") else -lane / 2 if flow.id.endswith("-load") else 0.0)
    y -= (lane - LANE) / 2  # further lines below the arrow
    return (one.right, other.left, y) if one.right <= other.left else (one.left, other.right, y)


THINNEST, WIDEST = 1.5, 16.0  # width of an arrow without and with all of its peak
HEAD = 12.0
SIGN = "◆"
# What the figure before it has in it: the bytes of a link are those of its sectors.
IN_MAIN = ("l2_sectors_read", "l2_sectors_write", "shared_wavefronts_load")
SEEN = 1.0  # of the widths of two arrows: less cannot be told apart
TEXTS = 17.0  # between lines of a box


def arrows(shown: RunView, before: RunView | None, place: MemoryLayout) -> tuple[list[Shape], list[ChartText]]:
    """Return all arrows with their labels; of the baseline the edges of its arrows, dashed."""
    shapes, words = list[Shape](), list[ChartText]()
    for flow in FLOWS:
        if flow.id in place.lanes:
            made, said = _flow_arrow(flow, shown, before, place, flow.id in place.binding_flows)
            shapes += made
            words += said
    return shapes, words


def boxes(shown: RunView, place: MemoryLayout) -> tuple[list[tuple[Box, str]], list[ChartText]]:
    """Return the boxes with their classes, and what stands in them."""
    words, drawn = list[ChartText](), list[tuple[Box, str]]()
    for part, box in place.boxes.items():
        kind = "box box-limit" if part in place.binding_boxes else "box box-quiet" if part in place.quiet else "box"
        drawn.append((box, kind))
        limit = place.binding if part in place.binding_boxes else None
        words += _box_words(part, box, shown, limit, part in place.quiet)
    return drawn, words


def width_of(percent: float | None) -> float:
    """Return the width of an arrow; of one whose share of peak is not known the least."""
    return round(THINNEST + (WIDEST - THINNEST) * min(max(percent or 0.0, 0.0), 100.0) / 100.0, 2)


INVISIBLE = 0.05  # points: what would print as 0.0


def delta(value: float | None, before: float | None, unit: str = "") -> str:
    """Return how far a figure moved from the baseline's, e.g. ``▼ -12.0 %``; empty where a side lacks it.

    What is a percentage itself moves by points.
    """
    if value is None or before is None:
        return ""
    if value == before:
        return "="
    sign = "▲" if value > before else "▼"
    if unit == "%":
        return "=" if abs(value - before) < INVISIBLE else f"{sign} {value - before:+.1f} pt"
    if before == 0:
        return f"{sign} new"
    share = 100 * (value - before) / before
    if abs(share) >= 1000:
        return f"{sign} {value / before:.0f}x"
    return "=" if f"{abs(share):.1f}" == "0.0" else f"{sign} {share:+.1f} %"


def _flow_arrow(
    flow: Flow, shown: RunView, before: RunView | None, place: MemoryLayout, limit: bool
) -> tuple[list[Shape], list[ChartText]]:
    start, end, y = place.lanes[flow.id]
    busy, ahead = flow.busiest(shown), HEAD if end > start else -HEAD
    percent = busy[0] if busy else None
    wide, quiet = width_of(percent), not flow.has_traffic(shown)
    kind = " link-limit" if limit else " link-quiet" if quiet else ""
    tip = end - (2 if ahead > 0 else -2)
    hint = f"{flow.what}: {', '.join(_figure_words(flow, shown))}"
    shapes = [Shape(line(start, y, tip - ahead, y), f"link{kind}", hint, str(wide))]
    half = max(5.0, wide / 2 + 3)
    shapes.append(Shape(f"M{tip:g} {y:g}L{tip - ahead:g} {y - half:g}L{tip - ahead:g} {y + half:g}Z", f"head{kind}"))
    if before is not None:
        old = flow.busiest(before)
        edge = width_of(old[0] if old else None) / 2
        if abs(2 * edge - wide) >= SEEN:
            at = (y - edge, y + edge)
            shapes += [Shape(line(start, one, tip - ahead, one), "link-before") for one in at]
    return shapes, _labels(flow, shown, before, (start + end) / 2, y, limit)


def _labels(flow: Flow, shown: RunView, before: RunView | None, x: float, y: float, limit: bool) -> list[ChartText]:
    """Return the main figure above an arrow, its share of peak beside or below it, what else there is, the change."""
    main, *others = flow.shown_figures(shown) or (None,)
    if before and main and not main.value(shown) and flow.has_traffic(before):
        main, *others = flow.shown_figures(before)  # what is gone is of its kind
    if main is None:
        return [ChartText("not counted", x, y - 13, "middle")]
    second_one = next((one for one in others if one.key not in IN_MAIN), None)
    first = _figure_text(main, main.value(shown) or 0.0)
    more = _figure_text(second_one, second_one.value(shown) or 0.0) if second_one else ""
    percent, of = (flow.busiest(shown) if flow.has_traffic(shown) else None) or (None, "")
    if more and percent is not None and not of:
        first = f"{first} · {percent:.1f} %"
    texts = [ChartText(f"{SIGN} {first}" if limit else first, x, y - 13, "middle", "strong" if limit else "label")]
    share = f"{percent:.1f} % of {of or 'peak'}" if percent is not None else ""
    if second := share if of else more or share:
        texts.append(ChartText(second, x, y + 22, "middle"))
    told = [one for one in (main, second_one) if one is not None] if before else []
    moved = [(one, delta(one.value(shown), one.value(before))) for one in told if before]
    changes = [(one.short or "bytes", said) for one, said in moved if said]
    if len({said for _, said in changes}) > 1:  # each by its own name, else it is of both
        lines = [f"{name} {said}" for name, said in changes]
    else:
        lines = [said for _, said in changes[:1]]
    below = 38 if second else 22
    return [*texts, *(ChartText(said, x, y + below + 16 * i, "middle", "label") for i, said in enumerate(lines))]


def _figure_words(flow: Flow, shown: RunView) -> Iterable[str]:
    """Yield the figures of a flow in words, and how busy the ports are at its ends."""
    for one in flow.told(shown):
        value = one.value(shown)
        yield f"{_figure_term(one).label} {_figure_text(one, value) if value is not None else 'not counted'}"
    for name in flow.ports:
        if (busy := port_share(shown, name)) is not None:
            yield f"{name} {busy:.1f} % busy"


def _box_words(part: str, box: Box, shown: RunView, limit: str | None, quiet: bool) -> list[ChartText]:
    x = (box.left + box.right) / 2
    lines = [(TITLES[part], "strong" if not quiet else "")]
    if quiet:
        lines.append(("no traffic" if _is_counted(part, shown) else "not counted", ""))
    for key, label in IN_BOXES.get(part, ()) if not quiet else ():
        value = _value(key, shown)
        if key == OF_LOADS and found_for_l1(shown.combined) is not None:
            label = "L1's loads"
        if value is not None:
            number = quantity(min(value, most(ROWS[key]) or value), ROWS[key].unit)  # 100.1 % is what strays
            lines.append((f"{number} inst" if label == "inst" else f"{label} {number}".strip(), "label"))
    if limit is not None:
        lines += [(f"{SIGN} limit", "strong"), (limit, "strong")]
    top = (box.top + box.bottom) / 2 - TEXTS * (len(lines) - 1) / 2 + 4.5
    return [ChartText(text, x, round(top + TEXTS * i, 2), "middle", cls) for i, (text, cls) in enumerate(lines)]


def _is_counted(part: str, shown: RunView) -> bool:
    """Return whether any link of a part was counted: what was not need not be nothing."""
    return any(flow.amount(shown) is not None for flow in FLOWS if part in (flow.source, flow.target))


HOST_RULE = "host-link-bound"
OF_PEAK = Term(
    "of peak", "", "ncu's own share of peak for the metric in this row; for host memory, the share of the measured rate"
)
COLUMNS = (
    Column("from"), Column("to"), Column("figure"), Column("value", "right", "number"),
    Column("of peak", "right", "number", OF_PEAK),
)  # fmt: skip
BothValues = tuple[float | None, float | None, str]  # of the run, of the baseline, and their unit


LEGEND = (
    "Arrows point where the data goes. Their width is the share of peak that is next to them; they are thin if ncu "
    "gives none"
)
FIGURES = "All figures of the chart; ncu's names appear on hover"


def memory_chart(shown: RunView, baseline: RunView | None = None, before: str = "the baseline") -> ChartSection:
    """Return the memory chart of what a run shows; with ``baseline`` its arrows as dashed edges, and what changed.

    ``before`` is what that run is called.
    """
    if all(flow.amount(shown) is None for flow in FLOWS):
        return ChartSection(missing="No traffic of the memory was counted.", collect=to_profile(shown))
    place = layout(shown, baseline)
    shapes, labels = arrows(shown, baseline, place)
    drawn, texts = boxes(shown, place)
    says = f"{_outcome(shown, place)}{_passed_on(shown)}{_read_by_products(shown)}"
    legend = LEGEND + (" · ◆ what binds" if SIGN in says else "")
    if baseline:
        widths = any(one.cls == "link-before" for one in shapes)
        legend += (f" · dashed edges: width of {before}" if widths else "") + f" · ▲▼ = change from {before}"
    chart = Chart(
        "memory-figure",
        "What moves between kernel, caches and memories",
        f"{says} Every figure that is not zero is in the table below.",
        WIDTH,
        round(place.height),
        tuple(shapes),
        (*texts, *labels),
        legend=legend,
        boxes=tuple(drawn),
    )
    return ChartSection(
        (says,),
        chart,
        by_operation=tuple(_by_operation(*one) for one in memory_tables(shown.combined)) if baseline is None else (),
        folded=(FIGURES, _figures(shown, baseline, before)),
    )


def _binding_parts(shown: RunView) -> tuple[frozenset[str], frozenset[str], str]:
    """Return the flows and the boxes that stand for the resource that binds, and its name; nothing where none does."""
    bound = shown.bottleneck.name if shown.bottleneck else ""
    name = HOST_LINK if shown.results and _is_of_link(shown.results) else bound
    flows = [flow for flow in FLOWS if name in flow.limits and flow.has_traffic(shown)]
    flows = sorted(flows, key=lambda one: -(one.percent(shown) or 0.0))[:1]
    parts = frozenset(part for part, names in BOX_LIMITS.items() if name in names)
    return frozenset(flow.id for flow in flows), parts, name


def _is_of_link(results: RuleResults) -> bool:
    """Return whether the diagnosis is about the link to the host: of what is wasted, where no unit is busier."""
    first = results.diagnosis.first
    if first is None or HOST_LINK not in first.finding.relieves:
        return False
    busy = filled(results.facts)
    return first.finding.rule == HOST_RULE or max(busy, key=lambda name: busy[name]) == HOST_LINK


def _outcome(shown: RunView, place: MemoryLayout) -> str:
    if place.binding_flows or place.binding_boxes:
        bound = shown.bottleneck
        share = f", {bound.percent:.0f} % of its peak" if bound and bound.name == place.binding else ""
        name = f"the {place.binding}" if place.binding == HOST_LINK else place.binding
        return f"What binds is {name}{share} (◆)."
    first, *others = [f"{name}, {share:.1f} %" for share, name in _busiest(shown)[:2]] or ("",)
    if not first and shown.bottleneck is None:
        return "The report does not say how busy the memory links are, so whether one is the limit is not known."
    near = f"; the busiest: {first} of its peak{''.join(f', and {one}' for one in others)}" if first else ""
    why = f" What binds is {place.binding}." if place.binding in RESOURCES and place.binding != "memory" else ""
    return f"No link of the memory is the limit{near}.{why}"


def _busiest(shown: RunView) -> list[tuple[float, str]]:
    """Return how busy the parts of the memory and the links between them are, and their names, the busiest first.

    Of the parts of a cache the busiest stands for all: what fills one is busy with the same bytes as the others.
    """
    parts = {name for names in BOX_LIMITS.values() for name in names if not RESOURCES[name].is_coarse} - {HOST_LINK}
    found = {name: share for name in parts if (share := port_share(shown, name))}
    shared = Figure("shared_wavefronts_all").percent(shown)
    if found.pop(SHARED, None) and refined(RESOURCES[L1_DATA], shown.combined.values).name == SHARED and shared:
        found[SHARED] = shared  # as in its table; the data pipe of L1 is busy with little else
        found.pop(L1_DATA, None)
    for flow in FLOWS:
        if not {*flow.limits} & {*found} and (busy := flow.busiest(shown)):
            found[_ends(flow)] = max(busy[0], found.get(_ends(flow), 0.0))
    unit = {name: {SHARED: "L1"}.get(RESOURCES[name].group, RESOURCES[name].group) for name in found if name in parts}
    best = dict[str, tuple[float, str]]()
    for share, name in sorted(((share, name) for name, share in found.items() if share), reverse=True):
        best.setdefault(unit.get(name, name), (share, name))
    return list(best.values())


def _passed_on(shown: RunView) -> str:
    """Return that what TMA brings stands at two links of its way, so that nobody adds it up; empty without TMA."""
    moved, filled = (_value(key, shown) for key in ("tma_load_bytes", "l1_bytes_from_l2"))
    if not moved or not filled:
        return ""
    through = f"the {quantity(filled, 'byte')} that leave L2"
    return f" The {quantity(moved, 'byte')} of TMA are part of {through}: one transfer over two links, not two."


def _read_by_products(shown: RunView) -> str:
    """Return what the wavefronts of an arrow are that stands for wgmma too; empty without wgmma."""
    main = next(flow for flow in FLOWS if flow.id == "shared-banks-load").shown_figures(shown)[:1]
    if not main or not main[0].only_with:
        return ""
    return " The shared memory that wgmma reads has no counter of its own, so the arrow shows all wavefronts."


def _ends(flow: Flow) -> str:
    return f"{TITLES[flow.source]} to {TITLES[flow.target]}"


def _by_operation(one: OperationTable, counted: Sequence[tuple[str, Counted]], quiet: Sequence[str]) -> Table:
    """Return a memory table as it is shown: the columns that hold anything, and what moved nothing in its note."""
    kept = [i for i, own in enumerate(one.columns) if not own.rare or any(values[i] for _, values in counted)]
    own = [one.columns[i] for i in kept]
    counts = (Column(each.title, "right", "", Term(each.title, "", each.meaning)) for each in own)
    columns = (Column("operation", order=""), *counts)
    rows = tuple((Cell(name), *(_counted_cell(values[i], one.columns[i]) for i in kept)) for name, values in counted)
    names = [name.partition(" (")[0] for name in quiet]
    told = ", ".join(name if name[:2].isupper() else name[:1].lower() + name[1:] for name in names)
    return Table(one.id, one.title, columns, rows, note=f"No {told}." if told else "").without_empty()


def _counted_cell(value: float | None, column: MemoryColumn) -> Cell:
    return Cell() if value is None else Cell(quantity(value, column.unit))


def _figures(shown: RunView, baseline: RunView | None, before: str) -> Table:
    rows = [row for flow in FLOWS for row in _flow_rows(flow, shown, baseline)]
    for part, keys in IN_BOXES.items():
        rows += [_box_row(part, key, shown, baseline) for key, _ in keys if _value(key, shown) is not None]
    columns: tuple[Column, ...] = COLUMNS
    if baseline:
        columns = (*COLUMNS[:3], Column(before, "right", "number"), *COLUMNS[3:], Column("change", "right", "number"))
    return Table("memory-figures", "Figures of the memory chart", columns, tuple(rows), filterable=True)


def _box_row(part: str, key: str, shown: RunView, baseline: RunView | None) -> tuple[Cell, ...]:
    values = (_value(key, shown), _value(key, baseline), ROWS[key].unit)
    term = HITS_OF_L1 if key == OF_LOADS and found_for_l1(shown.combined) is not None else term_of(key)
    return _figure_row((TITLES[part], ""), term, values, None, baseline is not None)


# ncu's rate of all reads is counted in other passes, in which blocks ran in another order: it need not fit the tables.
OF_LOADS = "l2_hit_rate_load"
HITS_OF_L1 = Term("L2 hit rate of L1's loads", FOUND_FOR_L1, "sectors that L1 asked for and L2 had, as in its table")


def _value(key: str, shown: RunView | None) -> float | None:
    if shown is None:
        return None
    found = found_for_l1(shown.combined) if key == OF_LOADS else None
    return shown.combined.values[key] if found is None else found


def _flow_rows(flow: Flow, shown: RunView, baseline: RunView | None) -> list[tuple[Cell, ...]]:
    rows, main = list[tuple[Cell, ...]](), flow.shown_figures(shown)[:1]
    ends = TITLES[flow.source], TITLES[flow.target]
    for one in dict.fromkeys([*flow.told(shown), *(flow.told(baseline) if baseline else ())]):
        value, old = one.value(shown), one.value(baseline) if baseline else None
        if not value and not old:
            continue
        unit = "byte" if one.is_sectors else ROWS[one.key].unit
        percent = flow.percent(shown) if one in main else None
        rows.append(_figure_row(ends, _figure_term(one), (value, old, unit), percent, baseline is not None))
    for key in (RESOURCES[name].busy for name in flow.ports) if flow.has_traffic(shown) else ():
        values = _value(key, shown), _value(key, baseline), ROWS[key].unit
        if values[0] is not None:
            rows.append(_figure_row(ends, term_of(key), values, None, baseline is not None))
    return rows


def _figure_row(
    ends: tuple[str, str], term: Term, values: BothValues, percent: float | None, compared: bool
) -> tuple[Cell, ...]:
    value, old, unit = values
    share = number(f"{percent:.1f} %", percent) if percent is not None else Cell()
    source, target = ends
    names = Cell(source), Cell(target or ABSENT), Cell(term.label, term=term)
    if not compared:
        return (*names, _amount(value, unit), share)
    change = delta(value, old, unit)
    moved = number(change, (value or 0.0) / old - 1 if old else 0.0) if change else Cell()
    return (*names, _amount(old, unit), _amount(value, unit), share, moved)


def _amount(value: float | None, unit: str) -> Cell:
    return number(quantity(value, unit), value) if value is not None else Cell()


def _figure_term(figure: Figure) -> Term:
    """Return what a figure is called; sectors are told as the bytes that they hold."""
    found = term_of(figure.key)
    if not figure.is_sectors:
        return found
    return Term(found.label, found.name, f"{found.meaning}; {BYTES_OF_SECTORS}")


def _figure_text(figure: Figure, value: float) -> str:
    unit = "byte" if figure.is_sectors else "" if figure.short else ROWS[figure.key].unit
    return f"{quantity(value, unit)} {figure.short}".rstrip()
