"""A gate over two runs from the archive, or two reports, on every workload that both have; or against a window of runs:
``v7@last:10`` are the ten runs of v7 before the one that is judged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.diff.comparability import common_workloads, compared_workloads
from ncu_assist.analysis.diff.timing import Pair, SampleReader
from ncu_assist.analysis.gate import Gate, GateCheck, NotMeasured, Unmeasured
from ncu_assist.analysis.gate.checking import GatedRuns, GateSides, WorkloadGate, Workloads, too_few, window_of
from ncu_assist.analysis.gate.limits import Limit, parse_limit
from ncu_assist.analysis.trend import TrendPoint, trend_point
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.pipeline.gate_sides import (
    BASELINE,
    USUAL_WINDOW,
    GateRequest,
    both_sides,
    is_about_runs,
    is_live,
    kernel_of,
    other_references,
    own_side,
    runs_of_source,
    stale,
    without_folder,
)
from ncu_assist.pipeline.reading import learned_noise, read_waits
from ncu_assist.pipeline.trend import measured_like
from ncu_assist.project import Project
from ncu_assist.quantity import duration, number_of
from ncu_assist.record import Run, of_two_kernels
from ncu_assist.spec import ALL
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.answers import Answers
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.choosing import Context, kernel_of_folder, known_kernels, misnamed_of
from ncu_assist.store.references import full_name, resolve, spelled_out
from ncu_assist.verdict.levels import FEWEST
from ncu_assist.versions import short_name

# Where none is given. Two versions that are alike keep it: of 100 benches of one code against itself 72 leave it open
# whether 0.5 % is kept (benchmarks/same_code.py); slower by 2 % is found in 100 of 100 (benchmarks/power.py).
USUAL_PART, USUAL_LIMIT = 0.02, "time:2%"
__all__ = ["GateRequest", "gate"]


def kernel_here(project: Project) -> str | None:
    """Return the kernel whose folder one stands in; None elsewhere."""
    context = Context(project, Path.cwd())
    return kernel_of_folder(context, known_kernels(Store(project.reports), context))


def gate(project: Project, request: GateRequest) -> Gate | NotMeasured:
    """Return what two runs come to under the limits asked for, or under ``time:2%``, or which of them there is not.

    Times are those of the newest bench of both sources on each workload, where the references name no exact run.
    Raises UsageProblem for a limit or a name that means nothing, for runs of different kernels, and for a workload that
    a side lacks, DamagedData for files that were changed.
    """
    store, context = Store(project.reports), Context(project, Path.cwd(), request.kernel)
    spelled = [spelled_out(text, store, context) for text in (request.candidate, request.against)]
    request = replace(request, candidate=spelled[0], against=spelled[1])
    typed = request.fail_on or (USUAL_LIMIT,)
    limits = tuple(dict.fromkeys(parse_limit(text, lambda: _metric_names(project, request)) for text in typed))
    if is_window(request.against):
        return gate_against_window(project, request, limits)
    named = both_sides(project, request)
    if isinstance(named, NotMeasured):
        return replace(named, notes=tuple(_no_baseline_set(project, kernel_of(named.baseline), request)))
    baseline, candidate = named
    _check_kernels(baseline.run, candidate.run, request)
    every = not all(limit.metric.is_known for limit in limits)
    by_counters = not all(limit.is_on_time for limit in limits)
    learned = learned_noise(Store(project.reports), candidate.run.device) if by_counters else None
    answers = Answers(project.reports, candidate.run.kernel)
    runs = runs_of_source(project, request, named)
    sides = GateSides(named, runs, request.force, every, learned, SampleReader(answers), read_waits)
    parts = [WorkloadGate(sides, workloads, limits) for workloads in _workloads(sides, request.workload)]
    found = Gate(
        baseline=baseline,
        candidate=candidate,
        checks=tuple(check for one in parts for check in one.checks()),
        differences=tuple(dict.fromkeys(each for one in parts for each in one.differences)),
        forced=tuple(dict.fromkeys(reason for one in parts for reason in one.forced)),
        notes=(*_notes(project, sides, request), *_other_runs(parts, named)),
        stands_in=_is_without_baseline(project, baseline.run.kernel, request),
        unclear_passes=request.unclear_passes,
    )
    answers.save()
    return found


def _metric_names(project: Project, request: GateRequest) -> Collection[str]:
    """Return ncu's names in both runs, of a side that is not measured in the last run there was."""
    if is_window(request.against):
        own = own_side(project, request)
        named: Pair | NotMeasured = own if isinstance(own, NotMeasured) else (own, own)
    else:
        named = both_sides(project, request)
    sides = (named.baseline, named.candidate) if isinstance(named, NotMeasured) else named
    runs = [one.run if isinstance(one, Unmeasured) else one for one in sides]
    return {str(name) for stored in runs if stored for name in stored.metrics()["metric"].unique()}


