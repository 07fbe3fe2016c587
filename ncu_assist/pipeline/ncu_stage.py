"""One ncu process over one command: lock, environment, live progress, limits; a whole report, or why not."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.errors import DamagedData, EnvironmentProblem, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local, Warm
from ncu_assist.harness.client import TimeLimits
from ncu_assist.ncu.command import ProfileOptions, child_environment, find_ncu, profile_argv, set_words
from ncu_assist.ncu.failures import LogFollower, ProfiledLaunch, profiling_error, read_log
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.project import Project
from ncu_assist.steps import minutes

if TYPE_CHECKING:
    from ncu_assist.process import Completed

# What a launch takes under ncu by its section set, on an H200 (docs/sources.md, Cost); other sets lie between.
LAUNCH_S = {"full": 1.8, "basic": 0.45}
MORE_S = {"full": 1.1}  # that a launch may take beyond it: versions of softmax took 2.9 s each on an H200
NCU_START_S = 9.4  # a process under ncu before its first launch: python, torch and the GPU (docs/sources.md, Cost)
WORTH_SAYING_S = 10.0
REPORT, LOG = "report.ncu-rep", "ncu.log"


@dataclass(frozen=True)
class Capture:
    """What one ncu process left: the report's bytes, what was read from it, ncu's own log."""

    data: bytes
    report: Report
    log: str


@dataclass(frozen=True)
class NcuStage:
    """Runs ncu on commands in ``root``, with results below ``work``, which is relative to ``root``."""

    root: Path
    work: Path
    executor: Executor
    options: ProfileOptions
    limits: TimeLimits

    @property
    def folder(self) -> Path:
        """Where the results are."""
        return self.root / self.work

    def begun(self, executor: Local) -> NcuStage:
        """Start ncu over a measuring process, and return the stage whose first ``run`` hands that process its request.

        The process imports torch, which takes most of the time before a first launch, and leaves the GPU alone until
        then. Its results are below ``work`` of this stage. ``close`` ends it if it is not wanted. Raises OSError where
        nothing can be written.
        """
        warm = Warm("", executor, under=tuple(self.argv(())))
        begun = replace(self, executor=warm)
        try:
            (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
            warm.start(self.environment(), self.root)
        except BaseException:
            warm.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return begun

    def close(self) -> None:
        """End an ncu that has begun; if it got no request, its folder goes too."""
        if isinstance(self.executor, Warm):
            is_unused = self.executor.is_waiting
            self.executor.close()
            if is_unused:
                shutil.rmtree(self.folder, ignore_errors=True)

    def at(self, folder: Path) -> NcuStage:
        """Return the stage with its results below ``folder``; an ncu that has begun keeps its own.

        One that would collect something else is ended: two at once disturb each other.
        """
        if isinstance(self.executor, Warm) and self.executor.under and self.executor.is_waiting:
            if self.executor.under == tuple(self.argv(())):
                return self
            self.close()
        return replace(self, work=Path(os.path.relpath(folder, self.root)))

    def argv(self, command: Sequence[str], ncu: Path | None = None) -> list[str]:
        """Return the exact command line of ncu, of the one found here unless one is given."""
        return profile_argv(ncu or find_ncu(), self.options, self.work / REPORT, self.work / LOG, command)

    def environment(self) -> dict[str, str]:
        """Return the exact environment of ncu: ours, with a private TMPDIR and without what disturbs a profiler."""
        return child_environment(os.environ, self.folder / "tmp", None)

    def in_words(self, command: Sequence[str]) -> str:
        """Return folder, changed environment and command line as a shell would take them."""
        env = self.environment()
        changed = [f"{key}={shlex.quote(value)}" for key, value in env.items() if os.environ.get(key) != value]
        removed = [f"-u {key}" for key in os.environ if key not in env]
        line = shlex.join(self.argv(command, _any_ncu()))
        return f"cd {shlex.quote(str(self.root))}\nenv {' '.join([*removed, *changed])} \\\n  {line}"

    def run(
        self, command: Sequence[str], on_line: Callable[[str], None], on_launch: Callable[[ProfiledLaunch], bool]
    ) -> Capture:
        """Profile a command and return its capture.

        ``on_line`` gets the program's stdout; ``on_launch`` each step of ncu, and ends the process by returning True.
        Raises StageFailed or EnvironmentProblem when ncu or the program fails, DamagedData for a report that is less
        than ncu's log says.
        """
        watch = _Watch(LogFollower(self.folder / LOG), on_line, on_launch, self.limits.silence_s)
        (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
        done = self.executor.run(
            self.argv(command),
            env=self.environment(),
            cwd=self.root,
            timeout_s=self.limits.total_s,
            on_line=watch.line,
            is_stuck=watch.is_stuck,
        )
        watch.follow()
        return self._capture(done, watch)

    def rest(self) -> Capture | None:
        """Return what an interrupted process left, for ncu writes what it finished; None if that is nothing."""
        path, log_path = self.folder / REPORT, self.folder / LOG
        if not path.is_file() or not log_path.is_file():
            return None
        log = log_path.read_text(errors="replace")
        try:
            return Capture(path.read_bytes(), read_report(path, expected_launches=len(read_log(log).profiled)), log)
        except DamagedData:
            return None

    def log(self) -> str:
        """Return ncu's own words of the last run; empty where it left none."""
        path = self.folder / LOG
        return path.read_text(errors="replace") if path.is_file() else ""

    def _capture(self, done: Completed, watch: _Watch) -> Capture:
        log, path = self.log(), self.folder / REPORT
        if watch.stopped:
            raise StageFailed(watch.stopped)
        if done.timed_out:
            raise StageFailed(f"profiling took longer than {self.limits.total_s:.0f} s", "profile fewer workloads")
        if done.exit_code != 0 or not path.is_file():
            raise profiling_error("\n".join((log, done.stdout, done.stderr)), done.exit_code)
        report = read_report(path, expected_launches=len(read_log(log).profiled))
        return Capture(path.read_bytes(), report, log)


