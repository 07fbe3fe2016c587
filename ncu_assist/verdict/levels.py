"""Times of many runs to levels: where a time changed for good, in one step or slowly, and what is only noise.

The runs of a history are of benches of their own, so nothing pairs them. Each has a median whose error is known from
its samples, and on top of it runs of the same code differ: by the GPU at hand, its temperature, where buffers lie. That
second part is learned from the history, beside a first guess (``RUN_TO_RUN``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log, pi, sqrt
from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.deciding import correlation_length, student_quantile

if TYPE_CHECKING:
    import numpy as np

# What runs of one code differ by before a history says so, beside their samples. The relative part and what it is worth
# are fitted to the recorded kernels, whose variances differ twentyfold (Smyth 2004, limma: benchmarks/trend_rates.py).
# The rest is the same time for all kernels, as it is a process's: where the events around a call come to lie. The
# median of an empty kernel, 2.7 µs, has a standard deviation of 108 ns over eight processes on one GPU.
RUN_TO_RUN, RUN_TO_RUN_FREEDOM, RUN_TO_RUN_NS = 0.0012, 3, 108.0
RUN_TO_RUN_NS_FREEDOM = 7  # of eight processes
# So many times the variance of the first guess, which is worth three runs, is what chance exceeds once in twenty times
# (F of 5 to 20 and 3 degrees of freedom: 8.7 to 9.0). A guess that the history refutes counts for nothing.
REFUTED = 9.0
OF_A_MEDIAN = sqrt(pi / 2)  # standard error of a median over that of a mean
QUARTILES = 1.349  # between the quartiles of a normal distribution, in standard deviations
FEWEST = 3  # runs of a level: one or two alone may have met a hot or shared GPU
FEWEST_ON_A_SLOPE = 2 * FEWEST  # a line through fewer is drawn by one or two of them
# Standard errors that a change has to be away from none, if the noise were known. Between two levels, looked at after
# each run, 3.72 have one false alarm in 1,000 runs (Siegmund and Venkatraman 1995). With slopes, and noise that is
# learned, normal noise has 0.04 to 0.8 at 3.7, of half to 16 times the guess (benchmarks/trend_rates.py --normal).
# Rates on recorded noise were looked at too before it was settled.
ALARM_SIGMAS = 3.7
# As far as a run may be from its neighbours before it is drawn in: Huber's estimate of a mean at 2 costs normal noise
# 1 %. Noise has long tails, as where a clock stays high for one bench: at 3, two such runs of three are a step.
CLIPPED_SIGMAS = 2.0
FAR_SIGMAS = 5.0  # the same for a difference of neighbours, which a step may be
OFTEN = 0.9  # what a tenth of the differences reach is no step but noise, which may have a few levels far apart
NEIGHBOURS = 2  # on either side
AT_AN_END = 7  # runs whose slope tells what the first and the last two should be
REFITS = 10  # of weights that follow from the fit; each brings it many times nearer
DIFFERENCES_FREEDOM = 2 / 3  # what a difference of neighbours is worth, in degrees of freedom of a deviation
GAUSS = 1.4826  # from the median of deviations to a standard deviation
FOUND = 1.2816  # standard errors that a step must be beyond the limit for nine in ten to be found
WITHIN = 5  # runs
Interval = tuple[float, float, float]  # a change, and the ends of its 99 % interval
MOST_RUNS = 400  # the newest that are looked at: the work grows with their square


@dataclass(frozen=True)
class Level:
    """Runs ``first`` to ``last`` at one level, or on one slope: logarithms of times, by place in the history.

    ``slope`` is the change from a run to the next, 0 for a level; ``error`` the standard error of the level at its
    middle, ``slope_error`` that of the slope.
    """

    first: int
    last: int
    start: float
    slope: float
    error: float
    slope_error: float

    def at(self, place: int) -> float:
        return self.start + self.slope * (place - self.first)

    @property
    def end(self) -> float:
        return self.at(self.last)

    @property
    def least(self) -> float:
        """The lower of its ends."""
        return min(self.start, self.end)

    @property
    def end_error(self) -> float:
        """The standard error at either end."""
        return sqrt(self.error**2 + (self.slope_error * (self.last - self.first) / 2) ** 2)


@dataclass(frozen=True)
class Levels:
    """The levels of a history, the oldest first; ``run_to_run`` is the standard deviation between runs of one code.

    ``of_samples`` is the standard error of a usual run from its samples alone. ``sigmas`` is how many standard errors a
    change had to be large, with ``freedom`` degrees of freedom; ``wide`` how many a 99 % interval reaches.
    """

    levels: tuple[Level, ...]
    run_to_run: float
    of_samples: float
    freedom: float
    sigmas: float
    wide: float

    @property
    def lowest(self) -> Level:
        """The level, or the slope, that begins or ends lowest."""
        return min(self.levels, key=lambda level: level.least)

    def step_between(self, before: Level, after: Level) -> tuple[float, float, float]:
        """Return the relative change from the end of one level to the start of the next, and its 99 % interval."""
        return _relative(after.start - before.end, self.wide * self._error(before, after))

    @property
    def least_step(self) -> float:
        """The relative step after the last run that nine in ten times is found within five runs (``WITHIN``).

        Until it is known for a step, it counts as one of the differences that the noise is learned from.
        """
        variance = self.run_to_run**2 + self.of_samples**2
        freedom = self.freedom + DIFFERENCES_FREEDOM * WITHIN
        differences = (freedom - RUN_TO_RUN_FREEDOM) / DIFFERENCES_FREEDOM + 1
        error = sqrt(variance / WITHIN + self.levels[-1].end_error ** 2)
        alarm, found = student(ALARM_SIGMAS, freedom), student(FOUND, self.freedom)
        step = 0.0
        for _ in range(20):  # the share that a step adds to the noise is well below the step
            learned = variance + step**2 / 2 / differences * (1 - RUN_TO_RUN_FREEDOM / freedom)
            step = error * (alarm * sqrt(learned / variance) + found)
        return exp(step) - 1

    def is_step(self, before: Level, after: Level) -> bool:
        """Tell whether a time changed at once between two levels; where a slope begins it need not have."""
        both_flat = not (before.slope or after.slope)
        return both_flat or abs(after.start - before.end) > self.sigmas * self._error(before, after)

    def _error(self, before: Level, after: Level) -> float:
        return sqrt(before.end_error**2 + after.end_error**2)

    def along(self, level: Level) -> tuple[float, float, float]:
        """Return the relative change over all runs of a slope, and its 99 % interval."""
        runs = level.last - level.first
        return _relative(level.slope * runs, self.wide * level.slope_error * runs)


def _relative(change: float, reach: float) -> tuple[float, float, float]:
    return exp(change) - 1, exp(change - reach) - 1, exp(change + reach) - 1


def student(sigmas: float, freedom: float) -> float:
    """Return the quantile of Student's t that is as rare as so many standard deviations (Wallace 1959, inverted)."""
    scaled = sigmas * (8 * freedom + 3) / (8 * freedom + 1)
    return sqrt(freedom * (exp(scaled**2 / freedom) - 1))


