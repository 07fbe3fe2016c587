"""The proof of a draft: it is measured beside its parent, stage by stage, and ends with the first that it fails."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.environment import gpu_here
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox import Sandbox, choose_runner, remove, sandbox_for
from ncu_assist.harness.client import TimeLimits
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.client import EventSummary, Exam, Examined, NotBuilt, command
from ncu_assist.harness.exam.plan import ExamFolders, ExamPlan, new_exam_folders, new_exam_plan
from ncu_assist.harness.request import HarnessSettings, write_request
from ncu_assist.harness.sanitizer import Sanitized, SanitizerRequest, find_sanitizer, sanitize, sanitized_workloads
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.archiving import Measurement, save
from ncu_assist.pipeline.gpu_workers import GpuWorkers
from ncu_assist.pipeline.ncu_stage import NcuStage
from ncu_assist.pipeline.profiling import ExpectedLaunches, RangeWatch, VersionCapture, split
from ncu_assist.pipeline.reading import learned_noise
from ncu_assist.project import Project
from ncu_assist.render.words.sanitizer import clean_words, result_words
from ncu_assist.spec import Kernel
from ncu_assist.steps import Reporter
from ncu_assist.store import Store
from ncu_assist.store.drafts import BUILD_LOG, NOT_BUILT, DraftArchive, Proof, ProofStage, StoredDraft, runs_below
from ncu_assist.suggest.drafting import DraftTask
from ncu_assist.suggest.proof.building import NO_SANDBOX, BuiltDraft, DraftBuilds, Outcomes, draft_file, make_trial
from ncu_assist.suggest.proof.judging import (
    Fate,
    RunPair,
    by_exam,
    by_target,
    by_time,
    cheating,
    counted_cheats,
    scores,
    target_moved,
)
from ncu_assist.verdict import Verdict, compare, select

GPU = "cuda"
SANITIZE_S = 60.0  # all tools at once: 6 s in a proof, 8 where a race is found (docs/accuracy.md)
# Faults that a right result hides. racecheck does not see what TMA writes and wgmma reads; synccheck sees an mbarrier
# that nobody waits for.
SANITIZERS = ("memcheck", "racecheck", "synccheck")
EXAM_S = 300.0  # check and bench of a draft: seconds together, unless it hangs


@dataclass(frozen=True)
class ProofOptions:
    """How drafts are proved. Without ``sandboxed`` they run with all rights of the user."""

    sandboxed: bool = True
    rounds: int | None = None  # of the bench; None as the project says
    device: str = "cuda"  # cpu serves tests
    sanitize_s: float | None = None  # the longest under compute-sanitizer; None: a minute on a GPU, nothing on a CPU


@dataclass(frozen=True)
class ProofWorkspace:
    """What one proof works in. ``work`` holds what it leaves behind outside of the archive."""

    project: Project
    options: ProofOptions
    work: Path
    folders: ExamFolders
    executor: Executor
    exam: Exam

    @property
    def limits(self) -> TimeLimits:
        """How long the answers of a draft may take."""
        return TimeLimits(EXAM_S, self.project.settings.version_timeout_s)

    @property
    def sanitize_s(self) -> float:
        """How long a draft may run under compute-sanitizer; 0: not at all."""
        chosen = self.options.sanitize_s
        return (SANITIZE_S if self.options.device == GPU else 0.0) if chosen is None else chosen

    @property
    def sandbox(self) -> str:
        """How a draft is shut in: bwrap, unshare, or none."""
        return self.executor.runner or "" if isinstance(self.executor, Sandbox) else NO_SANDBOX


@contextmanager
def open_workspace(project: Project, options: ProofOptions) -> Iterator[ProofWorkspace]:
    """Start the processes of an exam, which import torch while there is other work to do; all is gone afterwards.

    Raises EnvironmentProblem where drafts cannot be shut in.
    """
    parent = project.work / "proofs"
    parent.mkdir(parents=True, exist_ok=True)
    folders = new_exam_folders(project.work)
    try:
        with (
            tempfile.TemporaryDirectory(dir=parent, prefix="proof-", ignore_cleanup_errors=True) as name,
            Exam(folders, options.device) as exam,
        ):
            work = Path(name).resolve()
            sandboxed = options.sandboxed
            executor = sandbox_for(project.root, (folders.writable,), (folders.readable,)) if sandboxed else Local()
            workspace = ProofWorkspace(project, options, work, folders, executor, exam)
            exam.open(executor, workspace.limits)
            yield workspace
    finally:
        remove(folders.root)


def set_up(workspace: ProofWorkspace, task: DraftTask, stored: StoredDraft) -> tuple[Kernel, ExamPlan]:
    """Write the kernel of a proof into its workspace and plan the exam: from now on its questions are set.

    Raises UsageProblem for a draft that fits no version's name, DamagedData for files that were changed.
    """
    kernel, versions = make_trial(task.kernel, task.parent, draft_file(stored), workspace.work / "trial")
    known, options = workspace.project.settings, workspace.options
    settings = HarnessSettings((), known.check_trials, rounds=options.rounds or known.rounds, device=options.device)
    plan = new_exam_plan(kernel, versions, settings, workspace.project.work, workspace.folders)
    workspace.exam.plan = plan
    return kernel, plan


def sanitize_draft(workspace: ProofWorkspace, plan: ExamPlan, built: BuildOutcome) -> tuple[Sanitized, ...]:
    """Run a draft under tools of compute-sanitizer at once, each in a sandbox of its own, on inputs of the exam.

    The processes of the exam wait meanwhile, and nothing is timed: the lock on the GPU is theirs. Raises
    EnvironmentProblem without compute-sanitizer.
    """
    program, readable = find_sanitizer(), workspace.folders.readable
    asked = tuple(dict.fromkeys(one.workload for one in plan.secret.questions))
    among = [one for one in plan.kernel.workloads if one.name in asked]
    names = tuple(one.name for one in sanitized_workloads(plan.kernel, plan.kernel.version(plan.draft), among))
    artifact, out = plan.artifact(plan.draft, built), readable / "sanitize"
    questions, device = str(workspace.folders.questions), workspace.options.device
    request = SanitizerRequest(str(plan.kernel.folder), artifact, names, 0, str(out), device, questions)
    write_request(request)

    def run(tool: str) -> Sanitized:
        folder = workspace.work / "sanitize" / tool
        folder.mkdir(parents=True)
        local = Local(folder=workspace.work / "sanitize" / f"{tool}-lock")
        sandboxed = workspace.options.sandboxed
        shut_in = replace(sandbox_for(workspace.project.root, (folder,), (readable,)), local=local)
        return sanitize(request, tool, shut_in if sandboxed else local, readable, workspace.sanitize_s, program)

    with ThreadPoolExecutor(len(SANITIZERS)) as pool:
        return tuple(pool.map(run, SANITIZERS))


NCU_FOLDER = "ncu"  # below the folder that can be written to


def profile(workspace: ProofWorkspace, reporter: Reporter) -> tuple[dict[str, VersionCapture], Examined]:
    """Profile the default workload of the exam in a workspace.

    Return the captures by version, of those that launched something, and the graded answers of the profiled calls.
    Raises StageFailed or EnvironmentProblem when ncu or the draft fails.
    """
    exam, settings = workspace.exam, workspace.project.settings
    plan, exam_request, summary = exam.plan, exam.profile_request(), EventSummary(exam.plan.draft)
    watch = RangeWatch(dict.fromkeys(plan.versions, ExpectedLaunches()), settings.max_launches, reporter)

    def line(text: str) -> None:
        summary.line(text)
        watch.line(text)

    folder = plan.folders.writable / NCU_FOLDER
    folder.mkdir(mode=0o700)
    work = Path(os.path.relpath(folder, plan.folders.readable))
    limits = TimeLimits(settings.profile_timeout_s, settings.version_timeout_s)
    stage = NcuStage(plan.folders.readable, work, workspace.executor, ProfileOptions(), limits)
    capture = stage.run(command(exam_request), line, watch.launch)
    return split(capture), exam.grade(exam_request, summary)


NOT_BELIEVED = "right, and faster by the clock of its own process; without counters that is not believed"
NO_BUILD = Fate("rejected", NOT_BUILT)


@dataclass
class ProofRun:
    """A proof under way: ``proof`` is what is known so far, ``repair`` what the draft's author may be told.

    ``built`` waits for the build and returns it.
    """

    workspace: ProofWorkspace
    task: DraftTask
    stored: StoredDraft
    kernel: Kernel
    plan: ExamPlan
    reporter: Reporter
    proof: Proof
    built: Callable[[], BuiltDraft]
    repair: str = ""
    build: BuiltDraft | None = None
    examined: Examined | None = None  # that of the exam; ``captures`` are of ncu, once there are some
    captures: Mapping[str, VersionCapture] = field(default_factory=dict)
    runs: RunPair | None = None
    _built_at: float = 0.0
    _bench_began: float = 0.0

    def run(self) -> Fate:
        """Go through the stages and return the draft's fate. Raises what is the machine's fault, not the draft's."""
        try:
            self._examine()
            self._profile()
            return self._explain()
        except Fate as ended:
            return ended
        finally:
            self._save()

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Time a stage; one that ends the proof is noted with why."""
        self.reporter.status(f"{name}: {self.plan.draft}")
        started, fate = time.monotonic(), None
        try:
            yield
        except Fate as ended:
            fate = ended
            raise
        finally:
            self._note(name, time.monotonic() - started, fate)

    def _note(self, name: str, seconds: float, fate: Fate | None) -> None:
        stage = ProofStage(name, fate is None, round(seconds, 3), fate.reason if fate else "")
        self.proof = replace(self.proof, stages=(*self.proof.stages, stage))

    def _examine(self) -> None:
        """Check and time the draft beside its parent: the process that answers starts while they are built."""
        workspace = self.workspace
        try:
            examined = workspace.exam.measure(self._build, workspace.executor, self._show, workspace.limits)
        except NotBuilt:
            raise self._not_built() from None
        assert self.build is not None
        self.examined = examined
        self._judge(examined)

    def _build(self) -> Outcomes:
        self.build = self.built()
        self._note("build", self.build.seconds, None if self.build.outcome.artifact is not None else NO_BUILD)
        outcomes = self.build.delivered(self.workspace.folders.readable)
        if self.workspace.sanitize_s and all(one.artifact is not None for one in outcomes.values()):
            self._sanitize(outcomes[self.plan.draft])
        self._built_at = time.monotonic()
        return outcomes

    def _sanitize(self, built: BuildOutcome) -> None:
        """Run the draft under compute-sanitizer before it is timed: a race may give right results, this time."""
        self.reporter.status(f"sanitize: {self.plan.draft}")
        started, found = time.monotonic(), list[str]()
        try:
            results = sanitize_draft(self.workspace, self.plan, built)
            found = [result_words(one) for one in results if one.findings]
            said = "; ".join(filter(None, (clean_words(results), *map(result_words, results))))
        except EnvironmentProblem as error:
            said = f"skipped: {error.message}"
            self.reporter.note(f"the draft is not run under compute-sanitizer: {error.message}")
        stage = ProofStage("sanitize", not found, round(time.monotonic() - started, 3), said)
        self.proof = replace(self.proof, stages=(*self.proof.stages, stage))
        if found:
            raise Fate("rejected", "; ".join(found))

    def _not_built(self) -> Exception:
        assert self.build is not None
        if self.build.outcome.artifact is not None:
            parent = self.build.outcomes[self.plan.parent]
            return StageFailed(f"its parent {self.plan.parent} does not build any more:\n{parent.log.strip()}")
        self.repair = self.build.words_for_author()
        return Fate("rejected", NOT_BUILT)

    def _judge(self, examined: Examined) -> None:
        """Note check and bench, which one process did, and end the proof where the draft fails in one of them."""
        ended, fate = time.monotonic(), by_exam(self.plan.draft, examined)
        began = self._bench_began or ended
        self._note("check", began - self._built_at, fate)
        end(fate)
        verdict = self._verdict(examined)
        known = replace(self.proof, verdict=verdict.words, speedup=verdict.speedup)
        self.proof = replace(known, speedup_low=verdict.low, speedup_high=verdict.high)
        fate = by_time(verdict)
        self._note("bench", ended - began, fate)
        end(fate)

    def _show(self, event: Event) -> None:
        if event.stage == "bench" and not self._bench_began:
            self._bench_began = time.monotonic()
        if event.event == "begin" and event.version:
            self.reporter.status(f"{event.stage}: {event.version} {event.workload}")
        elif event.event == "round":
            self.reporter.status(f"bench: round {event.index} of {event.total}")

    def _verdict(self, examined: Examined) -> Verdict:
        samples = examined.measured.samples
        if samples is None:
            raise Fate("rejected", "no time of it was taken")
        workload = self.kernel.default_workload.name
        return compare(*(select(samples, name, workload) for name in (self.plan.parent, self.plan.draft)))

    def _profile(self) -> None:
        with self._stage("profile"):
            try:
                self.captures, examined = profile(self.workspace, self.reporter)
            except EnvironmentProblem as error:
                raise Fate("unproven", f"{NOT_BELIEVED}: {error.message}") from error
            except NcuAssistError as error:
                raise Fate("rejected", f"it cannot be profiled: {error.message}") from error
            end(by_exam(self.plan.draft, examined))

    def _save(self) -> None:
        """Make runs of parent and draft of what was measured, of one bench, for the draft's folder."""
        if self.examined is None or self.runs is not None or self.examined.measured.samples is None:
            return
        measured, kernel, build = self.examined.measured, self.kernel, self.build
        assert build is not None
        names = {check.workload for checks in measured.checks.values() for check in checks}
        names.add(kernel.default_workload.name)
        shared = Measurement(
            kernel=kernel,
            workloads=tuple(w for w in kernel.workloads if w.name in names),
            moment=datetime.now(UTC),
            measured=measured,
            options=ProfileOptions() if self.captures else None,
            command=f"ncu-assist suggest prove {self.stored.draft.id}",
        )
        store = Store(self.workspace.work / "reports")
        notes = {self.plan.parent: ("measured in a proof of a draft, beside it",), self.plan.draft: ()}
        parent, draft = (
            save(store, shared, kernel.version(name), build.log_of(name), self.captures.get(name), own)
            for name, own in notes.items()
        )
        self.runs = parent, draft

    def _explain(self) -> Fate:
        """Judge counters and times, and hold the predictions against them."""
        self._save()
        assert self.runs is not None
        claim, evidence = self.stored.draft.claim, self.task.prompt.evidence
        items, workload, reports = evidence.items, self.kernel.default_workload.name, self.workspace.project.reports
        assert claim is not None
        with self._stage("diff"):
            libraries = evidence.task.libraries_allowed
            for cheat in counted_cheats(self.runs, self.task.parent, workload, libraries, reports):
                raise Fate("rejected", cheating(*cheat))
            learned = learned_noise(Store(reports), self.runs[1].run.device)
            diff = diff_runs(*self.runs, DiffOptions(workload, every=True, learned=learned))
            self.proof = replace(self.proof, scores=scores(claim, items, diff.changes))
            fate = by_target(claim.predictions, target_moved(claim, items, diff.changes))
            end(None if fate.word == "kept" else fate)
        return fate


