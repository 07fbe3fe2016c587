"""The trend of a kernel from the archive: which of its runs can stand in one line, and what they counted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.analysis.trend import BY_COMMIT, By, Trend, TrendSeries, by_commit, by_version, trend_point
from ncu_assist.commits import has_between
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.frame import combine_tables
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES
from ncu_assist.project import Project
from ncu_assist.record import Run, Timing
from ncu_assist.spec import ALL
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import Context, choose_kernel, gpu_model
from ncu_assist.store.references import full_name
from ncu_assist.store.report_names import REPORT_ENDINGS
from ncu_assist.verdict.levels import MOST_RUNS


def trend(
    project: Project,
    named: str | None,
    workload: str | None = None,
    by: By = "version",
    metrics: tuple[str, ...] = (),
    gpu: str | None = None,
) -> Trend:
    """Return the trend of a kernel on one workload or on all, over all its runs that can be read.

    ``named`` is a kernel, kernel/version, or None for the kernel that a bare reference would mean. ``workload`` None is
    the default one, ``all`` each that there is; ``metrics`` are keys of the catalogue; ``gpu`` is a model, or a part of
    its name, None for all. Damaged runs are left out and named in ``left_out``. Raises UsageProblem for a name that
    means nothing and if no run was timed on the workload, DamagedData if the files of every run were changed.
    """
    for key in metrics:
        if key not in OVER_LAUNCHES:
            message = f"no metric is called '{key}'; {did_you_mean(key, OVER_LAUNCHES)}"
            raise UsageProblem(message, "ncu-assist metrics")
    report = named or ""
    if report.endswith(REPORT_ENDINGS):
        command = f"ncu-assist show {shlex.quote(report)}"
        raise UsageProblem(f"{report} is a report, but trend needs a kernel's runs in the archive", command)
    store, context = Store(project.reports), Context(project, Path.cwd(), None)
    typed, _, version = report.partition("/")
    kernel = choose_kernel(store, context, typed or None, None)
    name = full_name(store, context, kernel, version) if version else None

    def of_whole(whole: Store) -> Trend:
        every = whole.runs(kernel, name)[::-1]
        if gpu is not None:
            model = gpu_model((one.run.gpu for one in every), gpu, kernel)
            every = [one for one in every if one.run.gpu == model]
        return _trend(project, kernel, every, workload, by, metrics)

    found, left_out = store.read_whole(kernel, of_whole, lambda whole: whole.heads(kernel, name))
    return replace(found, left_out=left_out)


def _trend(
    project: Project, kernel: str, every: Sequence[StoredRun], workload: str | None, by: By, metrics: tuple[str, ...]
) -> Trend:
    default = _default(project, kernel, every)
    named = workload or default
    names = dict.fromkeys(timing.workload for one in every for timing in one.run.timings)
    in_order = sorted(names, key=lambda name: name != default)
    wanted = in_order if named == ALL and ALL not in names else [named]
    series: list[TrendSeries] = []
    notes: list[str] = []
    samples = SampleReader()
    for each in wanted:
        timed = [(one, timing) for one in every if (timing := one.run.timing(each))]
        kept = [one for one, _ in timed if measured_like(one.run, timed[-1][0].run, each)]  # as the newest was
        points = [trend_point(one, each, samples, _counters(one, each, metrics)) for one in kept[-MOST_RUNS:]]
        made = by_commit(points) if by == "commit" else by_version(points)
        on = f" on {each}" if len(wanted) > 1 else ""
        series += [replace(one, name=f"{one.name or BY_COMMIT}{on}") if on else one for one in made]
        notes += [f"{each}: {note}" if on else note for note in _notes(timed, each, len(kept))] if timed else []
    if not series:
        if not names or named not in (ALL, *names):
            raise _nothing(project, kernel, named, every)
        raise UsageProblem(f"every run of {kernel} was wrong on {named}", f"ncu-assist check {kernel}")
    shown = wanted[0] if len(wanted) == 1 else ALL
    found = Trend(kernel, shown, by, tuple(series), metrics, tuple(notes))
    sides = [(one.before.run.commit, one.after.run.commit) for _, one in found.changes if found.can_bisect(one)]
    pairs = {(before.id, after.id) for before, after in sides if before and after}
    return replace(found, nothing_between=frozenset(one for one in pairs if not has_between(project.root, *one)))


def _default(project: Project, kernel: str, runs: Sequence[StoredRun]) -> str:
    """Return the default workload as the kernel's folder has it; without a folder, the first of the newest run."""
    if kernel in kernel_names(project):
        return load_kernel(project, kernel).default_workload.name
    return next((timing.workload for one in reversed(runs) for timing in one.run.timings), "")


def _nothing(project: Project, kernel: str, workload: str, runs: Sequence[StoredRun]) -> UsageProblem:
    names = dict.fromkeys(timing.workload for one in runs for timing in one.run.timings)
    if not names:
        command = "bench" if kernel in kernel_names(project) else "history"  # of imports, which nothing here can time
        return UsageProblem(f"no run of {kernel} was timed, so there is no trend", f"ncu-assist {command} {kernel}")
    return UsageProblem(
        f"no run of {kernel} was timed on workload '{workload}'; {did_you_mean(workload, names)}",
        f"ncu-assist trend {kernel} --workload {next(iter(names))}",
    )


def _measured(run: Run, workload: str) -> tuple[object, ...]:
    """Return what has to be alike for two times to be of the same work."""
    facts = run.workload(workload)
    sizes = tuple(sorted(facts.integers.items())) if facts else ()
    return (facts.dtype if facts else None, sizes, run.bench.flush if run.bench else None)


def measured_like(one: Run, other: Run, workload: str) -> bool:
    """Tell whether a run measured the same work as another, in the same way, with right results."""
    return _measured(one, workload) == _measured(other, workload) and not one.is_wrong(workload)


def _counters(stored: StoredRun, workload: str, keys: Sequence[str]) -> Mapping[str, float | None]:
    if not keys:
        return {}
    values = combine_tables(stored.run, stored.by_launch(), workload).values
    return {key: values.get(key) for key in keys}


def _notes(timed: Sequence[tuple[StoredRun, Timing]], workload: str, kept: int) -> Iterator[str]:
    like = _measured(timed[-1][0].run, workload)
    wrong = sum(one.run.is_wrong(workload) for one, _ in timed)
    other = sum(_measured(one.run, workload) != like and not one.run.is_wrong(workload) for one, _ in timed)
    if wrong:
        yield f"left out because results were wrong: {wrong} of {len(timed)} runs"
    if other:
        yield f"left out because {workload} had other sizes or another L2 flush then: {other} of {len(timed)} runs"
    if kept > MOST_RUNS:
        yield f"only the newest {MOST_RUNS} of {kept} runs are used"
