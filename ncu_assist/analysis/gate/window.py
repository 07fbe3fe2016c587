"""A time against a window of earlier runs: by how much it is above the lowest level that they stood at."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

from ncu_assist.analysis.gate.judging import GatedRuns, GateTiming, judge_time
from ncu_assist.analysis.gate.limits import Limit
from ncu_assist.analysis.gate.records import TOO_FEW_RUNS, GateCheck
from ncu_assist.analysis.trend import TrendPoint, TrendSeries
from ncu_assist.verdict import MARGIN, Verdict, Word
from ncu_assist.verdict.levels import FEWEST, Level
from ncu_assist.versions import short_name

IN_WINDOW = "interval-beyond", "interval-inside", "interval-across"


@dataclass(frozen=True)
class Window:
    """The earlier runs of a version on one workload, the oldest first, and those that are held against them."""

    before: TrendSeries
    now: tuple[TrendPoint, ...]

    @property
    def lowest(self) -> Level:
        """The level, or the slope, that begins or ends lowest."""
        return min(self.before.levels.levels, key=lambda level: min(level.start, level.end))

    @property
    def baseline(self) -> TrendPoint:
        """The newest run at the lowest level; of a slope the one at its lower end."""
        level = self.lowest
        return self.before.points[level.last if level.end <= level.start else level.first]

    def judged(self, limit: Limit, place: GatedRuns) -> GateCheck:
        """Return whether the time is above the lowest level by more than the limit.

        The interval is made of what runs of one code differ by, of the error of the level, and of the runs' own.
        """
        verdict = self._verdict()
        level_ns = exp(min(self.lowest.start, self.lowest.end))
        now_ns = exp(self._now)
        check = judge_time(limit, GateTiming(verdict, level_ns, now_ns), place)
        again = f"ncu-assist bench {place.candidate.kernel} {short_name(place.candidate.version)}"
        command = f"{again} --workload {shlex.quote(place.workload or '')} --again"
        return check if check.outcome == "pass" else replace(check, next=command if check.next else "")

    @property
    def _now(self) -> float:
        return sum(log(point.timing.median_ns) for point in self.now) / len(self.now)

    def _verdict(self) -> Verdict:
        levels, lowest = self.before.levels, self.lowest
        own = sqrt(sum(point.error**2 + levels.run_to_run**2 for point in self.now)) / len(self.now)
        change = self._now - min(lowest.start, lowest.end)
        reach = levels.wide * sqrt(own**2 + lowest.end_error**2)
        low, high = exp(change - reach) - 1, exp(change + reach) - 1
        word, reason = _word(low, high)
        return Verdict(word, None, reason, exp(-change), 1 / (1 + high), 1 / (1 + low), len(self.before.points))


def _word(low: float, high: float) -> tuple[Word, str]:
    beyond, inside, across = IN_WINDOW
    if low > MARGIN:
        return "slower", beyond
    if high < -MARGIN:
        return "faster", beyond
    return ("same", inside) if low > -MARGIN and high < MARGIN else ("unclear", across)


def too_few(limit: Limit, workload: str) -> GateCheck:
    """Return the check of a time that fewer runs are known of than make a level."""
    return GateCheck(workload, limit, "unclear", "unclear", reason=TOO_FEW_RUNS)


def window_of(points: Sequence[TrendPoint], now: Sequence[TrendPoint]) -> Window | None:
    """Return a window; None where it has fewer runs than make a level."""
    if len(points) < FEWEST or not now:
        return None
    return Window(TrendSeries(points[0].run.version, points[0].run.gpu, tuple(points)), tuple(now))