def end(fate: Fate | None) -> None:
    """Raise the end of a proof where a fate is known."""
    if fate is not None:
        raise fate


@dataclass
class SandboxProver:
    """Proves drafts of a project as ``options`` says; each in a workspace of its own, which may be opened before."""

    project: Project
    options: ProofOptions
    reporter: Reporter
    _workspaces: ExitStack = field(default_factory=ExitStack)
    _workspace: ProofWorkspace | None = None
    _builds: DraftBuilds = field(init=False)

    def __post_init__(self) -> None:
        self._builds = DraftBuilds(self.project, self.options.sandboxed)

    def open(self) -> None:
        """Start what the next proof needs, while there is no draft yet."""
        if self._workspace is None:
            self._workspace = self._workspaces.enter_context(open_workspace(self.project, self.options))

    def begin(self, task: DraftTask, stored: StoredDraft) -> None:
        """Start the build of a draft, which takes no GPU: others are built beside it, or measured."""
        self._builds.begin(task, stored)

    def close(self) -> None:
        """End what was opened and begun."""
        self._close_workspace()
        self._builds.close()

    def _close_workspace(self) -> None:
        self._workspace = None
        self._workspaces.close()

    def check(self) -> None:
        """Raise EnvironmentProblem where nothing can be proved here: no GPU, no way to shut a draft in."""
        if self.options.device == GPU:
            gpu_here()
        if self.options.sandboxed:
            choose_runner()

    def prove(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, str]:
        """Measure a draft against its parent; return it with its fate, and what its author may be told.

        What was measured is archived beside it.

        Raises EnvironmentProblem where this machine cannot do that, StageFailed where neither draft nor machine is to
        blame: the parent does not build, reference.py fails.
        """
        self.begin(task, stored)
        self.open()
        try:
            assert self._workspace is not None
            kernel, plan = set_up(self._workspace, task, stored)
            proof = Proof((), self._workspace.sandbox, kernel.default_workload.name)
            built = partial(self._builds.result, task, stored)
            run = ProofRun(self._workspace, task, stored, kernel, plan, self.reporter, proof, built)
            fate = run.run()
            proved = self._archived(run, fate)
        finally:
            self._close_workspace()
        word = proved.draft.fate
        self.reporter.note(f"draft {proved.draft.id}: {word}" + (f": {fate.reason}" if fate.reason else ""))
        return proved, run.repair

    def _archived(self, run: ProofRun, fate: Fate) -> StoredDraft:
        """Put the fate and what it rests on beside the draft."""
        proof = run.proof
        if run.runs is not None:
            timings = [stored.run.timing(proof.workload) for stored in run.runs]
            parent_ns, draft_ns = (timing.median_ns if timing else None for timing in timings)
            proof = replace(proof, parent_ns=parent_ns, draft_ns=draft_ns)
        files = runs_below(run.workspace.work / "reports")
        if run.build and run.build.log:
            files[BUILD_LOG] = run.build.log.encode("utf-8", "replace")
        draft = replace(run.stored.draft, fate=fate.word, reason=fate.reason, proof=proof)
        return DraftArchive(self.project.reports).update(run.stored, draft, files)


