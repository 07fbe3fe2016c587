"""The live line of a profile: what the child announces and what ncu logs, as one line with an estimate."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from ncu_assist.harness import events
from ncu_assist.ncu.log import ProfiledLaunch
from ncu_assist.pipeline.reporter import Reporter


@dataclass(frozen=True)
class Expected:
    """What is thought to come of profiling a version: on how many workloads, with how many launches on each.

    The launches are as far as they are known from earlier runs: ncu takes the same time for every launch, about two
    seconds with the full set, and a chain of ten takes ten times as long.
    """

    workloads: int = 1
    launches: float = 1.0


class RangeWatch:
    """Follows the calls that ncu profiles: which version is at work, how many launches it made, which is finished."""

    def __init__(self, expected: Mapping[str, Expected], max_launches: int, reporter: Reporter) -> None:
        self._expected, self._max_launches, self._reporter = expected, max_launches, reporter
        self._started = time.monotonic()
        self._begun: list[str] = []
        self._ended: list[tuple[str, str]] = []
        self._launches = 0
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
            self._launches = 0
            self._name = f"{event.version.split('_', 1)[0]} {event.workload}"
            self._show("warming up")
        elif event.event == "end":
            self._ended.append((event.version, event.workload))

    def launch(self, launch: ProfiledLaunch) -> bool:
        """Take one step of ncu's log; return whether this call made more launches than it may."""
        done = f", {launch.passes} passes" if launch.passes is not None else ""
        self._launches += launch.passes is not None
        self._show(f"{launch.name} {launch.percent} %{done}")
        return self._launches > self._max_launches

    def is_finished(self, version: str) -> bool:
        """Return whether a version was profiled on all its workloads."""
        return len(self.called(version)) == self._of(version).workloads

    def _of(self, version: str) -> Expected:
        return self._expected.get(version, Expected())

    def called(self, version: str) -> tuple[str, ...]:
        """Return the workloads on which the calls of a version came to their end."""
        return tuple(workload for name, workload in self._ended if name == version)

    def _show(self, step: str) -> None:
        number, ranges = len(self._begun), sum(one.workloads for one in self._expected.values())
        elapsed = time.monotonic() - self._started
        self._reporter.status(
            f"ncu: {number} of {ranges} · {self._name} · {step} · {elapsed:.0f}{self._estimate(elapsed)} s"
        )

    def _estimate(self, elapsed: float) -> str:
        """Return the whole time if launches go on as they did; nothing before the first is done."""
        done = sum(self._of(version).launches for version, _ in self._ended) + self._launches
        if not self._begun or done == 0:
            return ""
        if len(self._ended) == len(self._begun):  # the launches of the last call are among the expected ones
            done -= self._launches
        whole = sum(one.launches * one.workloads for one in self._expected.values())
        return f" of about {max(elapsed, elapsed * whole / done):.0f}"
