"""Timing versions against each other, each once a round, in an order drawn anew. Runs in the child.

Workload by workload; a version that fails leaves the others their rounds.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from math import comb
from pathlib import Path
from statistics import median

import pyarrow
import pyarrow.parquet
import torch

from ncu_assist.atomic import atomic_write
from ncu_assist.backends.base import Call
from ncu_assist.backends.python import measured
from ncu_assist.harness import accelerator, events, results
from ncu_assist.harness.check import check
from ncu_assist.harness.events import COPY, EMPTY, LINK, Event
from ncu_assist.harness.facts import Nvml
from ncu_assist.harness.problem import Problem, ReferenceProblem, Tensors
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.harness.session import HarnessSession
from ncu_assist.harness.stopwatch import DeviceStopwatch, HostStopwatch, Stopwatch

SCHEMA = pyarrow.schema(
    [
        ("bench_id", pyarrow.string()),
        ("workload", pyarrow.string()),
        ("version", pyarrow.string()),
        ("round", pyarrow.int32()),
        ("position", pyarrow.int32()),
        ("time_ns", pyarrow.float64()),
        ("sm_clock_mhz", pyarrow.float64()),
        ("late", pyarrow.bool_()),
    ]
)
THROTTLE_EVERY = 10  # rounds between two looks at power and throttle reasons
Runs = dict[str, Callable[[], None]]


def write_samples(columns: Mapping[str, list[object]], path: Path) -> None:
    """Write samples as Parquet."""
    with atomic_write(path) as file:  # opened here: pyarrow takes no path that is not UTF-8
        pyarrow.parquet.write_table(pyarrow.table(dict(columns), schema=SCHEMA), file, compression="zstd")


def round_calls(
    calls: Mapping[str, Call], problem: Problem, seed: int, stopwatch: Stopwatch
) -> dict[str, Callable[[], None]]:
    """Return what a round consists of: every version on the same inputs and outputs, an empty call, a copy.

    The copy moves as many bytes as the workload has to, half read and half written; where inputs lie in memory of the
    host, it is the copy engine's of as many bytes as have to come from there. Without memory for it there is none.
    Raises torch's out-of-memory error if the inputs and outputs do not fit.
    """
    return round_calls_on(calls, problem, problem.inputs(seed), problem.outputs(), stopwatch)


def round_calls_on(
    calls: Mapping[str, Call], problem: Problem, inputs: Tensors, outputs: Tensors, stopwatch: Stopwatch
) -> dict[str, Callable[[], None]]:
    """Return what ``round_calls`` does, on inputs and outputs that are there already."""
    integers = problem.workload.integers
    runs: dict[str, Callable[[], None]] = {
        name: partial(measured(call), inputs, outputs, integers) for name, call in calls.items()
    }
    runs[EMPTY] = stopwatch.empty
    return runs | _beside(problem)


def _beside(problem: Problem) -> dict[str, Callable[[], None]]:
    kernel, workload, device = problem.kernel, problem.workload, problem.device
    from_host = kernel.host_bytes(workload)
    if from_host is None:
        copy = _copy(kernel.algorithmic_bytes(workload) // 2, device, device)
        return {COPY: copy} if copy else {}
    copy = _copy(from_host, "cpu", device)
    return {LINK: copy} if copy else {}


def run_rounds(
    runs: Mapping[str, Callable[[], None]],
    workload: str,
    request: HarnessRequest,
    stopwatch: Stopwatch,
    begin: Callable[[str], None],
    kept: Callable[[int], None],
) -> dict[str, list[object]]:
    """Return the samples of all rounds kept, by column: ``begin`` hears the version before each call, ``kept`` each
    round kept after it.

    Rounds before the first kept one have negative numbers and are dropped. The order within a round is a permutation
    drawn from the request's first seed, so that it can be repeated. What is late from the start, as often as the
    settings say, is called no more. In a race neither is what cannot be the fastest any more.
    """
    race = dict[str, dict[int, float]]()
    if request.settings.race:
        race = {name: {} for name in runs if name in request.versions}
    entered, rounds = len(race), request.settings.rounds
    samples: dict[str, list[object]] = {name: [] for name in SCHEMA.names}
    order = random.Random(f"{request.seeds[0]} {workload}")
    names, late = list(runs), dict.fromkeys(runs, 0)  # samples so far, of what was never in time
    enough = request.settings.late_enough
    for number in range(-request.settings.warmup, request.settings.rounds):
        order.shuffle(names)
        for position, name in enumerate(names):
            if 0 < enough <= late.get(name, 0):
                continue
            begin(name)
            reading = stopwatch.time(runs[name])
            if not reading.late:
                late.pop(name, None)
            elif name in late:
                late[name] += 1
            if number >= 0:
                place = (request.bench_id, workload, name, number, position)
                row = (*place, reading.time_ns, reading.sm_clock_mhz, reading.late)
                for column, value in zip(samples.values(), row, strict=True):
                    column.append(value)
                if name in race and not reading.late:
                    race[name][number] = reading.time_ns
        if number >= 0:
            kept(number)
        if race and number >= 0 and is_look(number + 1, rounds):
            for name in losers(race, entered) - {request.settings.race}:
                names.remove(name)
                del race[name]
    return samples


def _copy(size: int, place: str, device: str) -> Callable[[], None] | None:
    try:
        source = torch.ones(size, dtype=torch.uint8, device=place, pin_memory=place != device)
        target = torch.empty(size, dtype=torch.uint8, device=device)
    except RuntimeError as error:
        if accelerator.describe(error).startswith(accelerator.OUT_OF_MEMORY):
            return None
        raise

    def copy() -> None:
        target.copy_(source, non_blocking=True)  # out of pinned memory too: nobody waits behind a held stream

    return copy


def run_bench(session: HarnessSession) -> None:
    """Time all versions on every workload that has no samples yet, and record temperature, power, throttle reasons."""
    stopwatch = stopwatch_of(session)
    with conditions(session) as seen:
        for problem in session.problems():
            if not results.samples_path(session.out, problem.workload.name).is_file():
                _bench_workload(session, problem, stopwatch, seen)


def rehearse(session: HarnessSession) -> None:
    """Call once what check and bench call beside the versions: torch loads each of its kernels at its first call.

    What fails is left to the measurement, which tells of it. Modules of the kernel's folder are forgotten: they may be
    others by then.
    """
    known, seed = set(sys.modules), session.request.seeds[0]
    with suppress(Exception):
        stopwatch = stopwatch_of(session)
        for problem in session.problems():

            def answer(inputs: Tensors, outputs: Tensors, _: object, problem: Problem = problem) -> None:
                for output, expected in zip(outputs, problem.expected(inputs), strict=True):
                    output.copy_(expected)

            check(answer, problem, (seed,), session.request.settings.repeats)
            for call in round_calls({}, problem, seed, stopwatch).values():
                stopwatch.time(call)
        session.facts()
    for name in set(sys.modules) - known:
        if session.kernel.folder in Path(getattr(sys.modules[name], "__file__", None) or "").parents:
            del sys.modules[name]
    accelerator.release()


class ClocksWatch:
    """Why clocks were lowered while something was timed, and the most that the board drew, as often as it looks."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml, self._reasons, self._known = nvml, set[str](), False
        self.power_w: float | None = None

    def look(self) -> None:
        """Take what holds now."""
        reasons, power = self._nvml.throttle_reasons(), self._nvml.power_w()
        self._known = self._known or reasons is not None
        self._reasons.update(reasons or ())
        if power is not None:
            self.power_w = max(power, self.power_w or 0.0)

    @property
    def reasons(self) -> tuple[str, ...] | None:
        """Return what lowered the clocks at any look; None where that is not known."""
        return tuple(sorted(self._reasons)) if self._known else None