def between_two(times_ns: Sequence[float], errors: Sequence[float]) -> float:
    """Return how far the 99 % interval of the logarithm of the ratio of two runs reaches, of benches of their own.

    No history tells what runs of this kernel differ by, so it is the first guess, as unsure as each of its parts is
    (Welch 1947, Satterthwaite 1946); what the samples add is known well.
    """
    relative, at_all = 2 * RUN_TO_RUN**2, sum((RUN_TO_RUN_NS / time) ** 2 for time in times_ns)
    variance = relative + at_all + sum(error**2 for error in errors)
    freedom = variance**2 / (relative**2 / RUN_TO_RUN_FREEDOM + at_all**2 / RUN_TO_RUN_NS_FREEDOM)
    return student_quantile(freedom) * sqrt(variance)


def above_lowest(before: Levels, together: Levels, times_ns: Sequence[float], errors: Sequence[float]) -> Interval:
    """Return how far runs of one code are above the lowest level before them, and the 99 % interval: logarithms.

    ``together`` are the levels with these runs, which are the last. A level that they are part of tells more than they
    do alone: it counts where it is surer that they are above.
    """
    lowest = before.lowest
    own = sqrt(sum(error**2 + before.run_to_run**2 for error in errors)) / len(errors)
    alone = sum(log(time) for time in times_ns) / len(times_ns) - lowest.least
    found = _with_ends(alone, before.wide * sqrt(own**2 + lowest.end_error**2))
    last, lowest = together.levels[-1], together.lowest
    if last == lowest:
        return found
    error = sqrt(last.end_error**2 + lowest.end_error**2)
    return max(found, _with_ends(last.end - lowest.least, together.wide * error), key=lambda one: one[1])


