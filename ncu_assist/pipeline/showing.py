"""What `show` and the pages say of a run, gathered from the archive: counters, rules, ceilings, the version before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.analysis.run_view import CloseLook, LaunchRow, ParentVerdict, Shown, shown_workload, workload_row
from ncu_assist.ceilings import Ceilings, ceilings_of
from ncu_assist.frame import Combined, combine_launches, combine_tables
from ncu_assist.frame.columns import Values
from ncu_assist.pipeline.ancestry import lineage_of
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.pipeline.close_look import look_closer
from ncu_assist.record import Launch, Run
from ncu_assist.rules.model.of_run import Told, judged_alone, located, told_of, told_of_shown
from ncu_assist.rules.model.resources import bottleneck, bottleneck_of_launch
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.matching import live_first, same_source
from ncu_assist.versions import version_order


def gather(
    stored: StoredRun,
    workload: str | None = None,
    store: Store | None = None,
    *,
    lines: bool = False,
    ncu_rules: bool = False,
    every: bool = False,
) -> Shown:
    """Return what is shown of a run; ``workload`` names the one whose counters are shown, None the first timed.

    ``store`` is its archive, for the version before and the ceilings of its GPU. ``lines`` and ``ncu_rules`` read its
    report again. Of each workload its longest launches are judged one by one: of the one shown, or of ``every`` one.
    Raises UsageProblem for a workload that the run lacks, DamagedData when its files were changed.
    """
    run = stored.run
    chosen = shown_workload(run, workload)
    tables = stored.by_launch()
    combined = combine_tables(run, tables, chosen)
    ceilings = ceilings_of(run.device, store.reports if store else None) if run.device else None
    close = look_closer(stored, chosen, lines, ncu_rules) if lines or ncu_rules else CloseLook()
    shown = Shown(
        run=run,
        reference=stored.reference,
        source=run.source,
        rows=tuple(workload_row(run, facts, ceilings) for facts in run.workloads),
        combined=combined,
        bottleneck=bottleneck(combined.values),
        launches=_launches(run, tables, ceilings, None if every else chosen),
        keeps_report=stored.keeps_report,
        told=told_of_shown(run, combined, ceilings),
        before=_before(store, stored, chosen) if store and not isinstance(stored, BareReport) else None,
        ceilings=ceilings,
        close=close,
    )
    return with_places(shown)


def with_places(shown: Shown) -> Shown:
    """Return what is shown with the source lines of its findings, where its code was read."""
    code = shown.close.code
    if code is None:
        return shown
    launches = tuple(replace(row, told=located(row.told, code)) for row in shown.launches)
    return replace(shown, told=located(shown.told, code), launches=launches)


def _launches(
    run: Run, tables: Mapping[int, Values], ceilings: Ceilings | None, only: str | None
) -> tuple[LaunchRow, ...]:
    """Return all launches, judged alone those of a workload, or of each workload, that take longest."""
    groups: dict[str | None, list[Launch]] = {}
    for one in run.launches:
        groups.setdefault(one.workload, []).append(one)
    chosen = [one for name, own in groups.items() if only in (None, name) for one in judged_alone(own)]
    told = {one.index: _told(run, one, tables, ceilings) for one in chosen}
    return tuple(
        LaunchRow(one, bottleneck_of_launch(tables.get(one.index, {})), told.get(one.index), one.index in told)
        for one in run.launches
    )


def _told(run: Run, launch: Launch, tables: Mapping[int, Values], ceilings: Ceilings | None) -> Told | None:
    alone: Combined = combine_launches(launch.workload, [launch], [tables.get(launch.index, {})])
    return told_of(run, alone, ceilings, whole=_is_whole(launch, run))


def _is_whole(launch: Launch, run: Run) -> bool:
    """Return whether a launch is all that its call launches."""
    return sum((one.workload, one.repeat) == (launch.workload, launch.repeat) for one in run.launches) == 1


def _before(store: Store, stored: StoredRun, workload: str | None) -> ParentVerdict | None:
    """Return the nearest version that this one builds on and that was timed on the workload; None without one."""
    run = stored.run
    if not is_timed(run, workload) or run.version not in store.versions(run.kernel):
        return None
    lineage = lineage_of(store, run.kernel, sorted(store.versions(run.kernel), key=version_order))
    for name in lineage.ancestors(run.version):
        timed = [one for one in live_first(store.runs(run.kernel, name)) if is_timed(one.run, workload)]
        if timed:
            pair = common_bench(timed, same_source(store, stored), workload) or (timed[0], stored)
            return ParentVerdict(name, verdict_by_time(*pair, workload, SampleReader()), pair)
    return None