@contextmanager
def conditions(session: HarnessSession) -> Iterator[ClocksWatch]:
    """Record temperature, power and throttle reasons of what is timed in a with block, which looks now and then.

    Nothing is recorded of a block that raises.
    """
    before, watch = session.nvml.temperature_c(), ClocksWatch(session.nvml)
    watch.look()
    yield watch
    watch.look()
    after = session.nvml.temperature_c()
    facts = replace(
        session.facts(),
        temperature_c=None if before is None or after is None else (before, after),
        throttle_reasons=watch.reasons,
        power_w=watch.power_w,
        power_limit_w=session.nvml.power_limit_w(),
    )
    results.write_facts(session.out, facts)


def stopwatch_of(session: HarnessSession) -> Stopwatch:
    """Return the stopwatch for the device of a session."""
    if session.device != "cuda" or session.request.helpers is None:
        return HostStopwatch()
    return DeviceStopwatch(session.request.helpers, session.request.settings.flush)


def _bench_workload(session: HarnessSession, problem: Problem, stopwatch: Stopwatch, seen: ClocksWatch) -> None:
    name = problem.workload.name
    versions = _versions(session, problem)
    runs = _prepare(session, problem, versions, stopwatch)
    for version in versions:
        if version in runs and session.attempt(Event("begin", "bench", version, name), runs[version]):
            del runs[version]
    while any(version in runs for version in versions):
        watch = BenchWatch(session, name, seen)
        try:
            samples = run_rounds(runs, name, session.request, stopwatch, watch.begin, watch.kept)
        except Exception as error:
            if watch.begun is None or watch.begun.version not in versions:
                raise
            session.failed(watch.begun, error)
            del runs[watch.begun.version]
            continue
        write_samples(samples, results.samples_path(session.out, name))
        return