def _with_ends(change: float, reach: float) -> Interval:
    return change, change - reach, change + reach


def error_of(times_ns: np.ndarray[Any, Any]) -> float:
    """Return the relative standard error of the median of good samples, which stand in the order of their rounds.

    As many count as independent as their correlation leaves; of fewer than two it is not known, and 0 here.
    """
    import numpy as np

    q1, median, q3 = np.quantile(times_ns, [0.25, 0.5, 0.75])
    independent = len(times_ns) / correlation_length(times_ns)
    return float(OF_A_MEDIAN * (q3 - q1) / QUARTILES / sqrt(independent) / median)


def levels_of(times_ns: Sequence[float], errors: Sequence[float]) -> Levels:
    """Return the levels of a history of at least one run, in the order in which they were measured.

    ``errors`` are the relative standard errors of the times, one each. The division into levels and slopes is the one
    of least squared error, weighted, with ``sigmas`` squared for every level and for every slope that there is more
    (optimal partitioning: Jackson et al. 2005, exact; Killick et al. 2012 is the same with pruning, of use from
    thousands of runs on).
    """
    import numpy as np

    logs, own = np.log(np.asarray(times_ns, dtype=float)), np.asarray(errors, dtype=float)
    own = np.maximum(own, np.median(own))  # samples that happen to be alike make no run surer than the others
    spread, freedom = run_to_run(logs, own)
    variances = own**2 + spread**2
    sigmas = student(ALARM_SIGMAS, freedom)
    drawn_in = _drawn_in(logs, np.sqrt(variances))
    divided = _partition(drawn_in, 1 / variances, sigmas**2)
    found = tuple(_fitted(level, logs, variances) for level in divided)
    return Levels(found, spread, float(np.min(own)), freedom, sigmas, student_quantile(freedom))


