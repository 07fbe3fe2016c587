"""The bench stage of a session: workload by workload, a version that fails leaves the others their rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ncu_assist.harness import accelerator, bench, events, results
from ncu_assist.harness.events import Event
from ncu_assist.harness.problem import Problem, ReferenceProblem
from ncu_assist.harness.session import Session
from ncu_assist.harness.stopwatch import DeviceStopwatch, HostStopwatch, Stopwatch

THROTTLE_EVERY = 10  # rounds between two looks at the throttle reasons
Runs = dict[str, Callable[[], None]]


def run_bench(session: Session) -> None:
    """Time all versions on every workload that has no samples yet, and record temperature and throttle reasons."""
    stopwatch = stopwatch_of(session)
    with conditions(session) as reasons:
        for problem in session.problems():
            if not results.samples_path(session.out, problem.workload.name).is_file():
                _bench_workload(session, problem, stopwatch, reasons)


@contextmanager
def conditions(session: Session) -> Iterator[set[str]]:
    """Record temperature and throttle reasons of what is timed in a with block, which adds to the reasons it is given.

    Nothing is recorded of a block that raises.
    """
    before, reasons = session.nvml.temperature_c(), set(session.nvml.throttle_reasons() or ())
    yield reasons
    after = session.nvml.temperature_c()
    seen = None if session.nvml.throttle_reasons() is None else tuple(sorted(reasons))
    temperature = None if before is None or after is None else (before, after)
    results.write_facts(session.out, replace(session.facts(), temperature_c=temperature, throttle_reasons=seen))


def stopwatch_of(session: Session) -> Stopwatch:
    """Return the stopwatch for the device of a session."""
    if session.device != "cuda" or session.request.helpers is None:
        return HostStopwatch()
    return DeviceStopwatch(session.request.helpers, session.request.settings.flush)


def _bench_workload(session: Session, problem: Problem, stopwatch: Stopwatch, reasons: set[str]) -> None:
    name = problem.workload.name
    versions = _versions(session, problem)
    runs = _prepare(session, problem, versions, stopwatch)
    for version in versions:
        if version in runs and session.attempt(Event("begin", "bench", version, name), runs[version]):
            del runs[version]
    while any(version in runs for version in versions):
        watch = BenchWatch(session, name, reasons)
        try:
            samples = bench.run(runs, name, session.request, stopwatch, watch.progress())
        except Exception as error:
            if watch.begun is None or watch.begun.version not in versions:
                raise
            session.failed(watch.begun, error)
            del runs[watch.begun.version]
            continue
        samples.write(results.samples_path(session.out, name))
        return


def _versions(session: Session, problem: Problem) -> list[str]:
    versions = session.versions(problem.workload)
    if "check" not in session.request.settings.stages:
        return versions
    checks = results.read_checks(session.out)
    passed = {v for v, found in checks.items() for c in found if c.workload == problem.workload.name and c.passed}
    return [v for v in versions if v in passed]


def _prepare(session: Session, problem: Problem, versions: list[str], stopwatch: Stopwatch) -> Runs:
    if not versions:
        return {}
    try:
        calls = {v: session.calls[v] for v in versions}
        return bench.entries(calls, problem, session.request.seeds[0], stopwatch)
    except ReferenceProblem:
        raise
    except RuntimeError as error:
        for version in versions:
            session.failed(Event("begin", "bench", version, problem.workload.name), error)
        return {}
    finally:
        accelerator.synchronize(session.device)


class BenchWatch:
    """Announces each call and each round, and looks at the throttle reasons now and then."""

    def __init__(self, session: Session, workload: str, reasons: set[str]) -> None:
        self.begun: Event | None = None
        self._session, self._workload, self._reasons = session, workload, reasons

    def progress(self) -> bench.Progress:
        return bench.Progress(self._begin, self._round)

    def _begin(self, version: str) -> None:
        self.begun = Event("begin", "bench", version, self._workload)
        events.emit(self.begun)

    def _round(self, number: int) -> None:
        total = self._session.request.settings.rounds
        events.emit(Event("round", "bench", "", self._workload, number + 1, total))
        if number % THROTTLE_EVERY == 0 or number == total - 1:
            self._reasons.update(self._session.nvml.throttle_reasons() or ())
