"""What a line cost on each side of a diff, in time, on one scale of colours for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncu_assist.ncu.source_costs import Cost, SourceCosts
from ncu_assist.quantity import quantity
from ncu_assist.render.html.bars import heat_level
from ncu_assist.render.html.source_heat import HOTTEST_FROM, Heat

# Of the longer side: a line that changed by less is not marked, for samples and durations wander (diff.line_changes).
LEAST_CHANGE = 0.01
EXCESS_FROM = 0.02  # of the larger sum: an excess that changed by less is not told
MILLISECONDS_FROM = 1e7  # ns
EXCESSES = (("sectors_excessive", "excess sectors"), ("wavefronts_excessive", "excess wavefronts"))


@dataclass(frozen=True)
class PairScale:
    """What a cost comes to on each side: time, or samples in percent where a duration is not known."""

    factors: tuple[float, float]
    unit: str
    divisor: float
    most: float
    excess: Mapping[str, float]

    @classmethod
    def of(cls, durations_ns: tuple[float | None, float | None], sides: tuple[SourceCosts, SourceCosts]) -> PairScale:
        """Return the scale of both sides together."""
        before, after = durations_ns
        factors = (before, after) if before and after else (100.0, 100.0)
        unit, divisor = ("µs", 1e3) if max(factors) < MILLISECONDS_FROM else ("ms", 1e6)
        hottest = [
            max((line.cost.samples for file in side.files for line in file.lines), default=0.0) * factor
            for side, factor in zip(sides, factors, strict=True)
        ]
        excess = {name: max(getattr(side.totals, name) or 0.0 for side in sides) for name, _ in EXCESSES}
        most = max(*hottest, HOTTEST_FROM * max(factors))
        return cls(factors, *((unit, divisor) if before and after else ("%", 1.0)), most, excess)

    def heat(self, cost: Cost | None, is_candidate: bool) -> Heat:
        value = self.value(cost, is_candidate)
        return Heat(self.text(value), heat_level(value, self.most)) if value else Heat()

    def value(self, cost: Cost | None, is_candidate: bool) -> float:
        return cost.samples * self.factors[is_candidate] if cost else 0.0

    def text(self, value: float) -> str:
        scaled = value / self.divisor
        return "<0.1" if scaled < 0.05 else f"{scaled:.1f}" if scaled < 99.95 else f"{scaled:,.0f}"

    def change(self, before: Cost | None, after: Cost | None) -> tuple[str, str]:
        """Return how the time of a line changed, with its tone; nothing for what is no more than noise."""
        delta = self.value(after, True) - self.value(before, False)
        if abs(delta) < LEAST_CHANGE * max(self.factors):
            return "", ""
        sign = "▲ +" if delta > 0 else "▼ -"
        return f"{sign}{self.text(abs(delta))}", "bad" if delta > 0 else "good"

    def excess_change(self, before: Cost | None, after: Cost | None) -> str:
        """Return how the excess of a line changed, in words: 33.0 M → 0 excess sectors."""
        told = []
        for name, words in EXCESSES:
            ends = [float(getattr(cost, name)) if cost else 0.0 for cost in (before, after)]
            if abs(ends[1] - ends[0]) > EXCESS_FROM * self.excess[name]:
                told.append(f"{' → '.join(quantity(value, '') for value in ends)} {words}")
        return ", ".join(told)
