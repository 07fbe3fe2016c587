"""Two runs of ncu: the first with the section that says what binds a kernel, the second with those that matter then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ncu_assist.frame import by_launch
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.ncu.command import ALL_SECTIONS, MEMORY_SECTIONS, find_ncu, list_sections
from ncu_assist.pipeline.ncu_stage import NcuStage
from ncu_assist.pipeline.profiling import (
    ExpectedLaunches,
    ProfilingResult,
    VersionCapture,
    merged,
    profile_versions,
)
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.rules.model.resources import HOST_LINK, bottleneck_of_launch
from ncu_assist.versions import short_name

FIRST = ("SpeedOfLight",)
# Where one of these binds, no rule that asks for the sections of computing stands first (benchmarks/adaptive_loss.py).
# Shared memory is not among them: that a product could be done by tensor cores shows in what it computes.
ALL = "bound by computing, shared memory or latency: all sections that rules ask for"
OF_MEMORY = ("DRAM", "L2", "L1", "memory", HOST_LINK)


def profile_adaptively(
    request: HarnessRequest,
    expected: Mapping[str, ExpectedLaunches],
    stage: NcuStage,
    max_launches: int,
    reporter: Reporter,
) -> ProfilingResult:
    """Profile versions as ``profile_versions`` does, with the sections that matter for what binds each.

    Sections that this ncu does not know are left out.
    """
    known = set(list_sections(find_ncu()))

    def run(name: str, versions: tuple[str, ...], sections: tuple[str, ...]) -> ProfilingResult:
        own = replace(stage, options=replace(stage.options, sections=sections))
        asked = replace(request, out=str(Path(request.out) / name))
        return profile_versions(asked, {one: expected[one] for one in versions}, own, max_launches, reporter)

    first = run("first", tuple(expected), FIRST)
    found = ProfilingResult({}, first.failures, first.interrupted)
    groups: dict[tuple[str, ...], list[str]] = {}
    for version, capture in first.captures.items():
        if not capture.launches:
            found.captures[version] = capture
        else:
            groups.setdefault(sections_for(capture), []).append(version)
    for number, (sections, versions) in enumerate(groups.items()):
        if found.interrupted:
            break
        chosen = tuple(one for one in sections if one in known)
        names = ", ".join(map(short_name, versions))
        said = "bound by memory: the sections of computing are left out" if sections == MEMORY_SECTIONS else ALL
        reporter.note(f"{names}: {said}")
        second = run(f"second{number}", tuple(versions), chosen)
        captures = {version: replace(one, sections=chosen) for version, one in second.captures.items()}
        found = merged(found, replace(second, captures=captures))
    return found


def sections_for(capture: VersionCapture) -> tuple[str, ...]:
    """Return the sections to collect of a version, from what binds each of its launches."""
    binds = set(_binding(capture))
    return MEMORY_SECTIONS if binds <= set(OF_MEMORY) else ALL_SECTIONS


def _binding(capture: VersionCapture) -> Iterator[str]:
    for values in by_launch(capture.metrics).values():
        found = bottleneck_of_launch(values)
        yield found.group if found else ""