@dataclass
class GpuProver:
    """Proves drafts on several GPUs: each on the next that is free, from when it is there."""

    project: Project
    options: ProofOptions
    place: GpuWorkers
    reporter: Reporter
    _begun: dict[str, Any] = field(default_factory=dict)

    def open(self) -> None:
        """Start nothing: workers are there."""

    def begin(self, task: DraftTask, stored: StoredDraft) -> None:
        """Start the proof of a draft, its build first."""
        if stored.draft.id not in self._begun:
            task = replace(task, worded=lambda _: "")  # of no use to a proof
            arguments = self.project, self.options, task, stored
            self._begun[stored.draft.id] = self.place.call(task.kernel.name, prove_there, *arguments)

    def close(self) -> None:
        """End nothing: what is at work ends with its worker."""

    def prove(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, str]:
        """Wait for the proof of a draft; returns and raises as that of SandboxProver does."""
        self.begin(task, stored)
        proved: tuple[StoredDraft, str] = self.place.result(self._begun[stored.draft.id], self.reporter)
        return proved


def prove_there(
    project: Project, options: ProofOptions, task: DraftTask, stored: StoredDraft, reporter: Reporter
) -> tuple[StoredDraft, str]:
    """Prove a draft in this process, a worker of one GPU."""
    prover = SandboxProver(project, options, reporter)
    try:
        return prover.prove(task, stored)
    finally:
        prover.close()
