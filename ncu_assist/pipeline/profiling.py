"""Profile all versions of a kernel in one ncu process; if that dies, one by one, so that the culprit is named."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.harness import events
from ncu_assist.harness.client import only, profile_command
from ncu_assist.harness.request import Request
from ncu_assist.ncu import report_file
from ncu_assist.ncu.log import ProfiledLaunch
from ncu_assist.pipeline.ncu_stage import Capture, NcuStage
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.record import Device, Launch

if TYPE_CHECKING:
    import pandas as pd

STARTING = "ncu: starting"
RANGE_SEPARATOR = "|"  # harness.profile names a range `version|workload`


@dataclass(frozen=True)
class VersionCapture:
    """One version's share of a capture: its launches renumbered from 0, their metrics, a report of just these."""

    launches: tuple[Launch, ...]
    metrics: pd.DataFrame
    data: bytes
    log: str
    device: Device | None
    ncu_version: str | None


@dataclass(frozen=True)
class Profiled:
    """What came of profiling: captures by version, and for the others what went wrong."""

    captures: dict[str, VersionCapture]
    failures: dict[str, str]
    interrupted: bool = False


def profile_versions(
    request: Request, versions: tuple[str, ...], stage: NcuStage, max_launches: int, reporter: Reporter
) -> Profiled:
    """Profile versions of a request in one ncu process; if that fails, each in its own.

    Raises EnvironmentProblem for what would meet every version alike; what only one meets is in ``failures``.
    """
    request = replace(request, settings=replace(request.settings, stages=("profile",)))
    attempt = _Attempt(request, stage, max_launches, reporter)
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
    request: Request
    stage: NcuStage
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
                one = Profiled({}, {version: f"profile: {error.message}"})
            all_of_them = _merged(all_of_them, one)
            if one.interrupted:
                break
        return all_of_them

    def together(self, versions: tuple[str, ...]) -> Profiled:
        """Profile versions in one process. Raises whatever NcuStage.run raises."""
        part = only(self.request, versions)
        stage = replace(self.stage, work=_relative(Path(part.out), self.stage.root))
        watch = _RangeWatch(len(versions), len(part.workloads), self.max_launches, self.reporter)
        self.reporter.status(STARTING)
        try:
            shares = split(stage.run(profile_command(_relative(part.path, stage.root)), watch.line, watch.launch))
        except KeyboardInterrupt:
            return Profiled(_finished(stage, watch), watch.failures, interrupted=True)
        silent = [v for v in versions if v not in shares and v not in watch.failures]
        failures = watch.failures | dict.fromkeys(silent, "profile: it launched no kernel")
        return Profiled({version: shares[version] for version in versions if version in shares}, failures)


def _merged(one: Profiled, other: Profiled) -> Profiled:
    return Profiled(one.captures | other.captures, one.failures | other.failures, other.interrupted)


def _finished(stage: NcuStage, watch: _RangeWatch) -> dict[str, VersionCapture]:
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
    for launch in capture.report.launches:
        version, _, workload = launch.ranges[-1].partition(RANGE_SEPARATOR) if launch.ranges else ("", "", "")
        owners.setdefault(version, []).append(replace(launch, workload=workload))
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
        ncu_version=capture.report.ncu_version,
    )


class _RangeWatch:
    """Turns the child's events and ncu's log into one live line, and counts the launches of a call."""

    def __init__(self, versions: int, workloads: int, max_launches: int, reporter: Reporter) -> None:
        self._ranges, self._workloads = versions * workloads, workloads
        self._max_launches, self._reporter = max_launches, reporter
        self._ended: list[str] = []
        self._started = time.monotonic()
        self._number, self._name, self._launches = 0, "", 0
        self.failures: dict[str, str] = {}

    def line(self, text: str) -> None:
        event = events.parse(text)
        if event is None:
            return
        if event.event == "begin" and event.stage == "profile":
            self._number, self._launches = self._number + 1, 0
            self._name = f"{event.version.split('_', 1)[0]} {event.workload}"
            self._show("warming up")
        elif event.event == "end":
            self._ended.append(event.version)
        elif event.event in ("failed", "fatal"):
            self.failures[event.version] = f"profile: {event.text}"

    def launch(self, launch: ProfiledLaunch) -> bool:
        done = f", {launch.passes} passes" if launch.passes is not None else ""
        self._launches += launch.passes is not None
        self._show(f"{launch.name} {launch.percent} %{done}")
        return self._launches > self._max_launches

    def is_finished(self, version: str) -> bool:
        """Return whether a version was profiled on all its workloads."""
        return self._ended.count(version) == self._workloads

    def _show(self, step: str) -> None:
        elapsed = time.monotonic() - self._started
        whole = elapsed / self._number * self._ranges if self._number else 0.0
        estimate = f" of about {whole:.0f}" if self._number > 1 else ""
        self._reporter.status(
            f"ncu: {self._number} of {self._ranges} · {self._name} · {step} · {elapsed:.0f}{estimate} s"
        )
