"""Who proves drafts by measuring them, and makes those that are kept the next version of their kernel."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ncu_assist.executors.sandbox import choose_runner
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.doctor import chosen_gpu, query_gpus
from ncu_assist.pipeline.ncu_stage import NcuLimits
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.store.draft_records import Proof
from ncu_assist.store.drafts import BUILD_LOG, DraftArchive, StoredDraft, runs_below
from ncu_assist.suggest.accepting import make_version
from ncu_assist.suggest.drafting import DraftTask
from ncu_assist.suggest.proof.deciding import Fate
from ncu_assist.suggest.proof.runs import DraftProfiler, log_of
from ncu_assist.suggest.proof.stages import ProofRun
from ncu_assist.suggest.proof.workspace import ProofSetup, ProofWorkspace, open_workspace, set_up
from ncu_assist.suggest.request import ProofOptions
from ncu_assist.suggest.rounds import ProvedDraft

GPU = "cuda"


@dataclass
class SandboxProver:
    """Proves drafts of a project as ``options`` says; each in a workspace of its own, which may be opened before."""

    project: Project
    options: ProofOptions
    reporter: Reporter
    _workspaces: ExitStack = field(default_factory=ExitStack)
    _workspace: ProofWorkspace | None = None

    def open(self) -> None:
        """Start what the next proof needs, while there is no draft yet."""
        if self._workspace is None:
            self._workspace = self._workspaces.enter_context(open_workspace(self.project, self.options))

    def close(self) -> None:
        """End what was opened."""
        self._workspace = None
        self._workspaces.close()

    def check(self) -> None:
        """Raise EnvironmentProblem where nothing can be proved here: no GPU, no way to shut a draft in."""
        if self.options.device == GPU:
            chosen_gpu(query_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
        if self.options.sandboxed:
            choose_runner()

    def prove(self, task: DraftTask, stored: StoredDraft) -> ProvedDraft:
        """Measure a draft against its parent and return it with its fate, archived beside it what was measured.

        Raises EnvironmentProblem where this machine cannot do that, StageFailed where neither draft nor machine is to
        blame: the parent does not build, reference.py fails.
        """
        self.open()
        try:
            assert self._workspace is not None
            setup = set_up(self._workspace, task, stored)
            run = self._proof_run(setup)
            fate = run.run()
            proved = self._archived(setup, run, fate)
        finally:
            self.close()
        word = proved.draft.fate
        self.reporter.note(f"draft {proved.draft.id}: {word}" + (f": {fate.reason}" if fate.reason else ""))
        return ProvedDraft(proved, run.repair)

    def keep(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, Path]:
        """Write a draft as the next version, and its run into the archive. Raises as ``accept`` does."""
        return make_version(self.project, task.kernel.folder, stored)

    def _proof_run(self, setup: ProofSetup) -> ProofRun:
        settings, workspace = self.project.settings, setup.workspace
        limits = NcuLimits(settings.profile_timeout_s, settings.version_timeout_s)
        profiler = DraftProfiler(workspace.executor, ProfileOptions(), limits, settings.max_launches, self.reporter)
        return ProofRun(setup, profiler, self.reporter, Proof((), workspace.sandbox, setup.workload))

    def _archived(self, setup: ProofSetup, run: ProofRun, fate: Fate) -> StoredDraft:
        """Put the fate and what it rests on beside the draft."""
        proof = run.proof
        if run.runs is not None:
            timings = [stored.run.timing(setup.workload) for stored in run.runs]
            parent_ns, draft_ns = (timing.median_ns if timing else None for timing in timings)
            proof = replace(proof, parent_ns=parent_ns, draft_ns=draft_ns)
        build = run.builds.get(setup.trial.draft.name)
        files = runs_below(setup.workspace.work / "reports")
        files |= (
            {BUILD_LOG: log_of(build, setup.workspace.work).encode("utf-8", "replace")} if build and build.log else {}
        )
        draft = replace(setup.stored.draft, fate=fate.word, reason=fate.reason, proof=proof)
        return DraftArchive(self.project.reports).update(setup.stored, draft, files)
