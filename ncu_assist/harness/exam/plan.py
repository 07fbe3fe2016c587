"""What an exam consists of: sealed sources, questions with secret seeds, folders; made before anything runs."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist.backends import backend_of
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.cuda import compile_library
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.harness.exam.folders import Folders
from ncu_assist.harness.exam.paper import ARTIFACTS, PUBLIC_SEED, Paper, Purpose, Question, Secret
from ncu_assist.harness.exam.sealing import sealed_kernel
from ncu_assist.harness.exam.workloads import examined_workloads, refuse_host_inputs
from ncu_assist.harness.request import (
    DEVICE_SOURCE,
    SEED_LIMIT,
    Artifact,
    HarnessRequest,
    HarnessSettings,
    Stage,
    write_request,
)
from ncu_assist.spec import Kernel, Version


@dataclass(frozen=True)
class Plan:
    """An exam of ``draft`` beside ``parent``. ``kernel`` is the sealed one: build it, with the project's build folder.

    ``settings.stages`` is not used: a paper says its own.
    """

    kernel: Kernel
    parent: str
    draft: str
    examined: tuple[str, ...]
    settings: HarnessSettings
    bench_id: str
    folders: Folders
    secret: Secret
    work: Path

    @property
    def versions(self) -> tuple[str, ...]:
        """The parent first: what it loads is in place before the draft is."""
        return tuple(dict.fromkeys((self.parent, self.draft)))

    def paper(self, name: str, stages: tuple[Stage, ...]) -> Paper:
        """Write the paper for some stages and return it; who answers it waits until the versions are delivered.

        Builds the bench's device code where it is needed. Raises EnvironmentProblem if that lacks a compiler.
        """
        out = self.folders.out(name)
        out.mkdir(exist_ok=True)  # there already where the child was started before its paper
        times_gpu = self.settings.device == "cuda" and stages != ("profile",)
        request = HarnessRequest(
            kernel_folder=str(self.kernel.folder),
            artifacts=(),
            workloads=tuple(dict.fromkeys(q.workload for q in self.secret.questions)),
            settings=replace(self.settings, stages=stages),
            seeds=(secrets.randbelow(SEED_LIMIT),),  # of the order within a round
            bench_id=self.bench_id,
            out=str(out),
            helpers=self._helpers() if times_gpu else None,
            nvcc=find_nvcc().version if any(self._backend(v) != "python" for v in self.versions) else None,
        )
        file = str(self.folders.paper(name))
        paper = Paper(request, str(self.folders.questions), str(self._artifacts), self.examined, file)
        write_request(paper)
        return paper

    def deliver(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        """Put the versions, all of which were built, where papers expect them; a second time nothing is done."""
        if self._artifacts.is_file():
            return
        artifacts = [self._artifact(version, outcomes[version]) for version in self.versions]
        unfinished = self._artifacts.with_suffix(".tmp")
        unfinished.write_bytes(msgspec.json.encode(artifacts))
        unfinished.replace(self._artifacts)

    @property
    def _artifacts(self) -> Path:
        return self.folders.readable / ARTIFACTS

    def _backend(self, version: str) -> str:
        return backend_of(self.kernel.version(version).path).name

    def _artifact(self, name: str, outcome: BuildOutcome) -> Artifact:
        assert outcome.artifact is not None
        return Artifact(name, self._backend(name), self._inside(outcome.artifact))

    def _helpers(self) -> str:
        return self._inside(compile_library(DEVICE_SOURCE, self.work / "build" / "harness"))

    def _inside(self, file: Path) -> str:
        """Return a built file, copied to where the sandbox can read it unless it lies there."""
        if file.resolve().is_relative_to(self.folders.readable):
            return str(file.resolve())
        target = self.folders.readable / "built" / file.name
        target.parent.mkdir(exist_ok=True)
        return str(shutil.copy2(file, target))


def new_folders(work: Path) -> Folders:
    """Make the folders of an exam below ``work``."""
    folders = Folders((work / "exam" / secrets.token_hex(6)).resolve())
    folders.make()
    return folders


def new_plan(
    kernel: Kernel,
    versions: tuple[Version, Version],
    settings: HarnessSettings,
    work: Path,
    folders: Folders | None = None,
) -> Plan:
    """Plan an exam of parent and draft below ``work`` and write what it needs, secret and sealed, into ``folders``.

    The draft lies where it was drafted; its file is named like a version and called so in the exam. Raises UsageProblem
    for a kernel with inputs in memory of the host.
    """
    refuse_host_inputs(kernel)
    parent, draft = versions
    folders = folders or new_folders(work)
    bench_id = folders.root.name
    sealed = sealed_kernel(kernel, (parent, draft), folders.readable)
    questions = _questions(kernel, draft, settings.trials)
    secret = Secret(
        kernel_folder=str(kernel.folder.resolve()),
        device=settings.device,
        questions=questions,
        seeds=(PUBLIC_SEED, *(1 + secrets.randbelow(SEED_LIMIT - 1) for _ in questions[1:])),
        set_to=str(folders.questions),
        folder=str(folders.secret),
    )
    write_request(secret)
    examined = (draft.name,)
    return Plan(sealed, parent.name, draft.name, examined, settings, bench_id, folders, secret, work)


def _questions(kernel: Kernel, draft: Version, trials: int) -> tuple[Question, ...]:
    default, *others = examined_workloads(kernel, draft)
    further: tuple[Purpose, ...] = ("bench", "profile")
    asked: list[tuple[str, Purpose]] = [(default.name, "check")] * trials
    asked += [(default.name, purpose) for purpose in further]
    asked += [(workload.name, "check") for workload in others for _ in range(trials)]
    return tuple(Question(number, workload, purpose) for number, (workload, purpose) in enumerate(asked))
