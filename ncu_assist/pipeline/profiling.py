"""Profile all versions of a kernel in one ncu process; if it dies, profile them one by one to find the culprit.

The child's events and ncu's log make one live line. If ncu counted nothing, a program that surely launches a kernel
shows whether the versions launch none or ncu sees none here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError
from ncu_assist.frame import by_launch
from ncu_assist.frame.columns import Values
from ncu_assist.harness import events
from ncu_assist.harness.client import only, profile_command
from ncu_assist.harness.events import call_of, repeat_of
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.ncu import report_file
from ncu_assist.ncu.command import ALL_SECTIONS, MEMORY_SECTIONS, ProfileOptions, find_ncu, list_sections
from ncu_assist.ncu.failures import NothingProfiled, ProfiledLaunch
from ncu_assist.ncu.report import Report
from ncu_assist.pipeline.ncu_stage import Capture, NcuStage
from ncu_assist.process import python_argv
from ncu_assist.record import Device, Launch, Timing, Toolchain
from ncu_assist.rules.model.resources import BUSY_PERCENT, HOST_LINK, bottleneck_of_launch
from ncu_assist.steps import Reporter
from ncu_assist.store import StoredRun
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    import pandas as pd

CONTROL_FOLDER = Path("control")  # below the folder of the empty capture
CONTROL_SET = "basic"
CONTROL_PROGRAM = """import torch
from ncu_assist.harness.session import ranges
with ranges("(control)|", {device!r}):
    torch.ones(8, device={device!r}).add_(1).tolist()
"""
STARTING = "ncu: starting"


@dataclass(frozen=True)
class ExpectedLaunches:
    """The expected work of profiling a version: the number of workloads, and the launches on each.

    The launches come from earlier runs, if there are any: ncu takes the same time for every launch, about two seconds
    with the full set, and a chain of ten takes ten times as long. ``by_memory``: memory probably binds the version.
    """

    workloads: int = 1
    launches: float = 1.0
    by_memory: bool = False


class RangeWatch:
    """Follows the calls that ncu profiles: the current version, its launches, and the finished versions."""

    def __init__(self, expected: Mapping[str, ExpectedLaunches], max_launches: int, reporter: Reporter) -> None:
        self._expected, self._max_launches, self._reporter = expected, max_launches, reporter
        self._started = time.monotonic()
        self._begun: list[str] = []
        self._begun_at = self._first_at = self._started
        self.took_s: dict[str, float] = {}
        self._ended: list[tuple[str, str]] = []
        self._launches, self._part = 0, 0.0
        self._name = ""
        self.failures: dict[str, str] = {}

    def line(self, text: str) -> None:
        """Take one line of the child's stdout."""
        event = events.parse(text)
        if event is None:
            return
        if event.event in ("failed", "fatal"):
            self.failures[event.version] = f"profile: {event.text}"
        if event.stage != "profile":  # versions are loaded first
            return
        if event.event == "begin":
            self._begun.append(event.version)
            self._begun_at = time.monotonic()
            if len(self._begun) == 1:
                self._first_at = self._begun_at
            self._launches, self._part = 0, 0.0
            self._name = f"{event.version.split('_', 1)[0]} {event.workload}"
            self._show("warming up")
        elif event.event == "end":
            self._ended.append((event.version, event.workload))
            known = self.took_s.get(event.version, 0.0)
            self.took_s[event.version] = known + time.monotonic() - self._begun_at

    def launch(self, launch: ProfiledLaunch) -> bool:
        """Take one step of ncu's log; return whether this call made more launches than it may."""
        done = f", {launch.passes} passes" if launch.passes is not None else ""
        self._launches += launch.passes is not None
        self._part = launch.percent / 100 if launch.passes is None else 0.0
        self._show(f"{launch.name} {launch.percent} %{done}")
        return self._launches > self._max_launches

    def is_finished(self, version: str) -> bool:
        """Return whether a version was profiled on all its workloads."""
        return len(self.called(version)) == self._of(version).workloads

    def _of(self, version: str) -> ExpectedLaunches:
        return self._expected.get(version, ExpectedLaunches())

    def called(self, version: str) -> tuple[str, ...]:
        """Return the workloads on which all calls of a version ended."""
        return tuple(workload for name, workload in self._ended if name == version)

    def _show(self, step: str) -> None:
        number, ranges = len(self._begun), sum(one.workloads for one in self._expected.values())
        elapsed = time.monotonic() - self._started
        self._reporter.status(
            f"ncu: {number} of {ranges} · {self._name} · {step} · {elapsed:.0f}{self._estimate(elapsed)} s"
        )

    def _estimate(self, elapsed: float) -> str:
        """Return the total time at the current rate of launches, empty before the first is done.

        The time before the first call (the start of ncu, python and torch) is counted only once.
        """
        done = sum(self._of(version).launches for version, _ in self._ended) + self._launches
        if not self._begun or done == 0:
            return ""
        if len(self._ended) == len(self._begun):  # the launches of the last call are among the expected ones
            done -= self._launches
        else:
            done += self._part
        whole = sum(one.launches * one.workloads for one in self._expected.values())
        start = self._first_at - self._started
        return f" of about {max(elapsed, start + (elapsed - start) * whole / done):.0f}"


