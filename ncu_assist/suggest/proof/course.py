"""The stages of a proof in their order; it ends with the first that the draft does not pass."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.drafts.cheats import Cheat
from ncu_assist.drafts.records import Proof, Stage
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.client import Examined
from ncu_assist.harness.exam.delivery import NotBuilt
from ncu_assist.pipeline.repeated_runs import learned_noise
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.store import Store
from ncu_assist.suggest.proof.building import build, words_for_author
from ncu_assist.suggest.proof.cheating import counted_cheats
from ncu_assist.suggest.proof.deciding import Ended, Fate, by_exam, by_target, by_time
from ncu_assist.suggest.proof.profiling import Profiler
from ncu_assist.suggest.proof.runs import Found, Pair, save_runs
from ncu_assist.suggest.proof.scoring import scores, target_moved
from ncu_assist.suggest.proof.setup import Setup
from ncu_assist.verdict import Verdict, compare, select

Builds = dict[str, BuildOutcome]
NOT_BELIEVED = "right, and faster by the clock of its own process; without counters that is not believed"
NO_BUILD = Fate("rejected", "it does not build")


@dataclass
class Course:
    """A proof under way: ``proof`` is what is known so far, ``repair`` what the draft's author may be told."""

    setup: Setup
    profiler: Profiler
    reporter: Reporter
    proof: Proof
    repair: str = ""
    builds: Builds = field(default_factory=dict)
    found: Found | None = None
    runs: Pair | None = None
    _bench_began: float = 0.0

    def run(self) -> Fate:
        """Go through the stages and return the draft's fate. Raises what is the machine's fault, not the draft's."""
        try:
            self._examine()
            self._profile()
            return self._explain()
        except Ended as ended:
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
        except Ended as ended:
            fate = ended.fate
            raise
        finally:
            self._note(name, time.monotonic() - started, fate)

    def _note(self, name: str, seconds: float, fate: Fate | None) -> None:
        stage = Stage(name, fate is None, round(seconds, 3), fate.reason if fate else "")
        self.proof = replace(self.proof, stages=(*self.proof.stages, stage))

    def _examine(self) -> None:
        """Build, check and time the draft beside its parent: the process that answers starts while they are built."""
        started, room = time.monotonic(), self.setup.room
        try:
            examined = room.exam.measure(self._build, room.executor, self._show, room.limits)
        except NotBuilt:
            raise self._not_built() from None
        self.found = Found(self.setup.trial, examined, self.builds, {}, self.profiler.options, room.work)
        self._judge(examined, started)

    def _build(self) -> Builds:
        started, room = time.monotonic(), self.setup.room
        self.builds = build(self.setup.plan, room.builder, room.build_folder)
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
        return Ended(NO_BUILD.word, NO_BUILD.reason)

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
        assert self.found is not None
        samples = self.found.examined.measured.samples
        if samples is None:
            raise Ended("rejected", "no time of it was taken")
        trial, workload = self.setup.trial, self.setup.workload
        return compare(*(select(samples, one.name, workload) for one in (trial.parent, trial.draft)))

    def _profile(self) -> None:
        assert self.found is not None
        with self._stage("profile"):
            try:
                profiled = self.profiler.profile(self.setup.room.exam)
            except EnvironmentProblem as error:
                raise Ended("unproven", f"{NOT_BELIEVED}: {error.message}") from error
            except NcuAssistError as error:
                raise Ended("rejected", f"it cannot be profiled: {error.message}") from error
            self.found = replace(self.found, captures=profiled.captures)
            end(by_exam(self.setup.trial.draft.name, profiled.examined))

    def _save(self) -> None:
        """Make runs of what was measured, for the draft's folder."""
        if self.found is not None and self.runs is None and self.found.examined.measured.samples is not None:
            store = Store(self.setup.room.work / "reports")
            self.runs = save_runs(self.found, store, self.setup.stored.draft.id)

    def _explain(self) -> Fate:
        """Judge counters and times, and hold the predictions against them."""
        self._save()
        assert self.runs is not None
        claim, items = self.setup.stored.draft.claim, self.setup.brief.prompt.evidence.items
        assert claim is not None
        with self._stage("diff"):
            for cheat in self._cheats():
                raise Ended("rejected", cheat.verdict)
            learned = learned_noise(Store(self.setup.room.project.reports), self.runs[1].run.device)
            diff = diff_runs(*self.runs, DiffOptions(self.setup.workload, every=True, learned=learned))
            self.proof = replace(self.proof, scores=scores(claim, items, diff.changes))
            fate = by_target(claim.predictions, target_moved(claim, items, diff.changes))
            if fate.word != "kept":
                raise Ended(fate.word, fate.reason)
        return fate

    def _cheats(self) -> tuple[Cheat, ...]:
        setup = self.setup
        assert self.runs is not None
        parent, libraries = setup.brief.parent, setup.brief.prompt.evidence.task.libraries_allowed
        return counted_cheats(self.runs, parent, setup.workload, libraries, setup.room.project.reports)


def end(fate: Fate | None) -> None:
    """Raise the end of a proof where a fate is known."""
    if fate is not None:
        raise Ended(fate.word, fate.reason)
