"""Profile all versions of a kernel in one ncu process; if that dies, one by one, so that the culprit is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.harness.client import only, profile_command
from ncu_assist.harness.names import call_of, repeat_of
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.ncu import report_file
from ncu_assist.ncu.failures import NothingProfiled
from ncu_assist.ncu.report import Report
from ncu_assist.pipeline.foreign_run import toolchain_of
from ncu_assist.pipeline.ncu_stage import Capture, NcuStage
from ncu_assist.pipeline.progress import Expected, RangeWatch
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.pipeline.silence import control
from ncu_assist.record import Device, Launch, Toolchain

if TYPE_CHECKING:
    import pandas as pd

STARTING = "ncu: starting"


@dataclass(frozen=True)
class VersionCapture:
    """One version's share of a capture: its launches renumbered from 0, their metrics, a report of just these.

    ``silent`` are the workloads on which its calls launched no kernel. Where that is all of them, there is no report.
    """

    launches: tuple[Launch, ...]
    metrics: pd.DataFrame
    data: bytes
    log: str
    device: Device | None
    toolchain: Toolchain  # as the report says
    silent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profiled:
    """What came of profiling: captures by version, and for the others what went wrong."""

    captures: dict[str, VersionCapture]
    failures: dict[str, str]
    interrupted: bool = False


def profile_versions(
    request: HarnessRequest, expected: Mapping[str, Expected], stage: NcuStage, max_launches: int, reporter: Reporter
) -> Profiled:
    """Profile versions of a request in one ncu process; if that fails, each in its own.

    ``expected`` names the versions, each with what is thought to come of it, for the live estimate.
    Raises EnvironmentProblem for what would meet every version alike; what only one meets is in ``failures``.
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
    expected: Mapping[str, Expected]
    max_launches: int
    reporter: Reporter

    def one_by_one(self, versions: tuple[str, ...]) -> Profiled:
        """Profile each version in its own process, until interrupted."""
        all_of_them = Profiled({}, {})
        for version in versions:
            try:
                one = self.together((version,))
            except EnvironmentProblem:
                raise
            except NcuAssistError as error:
                one = Profiled(
                    {}, {version: f"profile: {error.message}" + (f"; try: {error.hint}" if error.hint else "")}
                )
            all_of_them = _merged(all_of_them, one)
            if one.interrupted:
                break
        return all_of_them

    def together(self, versions: tuple[str, ...]) -> Profiled:
        """Profile versions in one process. Raises whatever NcuStage.run raises."""
        part = only(self.request, versions)
        stage = replace(self.stage, work=_relative(Path(part.out), self.stage.root))
        repeats = part.settings.profile_repeats
        once = {version: self.expected[version] for version in versions}
        expected = {version: replace(one, launches=repeats * one.launches) for version, one in once.items()}
        watch = RangeWatch(expected, repeats * self.max_launches, self.reporter)
        self.reporter.status(STARTING)
        try:
            return _shared_out(versions, self._capture(stage, part, watch), watch)
        except KeyboardInterrupt:
            return Profiled(_finished(stage, watch), watch.failures, interrupted=True)
        except NothingProfiled:
            silent = _silent(versions, stage, watch, part.settings.device)
            if silent is None:
                raise
            return silent

    def _capture(self, stage: NcuStage, part: HarnessRequest, watch: RangeWatch) -> Capture:
        capture = stage.run(profile_command(_relative(part.path, stage.root)), watch.line, watch.launch)
        if not capture.report.records:
            raise NothingProfiled("profiling failed: the report holds no launch", "ncu-assist doctor")
        return capture


def _silent(versions: tuple[str, ...], stage: NcuStage, watch: RangeWatch, device: str) -> Profiled | None:
    """Return what is known where nothing was counted; None where that may be for other reasons than their silence."""
    log = stage.log()
    seen = control(stage, device) if all(map(watch.called, versions)) else None
    if seen is None or watch.failures:
        return None
    return Profiled({version: _without_launches(log, seen, watch.called(version)) for version in versions}, {})


def _shared_out(versions: tuple[str, ...], capture: Capture, watch: RangeWatch) -> Profiled:
    """Return what a capture holds of each version: it holds launches of some, so the others' silence is their own."""
    shares, captures = split(capture), {}
    failures = dict(watch.failures)
    for version in versions:
        called, share = watch.called(version), shares.get(version)
        if share is not None:
            launched = {launch.workload for launch in share.launches}
            captures[version] = replace(share, silent=tuple(name for name in called if name not in launched))
        elif called and version not in failures:
            captures[version] = _without_launches(capture.log, capture.report, called)
        else:
            failures.setdefault(version, "profile: no call of it came to its end")
    return Profiled(captures, failures)


def _without_launches(log: str, report: Report, workloads: tuple[str, ...]) -> VersionCapture:
    """Return the capture of a version that launched nothing; ``report`` is of others that ncu saw beside it."""
    nothing = report.metrics.iloc[:0]
    return VersionCapture((), nothing, b"", log, report.device, toolchain_of(report), workloads)


def _merged(one: Profiled, other: Profiled) -> Profiled:
    return Profiled(one.captures | other.captures, one.failures | other.failures, other.interrupted)


def _finished(stage: NcuStage, watch: RangeWatch) -> dict[str, VersionCapture]:
    """Return the versions that an interrupted process had finished on every workload."""
    rest = stage.rest()
    captures = split(rest) if rest else {}
    return {version: capture for version, capture in captures.items() if watch.is_finished(version)}


def _relative(path: Path, root: Path) -> Path:
    """Return ``path`` relative to the folder that ncu starts in: absolute paths would stand in the report."""
    return Path(os.path.relpath(path, root))


def split(capture: Capture) -> dict[str, VersionCapture]:
    """Return each version's share of a capture, by the NVTX ranges that its launches stand in."""
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
        toolchain=toolchain_of(capture.report),
    )