def control_report(stage: NcuStage, device: str) -> Report | None:
    """Profile a program that surely launches a kernel, with the same filter, and return its report.

    Return None if ncu sees no launch of it either. An empty report then does not mean that a version launched nothing.
    """
    other = replace(stage, work=stage.work / CONTROL_FOLDER, options=replace(stage.options, section_set=CONTROL_SET))
    argv = python_argv("-c", CONTROL_PROGRAM.format(device=device))
    try:
        report = other.run(argv, lambda _: None, lambda _: False).report
    except NcuAssistError:
        return None
    return report if report.records else None


@dataclass(frozen=True)
class VersionCapture:
    """One version's share of a capture: its launches renumbered from 0, their metrics, a report of just these.

    ``silent`` are the workloads on which its calls launched no kernel; if that is all of them, there is no report.
    ``took_s`` is the time of its calls under ncu; ``gpu`` is the hash of the GPU's UUID if another GPU measured it.
    """

    launches: tuple[Launch, ...]
    metrics: pd.DataFrame
    data: bytes
    log: str
    device: Device | None
    toolchain: Toolchain  # from the report
    silent: tuple[str, ...] = ()
    took_s: float | None = None
    gpu: str | None = None
    sections: tuple[str, ...] = ()  # chosen for this version; empty if a set was requested


@dataclass(frozen=True)
class ProfilingResult:
    """The result of profiling: captures by version, and why the others failed."""

    captures: dict[str, VersionCapture]
    failures: dict[str, str]
    interrupted: bool = False


def profile_versions(
    request: HarnessRequest,
    expected: Mapping[str, ExpectedLaunches],
    stage: NcuStage,
    max_launches: int,
    reporter: Reporter,
) -> ProfilingResult:
    """Profile versions of a request in one ncu process; if that fails, each in its own.

    ``expected`` names the versions, each with its expected work, for the live estimate.
    Raises EnvironmentProblem for a problem of every version; the problem of a single version is in ``failures``.
    """
    request = replace(request, settings=replace(request.settings, stages=("profile",)))
    attempt, versions = _Attempt(request, stage, expected, max_launches, reporter), tuple(expected)
    if len(versions) < 2:
        return attempt.one_by_one(versions)
    try:
        return attempt.together(versions)
    except EnvironmentProblem:
        raise
    except NcuAssistError as error:
        reporter.note(f"profiling all versions at once failed ({error.message}); trying them one by one")
        return attempt.one_by_one(versions)


