"""The comparison itself: time gives the verdict, counters explain it."""

from __future__ import annotations

from dataclasses import replace

from ncu_assist.diff.bottleneck import bottleneck
from ncu_assist.diff.changes import changes, side_by_side
from ncu_assist.diff.comparability import differences
from ncu_assist.diff.flagging import flags, with_roles
from ncu_assist.diff.launches import launch_diffs
from ncu_assist.diff.pairing import Paired
from ncu_assist.diff.records import Change, Diff, Side
from ncu_assist.diff.scope import NOTHING_IN_COMMON, scope
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.record import Run, Source
from ncu_assist.store import StoredRun, machine_hash, shown_source
from ncu_assist.verdict import Verdict, compare, compare_durations, not_comparable, select

FARTHEST_FIRST: tuple[Source, ...] = ("imported", "recorded", "live")


Pair = tuple[StoredRun, StoredRun]


def diff_runs(
    baseline: StoredRun, candidate: StoredRun, workload: str | None = None, timed: Pair | None = None
) -> Diff:
    """Return what differs between two runs on one workload.

    ``timed`` are runs of the same two sources to take the times from, where the two runs were not timed together.
    Without ``workload`` it is the first that both were timed on, else the first that both have, else all launches.
    Raises UsageProblem for runs of different kernels and for a workload that a side lacks or that neither knows of,
    DamagedData for a run whose files were changed.
    """
    _check_kernels(baseline.run, candidate.run)
    names = _workloads(baseline.run, candidate.run, workload)
    tables = baseline.by_launch(), candidate.by_launch()
    runs = baseline.run, candidate.run
    whole = [combine_tables(run, table, name) for run, table, name in zip(runs, tables, names, strict=True)]
    facts = [(run, run.workload(name) if name else None) for run, name in zip(runs, names, strict=True)]
    differing, forbidden = differences(facts[0], facts[1])
    chosen = scope(whole[0], whole[1])
    forbidden = forbidden or _strangers(*runs) or chosen.reason
    totals = whole if forbidden else list(chosen.totals)
    times = timed or (baseline, candidate)
    sides = [_side(*side) for side in zip((baseline, candidate), times, whole, totals, strict=True)]
    verdict = not_comparable(forbidden) if forbidden else _verdict(times, (totals[0], totals[1]), (sides[0], sides[1]))
    rounded = any(run.rounded for run in runs)
    told = _changes(totals[0], totals[1], verdict, rounded)
    pairs = launch_diffs(chosen.paired.pairs, tables, verdict if forbidden else None, rounded)
    return Diff(
        baseline=sides[0],
        candidate=sides[1],
        workload=names[1],
        verdict=verdict,
        source=next(source for source in FARTHEST_FIRST if source in (sides[0].source, sides[1].source)),
        changes=told,
        launches=(replace(pairs[0], verdict=verdict, changes=told),) if _is_all(chosen.paired) else pairs,
        only_baseline=chosen.paired.only_baseline,
        only_candidate=chosen.paired.only_candidate,
        flags=flags(told, verdict),
        differences=differing,
    )


def _check_kernels(baseline: Run, candidate: Run) -> None:
    foreign = "imported" in (baseline.source, candidate.source)
    if baseline.kernel != candidate.kernel and not foreign:
        raise UsageProblem(
            f"{baseline.kernel}/{baseline.version} and {candidate.kernel}/{candidate.version} are different kernels",
            f"compare two versions of one kernel, e.g. ncu-assist diff {candidate.kernel}/@baseline "
            f"{candidate.kernel}/{candidate.version}",
        )


def _strangers(baseline: Run, candidate: Run) -> str:
    """Return the reason code when a foreign report launched nothing of the kernel it is held against, else empty."""
    if (baseline.source == "imported") == (candidate.source == "imported"):
        return ""
    functions = [{launch.kernel for launch in run.launches} for run in (baseline, candidate)]
    return "" if functions[0] & functions[1] else "other-kernel"


def _workloads(baseline: Run, candidate: Run, wanted: str | None) -> tuple[str | None, str | None]:
    """Return the workload of each side; None for a side that knows of none, as a foreign report does."""
    sides = [[w.name for w in run.workloads] for run in (baseline, candidate)]
    if wanted is not None and not any(sides):
        message = f"{baseline.version} and {candidate.version} know of no workloads, and so not of '{wanted}'"
        raise UsageProblem(message, "leave out --workload")
    if not all(sides):
        chosen = [
            _chosen(names, wanted, run) if names else None
            for names, run in zip(sides, (baseline, candidate), strict=True)
        ]
        return chosen[0], chosen[1]
    common = [name for name in sides[0] if name in sides[1]]
    if wanted is not None or common:
        timed = [name for name in common if baseline.timing(name) and candidate.timing(name)]
        name = _chosen(timed or common, None, baseline) if wanted is None else wanted
        return _chosen(sides[0], name, baseline), _chosen(sides[1], name, candidate)
    return sides[0][0], sides[1][0]  # nothing in common: the answer will be not-comparable


def _chosen(names: list[str], wanted: str | None, run: Run) -> str:
    if wanted is not None and wanted not in names:
        raise UsageProblem(f"{run.version} was not measured on workload '{wanted}'", did_you_mean(wanted, names))
    return wanted or names[0]


def _side(stored: StoredRun, timed: StoredRun, whole: Combined, compared: Combined) -> Side:
    run = stored.run
    return Side(
        reference=stored.reference,
        kernel=run.kernel,
        version=run.version,
        run_id=run.run_id,
        source=shown_source(run, machine_hash()),
        created=run.created,
        device=run.device,
        workload=whole.workload,
        timing=timed.run.timing(whole.workload) if whole.workload else None,
        duration_ns=whole.duration_ns,
        launches=len(whole.launches),
        compared=len(compared.launches),
        bottleneck=bottleneck(compared.values),
        notes=run.notes,
    )


def _verdict(times: Pair, totals: tuple[Combined, Combined], sides: tuple[Side, Side]) -> Verdict:
    frames = [
        select(stored.samples(), side.version, side.workload)
        for stored, side in zip(times, sides, strict=True)
        if side.workload is not None
    ]
    if len(frames) == 2 and not any(frame.empty for frame in frames):
        return compare(frames[0], frames[1])
    return compare_durations(totals[0].duration_ns, totals[1].duration_ns)


def _changes(baseline: Combined, candidate: Combined, verdict: Verdict, rounded: bool) -> tuple[Change, ...]:
    """Return the changes of what is compared; none where neither side has counters, or they are of other kernels."""
    if not (baseline.launches or candidate.launches) or verdict.reason == NOTHING_IN_COMMON:
        return ()
    if verdict.verdict == "not-comparable":
        return side_by_side(baseline, candidate)
    return with_roles(changes(baseline, candidate, rounded), verdict)


def _is_all(paired: Paired) -> bool:
    """Return whether one pair holds every launch: then what is known of the runs is known of it."""
    return len(paired.pairs) == 1 and not paired.only_baseline and not paired.only_candidate
