"""Answers from the archive: two runs compared, everything listed, what noise was learned."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.diff import Diff, DiffOptions, diff_runs
from ncu_assist.analysis.diff.comparability import compared_workloads
from ncu_assist.analysis.diff.noise import LEAST_REPEATS, LearnedNoise
from ncu_assist.analysis.diff.timing import common_bench
from ncu_assist.errors import UsageProblem
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.launch_selection import EVERY_LAUNCH, LaunchSelection
from ncu_assist.pipeline.opened_reports import named
from ncu_assist.project import Project
from ncu_assist.record import Device
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.choosing import Context, choose_kernel, versions_of
from ncu_assist.store.matching import made_here_first, same_source
from ncu_assist.store.references import resolve
from ncu_assist.versions import is_called

Pair = tuple[StoredRun, StoredRun]
MOST_RUNS = 12  # the newest; reading one takes 20 ms


def compare(
    project: Project,
    references: tuple[str, str],
    kernel: str | None,
    options: DiffOptions,
    selection: LaunchSelection = EVERY_LAUNCH,
) -> Diff:
    """Return the comparison of two references, the first being the baseline.

    References that name no run take their times from the newest bench of both sources. Raises as ``named`` does.
    """
    return compare_runs(*two_named(project, references, kernel, options, selection))


def compare_runs(runs: Pair, options: DiffOptions) -> Diff:
    """Return the comparison of two runs, baseline first, with the source lines that changed."""
    return _with_lines(diff_runs(*runs, options), runs)


def two_named(
    project: Project,
    references: tuple[str, str],
    kernel: str | None,
    options: DiffOptions,
    selection: LaunchSelection = EVERY_LAUNCH,
) -> tuple[Pair, DiffOptions]:
    """Return the runs that two references name, and the options with what the archive knows of their times."""
    _check_two(project, references, kernel)
    baseline, candidate = named(project, references, kernel, ("pandas",), True, selection)
    free = selection.is_of_all and not any("@" in text.lstrip("@") for text in references)
    return (baseline, candidate), informed(Store(project.reports), (baseline, candidate), options, free)


def unnamed_pair(project: Project, kernel: str | None) -> tuple[tuple[str, str], str]:
    """Return what a diff without references compares, and what there is to say of that choice, if anything.

    That is the last run of the kernel with its baseline; where neither a baseline nor a v0 is there, as after imports,
    the last two runs. Raises UsageProblem, with the runs that could be compared, where the kernel has one run only.
    """
    store, context = Store(project.reports), Context(project, Path.cwd(), kernel)
    chosen = choose_kernel(store, context, None, None)
    runs = made_here_first(store.heads(chosen))
    has_v0 = any(is_called(version, "v0") for version in versions_of(store, context, chosen))
    if len(runs) != 1 and (has_v0 or get_baseline(store, chosen) is not None):
        return (f"{chosen}/@baseline", f"{chosen}/@last"), ""
    if len(runs) > 1:
        note = f"{chosen} has neither a baseline nor a v0: these are its last two runs"
        return (runs[1].reference, runs[0].reference), note
    if not runs:
        raise UsageProblem(f"{chosen} has not been measured", f"ncu-assist profile {chosen}")
    only = runs[0].reference
    others = [one.reference for one in made_here_first(store.heads()) if one.kernel != chosen]
    message = f"{chosen} has one run, {only}, and nothing to compare it with"
    more = f"; the last run of another kernel is {others[0]}" if others else ""
    raise UsageProblem(message + more, f"ncu-assist diff {others[0] if others else 'OTHER.ncu-rep'} {only}")


def informed(store: Store, runs: Pair, options: DiffOptions, free: bool = True) -> DiffOptions:
    """Return options with how far metrics stray on this GPU and, if ``free``, the newest bench of both sources."""
    timed = _timed_together(store, runs, options.workload) if free else None
    return replace(options, timed=timed, learned=learned_noise(store, runs[1].run.device))


def _timed_together(store: Store, runs: Pair, workload: str | None) -> Pair | None:
    """Return the newest runs of the same two sources that one bench timed on the workload; None where none did."""
    name = compared_workloads(runs[0].run, runs[1].run, workload)[1]
    return store.both(common_bench(same_source(store, runs[0]), same_source(store, runs[1]), name))


def _with_lines(diff: Diff, runs: Pair) -> Diff:
    """Return a comparison with the source lines that changed, read again from both reports."""
    if diff.verdict.verdict == "not-comparable" or not all(side.launches for side in (diff.baseline, diff.candidate)):
        return diff
    from ncu_assist.pipeline.line_costs import read_line_changes

    indices = diff.baseline.indices, diff.candidate.indices
    return replace(diff, lines=read_line_changes(runs, indices, [one.pair for one in diff.launches]))


def _check_two(project: Project, references: tuple[str, str], kernel: str | None) -> None:
    """Raise UsageProblem for a report alone: nothing was measured here that it could be compared with."""
    store, context = Store(project.reports), Context(project, Path.cwd(), kernel)
    if references[1] == "@last" and not store.kernels() and isinstance(resolve(references[0], store, context), Path):
        command = f"ncu-assist diff {shlex.quote(references[0])} OTHER.ncu-rep"
        raise UsageProblem("diff needs two reports or runs, and nothing has been measured here", command)


def learned_noise(store: Store, device: Device | None) -> LearnedNoise | None:
    """Return what runs with ``profile --repeats`` on this model of GPU say; None where there are none.

    Raises DamagedData for a run whose counters were changed.
    """
    if device is None:
        return None
    heads = [one for one in store.heads() if one.repeats >= LEAST_REPEATS and one.gpu == device.name]
    runs = map(store.opened, heads[:MOST_RUNS])
    return LearnedNoise([one for stored in runs for one in _combined(stored)]) if heads else None


def _combined(stored: StoredRun) -> Iterator[Combined]:
    tables = stored.by_launch()
    for workload in dict.fromkeys(launch.workload for launch in stored.run.launches):
        yield combine_tables(stored.run, tables, workload)
