"""A gate against a window of runs: ``v7@last:10`` are the ten runs of v7 before the one that is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.analysis.gate import Gate, GateCheck, Limit, NotMeasured
from ncu_assist.analysis.gate.checking import GateSides, WorkloadGate
from ncu_assist.analysis.gate.judging import GatedRuns
from ncu_assist.analysis.gate.window import too_few, window_of
from ncu_assist.analysis.trend import TrendPoint, trend_point
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.gate_sides import ALL, GateRequest, own_side
from ncu_assist.pipeline.reading import learned_noise
from ncu_assist.pipeline.trend import measured_like
from ncu_assist.project import Project
from ncu_assist.record import Run
from ncu_assist.store import Store, StoredRun, machine_hash, shown_source
from ncu_assist.store.choosing import Context
from ncu_assist.store.references import full_name
from ncu_assist.verdict.levels import FEWEST

WINDOW = re.compile(r"(?P<version>[^@]*)@last:(?P<count>\d+)", re.ASCII)


def is_window(against: str) -> bool:
    """Tell whether a reference means several runs."""
    return WINDOW.fullmatch(against) is not None


def gate_against_window(project: Project, request: GateRequest, limits: Sequence[Limit]) -> Gate | NotMeasured:
    """Return what a run comes to against the runs before it.

    Times are held against the lowest level of the window, so that what creeps is seen; counters against its newest run
    at that level. Raises UsageProblem for fewer runs than make a level, and as ``gate`` does.
    """
    match = WINDOW.fullmatch(request.against)
    assert match is not None
    count = int(match["count"])
    if count < FEWEST:
        better = f"{match['version']}@last:{max(FEWEST, 10)}"
        raise UsageProblem(f"a window has {FEWEST} runs or more, not {count}", f"--against {better}")
    named = own_side(project, request)
    if isinstance(named, NotMeasured):
        return named
    by_counters = not all(limit.is_on_time for limit in limits)
    every = not all(limit.metric.is_known for limit in limits)
    learned = learned_noise(Store(project.reports), named.run.device) if by_counters else None
    now, before = _now_and_before(project, request, named, match["version"])
    window = before[:count]
    names = [facts.name for facts in named.run.workloads if request.workload in (None, ALL, facts.name)]
    if not names:
        raise UsageProblem(
            f"{named.run.version} was not measured on workload '{request.workload}'", "leave out --workload"
        )
    checks: list[GateCheck] = []
    samples = SampleReader()
    baseline = window[0] if window else named
    for name in names:
        found = window_of(_points(window[::-1], named.run, name, samples), _points(now, named.run, name, samples))
        held = found.baseline.stored if found else baseline
        if name == names[0]:
            baseline = held
        sides = GateSides((held, named), ((held,), (named,)), request.force, every, learned)
        by_counter = [limit for limit in limits if not limit.is_on_time]
        wrong = bool(sides.failed_check(1, name))
        for limit in limits:
            if limit.is_on_time and not wrong:
                place = GatedRuns(held.run, named.run, name)
                checks.append(found.judged(limit, place) if found else too_few(limit, name))
        judged = limits if wrong else by_counter
        if judged and (found or wrong):
            checks += WorkloadGate(sides, (name, name), judged).checks()
    return Gate(
        baseline, named, tuple(checks), notes=tuple(_notes(window, count)), window=tuple(window), by_window=True
    )


def _now_and_before(
    project: Project, request: GateRequest, named: StoredRun, version: str
) -> tuple[list[StoredRun], list[StoredRun]]:
    """Return the runs of what is judged, of one commit if it is known, and those before it, the newest first."""
    run, store = named.run, Store(project.reports)
    kernel, _, short = version.rpartition("/")
    context = Context(project, Path.cwd(), request.kernel)
    name = full_name(store, context, kernel or run.kernel, short) if short else run.version
    every = [one for one in store.runs(kernel or run.kernel, name) if one.run.gpu == run.gpu]
    if request.require_live:
        every = [one for one in every if shown_source(one.run, machine_hash()) == "live"]
    benches = _benches(run)
    now = [one for one in every if _is_again(one.run, run)]
    before = [
        one
        for one in every
        if one not in now and one.run.created <= run.created and not benches & _benches(one.run) and one != named
    ]
    return [named, *(one for one in now if one.reference != named.reference)], before


def _is_again(one: Run, other: Run) -> bool:
    """Tell whether two runs measured the same code at the same commit."""
    same = (one.version, one.source_sha256) == (other.version, other.source_sha256)
    return same and one.commit is not None and one.commit == other.commit


def _benches(run: Run) -> set[str]:
    return {timing.bench_id for timing in run.timings}


def _points(runs: Sequence[StoredRun], like: Run, workload: str, samples: SampleReader) -> list[TrendPoint]:
    """Return the runs that measured the same as ``like`` on a workload, and were right."""
    return [
        trend_point(one, workload, samples)
        for one in runs
        if one.run.timing(workload) and measured_like(one.run, like, workload)
    ]


def _notes(window: Sequence[StoredRun], count: int) -> list[str]:
    if len(window) < count:
        known = f"{len(window)} earlier run{'' if len(window) == 1 else 's'}"
        return [
            f"of {count} there {'is' if len(window) == 1 else 'are'} {known} on this model of GPU, in other benches"
        ]
    return []
