"""The stages of `ceilings`: build the kernels, time them in one child, count them in two under ncu."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.backends.cuda import Source, compile_sources
from ncu_assist.backends.nvcc import find_arch, find_nvcc
from ncu_assist.errors import NcuAssistError, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.harness import client
from ncu_assist.harness.ceilings import plan
from ncu_assist.harness.events import Event, parse
from ncu_assist.harness.request import DEVICE_SOURCE, write_request
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.ncu.log import ProfiledLaunch
from ncu_assist.pipeline.measuring import ncu_stage
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project

if TYPE_CHECKING:
    from ncu_assist.ncu.report import Report

CHILD = "ncu_assist.harness.ceilings"
SOURCES = Path(plan.__file__).parent
KERNELS = ("memory", "pipes", "tensor")
WGMMA_ARCH = {"sm_90": "sm_90a", "sm_90a": "sm_90a"}  # wgmma is in no other architecture
SILENCE_S = 120.0
STDERR_TAIL = 2000  # characters


def probes_sha256() -> str:
    """Return the hash of what measures: the kernels, and the plan of sizes and repeats."""
    every = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cu", ".py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in every)).hexdigest()


@dataclass(frozen=True)
class Built:
    """The libraries that compiled, by the name of their source, and what became of the others."""

    libraries: dict[str, str]
    nvcc: str
    problem: str


@dataclass(frozen=True)
class Workshop:
    """Where the stages work: in a folder below the project's cache, on the executor's GPU."""

    project: Project
    folder: Path
    executor: Executor
    reporter: Reporter

    def build(self) -> Built:
        """Compile our kernels for the GPU here. Raises EnvironmentProblem without a compiler."""
        self.reporter.status("building the kernels")
        out, arch = self.project.work / "build" / "ceilings", find_arch()
        outcomes = compile_sources([Source(n, SOURCES / f"{n}.cu", SOURCES) for n in KERNELS], out)
        if arch in WGMMA_ARCH:
            wgmma = [Source("wgmma", SOURCES / "wgmma.cu", SOURCES)]
            outcomes |= compile_sources(wgmma, out, arch=WGMMA_ARCH[arch])
        harness = self.project.work / "build" / "harness"
        outcomes |= compile_sources([Source("device", DEVICE_SOURCE, DEVICE_SOURCE.parent)], harness)
        libraries = {name: str(o.artifact) for name, o in outcomes.items() if o.artifact is not None}
        broken = [f"{name}.cu does not compile:\n{o.log.strip()}" for name, o in outcomes.items() if not o.artifact]
        return Built(libraries, find_nvcc().version, "\n".join(broken))

    def request(self, name: str, mode: plan.Mode, probes: tuple[plan.Probe, ...], built: Built) -> plan.CeilingsRequest:
        """Return a request of this name, written into a folder of its own."""
        made = plan.CeilingsRequest(mode, probes, built.libraries, built.nvcc, str((self.folder / name).resolve()))
        write_request(made)
        return made

    def time(self, request: plan.CeilingsRequest) -> None:
        """Run a request by events. Raises what the child says, and StageFailed where it crashed or hung."""
        watch = client.Watch(self._show, SILENCE_S)
        done = self.executor.run(
            [sys.executable, "-m", CHILD, str(request.path)],
            env=client.child_environment(),
            cwd=self.project.root,
            on_line=watch.line,
            is_stuck=watch.is_stuck,
        )
        if watch.problem is not None:
            raise client.ERRORS.get(watch.problem.exit_code, NcuAssistError)(watch.problem.text, watch.problem.hint)
        if done.exit_code != 0:
            words = f"{client.what_happened(done, watch.limit_s)}\n{done.stderr[-STDERR_TAIL:].strip()}"
            at = f" at {watch.current.version}" if watch.current else ""
            raise StageFailed(f"the measuring process{at} {words}".rstrip(), "ncu-assist doctor")

    def count(self, request: plan.CeilingsRequest, metrics: tuple[str, ...]) -> Report:
        """Run a request under ncu with the flags of `profile`, these metrics instead of its set; return the report."""
        stage = ncu_stage(self.project, Path(request.out), self.executor, ProfileOptions(metrics=metrics))
        stage = replace(stage, limits=replace(stage.limits, silence_s=SILENCE_S))
        path = os.path.relpath(request.path, self.project.root)
        total = sum(probe.samples for probe in request.probes)
        return stage.run([sys.executable, "-m", CHILD, path], self._problems(), self._launches(total)).report

    def _show(self, event: Event) -> None:
        if event.event == "begin":
            self.reporter.status(f"events: {event.index} of {event.total} · {in_words(event.version)}")

    def _problems(self) -> Callable[[str], None]:
        def line(text: str) -> None:
            event = parse(text)
            if event is not None and event.event == "problem":
                self.reporter.note(event.text)

        return line

    def _launches(self, total: int) -> Callable[[ProfiledLaunch], bool]:
        def launch(one: ProfiledLaunch) -> bool:
            self.reporter.status(f"ncu: launch {one.index + 1} of {total} · {one.name}")
            return False

        return launch


def in_words(probe_id: str) -> str:
    """Return which probe an id is of, for people."""
    kind, name, size = probe_id.split(plan.SEPARATOR)
    return f"{kind} {name}" + (f" {int(size) >> 20} MiB" if int(size) else "")
