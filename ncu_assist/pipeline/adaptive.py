"""Only the sections that matter: what is thought to bind a version chooses them, and its own counters confirm it.

A run of ncu to find that out first would cost more than it saves: its start, and a quarter of the passes of the full
set for the section that says it (docs/sources.md, Cost), where leaving out the sections of computing saves about as
many. The bench and the last run tell it for nothing. Where the counters then say otherwise, ncu runs once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.frame import by_launch
from ncu_assist.frame.columns import Values
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.ncu.command import ALL_SECTIONS, MEMORY_SECTIONS, find_ncu, list_sections
from ncu_assist.pipeline.ncu_stage import NcuStage
from ncu_assist.pipeline.profiling import ExpectedLaunches, ProfilingResult, merged, profile_versions
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.record import Timing
from ncu_assist.rules.model.resources import BUSY_PERCENT, HOST_LINK, bottleneck_of_launch
from ncu_assist.store import StoredRun
from ncu_assist.versions import short_name

# Where one of these binds, no rule that asks for the sections of computing stands first (benchmarks/adaptive_loss.py).
# Shared memory is not among them: that a product could be done by tensor cores shows in what it computes.
OF_MEMORY = ("DRAM", "L2", "L1", "memory", HOST_LINK)


def profile_adaptively(
    request: HarnessRequest,
    expected: Mapping[str, ExpectedLaunches],
    stage: NcuStage,
    max_launches: int,
    reporter: Reporter,
) -> ProfilingResult:
    """Profile versions as ``profile_versions`` does, with the sections of memory alone where it is thought to bind all.

    Those whose counters say otherwise are profiled again, with all sections that rules ask for. Sections that this ncu
    does not know are left out.
    """
    known = set(list_sections(find_ncu()))

    def run(name: str, versions: Iterable[str], sections: tuple[str, ...]) -> ProfilingResult:
        chosen = tuple(one for one in sections if one in known)
        own = replace(stage, options=replace(stage.options, sections=chosen))
        asked, some = replace(request, out=str(Path(request.out) / name)), {one: expected[one] for one in versions}
        found = profile_versions(asked, some, own, max_launches, reporter)
        return replace(found, captures={v: replace(one, sections=chosen) for v, one in found.captures.items()})

    if not all(one.by_memory for one in expected.values()):
        return run("all", expected, ALL_SECTIONS)
    first = run("memory", expected, MEMORY_SECTIONS)
    captures = {version: one for version, one in first.captures.items() if one.launches}
    other = [v for v, one in captures.items() if not is_bound_by_memory(by_launch(one.metrics).values())]
    if not other or first.interrupted:
        return first
    names = ", ".join(map(short_name, other))
    reporter.note(f"{names}: not bound by memory, as was thought; profiled again with the sections of computing")
    return merged(first, run("again", other, ALL_SECTIONS))


def is_bound_by_memory(launches: Iterable[Values]) -> bool:
    """Tell whether memory binds each of some launches."""
    found = [bottleneck_of_launch(values) for values in launches]
    return bool(found) and all(one is not None and one.group in OF_MEMORY for one in found)


def may_be_bound_by_memory(last: StoredRun | None, timings: Sequence[Timing]) -> bool:
    """Tell whether memory is likely to bind a version on the workloads that were timed.

    It did in its last run with counters, or is told by the times where that has none of these workloads.

    A call that moves its bytes at 60 % of the rate of a copy, or more, keeps memory busy at least as much.
    """
    names = {one.workload for one in timings}
    launches = [one.index for one in last.run.launches if one.workload in names] if last else []
    if last is not None and launches:
        tables = last.by_launch()
        return is_bound_by_memory([tables[index] for index in launches])
    copies = [(one.link_ns or one.copy_ns, one.median_ns) for one in timings]
    return bool(copies) and all(copy is not None and copy >= BUSY_PERCENT / 100 * took for copy, took in copies)
