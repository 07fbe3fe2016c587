"""Hold the change points of `trend` against histories of recorded noise, and against the best that any test can do.

python benchmarks/trend_rates.py [--histories 400] [--seed 1] [--alarms | --normal | --gate]

The noise is that of real benches of one code on one H200: six kernels, and what runs beside a short one; 20 or 25
benches each of 100 rounds (tests/data), over four processes. A run of a history is one of these benches, its median and
the error that its samples give, drawn anew; only the change is made up. A history is looked at after each run, as by
somebody who asks every day; each change that there was not before it is an alarm. The recorded times judge the
threshold and did not choose it: that is --normal, made-up normal noise of half to 16 times the first guess.

Prints the noise, what could cancel it, and the first guess fitted to it; what the best test (CUSUM, which knows level
and noise: Moustakides 1986) finds at one false alarm in 1,000 runs; for `trend` false alarms by kernel, with a 95 %
interval over histories; how often a step of 1 % and a creep of 0.3 % a run are found, by the number of runs since, and
how often the step that `trend` says it finds nine times in ten.

--gate: what `gate --unclear pass` says under its limit of 2 % of a run whose time is as before, and of slower ones,
against one run and against windows of 3 and 10; and of steps of 1.5 %, each merged, the first that is red.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log, sqrt
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from ncu_assist.analysis.gate.checking import GatedRuns, judge_time, of_levels
from ncu_assist.analysis.gate.limits import parse_limit
from ncu_assist.record import Run
from ncu_assist.verdict import MARGIN, Verdict, Word
from ncu_assist.verdict.levels import (
    FEWEST,
    RUN_TO_RUN,
    RUN_TO_RUN_NS,
    WITHIN,
    Levels,
    between_two,
    error_of,
    levels_of,
)

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
STEP, CREEP = 0.01, 0.003
LONGEST = 60  # runs of a history without a change
BEFORE = (10, 20, 40)  # runs before a change
AFTER = 10
LONG_ENOUGH_NS = 20_000  # the clock of a GPU ticks in 32 ns: below, a step of 1 % is a few ticks
BESIDE = ("(copy)", "(empty)")  # timed beside a long kernel; where that is short they are as good as it
PER_ALARM = 1000  # runs that may pass before a false alarm, on average
SIGMAS = (1.0, 0.5, 0.4, 1 / 3, 0.25, 0.2)  # of a run, in percent, for a step of 1 %
TIMES_THE_GUESS = (0.5, 1, 2, 4, 8, 16)  # of the deviation of normal noise
FAR = 0.05  # of the runs of noise with a long tail
NORMAL_NS, NORMAL_ERROR = 100e3, 0.0015  # a run of it
COPIES = 0.0034, 8  # the copy's deviation over days, processes and GPUs: 8 sizes of two benches in the recorded archive
LIMIT = parse_limit("time:2%", lambda: ())
SLOWER = (0.0, 0.015, 0.025, 0.03, 0.04, 0.1, 0.3)
WINDOWS = (1, 3, 10)
SMALL_STEP, SMALL_STEPS = 1.015, 10
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Benches:
    """The benches of one code: medians in ns in the order of the benches, the error of each, and what ran beside it.

    ``peers`` are the medians of other versions and of the device copy in the same benches, ``clock`` the SM clock.
    """

    name: str
    medians: Array
    errors: Array
    clock: Array
    peers: dict[str, Array] = field(default_factory=dict, repr=False)

    @property
    def is_long(self) -> bool:
        return float(np.median(self.medians)) > LONG_ENOUGH_NS

    @property
    def strays(self) -> Array:
        """How far the logarithm of each median is from the mean, which is made of the same values."""
        return strays(np.log(self.medians))

    @property
    def kernel(self) -> str:
        """The kernel that this is a version of."""
        return self.name.removeprefix("same_code_").removeprefix("again_").removeprefix("power_first20 ").split()[0]

    def run(self, rng: np.random.Generator, repeats: int = 1) -> tuple[float, float]:
        """Return the median of a run in ns, and its error; of several benches their mean."""
        places = rng.integers(len(self.medians), size=repeats)
        error = float(sqrt((self.errors[places] ** 2).sum()) / repeats)
        return float(np.exp(np.log(self.medians).mean() + self.strays[places].mean())), error


def strays(logs: Array) -> Array:
    return (logs - logs.mean()) * sqrt(len(logs) / (len(logs) - 1))


def recorded(data: Path = DATA) -> list[Benches]:
    """Return the benches of every code that tests/data has samples of."""
    found = []
    for path in sorted(data.glob("*.parquet")):
        for workload, frame in pd.read_parquet(path).groupby("workload", observed=True):
            found += list(_of_frame(f"{path.stem} {workload}", frame))
    return found


def _of_frame(name: str, frame: pd.DataFrame) -> Iterator[Benches]:
    order = list(dict.fromkeys(frame["bench_id"]))
    rows = frame.sort_values("round").groupby(["version", "bench_id"], observed=True)
    medians, clocks = rows["time_ns"].median(), rows["sm_clock_mhz"].median()
    errors = rows["time_ns"].apply(lambda times: error_of(times.to_numpy(dtype=float)))
    versions = list(dict.fromkeys(frame["version"]))
    every = {version: medians[version][order].to_numpy(dtype=float) for version in versions}
    is_short = all(np.median(every[version]) < LONG_ENOUGH_NS for version in versions)
    for version in versions:
        if version not in BESIDE or is_short:
            peers = {other: every[other] for other in versions if other not in (version, "(empty)")}
            own = errors[version][order].to_numpy(dtype=float), clocks[version][order].to_numpy(dtype=float)
            yield Benches(f"{name} {version}", every[version], *own, peers)


def history(of: Benches, shape: Sequence[float], rng: np.random.Generator, repeats: int = 1) -> Iterator[Levels]:
    """Yield what is found after each run of a history whose times should be as those recorded, times ``shape``."""
    times, errors = [], []
    for wanted in shape:
        time, error = of.run(rng, repeats)
        times.append(time * wanted)
        errors.append(error)
        yield levels_of(times, errors)


def alarms(found: Levels) -> int:
    """Return how many changes there are."""
    return len(found.levels) - 1 + sum(level.slope != 0 for level in found.levels)


def false_alarms(every: Sequence[Benches], histories: int, rng: np.random.Generator) -> Array:
    """Return the number of alarms of each history, in which nothing changed."""
    return np.array([_new_alarms(every[number % len(every)], rng) for number in range(histories)])


def _new_alarms(of: Benches, rng: np.random.Generator) -> int:
    counts = [alarms(found) for found in history(of, [1.0] * LONGEST, rng)]
    return sum(max(0, after - before) for before, after in pairwise(counts))


def interval(counts: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Return a 95 % interval of alarms in 1,000 runs: alarms come in groups, so histories are drawn anew."""
    runs = len(counts) * LONGEST
    if not counts.any():
        return 0.0, 3 * PER_ALARM / runs  # the rule of three
    drawn = rng.choice(counts, (2000, len(counts))).sum(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975]) * PER_ALARM / runs
    return float(low), float(high)


