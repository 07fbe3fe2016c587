"""What `show` and the pages say of a run, gathered from the archive: counters, rules, ceilings, the version before."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_assist.ceilings import Ceilings, ceilings_of
from ncu_assist.columns import Values
from ncu_assist.diff import bottleneck, bottleneck_of_launch
from ncu_assist.diff.by_time import verdict_by_time
from ncu_assist.diff.timing import Samples, common_bench, is_timed
from ncu_assist.frame import Combined, combine_launches, combine_tables
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.pipeline.close_look import look_closer
from ncu_assist.record import Launch, Run
from ncu_assist.render.facts import Before, CloseLook, LaunchRow, Shown, shown_workload, workload_row
from ncu_assist.rules.of_run import Told, told_of
from ncu_assist.store import Store, StoredRun, machine_hash, shown_source
from ncu_assist.store.matching import live_first, same_source
from ncu_assist.store.naming import version_order

DIAGNOSED = 20  # launches that the rules look at one by one, the longest: a program has thousands


def gather(
    stored: StoredRun,
    workload: str | None = None,
    store: Store | None = None,
    *,
    lines: bool = False,
    ncu_rules: bool = False,
) -> Shown:
    """Return what is shown of a run; ``workload`` names the one whose counters are shown, None the first timed.

    ``store`` is its archive, for the version before and the ceilings of its GPU. ``lines`` and ``ncu_rules`` read its
    report again. Raises UsageProblem for a workload that the run lacks, DamagedData when its files were changed.
    """
    run = stored.run
    chosen = shown_workload(run, workload)
    tables = stored.by_launch()
    combined = combine_tables(run, tables, chosen)
    ceilings = ceilings_of(run.device, store.reports if store else None) if run.device else None
    return Shown(
        run=run,
        reference=stored.reference,
        source=shown_source(run, machine_hash()),
        rows=tuple(workload_row(run, facts) for facts in run.workloads),
        combined=combined,
        bottleneck=bottleneck(combined.values),
        launches=_launches(run, tables, ceilings),
        keeps_report=stored.keeps_report,
        told=told_of(run, combined, ceilings),
        before=_before(store, stored, chosen) if store and not isinstance(stored, BareReport) else None,
        ceilings=ceilings,
        close=look_closer(stored, chosen, lines, ncu_rules) if lines or ncu_rules else CloseLook(),
    )


def _launches(run: Run, tables: Mapping[int, Values], ceilings: Ceilings | None) -> tuple[LaunchRow, ...]:
    longest = sorted(run.launches, key=lambda one: -(one.duration_ns or 0.0))[:DIAGNOSED]
    told = {one.index: _told(run, one, tables, ceilings) for one in longest}
    return tuple(
        LaunchRow(one, bottleneck_of_launch(tables.get(one.index, {})), told.get(one.index)) for one in run.launches
    )


def _told(run: Run, launch: Launch, tables: Mapping[int, Values], ceilings: Ceilings | None) -> Told | None:
    alone: Combined = combine_launches(launch.workload, [launch], [tables.get(launch.index, {})])
    return told_of(run, alone, ceilings, whole=_is_whole(launch, run))


def _is_whole(launch: Launch, run: Run) -> bool:
    """Return whether a launch is all that its call launches."""
    return sum((one.workload, one.repeat) == (launch.workload, launch.repeat) for one in run.launches) == 1


def _before(store: Store, stored: StoredRun, workload: str | None) -> Before | None:
    """Return the last version before this one, by number, that was timed on the workload; None without one."""
    run = stored.run
    earlier = [name for name in store.versions(run.kernel) if version_order(name) < version_order(run.version)]
    for name in sorted(earlier, key=version_order, reverse=True) if is_timed(run, workload) else ():
        timed = [one for one in live_first(store.runs(run.kernel, name)) if is_timed(one.run, workload)]
        if timed:
            pair = common_bench(timed, same_source(store, stored), workload) or (timed[0], stored)
            return Before(name, verdict_by_time(*pair, workload, Samples()))
    return None