def ncu_stage(project: Project, folder: Path, executor: Executor, options: ProfileOptions) -> NcuStage:
    """Return the ncu stage that works in ``folder``, with the limits of the project's settings."""
    limits = TimeLimits(project.settings.profile_timeout_s, project.settings.version_timeout_s)
    return NcuStage(project.root, Path(os.path.relpath(folder, project.root)), executor, options, limits)


def cost_words(
    options: ProfileOptions, launches: float, seconds: float | None = None, guessed: float = 0, is_counted: bool = True
) -> str:
    """Return what so many launches cost under ncu, before they begin; nothing where that is a few seconds.

    ``seconds`` is what earlier runs took for these launches; None where none tells. The start of ncu is added. Of
    launches that are ``guessed``, as no run of them tells, it may be more; without ``is_counted`` a call of a version
    that was not profiled before is taken for one launch.
    """
    if seconds is None:
        seconds, guessed = launches * LAUNCH_S.get(options.section_set, LAUNCH_S["full"]), launches
    if options.metrics or seconds < WORTH_SAYING_S:
        return ""
    slower = seconds + guessed * MORE_S.get(options.section_set, 0.0)
    least, most = (minutes(NCU_START_S + each) for each in (seconds, slower))
    words = f"about {least}" if least == most else f"{least} to {most}"
    more = "" if is_counted else ", more if a call makes several launches"
    return f"{launches:.0f} launches under ncu {' '.join(set_words(options))}, {words}{more}"


def _any_ncu() -> Path:
    """Return the ncu found here, or just its name: what it would be told can be said without one."""
    try:
        return find_ncu()
    except EnvironmentProblem:
        return Path("ncu")


class _Watch:
    """Listens to program and log, and says when to end them."""

    def __init__(
        self,
        follower: LogFollower,
        on_line: Callable[[str], None],
        on_launch: Callable[[ProfiledLaunch], bool],
        silence_s: float,
    ) -> None:
        self._follower, self._on_line, self._on_launch = follower, on_line, on_launch
        self._silence_s = silence_s
        self._heard = time.monotonic()
        self.stopped = ""

    def line(self, text: str) -> None:
        self._heard = time.monotonic()
        self._on_line(text)

    def follow(self) -> None:
        """Take what the log says since the last call."""
        for launch in self._follower.poll():
            self._heard = time.monotonic()
            if self._on_launch(launch):
                self.stopped = "stopped: one call made more launches than the limit allows; does it autotune?"

    def is_stuck(self) -> bool:
        self.follow()
        if time.monotonic() - self._heard > self._silence_s:
            self.stopped = f"nothing happened for {self._silence_s:.0f} s under ncu"
        return bool(self.stopped)
