"""The child's work on one request: load the versions, check and profile them, record what fails and go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from ncu_assist.backends import BACKENDS
from ncu_assist.backends.base import Call
from ncu_assist.backends.python import add_to_path, import_file, measured
from ncu_assist.harness import accelerator, events, results
from ncu_assist.harness.check import check
from ncu_assist.harness.events import RANGE, Event, range_name
from ncu_assist.harness.facts import Nvml, Placement, device_facts, gpu_uuid, link_facts, toolchain
from ncu_assist.harness.problem import Problem, ReferenceProblem
from ncu_assist.harness.request import Artifact, HarnessRequest
from ncu_assist.record import Check
from ncu_assist.spec import Workload
from ncu_assist.spec_file import read_kernel

WARMUP_CALLS = 2  # the first compiles and loads, the second finds everything in place


def profile(call: Call, version: str, problem: Problem, seed: int, repeats: int) -> None:
    """Warm up outside the ranges, then call inside them, each time in its own, everything before and after finished."""
    inputs, outputs, integers = problem.inputs(seed), problem.outputs(), problem.workload.integers
    call = measured(call)
    for _ in range(WARMUP_CALLS):
        call(inputs, outputs, integers)
    accelerator.synchronize(problem.device)
    for repeat in range(repeats):
        with ranges(range_name(version, problem.workload.name, repeat), problem.device):
            call(inputs, outputs, integers)
            accelerator.synchronize(problem.device)


@contextmanager
def ranges(name: str, device: str) -> Iterator[None]:
    """Stand in the two NVTX ranges of a profiled call for the length of a with block; on a CPU there are none."""
    if device != "cuda":
        yield
        return
    torch.cuda.nvtx.range_push(RANGE)
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_pop()


class ContextLost(Exception):
    """A version left the GPU unusable for this process; it was reported, and the process must end."""


class HarnessSession:
    """One child process. Results that an earlier child left in the request's folder are not made again."""

    def __init__(self, request: HarnessRequest) -> None:
        self.request = request
        self.out = Path(request.out)
        self.device = request.settings.device
        self.kernel = read_kernel(Path(request.kernel_folder))
        self.nvml = Nvml(gpu_uuid(self.device))
        self.placement = Placement()
        self.calls: dict[str, Call] = {}
        add_to_path(self.kernel.folder)

    @cached_property
    def _module(self) -> Any:
        """reference.py, imported when it is first asked for: an exam has none."""
        return import_file(self.kernel.reference)

    def facts(self) -> results.MeasurementFacts:
        """Return where and with what this child measures."""
        memory = self.placement.noted(link_facts(self.nvml))
        return results.MeasurementFacts(
            toolchain(self.request.nvcc), device_facts(self.device, self.nvml), host_memory=memory
        )

    def load(self) -> None:
        """Load every version that has not failed."""
        failed = {f.version for f in self._earlier_failures() if f.everywhere}
        for artifact in self.request.artifacts:
            if artifact.version not in failed:
                self.attempt(Event("begin", "load", artifact.version), partial(self._load, artifact))

    def problems(self) -> Iterator[Problem]:
        """Yield the workloads asked for, in the order of kernel.toml."""
        for workload in self.kernel.workloads:
            if workload.name in self.request.workloads:
                yield Problem(self.kernel, workload, self._module, self.device, self.placement)

    def versions(self, workload: Workload) -> list[str]:
        """Return the versions to run on a workload: loaded, serving its dtype, not skipped, not failed on it."""
        failed = {(f.version, f.workload) for f in self._earlier_failures()}
        unwanted = failed | set(self.request.skip)
        names = [v.name for v in self.kernel.versions if v.serves(workload) and v.name in self.calls]
        return [name for name in names if (name, workload.name) not in unwanted]

    def attempt(self, begin: Event, action: Callable[[], None]) -> str:
        """Announce and do a piece of work on one version; return why it failed, empty if it did not.

        Raises ContextLost if the GPU cannot be used any more, ReferenceProblem if the version is not to blame.
        """
        events.emit(begin)
        try:
            action()
            accelerator.synchronize(self.device)
        except ReferenceProblem:
            raise
        except Exception as error:
            return self.failed(begin, error)
        events.emit(Event("end", begin.stage, begin.version, begin.workload))
        return ""

    def failed(self, begin: Event, error: Exception) -> str:
        """Report and record that a version failed with an exception, and return it in words."""
        reason = accelerator.describe(error)
        lost = accelerator.is_dead(self.device)
        kind: events.Kind = "fatal" if lost else "failed"
        events.emit(Event(kind, begin.stage, begin.version, begin.workload, text=reason))
        if lost:
            raise ContextLost(reason) from error
        if begin.stage != "check":  # a failed check is a result
            everywhere = begin.stage == "load"
            failure = results.VersionFailure(begin.version, begin.stage, begin.workload, reason, everywhere)
            results.append_failure(self.out, failure)
        error.__traceback__ = None  # its frames hold tensors
        accelerator.release()
        return reason

    def _earlier_failures(self) -> tuple[results.VersionFailure, ...]:
        """A profiler that starts the same request again wants every version tried again."""
        return () if "profile" in self.request.settings.stages else results.read_failures(self.out)

    def _load(self, artifact: Artifact) -> None:
        self.calls[artifact.version] = BACKENDS[artifact.backend].load(Path(artifact.path), self.kernel)


def run_check(session: HarnessSession) -> None:
    """Check every version on every workload and record each outcome."""
    done = {(v, c.workload) for v, checks in results.read_checks(session.out).items() for c in checks}
    todo = [
        (p, v) for p in session.problems() for v in session.versions(p.workload) if (v, p.workload.name) not in done
    ]
    for index, (problem, version) in enumerate(todo, 1):
        begin = Event("begin", "check", version, problem.workload.name, index, len(todo))
        outcomes: list[Check] = []
        reason = session.attempt(begin, partial(_check, session, problem, version, outcomes))
        failed = Check(problem.workload.name, False, reason, session.request.seeds, None, None)
        results.append_check(session.out, version, failed if reason else outcomes[0])


def run_profile(session: HarnessSession) -> None:
    """Run every version on every workload inside its NVTX ranges, as often as asked."""
    todo = [(p, v) for p in session.problems() for v in session.versions(p.workload)]
    for index, (problem, version) in enumerate(todo, 1):
        begin = Event("begin", "profile", version, problem.workload.name, index, len(todo))
        call, request = session.calls[version], session.request
        repeats = request.settings.profile_repeats
        session.attempt(begin, partial(profile, call, version, problem, request.seeds[0], repeats))
        accelerator.release()  # ncu saves memory on the device, in system memory and slowly where there is no room


def _check(session: HarnessSession, problem: Problem, version: str, outcomes: list[Check]) -> None:
    request, draws_own = session.request, session.kernel.version(version).draws_own
    outcomes.append(check(session.calls[version], problem, request.seeds, request.settings.repeats, draws_own))
