"""How near a run came to what its GPU can do, on a terminal: bars of throughput, warp states, occupancy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ncu_assist.analysis.run_view import BARS, Shown, throughputs
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import digits, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import table
from ncu_assist.render.words import all_of, impossible_lines
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.rules.model.resources import BUSY_PERCENT, LATENCY

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

LIMITS = {"shared": "shared memory", "blocks": "places for blocks"}  # in words
TOP_STALLS = 5
BAR = 24


def speed_of_light(shown: Shown, alone: str = "") -> list[RenderableType]:
    """Return a bar for each unit, in percent of its peak; none without such counters.

    ``alone`` names the launch that is shown of several kernels, empty where it is of all launches.
    """
    from rich.text import Text

    values = shown.combined.values
    known = throughputs(shown.combined)
    if not known:
        return []
    made = table(("unit", "left"), ("of its peak", "right"), ("", "left"), ("", "left"))
    for key, value in known:
        rate = values["dram_bandwidth"] if key == "dram_throughput" else None
        made.add_row(ROWS[key].label, f"{value:.1f} %", _bar(value), quantity(rate, "byte/s") if rate else "")
    return [
        Text(""),
        Text(f"Speed of light{_title(shown, alone)}", style="bold"),
        made,
        *(Text(line) for line in impossible_lines(shown.combined, BARS)),
        *(Text(one) for one in _bound(shown)),
    ]


def warp_states(shown: Shown, alone: str = "") -> list[RenderableType]:
    """Return where warps spent their time and how many there were; nothing where that was not sampled."""
    from rich.text import Text

    occupancy = [Text(line) for line in _occupancy(shown)]
    if not shown.combined.stalls:
        return [Text(""), *occupancy] if occupancy else []
    return [Text(""), Text(f"Warp states{f' of {alone}' if alone else ''}", style="bold"), _stalls(shown), *occupancy]


def of_what(shown: Shown) -> str:
    """Return what the counters are of, for a title: the workload, and how many launches and kernels."""
    where = f" of {one_line(shown.combined.workload)}" if shown.combined.workload else ""
    count = len(shown.combined.launches)
    if shown.combined.is_of_kernels:
        return f"{where}, {count} launches of different kernels: sums of all, the others of the longest"
    return where + (f", {count} launches together" if count > 1 else "")


def _title(shown: Shown, alone: str) -> str:
    return f" of {alone}" if alone else of_what(shown)


def _bound(shown: Shown) -> Iterator[str]:
    """Yield what binds it, in a sentence."""
    bound = shown.bottleneck
    if bound is None:
        return
    if bound.name == LATENCY:
        yield f"bound by latency: compute and memory throughput are below {BUSY_PERCENT:.0f} %"
        return
    caches = [shown.combined.values[key] for key in ("l1_cache_throughput", "l2_cache_throughput")]
    beyond = any(one is not None and one > bound.percent for one in caches)
    why = "; a cache's bar above that counts parts that do not limit memory" if beyond else ""
    yield f"bound by {bound.name}, at {bound.percent:.0f} % of its peak{why}"


def _bar(percent: float) -> str:
    return "█" * min(BAR, max(0, round(percent / 100 * BAR)))


def _stalls(shown: Shown) -> Table:
    made = table(("stalled for", "left"), ("share", "right"), ("", "left"))
    for reason, share in list(shown.combined.stalls.items())[:TOP_STALLS]:
        made.add_row(one_line(reason.replace("_", " ")), f"{share:.1f} %", _bar(share))
    return made


def _occupancy(shown: Shown) -> list[str]:
    """Return the occupancy and what limits it, with the blocks that each limit allows; empty without counters."""
    values = shown.combined.values
    shares = [f"{v:.0f} % {word}" for word in ("achieved", "theoretical") if (v := values[f"{word}_occupancy"])]
    allowed = allowed_blocks(shown.told.facts) if shown.told and len(shown.combined.launches) == 1 else {}
    if not shares or not allowed:
        return [f"Occupancy: {', '.join(shares)}"] if shares else []
    fewest = min(allowed.values())
    names = all_of([LIMITS.get(word, word) for word, count in allowed.items() if count == fewest])
    ranked = sorted(allowed.items(), key=lambda one: one[1])
    counts = ", ".join(f"{LIMITS.get(word, word)} {digits(count)}" for word, count in ranked)
    return [f"Occupancy: {', '.join(shares)}, limited by {names}", f"  blocks that fit an SM: {counts}"]