def run_to_run(logs: np.ndarray[Any, Any], errors: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the standard deviation between runs beside that of their samples, and its degrees of freedom.

    ``logs`` are those of times in ns.
    From differences of neighbours, which a step moves once and a slope all alike: their median is taken off, and those
    that are far out and few are drawn in. What the samples of a usual run explain is taken off, too. The first guess
    counts as its degrees of freedom.
    """
    import numpy as np

    prior = RUN_TO_RUN**2 + (RUN_TO_RUN_NS * exp(-float(np.median(logs)))) ** 2
    weight = RUN_TO_RUN_FREEDOM
    if len(logs) < FEWEST:
        return sqrt(prior), float(weight)
    steps = np.diff(logs)
    centred = steps - np.median(steps)
    sizes = np.abs(centred)
    often = float(np.quantile(sizes, OFTEN, method="lower"))
    reach = max(FAR_SIGMAS * max(GAUSS * float(np.median(sizes)), sqrt(prior)), often)
    found = float((np.clip(centred, -reach, reach) ** 2).mean() / 2 - np.median(errors) ** 2)
    freedom = DIFFERENCES_FREEDOM * (len(steps) - 1)
    if found > REFUTED * prior:
        weight = 0
    variance = (weight * prior + freedom * max(found, 0.0)) / (weight + freedom)
    return sqrt(variance), weight + freedom


def _drawn_in(logs: np.ndarray[Any, Any], sigmas: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the times, those far from the median of their neighbours moved nearer (Hampel's filter).

    The first and the last runs have neighbours on one side alone: on a slope, the line through those goes on to them.
    """
    import numpy as np

    if len(logs) <= 2 * NEIGHBOURS:
        return logs
    windows = np.lib.stride_tricks.sliding_window_view(logs, 2 * NEIGHBOURS + 1)
    medians = np.median(windows, axis=1)
    beyond = np.arange(1, NEIGHBOURS + 1)
    before = medians[0] - usual_slope(logs[:AT_AN_END]) * beyond[::-1]
    after = medians[-1] + usual_slope(logs[-AT_AN_END:]) * beyond
    expected = np.concatenate((before, medians, after))
    drawn: np.ndarray[Any, Any] = np.clip(logs, expected - CLIPPED_SIGMAS * sigmas, expected + CLIPPED_SIGMAS * sigmas)
    return drawn


def usual_slope(logs: np.ndarray[Any, Any]) -> float:
    """Return the median of the slopes between all pairs (Theil 1950, Sen 1968): two far of seven do not move it."""
    import numpy as np

    first, second = np.triu_indices(len(logs), 1)
    return float(np.median((logs[second] - logs[first]) / (second - first)))


def _fitted(level: Level, logs: np.ndarray[Any, Any], variances: np.ndarray[Any, Any]) -> Level:
    """Return a level through the times as they were measured, far ones with less weight (Huber 1964).

    What was drawn in for the division is drawn towards neighbours, which is no place for a size to come from.
    """
    import numpy as np

    y, variance = (one[level.first : level.last + 1] for one in (logs, variances))
    places = np.arange(len(y), dtype=float)
    expected = level.start + level.slope * places
    for _ in range(REFITS):
        far = np.abs(y - expected) / np.sqrt(variance)
        weights = np.minimum(1.0, CLIPPED_SIGMAS / np.maximum(far, CLIPPED_SIGMAS)) / variance
        w = float(weights.sum())
        middle, mean = float(weights @ places) / w, float(weights @ y) / w
        xx = float(weights @ (places - middle) ** 2)
        slope = float(weights @ ((places - middle) * (y - mean))) / xx if level.slope else 0.0
        expected = mean + slope * (places - middle)
    slope_error = xx**-0.5 if level.slope else 0.0
    return replace(level, start=float(expected[0]), slope=slope, error=w**-0.5, slope_error=slope_error)


def _partition(logs: np.ndarray[Any, Any], weights: np.ndarray[Any, Any], penalty: float) -> tuple[Level, ...]:
    """Return the levels of least cost; fewer runs than two levels need are one."""
    import numpy as np

    count, lines = len(logs), _lines(logs, weights)
    flat = lines.yy
    costs = np.minimum(flat, flat - lines.gained + penalty)
    best = np.full(count + 1, np.inf)
    best[0], starts = -penalty, np.zeros(count + 1, dtype=int)
    for end in range(min(FEWEST, count), count + 1):
        of_first = best[: max(end - FEWEST, 0) + 1] + costs[: max(end - FEWEST, 0) + 1, end]
        starts[end] = np.argmin(of_first)
        best[end] = of_first[starts[end]] + penalty
    ends = [count]
    while ends[-1] > 0:
        ends.append(int(starts[ends[-1]]))
    return tuple(lines.level(first, end, penalty) for end, first in reversed(list(pairwise(ends))))


@dataclass(frozen=True)
class _Lines:
    """The weighted line through each stretch of runs, by its first run and the one after its last.

    Weight, mean place and mean; the sums of squares and products about those; ``gained`` is by how much a slope lessens
    the squared error of a level.
    """

    w: np.ndarray[Any, Any]
    x: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    xx: np.ndarray[Any, Any]
    yy: np.ndarray[Any, Any]
    xy: np.ndarray[Any, Any]
    gained: np.ndarray[Any, Any]

    def level(self, first: int, end: int, penalty: float) -> Level:
        w, x, y, xx, xy = (float(one[first, end]) for one in (self.w, self.x, self.y, self.xx, self.xy))
        is_slope = float(self.gained[first, end]) > penalty
        slope = xy / xx if is_slope else 0.0
        return Level(first, end - 1, y + slope * (first - x), slope, w**-0.5, xx**-0.5 if is_slope else 0.0)


def _lines(logs: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]) -> _Lines:
    import numpy as np

    places, middle = np.arange(len(logs), dtype=float), float(np.median(logs))
    y = logs - middle  # small numbers, whose squares add up without loss
    rows = np.array([weights, weights * places, weights * y, weights * places**2, weights * y**2, weights * places * y])
    sums = np.concatenate((np.zeros((6, 1)), np.cumsum(rows, axis=1)), axis=1)
    w, wx, wy, wxx, wyy, wxy = sums[:, None, :] - sums[:, :, None]
    w = np.where(w > 0, w, np.inf)  # no stretch: its end lies before its start
    xx, yy, xy = wxx - wx**2 / w, wyy - wy**2 / w, wxy - wx * wy / w
    runs = np.arange(len(logs) + 1)
    is_long = runs[None, :] - runs[:, None] >= FEWEST_ON_A_SLOPE
    gained = np.divide(xy**2, xx, out=np.zeros_like(xx), where=is_long)
    return _Lines(w, wx / w, middle + wy / w, xx, yy, xy, gained)
