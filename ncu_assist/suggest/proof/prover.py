"""The proof of a draft: it is measured beside its parent, stage by stage, and ends with the first that it fails."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.building import OUTCOMES, PROBLEM, BuildProblem, BuildRequest, command, decode
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.sandbox import choose_runner, read_result
from ncu_assist.harness.client import child_environment
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.client import Examined, NotBuilt
from ncu_assist.harness.exam.plan import ExamPlan
from ncu_assist.pipeline.doctor import chosen_gpu, query_gpus
from ncu_assist.pipeline.reading import learned_noise
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.spec import Kernel
from ncu_assist.store import Store
from ncu_assist.store.draft_records import Proof, ProofStage
from ncu_assist.store.drafts import BUILD_LOG, DraftArchive, StoredDraft, runs_below
from ncu_assist.suggest.accepting import make_version
from ncu_assist.suggest.drafting import DraftTask, ProvedDraft
from ncu_assist.suggest.proof.cheats import counted_cheats
from ncu_assist.suggest.proof.deciding import Fate, ProofEnded, by_exam, by_target, by_time, scores, target_moved
from ncu_assist.suggest.proof.runs import ProofMeasurement, RunPair, log_of, profile, save_runs
from ncu_assist.suggest.proof.workspace import ProofWorkspace, open_workspace, set_up
from ncu_assist.suggest.request import ProofOptions
from ncu_assist.verdict import Verdict, compare, select

Builds = dict[str, BuildOutcome]
NOT_BELIEVED = "right, and faster by the clock of its own process; without counters that is not believed"
TIMEOUT_S = 300.0  # a torch extension takes half a minute (docs/sources.md, Cost)
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}  # which locks are by
SMALL = 1 << 24  # bytes of a file of outcomes, compilers' words and all
NO_BUILD = Fate("rejected", "it does not build")


@dataclass
class ProofRun:
    """A proof under way: ``proof`` is what is known so far, ``repair`` what the draft's author may be told."""

    workspace: ProofWorkspace
    task: DraftTask
    stored: StoredDraft
    kernel: Kernel
    plan: ExamPlan
    reporter: Reporter
    proof: Proof
    repair: str = ""
    builds: Builds = field(default_factory=dict)
    measurement: ProofMeasurement | None = None
    runs: RunPair | None = None
    _bench_began: float = 0.0

    def run(self) -> Fate:
        """Go through the stages and return the draft's fate. Raises what is the machine's fault, not the draft's."""
        try:
            self._examine()
            self._profile()
            return self._explain()
        except ProofEnded as ended:
            return ended.fate
        finally:
            self._save()

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Time a stage; one that ends the proof is noted with why."""
        self.reporter.status(f"{name}: {self.plan.draft}")
        started, fate = time.monotonic(), None
        try:
            yield
        except ProofEnded as ended:
            fate = ended.fate
            raise
        finally:
            self._note(name, time.monotonic() - started, fate)

    def _note(self, name: str, seconds: float, fate: Fate | None) -> None:
        stage = ProofStage(name, fate is None, round(seconds, 3), fate.reason if fate else "")
        self.proof = replace(self.proof, stages=(*self.proof.stages, stage))

    def _examine(self) -> None:
        """Build, check and time the draft beside its parent: the process that answers starts while they are built."""
        started, workspace = time.monotonic(), self.workspace
        try:
            examined = workspace.exam.measure(self._build, workspace.executor, self._show, workspace.limits)
        except NotBuilt:
            raise self._not_built() from None
        self.measurement = ProofMeasurement(self.kernel, self.plan, examined, self.builds, {}, workspace.work)
        self._judge(examined, started)

    def _build(self) -> Builds:
        started = time.monotonic()
        self.builds = build(self.plan, self.workspace.builder, self.workspace.build_folder)
        built = self.builds[self.plan.draft].artifact is not None
        self._note("build", time.monotonic() - started, None if built else NO_BUILD)
        return self.builds

    def _not_built(self) -> Exception:
        parent, draft = (self.builds[name] for name in (self.plan.parent, self.plan.draft))
        if draft.artifact is not None:
            return StageFailed(f"its parent {self.plan.parent} does not build any more:\n{parent.log.strip()}")
        self.repair = words_for_author(draft)
        return ProofEnded(NO_BUILD.word, NO_BUILD.reason)

    def _judge(self, examined: Examined, started: float) -> None:
        """Note check and bench, which one process did, and end the proof where the draft fails in one of them."""
        ended, fate = time.monotonic(), by_exam(self.plan.draft, examined)
        began = self._bench_began or ended
        self._note("check", began - started - self.proof.stages[0].seconds, fate)
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
            raise ProofEnded("rejected", "no time of it was taken")
        workload = self.kernel.default_workload.name
        return compare(*(select(samples, name, workload) for name in (self.plan.parent, self.plan.draft)))

    def _profile(self) -> None:
        assert self.measurement is not None
        with self._stage("profile"):
            try:
                captures, examined = profile(self.workspace, self.reporter)
            except EnvironmentProblem as error:
                raise ProofEnded("unproven", f"{NOT_BELIEVED}: {error.message}") from error
            except NcuAssistError as error:
                raise ProofEnded("rejected", f"it cannot be profiled: {error.message}") from error
            self.measurement = replace(self.measurement, captures=captures)
            end(by_exam(self.plan.draft, examined))

    def _save(self) -> None:
        """Make runs of what was measured, for the draft's folder."""
        if (
            self.measurement is not None
            and self.runs is None
            and self.measurement.examined.measured.samples is not None
        ):
            store = Store(self.workspace.work / "reports")
            self.runs = save_runs(self.measurement, store, self.stored.draft.id)

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
                raise ProofEnded("rejected", cheat.verdict)
            learned = learned_noise(Store(reports), self.runs[1].run.device)
            diff = diff_runs(*self.runs, DiffOptions(workload, every=True, learned=learned))
            self.proof = replace(self.proof, scores=scores(claim, items, diff.changes))
            fate = by_target(claim.predictions, target_moved(claim, items, diff.changes))
            end(None if fate.word == "kept" else fate)
        return fate