@dataclass(frozen=True)
class _Attempt:
    request: HarnessRequest
    stage: NcuStage
    expected: Mapping[str, ExpectedLaunches]
    max_launches: int
    reporter: Reporter

    def one_by_one(self, versions: tuple[str, ...]) -> ProfilingResult:
        """Profile each version in its own process, until interrupted.

        Raises EnvironmentProblem only if no version has succeeded yet; otherwise the results are kept.
        """
        all_of_them = ProfilingResult({}, {})
        for version in versions:
            try:
                one = self.together((version,))
            except NcuAssistError as error:
                if isinstance(error, EnvironmentProblem) and not all_of_them.captures:
                    raise
                said = f"profile: {error.message}" + (f"; try: {error.hint}" if error.hint else "")
                one = ProfilingResult({}, {version: said})
            all_of_them = merged(all_of_them, one)
            if one.interrupted:
                break
        return all_of_them

    def together(self, versions: tuple[str, ...]) -> ProfilingResult:
        """Profile versions in one process. Raises as NcuStage.run does."""
        part = only(self.request, versions)
        stage = self.stage.at(Path(part.out))
        repeats = part.settings.profile_repeats
        once = {version: self.expected[version] for version in versions}
        expected = {version: replace(one, launches=repeats * one.launches) for version, one in once.items()}
        watch = RangeWatch(expected, repeats * self.max_launches, self.reporter)
        self.reporter.status(STARTING)
        try:
            return _shared_out(versions, self._capture(stage, part, watch), watch)
        except KeyboardInterrupt:
            return ProfilingResult(_finished(stage, watch), watch.failures, interrupted=True)
        except NothingProfiled:
            silent = _silent(versions, stage, watch, part.settings.device)
            if silent is None:
                raise
            return silent

    def _capture(self, stage: NcuStage, part: HarnessRequest, watch: RangeWatch) -> Capture:
        capture = stage.run(profile_command(Path(os.path.relpath(part.path, stage.root))), watch.line, watch.launch)
        if not capture.report.records:
            raise NothingProfiled("profiling failed: the report holds no launch", "ncu-assist doctor")
        return capture


def _silent(versions: tuple[str, ...], stage: NcuStage, watch: RangeWatch, device: str) -> ProfilingResult | None:
    """Return the result if ncu counted nothing because no version launched a kernel, None if unsure."""
    log = stage.log()
    seen = control_report(stage, device) if all(map(watch.called, versions)) else None
    if seen is None or watch.failures:
        return None
    return ProfilingResult({version: _without_launches(log, seen, watch.called(version)) for version in versions}, {})


def _shared_out(versions: tuple[str, ...], capture: Capture, watch: RangeWatch) -> ProfilingResult:
    """Return each version's part of a capture; it has launches of some, so the others really launched none."""
    shares, captures = split(capture), {}
    failures = dict(watch.failures)
    for version in versions:
        called, share = watch.called(version), shares.get(version)
        if share is not None:
            launched = {launch.workload for launch in share.launches}
            silent = tuple(name for name in called if name not in launched)
            captures[version] = replace(share, silent=silent, took_s=watch.took_s.get(version))
        elif called and version not in failures:
            captures[version] = _without_launches(capture.log, capture.report, called)
        else:
            failures.setdefault(version, "profile: none of its calls finished")
    return ProfilingResult(captures, failures)


def _without_launches(log: str, report: Report, workloads: tuple[str, ...]) -> VersionCapture:
    """Return the capture of a version that launched nothing; ``report`` is of other programs or versions."""
    nothing = report.metrics.iloc[:0]
    return VersionCapture((), nothing, b"", log, report.device, report.toolchain, workloads)


def merged(one: ProfilingResult, other: ProfilingResult) -> ProfilingResult:
    """Return the results of two parts of profiling as one."""
    return ProfilingResult(one.captures | other.captures, one.failures | other.failures, other.interrupted)


def _finished(stage: NcuStage, watch: RangeWatch) -> dict[str, VersionCapture]:
    """Return the versions that an interrupted process had finished on every workload."""
    rest = stage.rest()
    captures = split(rest) if rest else {}
    return {version: capture for version, capture in captures.items() if watch.is_finished(version)}


def split(capture: Capture) -> dict[str, VersionCapture]:
    """Return each version's share of a capture, by the NVTX ranges of its launches."""
    owners: dict[str, list[Launch]] = {}
    for launch in capture.report.records:
        name = launch.ranges[-1] if launch.ranges else ""
        version, workload = call_of(name)
        owners.setdefault(version, []).append(replace(launch, workload=workload, repeat=repeat_of(name)))
    return {version: _share(capture, launches) for version, launches in owners.items() if version}