def _versions(session: HarnessSession, problem: Problem) -> list[str]:
    versions = session.versions(problem.workload)
    if "check" not in session.request.settings.stages:
        return versions
    checks = results.read_checks(session.out)
    passed = {v for v, found in checks.items() for c in found if c.workload == problem.workload.name and c.passed}
    return [v for v in versions if v in passed]


def _prepare(session: HarnessSession, problem: Problem, versions: list[str], stopwatch: Stopwatch) -> Runs:
    if not versions:
        return {}
    try:
        calls = {v: session.calls[v] for v in versions}
        return round_calls(calls, problem, session.request.seeds[0], stopwatch)
    except ReferenceProblem:
        raise
    except RuntimeError as error:
        for version in versions:
            session.failed(Event("begin", "bench", version, problem.workload.name), error)
        return {}
    finally:
        accelerator.synchronize(session.device)


class BenchWatch:
    """Announces each call and each round, and looks at power and throttle reasons now and then."""

    def __init__(self, session: HarnessSession, workload: str, seen: ClocksWatch) -> None:
        self.begun: Event | None = None
        self._session, self._workload, self._seen = session, workload, seen

    def begin(self, version: str) -> None:
        self.begun = Event("begin", "bench", version, self._workload)
        events.emit(self.begun)

    def kept(self, number: int) -> None:
        total = self._session.request.settings.rounds
        events.emit(Event("round", "bench", "", self._workload, number + 1, total))
        if number % THROTTLE_EVERY == 0 or number == total - 1:
            self._seen.look()


# Which of several versions that are timed round by round cannot be the fastest any more. A version is dropped at a look
# where it was slower than the fastest so far by more than MARGIN in so many of their rounds that one which is not that
# much slower would show it by chance less often than the look allows: the sign test, an exact binomial tail. Rounds are
# paired, so what slows a whole round slows both. Over all looks and versions the chances add up to CHANCE at most
# (Bonferroni): one in a hundred races drops the fastest, or less.
CHANCE = 0.01  # as verdicts are held at 99 %
MARGIN = 0.005  # that of verdicts: less is no difference
LOOKS = 4  # at fifths of the rounds: after the last fifth there is nothing left to save
Times = Mapping[str, Mapping[int, float]]  # ns of each version, by round


def is_look(rounds_done: int, rounds: int) -> bool:
    """Tell whether to look after so many rounds."""
    return any(rounds_done == round(rounds * part / (LOOKS + 1)) for part in range(1, LOOKS + 1))


def losers(times: Times, entered: int) -> set[str]:
    """Return the versions to drop, of those that are left of ``entered``; the fastest by its median never is."""
    known = {name: rounds for name, rounds in times.items() if rounds}
    if len(known) < 2:
        return set()
    fastest = min(known, key=lambda name: median(known[name].values()))
    chance = CHANCE / (LOOKS * (entered - 1))
    return {name for name in known if name != fastest and _is_slower(known[name], known[fastest], chance)}


def _is_slower(one: Mapping[int, float], fastest: Mapping[int, float], chance: float) -> bool:
    pairs = [(one[number], fastest[number]) for number in one.keys() & fastest.keys()]
    slower = sum(own > best * (1 + MARGIN) for own, best in pairs)
    return tail(len(pairs), slower) <= chance


def tail(count: int, least: int) -> float:
    """Return how likely at least so many heads are in so many throws."""
    return float(sum(comb(count, heads) for heads in range(least, count + 1)) / 2**count)
