"""A gate over two runs from the archive, or two reports: on every workload that both have, each limit."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.diff.comparability import common_workloads, compared_workloads
from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.analysis.gate import Gate, NotMeasured, Unmeasured, parse_limit
from ncu_assist.analysis.gate.checking import GateSides, Pair, WorkloadGate, Workloads
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.gate_sides import (
    ALL,
    BASELINE,
    GateRequest,
    both_sides,
    is_about_runs,
    kernel_of,
    other_references,
    own_side,
    runs_of_source,
    stale,
    without_folder,
)
from ncu_assist.pipeline.gate_window import gate_against_window, is_window
from ncu_assist.pipeline.reading import learned_noise
from ncu_assist.project import Project
from ncu_assist.quantity import duration
from ncu_assist.record import Run
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.answers import Answers
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.choosing import Context, misnamed_of
from ncu_assist.store.references import resolve
from ncu_assist.versions import short_name

# Where none is given. Two versions that are alike keep it: of 100 benches of one code against itself 72 leave it open
# whether 0.5 % is kept (benchmarks/same_code.py); slower by 2 % is found in 100 of 100 (benchmarks/power.py).
USUAL_PART, USUAL_LIMIT = 0.02, "time:2%"
__all__ = ["GateRequest", "gate"]


def gate(project: Project, request: GateRequest) -> Gate | NotMeasured:
    """Return what two runs come to under the limits asked for, or under ``time:2%``, or which of them there is not.

    Times are those of the newest bench of both sources on each workload, where the references name no exact run.
    Raises UsageProblem for a limit or a name that means nothing, for runs of different kernels, and for a workload that
    a side lacks, DamagedData for files that were changed.
    """
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
    sides = GateSides(named, runs, request.force, every, learned, SampleReader(answers))
    parts = [WorkloadGate(sides, workloads, limits) for workloads in _workloads(sides, request.workload)]
    found = Gate(
        baseline=baseline,
        candidate=candidate,
        checks=tuple(check for one in parts for check in one.checks()),
        differences=tuple(dict.fromkeys(each for one in parts for each in one.differences)),
        forced=tuple(dict.fromkeys(reason for one in parts for reason in one.forced)),
        notes=(*_notes(project, sides, request), *_other_runs(parts, named)),
        stands_in=_is_without_baseline(project, baseline.run.kernel, request),
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
    foreign = "imported" in (baseline.source, candidate.source)
    if baseline.kernel != candidate.kernel and not foreign and not request.force:
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
    if baseline.reference == candidate.reference:
        yield "the candidate is the baseline itself"
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


def _no_baseline_set(project: Project, kernel: str, request: GateRequest) -> Iterator[str]:
    """Yield that v0 stands in for a baseline, and how to set one."""
    if _is_without_baseline(project, kernel, request):
        to_set = f"ncu-assist baseline set {shlex.quote(kernel)}/VERSION"
        yield f"no baseline is set, so this compares with v0, and with no version since; to set one: {to_set}"


def _faster_since(project: Project, candidate: StoredRun) -> Iterator[str]:
    """Yield which other version is the fastest, where it is faster than the candidate by more than the usual limit."""
    run = candidate.run
    try:
        best = resolve(f"{run.kernel}/@best", Store(project.reports), Context(project, project.root, None))
    except UsageProblem:  # none is checked and timed
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
            yield f"not looked at, as {short_name(other.version)} was not run on it: {', '.join(missing)}"


def _removed(sides: GateSides) -> Iterator[str]:
    """Yield the workloads that kernel.toml had when the runs were made, and has no more."""
    held = {facts.name for side in (0, 1) for facts in sides.merged(side).workloads}
    had = dict.fromkeys(facts.name for stored in sides.named for facts in stored.run.workloads)
    gone = [name for name in had if name not in held]
    if gone:
        yield f"not looked at, as kernel.toml does not have it any more: {', '.join(gone)}"


def _other_runs(parts: Sequence[WorkloadGate], named: Pair) -> Iterator[str]:
    """Yield which runs were taken beside those that were named."""
    known = {stored.reference for stored in named}
    others = dict.fromkeys(stored.reference for one in parts for stored in one.runs if stored.reference not in known)
    if others:
        yield f"from other runs of the same sources: {', '.join(others)}"
