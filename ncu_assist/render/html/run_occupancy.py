"""How many warps there were, and what allows no more: of a launch in full, of several in a table."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import LaunchRow, Shown
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import digits, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.bars import Bar, Bars
from ncu_assist.render.html.run_diagnosis import Fact
from ncu_assist.render.html.run_warps import warp_facts
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.html.term import term_of
from ncu_assist.rules.low_occupancy import LIMITS, allowed_blocks

WORDS = {"shared": "shared memory", "blocks": "places for blocks"}
SHAPE_FACTS = (
    "registers", "shared_memory", "grid_size", "block_size", "waves_per_sm", "last_wave_fill", "theoretical_warps",
    "achieved_warps", "cluster_size",
)  # fmt: skip
OF_LAUNCH = ("theoretical_occupancy", "achieved_occupancy", "registers", "shared_memory", "waves_per_sm")


@dataclass(frozen=True)
class OccupancyPart:
    """Occupancy, the blocks that each limit allows, the shape of the launch; ``sentence`` names the limiter.

    Of several launches ``launches`` has what the limits are of each.
    """

    sentence: str
    bars: Bars
    limits: Bars
    facts: tuple[Fact, ...]
    launches: Table | None


def occupancy_part(shown: Shown) -> OccupancyPart:
    """Return how many warps there were, and what allows no more."""
    keys, counted = ("theoretical_occupancy", "achieved_occupancy"), shown.counted
    known = [(key, value) for key in keys if (value := counted.combined.values[key]) is not None]
    bars = tuple(Bar(term_of(key), value / 100, f"{value:.1f} %") for key, value in known)
    allowed = allowed_blocks(counted.told.facts) if counted.told and len(counted.combined.launches) == 1 else {}
    return OccupancyPart(
        sentence=_limiter(allowed) if allowed else "",
        bars=Bars("Occupancy, in percent of the warps that an SM can hold", bars, "0 to 100 %" if bars else ""),
        limits=_limits(allowed),
        facts=warp_facts(counted, SHAPE_FACTS),
        launches=_launches(shown) if len(shown.combined.launches) > 1 else None,
    )


def _fewest(allowed: dict[str, float]) -> tuple[str, float]:
    """Return what allows the fewest blocks, in words, and how many those are."""
    fewest = min(allowed.values())
    return " and ".join(WORDS.get(word, word) for word, count in allowed.items() if count == fewest), fewest


def _limiter(allowed: dict[str, float]) -> str:
    names, fewest = _fewest(allowed)
    return f"Limited by {names}: {digits(fewest)} block{'s' * (fewest != 1)} fit{'s' * (fewest == 1)} an SM."


def _limits(allowed: dict[str, float]) -> Bars:
    most, fewest = max(allowed.values(), default=1.0), min(allowed.values(), default=0.0)
    ranked = sorted(allowed.items(), key=lambda one: (one[1], one[0]))
    bars = tuple(_limit(word, count, most, count == fewest) for word, count in ranked)
    return Bars("Blocks that fit an SM, by what each limit allows", bars)


def _limit(word: str, count: float, most: float, binds: bool) -> Bar:
    return Bar(term_of(LIMITS[word]), count / most if most else 0.0, digits(count), tone="limit" if binds else "")


def _launches(shown: Shown) -> Table | None:
    """Return the launches that the rules looked at one by one, the longest first."""
    rows = tuple(_launch(row) for row in shown.launches_shown if row.told)
    columns = (
        Column("launch"),
        Column("limited by"),
        *(Column(ROWS[key].label, "right", "number", term_of(key)) for key in OF_LAUNCH),
    )
    caption = "Occupancy of each launch"
    return Table("occupancy-table", caption, columns, rows).without_empty() if rows else None


def _launch(row: LaunchRow) -> tuple[Cell, ...]:
    facts = row.told.facts if row.told else None
    values = [facts.get(key) if facts else None for key in OF_LAUNCH]
    allowed = allowed_blocks(facts) if facts else {}
    return (
        Cell(f"#{row.launch.index} {one_line(row.launch.kernel, 60)}"),
        Cell(_fewest(allowed)[0]) if allowed else Cell(),
        *(
            Cell() if value is None else number(quantity(value, ROWS[key].unit), value)
            for key, value in zip(OF_LAUNCH, values, strict=True)
        ),
    )
