"""Where the parts of the memory chart stand: boxes in columns, rows of arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.render.html.drawing import Box
from ncu_assist.render.html.memory_links import FLOWS, OPTIONAL

WIDTH = 1180
TOP, BELOW = 10.0, 10.0
LANE, LANE_WITH_DELTA = 60.0, 78.0  # of one arrow with its labels
QUIET = 42.0  # the row of a space without traffic
GAP = 12.0
COLUMNS: dict[str, tuple[float, float]] = {
    "kernel": (2, 98), "space": (236, 336), "l1": (486, 626), "l2": (778, 904), "memory": (1046, 1178),
}  # fmt: skip
UPPER = ("global", "local", "async")  # spaces in front of L1; the others are in front of shared memory
LOWER = ("shared", "tma", "cluster")
LEAST = 122.0  # height of a box with its figures


@dataclass(frozen=True)
class Layout:
    """Boxes by part, the places of arrows by flow, and the height of it all."""

    boxes: Mapping[str, Box]
    lanes: Mapping[str, tuple[float, float, float]]  # from x, to x, y
    quiet: tuple[str, ...]  # spaces without traffic
    lane: float
    height: float


def layout(shown: Shown, baseline: Shown | None = None) -> Layout:
    """Return the layout of what was used, by either side; other spaces are one low row, rare ones left out."""
    lane = LANE_WITH_DELTA if baseline else LANE
    used = {part for flow in FLOWS if _moves(flow.id, shown, baseline) for part in (flow.source, flow.target)}
    boxes, y = dict[str, Box](), TOP
    for group, name in ((UPPER, "l1"), (LOWER, "banks")):
        start = y
        for space in (one for one in group if one in used or one not in OPTIONAL):
            height = 2 * lane if space in used else QUIET
            boxes[space] = Box(*_across("space", y, y + height))
            y += height + GAP
        y = max(y, start + LEAST + GAP)
        boxes[name] = Box(*_across("l1", start, y - GAP))
    end = y - GAP
    boxes |= {"kernel": Box(*_across("kernel", TOP, end)), "l2": Box(*_across("l2", TOP, end))}
    host = 2 * lane if "host" in used else QUIET
    boxes["host"] = Box(*_across("memory", end - host, end))
    boxes["dram"] = Box(*_across("memory", TOP, min(end - host - GAP, TOP + max(LEAST, 2 * lane + 20))))
    quiet = tuple(one for one in (*UPPER, *LOWER, "banks", "host") if one in boxes and one not in used)
    lanes = {
        flow.id: _lane(flow.id, flow.source, flow.target, boxes, lane)
        for flow in FLOWS
        if _is_drawn(flow.source, flow.target, boxes, quiet)
    }
    return Layout(boxes, lanes, quiet, lane, end + BELOW)


def _across(column: str, top: float, bottom: float) -> tuple[float, float, float, float]:
    left, right = COLUMNS[column]
    return left, top, right, bottom


def _moves(flow: str, shown: Shown, baseline: Shown | None) -> bool:
    own = next(one for one in FLOWS if one.id == flow)
    return own.has_traffic(shown) or (baseline is not None and own.has_traffic(baseline))


def _is_drawn(source: str, target: str, boxes: Mapping[str, Box], quiet: tuple[str, ...]) -> bool:
    return source in boxes and target in boxes and not {source, target} & set(quiet)


def _lane(flow: str, source: str, target: str, boxes: Mapping[str, Box], lane: float) -> tuple[float, float, float]:
    """Return where an arrow runs: in the middle of the lower of its boxes, reads above writes."""
    one, other = boxes[source], boxes[target]
    narrow = min((one, other), key=lambda box: box.bottom - box.top)
    middle = (narrow.top + narrow.bottom) / 2
    y = middle + (lane / 2 if flow.endswith("-store") else -lane / 2 if flow.endswith("-load") else 0.0)
    y -= (lane - LANE) / 2  # a third line below the arrow
    return (one.right, other.left, y) if one.right <= other.left else (one.left, other.right, y)