def normal(times: float, rng: np.random.Generator, benches: int = 5000, far: float = 0.0) -> Benches:
    """Return benches of normal noise: what its samples explain, and so many times the first guess beside it.

    Of them a part ``far`` strays three times as much: noise with a long tail.
    """
    deviation = sqrt(NORMAL_ERROR**2 + (times * RUN_TO_RUN) ** 2 + (times * RUN_TO_RUN_NS / NORMAL_NS) ** 2)
    tail = np.where(rng.random(benches) < far, 3.0, 1.0)
    medians = NORMAL_NS * np.exp(rng.normal(0, 1, benches) * deviation * tail)
    name = f"normal, {times:g} times the guess" + (f", {100 * far:.0f} % far out" if far else "")
    return Benches(name, medians, np.full(benches, NORMAL_ERROR), np.ones(benches))


def guess(every: Sequence[Benches]) -> tuple[float, float]:
    """Return the deviation beside the samples and its degrees of freedom, from the long kernels and the copies.

    The moments of the logarithms of variances that are a scaled inverse chi-squared (Smyth 2004, section 6.2). Versions
    of a kernel in the same benches are one variance.
    """
    groups: dict[str, list[Benches]] = {}
    for one in every:
        if one.is_long:
            groups.setdefault(one.kernel + one.name[:16], []).append(one)
    found = [(COPIES[0] ** 2, float(COPIES[1]))]
    for some in groups.values():
        excess = np.mean([max(one.strays.var() - (one.errors**2).mean(), 0.0) for one in some])
        if excess > 0:
            found.append((float(excess), len(some[0].medians) - 1.0))
    known = [log(variance) - _digamma(freedom / 2) + log(freedom / 2) for variance, freedom in found]
    beyond = float(np.var(known, ddof=1) - np.mean([_trigamma(freedom / 2) for _, freedom in found]))
    low, high = 0.1, 100.0
    for _ in range(60):  # the trigamma function falls
        half = sqrt(low * high)
        low, high = (half, high) if _trigamma(half) > beyond else (low, half)
    return sqrt(np.exp(np.mean(known) + _digamma(low) - log(low))), 2 * low