def _check_kernels(baseline: Run, candidate: Run, request: GateRequest) -> None:
    if of_two_kernels(baseline, candidate) and not request.force:
        kernel = candidate.kernel
        raise UsageProblem(
            f"{baseline.kernel}/{baseline.version} and {kernel}/{candidate.version} are different kernels",
            f"ncu-assist gate {kernel}/{short_name(candidate.version)} --against {kernel}/@baseline",
        )


def _workloads(sides: GateSides, wanted: str | None) -> list[Workloads]:
    """Return the workloads to look at, by the names that each side has for them."""
    baseline, candidate = sides.merged(0), sides.merged(1)
    common = common_workloads(baseline, candidate)
    if wanted not in (None, ALL) or not common:
        return [compared_workloads(baseline, candidate, None if wanted == ALL else wanted)]
    return [(name, name) for name in common]


def _notes(project: Project, sides: GateSides, request: GateRequest) -> Iterator[str]:
    """Yield what the checks do not say of the versions."""
    baseline, candidate = sides.named
    yield from _no_baseline_set(project, baseline.run.kernel, request)
    if _is_without_baseline(project, baseline.run.kernel, request):
        yield from _faster_since(project, candidate)
    yield from other_references(project, sides.named)
    if not is_about_runs(request):
        yield from without_folder(project, sides.named)
    if request.workload in (None, ALL):
        yield from _left_out(sides.merged(0), sides.merged(1))
        yield from _removed(sides)
    yield from (one.note for one in misnamed_of(project, candidate.run.kernel) if candidate.run.run_id)
    for stored in (baseline, candidate):
        if stale(project, stored.run):
            yield f"{short_name(stored.run.version)} has changed since it was measured: this is {stored.reference}"
    yield from _damaged(project, sides.named)


def _damaged(project: Project, sides: Pair) -> Iterator[str]:
    """Yield the runs of the kernels of both sides that cannot be read: what a gate needs of them ends it before."""
    for kernel in dict.fromkeys(one.run.kernel for one in sides if one.run.run_id):
        for damage in Store(project.reports).damaged(kernel):
            yield f"{damage.path} {damage.words}; it was not compared"


def _no_baseline_set(project: Project, kernel: str, request: GateRequest) -> Iterator[str]:
    """Yield that v0 stands in for a baseline, and how to set one."""
    if _is_without_baseline(project, kernel, request):
        to_set = f"ncu-assist baseline set {shlex.quote(kernel)}/VERSION"
        yield f"no baseline is set, so this compares with v0, the first version; to set one: {to_set}"


def _faster_since(project: Project, candidate: StoredRun) -> Iterator[str]:
    """Yield which other version is the fastest, where it is faster than the candidate by more than the usual limit."""
    run = candidate.run
    try:
        best = resolve(f"{run.kernel}/@best", Store(project.reports), Context(project, project.root, None))
    except (UsageProblem, DamagedData):  # none is checked and timed, or one that may be the best is damaged
        return
    if isinstance(best, Path) or best.run.version == run.version or best.run.gpu != run.gpu:
        return
    for timing in best.run.timings:
        own = run.timing(timing.workload)
        if own and own.median_ns > (1 + USUAL_PART) * timing.median_ns:
            name, slower = short_name(best.run.version), own.median_ns / timing.median_ns
            yield (
                f"{name} is faster: {duration(timing.median_ns)} on {timing.workload}, where "
                f"{short_name(run.version)} takes {duration(own.median_ns)}, {slower:.2f} times as long"
            )
            return


def _is_without_baseline(project: Project, kernel: str, request: GateRequest) -> bool:
    return request.against.endswith(BASELINE) and get_baseline(Store(project.reports), kernel) is None


def _left_out(baseline: Run, candidate: Run) -> Iterator[str]:
    for one, other in ((baseline, candidate), (candidate, baseline)):
        missing = [facts.name for facts in one.workloads if other.workload(facts.name) is None]
        if missing and other.workloads:
            yield f"not checked, because {short_name(other.version)} was not run on it: {', '.join(missing)}"


def _removed(sides: GateSides) -> Iterator[str]:
    """Yield the workloads that kernel.toml had when the runs were made, and has no more."""
    held = {facts.name for side in (0, 1) for facts in sides.merged(side).workloads}
    had = dict.fromkeys(facts.name for stored in sides.named for facts in stored.run.workloads)
    gone = [name for name in had if name not in held]
    if gone:
        yield f"not checked, because kernel.toml no longer has it: {', '.join(gone)}"


def _other_runs(parts: Sequence[WorkloadGate], named: Pair) -> Iterator[str]:
    """Yield which runs were taken beside those that were named."""
    known = {stored.reference for stored in named}
    others = dict.fromkeys(stored.reference for one in parts for stored in one.runs if stored.reference not in known)
    if others:
        yield f"{OTHER_RUNS}: {', '.join(others)}"