def _share(capture: Capture, launches: list[Launch]) -> VersionCapture:
    numbers = {launch.index: new for new, launch in enumerate(launches)}
    metrics = capture.report.metrics
    own = metrics[metrics["launch"].isin(list(numbers))].copy()
    own["launch"] = own["launch"].map(numbers).astype("int32")
    return VersionCapture(
        launches=tuple(replace(launch, index=numbers[launch.index]) for launch in launches),
        metrics=own.reset_index(drop=True),
        data=report_file.select(capture.data, set(numbers)),
        log=capture.log,
        device=capture.report.device,
        toolchain=capture.report.toolchain,
    )


# Take only the sections that matter: the probable limit of a version chooses them, and its own counters confirm it. A
# first ncu run to find the limit would cost more than it saves: its start, and a quarter of the passes of the full set
# for the section that shows the limit (docs/sources.md, Cost). Leaving out the compute sections saves about as many.
# The bench and the last run show the limit for free. If the counters then disagree, ncu runs once more.
#
# If one of these binds, no rule that needs the compute sections comes first (benchmarks/adaptive_loss.py). Shared
# memory is not among them, because only the compute sections show that tensor cores could do a product.
OF_MEMORY = ("DRAM", "L2", "L1", "memory", HOST_LINK)


def profile_adaptively(
    request: HarnessRequest,
    expected: Mapping[str, ExpectedLaunches],
    stage: NcuStage,
    max_launches: int,
    reporter: Reporter,
) -> ProfilingResult:
    """Profile versions as ``profile_versions`` does, with only the memory sections if memory probably binds all.

    Versions whose counters disagree are profiled again, with all sections that rules need. Sections that this ncu does
    not know are left out.
    """

    def run(name: str, versions: Iterable[str], of_memory: bool) -> ProfilingResult:
        own = replace(stage, options=adaptive_options(stage.options, of_memory))
        asked, some = replace(request, out=str(Path(request.out) / name)), {one: expected[one] for one in versions}
        found = profile_versions(asked, some, own, max_launches, reporter)
        return replace(
            found, captures={v: replace(one, sections=own.options.sections) for v, one in found.captures.items()}
        )

    if not all(one.by_memory for one in expected.values()):
        return run("all", expected, False)
    first = run("memory", expected, True)
    captures = {version: one for version, one in first.captures.items() if one.launches}
    other = [v for v, one in captures.items() if not is_bound_by_memory(by_launch(one.metrics).values())]
    if not other or first.interrupted:
        return first
    names = ", ".join(map(short_name, other))
    reporter.note(f"{names}: not bound by memory after all; profiling again with the compute sections")
    return merged(first, run("again", other, False))


def adaptive_options(options: ProfileOptions, of_memory: bool) -> ProfileOptions:
    """Return the options with the sections that rules need, of those that this ncu knows.

    ``of_memory``: only those that they need where memory binds. Raises EnvironmentProblem without an ncu.
    """
    known = set(list_sections(find_ncu()))
    sections = MEMORY_SECTIONS if of_memory else ALL_SECTIONS
    return replace(options, sections=tuple(one for one in sections if one in known))


def is_bound_by_memory(launches: Iterable[Values]) -> bool:
    """Return whether memory binds every one of these launches."""
    found = [bottleneck_of_launch(values) for values in launches]
    return bool(found) and all(one is not None and one.group in OF_MEMORY for one in found)


def was_bound_by_memory(last: StoredRun | None, workloads: Collection[str]) -> bool | None:
    """Return whether memory bound a version on these workloads in its last run with counters, None if none tells."""
    launches = [one.index for one in last.run.launches if one.workload in workloads] if last else []
    if last is None or not launches:
        return None
    try:
        tables = last.by_launch()
    except DamagedData:  # of which `verify` and the pages tell
        return None
    return is_bound_by_memory([tables[index] for index in launches])


def may_be_bound_by_memory(last: StoredRun | None, timings: Sequence[Timing]) -> bool:
    """Return whether memory probably binds a version on the timed workloads.

    The last run with counters decides, or the times if that run has none of these workloads: a call that moves its
    bytes at 60 % of a copy's rate or more keeps memory at least as busy.
    """
    known = was_bound_by_memory(last, {one.workload for one in timings})
    if known is not None:
        return known
    copies = [(one.link_ns or one.copy_ns, one.median_ns) for one in timings]
    return bool(copies) and all(copy is not None and copy >= BUSY_PERCENT / 100 * took for copy, took in copies)