def _digamma(x: float) -> float:
    return _digamma(x + 1) - 1 / x if x < 6 else log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4)


def _trigamma(x: float) -> float:
    return _trigamma(x + 1) + 1 / x**2 if x < 6 else 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)


def found_after(
    every: Sequence[Benches],
    shape: Sequence[float],
    before: int,
    histories: int,
    rng: np.random.Generator,
    repeats: int = 1,
) -> Array:
    """Return in which part of histories a change that begins after ``before`` runs is found, by runs since."""
    found = np.zeros(len(shape) - before + 1)
    for number in range(histories):
        seen = [alarms(one) for one in history(every[number % len(every)], shape, rng, repeats)]
        since = next((n for n in range(1, len(found)) if seen[before + n - 1] > 0), len(found))
        found[since:] += 1
    return found / histories


def said_found(every: Sequence[Benches], before: int, histories: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the median of the steps that `trend` says it finds, and how often one as large is within five runs."""
    said, found = [], 0
    for number in range(histories):
        runs = [every[number % len(every)].run(rng) for _ in range(before + WITHIN)]
        times, errors = (np.array(one) for one in zip(*runs, strict=True))
        said.append(levels_of(times[:before], errors[:before]).least_step)
        times[before:] *= 1 + said[-1]
        found += any(alarms(levels_of(times[:end], errors[:end])) for end in range(before + 1, len(times) + 1))
    return float(np.median(said)), found / histories


def gated(times: Sequence[float], errors: Sequence[float]) -> str:
    """Return what `gate` says of the last run of a history: pass, noise for what is let pass, unclear or regression.

    One run before it is held against as two benches are, more as a window. Samples that are not paired are called
    slower from 0.5 % on, as they mostly are.
    """
    place, medians = GatedRuns(*2 * (cast("Run", None),), None), (times[-2], times[-1])  # no workload, so no advice
    if len(times) > FEWEST:
        before, together = levels_of(times[:-1], errors[:-1]), levels_of(times, errors)
        check = judge_time(LIMIT, of_levels(before, together, times[-1:], errors[-1:]), medians, place)
    else:
        word: Word = "slower" if times[-1] > (1 + MARGIN) * times[-2] else "unclear"
        verdict = Verdict(word, None, "robust-between", times[-2] / times[-1], None, None, 0)
        check = judge_time(LIMIT, verdict, medians, place, between_two(times[-2:], errors[-2:]))
    return "noise" if check.is_inside else check.outcome


def say_gate(kernels: Mapping[str, Sequence[Benches]], histories: int, rng: np.random.Generator) -> None:
    for kernel, some in kernels.items():
        for before in WINDOWS:
            for slower in SLOWER:
                counts = dict.fromkeys(("pass", "noise", "unclear", "regression"), 0)
                for number in range(histories):
                    runs = [some[number % len(some)].run(rng) for _ in range(before + 1)]
                    times, errors = ([run[place] for run in runs] for place in (0, 1))
                    counts[gated([*times[:-1], times[-1] * (1 + slower)], errors)] += 1
                told = ", ".join(f"{name} {100 * count / histories:.1f} %" for name, count in counts.items())
                say(f"{kernel} against {before}: {100 * slower:g} % slower: {told}")
        firsts = [first_red(some[number % len(some)], rng) for number in range(histories)]
        told = ", ".join(f"{step}: {100 * firsts.count(step) / histories:.1f} %" for step in sorted(set(firsts)))
        say(f"{kernel}: steps of {100 * SMALL_STEP - 100:.1f} %, each merged: the first red is {told}")


def first_red(of: Benches, rng: np.random.Generator) -> int:
    """Return at which of ten small steps a gate is first red, against the run before or a window; 11 for none."""
    times, errors = [], []
    for step in range(SMALL_STEPS + 1):
        time, error = of.run(rng)
        times.append(time * SMALL_STEP**step)
        errors.append(error)
        said = {gated(times[-2:], errors[-2:])} if step else set[str]()
        if step >= FEWEST:
            said.add(gated(times, errors))
        if said & {"unclear", "regression"}:
            return step
    return SMALL_STEPS + 1


def cusum_threshold(shift: float, rng: np.random.Generator, runs: int = 200_000) -> float:
    """Return the threshold of a two-sided CUSUM for a shift in sigmas at which PER_ALARM runs pass between alarms."""
    noise = rng.standard_normal(runs).tolist()
    low, high = 0.5, 8.0
    for _ in range(9):
        threshold = (low + high) / 2
        up = down = count = 0.0
        for value in noise:
            up, down = max(0.0, up + value - shift / 2), max(0.0, down - value - shift / 2)
            if max(up, down) > threshold:
                up = down = 0.0
                count += 1
        low, high = (threshold, high) if runs / max(count, 1) < PER_ALARM else (low, threshold)
    return (low + high) / 2


def cusum_found(shift: float, rng: np.random.Generator, histories: int = 4000) -> Array:
    """Return in which part of histories the best test finds a shift, by runs since: it knows the level and the noise.

    No test that is as seldom wrong finds a change of this size sooner in its worst case.
    """
    threshold, found = cusum_threshold(shift, rng), np.zeros(AFTER + 1)
    up = np.zeros(histories)
    for _ in range(30):
        up = np.maximum(0.0, up + rng.standard_normal(histories) - shift / 2)
        up[up > threshold] = 0.0
    is_found = np.zeros(histories, dtype=bool)
    for since in range(1, AFTER + 1):
        up = np.maximum(0.0, up + shift + rng.standard_normal(histories) - shift / 2)
        is_found |= up > threshold
        found[since] = is_found.mean()
    return found


def cancelled(benches: Benches) -> dict[str, float]:
    """Return the standard deviation that is left of the logarithms with something of the same bench divided out."""
    own = np.log(benches.medians)
    known = {"alone": own, "in cycles": own + np.log(benches.clock)}
    known |= {f"over {name}": own - np.log(peer) for name, peer in benches.peers.items()}
    return {name: float(np.std(logs, ddof=1)) for name, logs in known.items()}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def _words(rates: Array) -> str:
    return ", ".join(f"{100 * rate:.0f} %" for rate in rates)


def say_noise(every: Sequence[Benches]) -> None:
    say("noise between benches, standard deviation: alone, and with something of the same bench divided out")
    for one in every:
        sampling = float(np.sqrt((one.errors**2).mean()))
        left = "; ".join(f"{name} {_percent(value)}" for name, value in cancelled(one).items())
        say(f"  {one.name}: {np.median(one.medians) / 1e3:.1f} µs, of sampling {_percent(sampling)}; {left}")


def main() -> int:
    """Print all rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alarms", action="store_true", help="only the false alarms")
    parser.add_argument("--normal", action="store_true", help="only the false alarms in made-up normal noise")
    parser.add_argument("--gate", action="store_true", help="only what a gate says of runs of one code and slower ones")
    arguments = parser.parse_args()
    rng, every, histories = np.random.default_rng(arguments.seed), recorded(), arguments.histories
    if arguments.normal:
        for times, far in [(times, 0.0) for times in TIMES_THE_GUESS] + [(1, FAR), (4, FAR)]:
            noise = normal(times, rng, far=far)
            say_alarms(noise.name, [noise], histories, rng)
        return 0
    if not (arguments.alarms or arguments.gate):
        say_noise(every)
        deviation, freedom = guess(every)
        say(f"first guess fitted to these and to copies: {_percent(deviation)}, {freedom:.1f} degrees of freedom")
        say(f"the best test at one false alarm in {PER_ALARM} runs finds a step of 1 % within 1 to 7 runs:")
        for sigma in SIGMAS:
            say(f"  where runs differ by {sigma:.2f} %: {_words(cusum_found(1 / sigma, rng)[1:8])}")
    kernels: dict[str, list[Benches]] = {}
    for one in every:
        kernels.setdefault(one.kernel, []).append(one)
    if arguments.gate:
        long = {name: some for name, some in kernels.items() if some[0].is_long}
        say_gate({**long, "short": [one for one in every if not one.is_long]}, histories, rng)
        return 0
    for kernel, some in kernels.items():
        say_alarms(kernel, some, histories, rng)
    if not arguments.alarms:
        for kernel, some in kernels.items():
            for before in BEFORE[:2]:
                step, share = said_found(some, before, histories, rng)
                say(f"{kernel}: said after {before} runs: {_percent(step)}, found within {WITHIN}: {100 * share:.0f} %")
        say_found([one for one in every if one.is_long], histories, rng)
    return 0


def say_alarms(name: str, every: Sequence[Benches], histories: int, rng: np.random.Generator) -> None:
    counts = false_alarms(every, histories, rng)
    low, high = interval(counts, rng)
    runs = len(counts) * LONGEST
    rate = PER_ALARM * counts.sum() / runs
    say(f"{name}: {counts.sum()} false alarms in {runs} runs, {rate:.2f} in 1,000 (95 %: {low:.2f} to {high:.2f})")


def say_found(long: Sequence[Benches], histories: int, rng: np.random.Generator) -> None:
    for before in BEFORE:
        shape = [1.0] * before + [1 + STEP] * AFTER
        rates = found_after(long, shape, before, histories, rng)
        say(f"step of 1 % after {before} runs, found within 3 to 7: {_words(rates[3:8])}")
    for repeats in (2, 4):
        shape = [1.0] * 10 + [1 + STEP] * AFTER
        rates = found_after(long, shape, 10, histories, rng, repeats)
        say(f"of {repeats} benches a run after 10 runs, within 3 to 7: {_words(rates[3:8])}")
    for before in (0, *BEFORE[:2]):
        shape = [1.0] * before + [(1 + CREEP) ** n for n in range(1, AFTER + 1)]
        rates = found_after(long, shape, before, histories, rng)
        say(f"creep of 0.3 % a run after {before} runs, found by run 5 to 10: {_words(rates[5:])}")


if __name__ == "__main__":
    sys.exit(main())