OTHER_RUNS = "from other runs of the same sources"
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
        better = f"{match['version']}@last:{USUAL_WINDOW}"
        raise UsageProblem(f"a window needs at least {FEWEST} runs, not {count}", f"--against {better}")
    named = own_side(project, request)
    if isinstance(named, NotMeasured):
        return replace(named, window=request.against)
    by_counters = not all(limit.is_on_time for limit in limits)
    every = not all(limit.metric.is_known for limit in limits)
    learned = learned_noise(Store(project.reports), named.run.device) if by_counters else None
    newest = _newest_first(project, request, named)
    measured = dict.fromkeys(facts.name for one in (named, *newest) for facts in one.run.workloads)
    names = [name for name in measured if request.workload in (None, ALL, name)]
    if not names:
        raise UsageProblem(f"{named.run.version} was not measured on workload '{request.workload}'", "drop --workload")
    samples = SampleReader()
    known: dict[str, tuple[list[StoredRun], list[StoredRun]]] = {}
    checks: list[GateCheck] = []
    pairs: list[Pair] = []
    for name in names:
        for stored, own in _judged_runs(named, newest, name, limits):
            if stored.reference not in known:
                known[stored.reference] = _now_and_before(project, request, stored, match["version"])
            now, before = known[stored.reference]
            window = before[:count]
            points = _points(window[::-1], stored.run, name, samples)
            found = window_of(points, _points(now, stored.run, name, samples))
            held = found.baseline.stored if found else window[0] if window else stored
            pairs.append((held, stored))
            sides = GateSides((held, stored), ((held,), (stored,)), request.force, every, learned, waits=read_waits)
            place, wrong = GatedRuns(held.run, stored.run, name), bool(sides.failed_check(1, name))
            if not found and not wrong:
                against = _against_baseline(project, stored.run, name, own)
                alone = replace(sides, named=(stored, stored), runs=((stored,), (stored,)))
                by_itself = [limit for limit in own if limit.kind == "value"]
                checks += [too_few(limit, name, against) for limit in own if limit not in by_itself]
                checks += WorkloadGate(alone, (name, name), by_itself).checks()
                continue
            checks += [found.judged(limit, place) for limit in own if found and limit.is_on_time and not wrong]
            judged = [limit for limit in own if wrong or not limit.is_on_time]
            checks += WorkloadGate(sides, (name, name), judged).checks()
    baseline, candidate = max(pairs, key=lambda pair: pair[1].run.created)
    window = known[candidate.reference][1][:count]
    also = dict.fromkeys(stored.reference for _, stored in pairs if stored.reference != candidate.reference)
    told = [*_window_notes(window, count), *([f"{OTHER_RUNS}: {', '.join(also)}"] if also else [])]
    told += _damaged(project, (baseline, candidate))
    return Gate(
        baseline,
        candidate,
        tuple(checks),
        notes=tuple(told),
        window=tuple(window),
        by_window=True,
        unclear_passes=request.unclear_passes,
    )


def _newest_first(project: Project, request: GateRequest, named: StoredRun) -> list[StoredRun]:
    """Return the runs of what is judged, of the same source and GPU: the newest, whether it was profiled or only timed.

    A run with counters goes first where a version is shown; how fast it is now only the newest one says.
    """
    own = replace(request, against=request.candidate)
    return sorted(runs_of_source(project, own, (named, named))[1], key=lambda one: one.run.created, reverse=True)


def _judged_runs(
    named: StoredRun, newest: Sequence[StoredRun], workload: str, limits: Sequence[Limit]
) -> list[tuple[StoredRun, list[Limit]]]:
    """Return the limits that each run is judged by: the newest timed one by time, the one named by what it counted."""
    timed = next((one for one in newest if _is_judged(one.run, workload)), named)
    counted = named if named.run.workload(workload) else timed
    if counted.reference == timed.reference:
        return [(timed, [*limits])]
    shared = [
        (timed, [one for one in limits if one.is_on_time]),
        (counted, [one for one in limits if not one.is_on_time]),
    ]
    return [(stored, own) for stored, own in shared if own]


def _is_judged(run: Run, workload: str) -> bool:
    return run.timing(workload) is not None or any(one.workload == workload and not one.passed for one in run.checks)


def _against_baseline(project: Project, run: Run, workload: str, limits: Sequence[Limit]) -> str:
    """Return the command that judges a run by its kernel's baseline; empty where it is that itself."""
    baseline = get_baseline(Store(project.reports), run.kernel)
    if short_name(run.version) == (short_name(baseline.version) if baseline else "v0"):
        return ""
    asked = "".join(f" --fail-on {shlex.quote(f'{limit.metric.key}:{limit.text}')}" for limit in limits)
    kernel = f"{shlex.quote(run.kernel)}/{short_name(run.version)}"
    return f"ncu-assist gate {kernel} --against {BASELINE} --workload {shlex.quote(workload)}{asked}"


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
        every = [one for one in every if is_live(one)]
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


def _window_notes(window: Sequence[StoredRun], count: int) -> list[str]:
    if len(window) < count:
        known = number_of(len(window), "earlier run")
        return [
            f"of {count} there {'is' if len(window) == 1 else 'are'} {known} on this model of GPU, in other benches"
        ]
    return []
