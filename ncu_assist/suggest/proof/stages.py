"""The stages of a proof in their order; it ends with the first that the draft does not pass."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.building import OUTCOMES, PROBLEM, BuildProblem, BuildRequest, command, decode
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.sandbox import read_result
from ncu_assist.harness.client import child_environment
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.client import Examined, NotBuilt
from ncu_assist.harness.exam.plan import ExamPlan
from ncu_assist.pipeline.reading import learned_noise
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.store import Store
from ncu_assist.store.draft_records import Proof, ProofStage
from ncu_assist.suggest.proof.cheats import Cheat, counted_cheats
from ncu_assist.suggest.proof.deciding import Fate, ProofEnded, by_exam, by_target, by_time, scores, target_moved
from ncu_assist.suggest.proof.runs import DraftProfiler, ProofMeasurement, RunPair, save_runs
from ncu_assist.suggest.proof.workspace import ProofSetup
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

    setup: ProofSetup
    profiler: DraftProfiler
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
        self.reporter.status(f"{name}: {self.setup.trial.draft.name}")
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
        started, workspace = time.monotonic(), self.setup.workspace
        try:
            examined = workspace.exam.measure(self._build, workspace.executor, self._show, workspace.limits)
        except NotBuilt:
            raise self._not_built() from None
        self.measurement = ProofMeasurement(
            self.setup.trial, examined, self.builds, {}, self.profiler.options, workspace.work
        )
        self._judge(examined, started)

    def _build(self) -> Builds:
        started, workspace = time.monotonic(), self.setup.workspace
        self.builds = build(self.setup.plan, workspace.builder, workspace.build_folder)
        draft = self.builds[self.setup.trial.draft.name]
        fate = None if draft.artifact else NO_BUILD
        self._note("build", time.monotonic() - started, fate)
        return self.builds

    def _not_built(self) -> Exception:
        trial = self.setup.trial
        parent, draft = (self.builds[one.name] for one in (trial.parent, trial.draft))
        if draft.artifact is not None:
            return StageFailed(f"its parent {trial.parent.name} does not build any more:\n{parent.log.strip()}")
        self.repair = words_for_author(draft)
        return ProofEnded(NO_BUILD.word, NO_BUILD.reason)

    def _judge(self, examined: Examined, started: float) -> None:
        """Note check and bench, which one process did, and end the proof where the draft fails in one of them."""
        ended, fate = time.monotonic(), by_exam(self.setup.trial.draft.name, examined)
        began = self._bench_began or ended
        self._note("check", began - started - self.proof.stages[0].seconds, fate)
        end(fate)
        verdict = self._verdict()
        self._take(verdict)
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

    def _take(self, verdict: Verdict) -> None:
        known = replace(self.proof, verdict=verdict.words, speedup=verdict.speedup)
        self.proof = replace(known, speedup_low=verdict.low, speedup_high=verdict.high)

    def _verdict(self) -> Verdict:
        assert self.measurement is not None
        samples = self.measurement.examined.measured.samples
        if samples is None:
            raise ProofEnded("rejected", "no time of it was taken")
        trial, workload = self.setup.trial, self.setup.workload
        return compare(*(select(samples, one.name, workload) for one in (trial.parent, trial.draft)))

    def _profile(self) -> None:
        assert self.measurement is not None
        with self._stage("profile"):
            try:
                profiled = self.profiler.profile(self.setup.workspace.exam)
            except EnvironmentProblem as error:
                raise ProofEnded("unproven", f"{NOT_BELIEVED}: {error.message}") from error
            except NcuAssistError as error:
                raise ProofEnded("rejected", f"it cannot be profiled: {error.message}") from error
            self.measurement = replace(self.measurement, captures=profiled.captures)
            end(by_exam(self.setup.trial.draft.name, profiled.examined))

    def _save(self) -> None:
        """Make runs of what was measured, for the draft's folder."""
        if (
            self.measurement is not None
            and self.runs is None
            and self.measurement.examined.measured.samples is not None
        ):
            store = Store(self.setup.workspace.work / "reports")
            self.runs = save_runs(self.measurement, store, self.setup.stored.draft.id)

    def _explain(self) -> Fate:
        """Judge counters and times, and hold the predictions against them."""
        self._save()
        assert self.runs is not None
        claim, items = self.setup.stored.draft.claim, self.setup.task.prompt.evidence.items
        assert claim is not None
        with self._stage("diff"):
            for cheat in self._cheats():
                raise ProofEnded("rejected", cheat.verdict)
            learned = learned_noise(Store(self.setup.workspace.project.reports), self.runs[1].run.device)
            diff = diff_runs(*self.runs, DiffOptions(self.setup.workload, every=True, learned=learned))
            self.proof = replace(self.proof, scores=scores(claim, items, diff.changes))
            fate = by_target(claim.predictions, target_moved(claim, items, diff.changes))
            if fate.word != "kept":
                raise ProofEnded(fate.word, fate.reason)
        return fate

    def _cheats(self) -> tuple[Cheat, ...]:
        setup = self.setup
        assert self.runs is not None
        parent, libraries = setup.task.parent, setup.task.prompt.evidence.task.libraries_allowed
        return counted_cheats(self.runs, parent, setup.workload, libraries, setup.workspace.project.reports)


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