def end(fate: Fate | None) -> None:
    """Raise the end of a proof where a fate is known."""
    if fate is not None:
        raise ProofEnded(fate.word, fate.reason)


def build(plan: ExamPlan, executor: Executor, out: Path) -> dict[str, BuildOutcome]:
    """Build the versions of an exam in the executor, into ``out``, and return their outcomes.

    It takes no GPU, and so may run beside what holds it. Raises EnvironmentProblem without a compiler, StageFailed
    where building itself came to nothing.
    """
    request = BuildRequest(str(plan.kernel.folder), plan.versions, str(out), str(out))
    done = executor.run(
        command(request), env={**child_environment(), **NO_GPU}, cwd=plan.folders.readable, timeout_s=TIMEOUT_S
    )
    if done.timed_out:
        raise StageFailed(f"building took longer than {TIMEOUT_S:.0f} s")
    if (out / PROBLEM).is_file():
        problem = msgspec.json.decode(read_result(out, PROBLEM, SMALL), type=BuildProblem)
        raise EnvironmentProblem(problem.message, problem.hint)
    if done.exit_code != 0:
        raise StageFailed(f"building ended with exit code {done.exit_code}: {done.stderr.strip()[-500:]}")
    return _outcomes(plan, read_result(out, OUTCOMES, SMALL), out)


def _outcomes(plan: ExamPlan, data: bytes, out: Path) -> dict[str, BuildOutcome]:
    """Return what a sandboxed build said; what it says it built is copied, so it must lie where it was to be built.

    Raises StageFailed for other versions or other places: a compiler that a source has got hold of.
    """
    try:
        outcomes = decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StageFailed(f"building left no outcomes that can be read: {error}") from error
    places = (out.resolve(), plan.folders.readable)
    built = [one.artifact.resolve() for one in outcomes.values() if one.artifact is not None]
    strays = [path.name for path in built if not any(path.is_relative_to(place) for place in places)]
    if set(outcomes) != set(plan.versions) or strays:
        raise StageFailed("building left something else than the versions that it was given")
    return outcomes


def words_for_author(outcome: BuildOutcome, limit: int = 4_000) -> str:
    """Return what the author of a draft that does not build is told: the compiler's words, the first of them."""
    log = outcome.log.strip()
    cut = f"\n… ({len(log) - limit} characters more)" if len(log) > limit else ""
    return (
        "Your change does not compile. The compiler says:\n"
        f"{log[:limit]}{cut}\n"
        "Give the same one change again, corrected, in the form asked for: edits are of the source that you saw."
    )


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
            kernel, plan = set_up(self._workspace, task, stored)
            proof = Proof((), self._workspace.sandbox, kernel.default_workload.name)
            run = ProofRun(self._workspace, task, stored, kernel, plan, self.reporter, proof)
            fate = run.run()
            proved = self._archived(run, fate)
        finally:
            self.close()
        word = proved.draft.fate
        self.reporter.note(f"draft {proved.draft.id}: {word}" + (f": {fate.reason}" if fate.reason else ""))
        return ProvedDraft(proved, run.repair)

    def keep(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, Path]:
        """Write a draft as the next version, and its run into the archive. Raises as ``accept`` does."""
        return make_version(self.project, task.kernel.folder, stored)

    def _archived(self, run: ProofRun, fate: Fate) -> StoredDraft:
        """Put the fate and what it rests on beside the draft."""
        proof = run.proof
        if run.runs is not None:
            timings = [stored.run.timing(proof.workload) for stored in run.runs]
            parent_ns, draft_ns = (timing.median_ns if timing else None for timing in timings)
            proof = replace(proof, parent_ns=parent_ns, draft_ns=draft_ns)
        build, work = run.builds.get(run.plan.draft), run.workspace.work
        files = runs_below(work / "reports")
        if build and build.log:
            files[BUILD_LOG] = log_of(build, work).encode("utf-8", "replace")
        draft = replace(run.stored.draft, fate=fate.word, reason=fate.reason, proof=proof)
        return DraftArchive(self.project.reports).update(run.stored, draft, files)
