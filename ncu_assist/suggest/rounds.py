"""The loop: evidence, prompt, drafts, proofs; the next round goes on from the best draft that was kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from ncu_assist.analysis.archive import Suggested
from ncu_assist.errors import ModelProblem
from ncu_assist.pipeline.reading import named
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.spec_file import load_kernel
from ncu_assist.store.drafts import DraftArchive, StoredDraft
from ncu_assist.suggest.conversation import Conversation, ReplySource
from ncu_assist.suggest.drafting import DraftTask, RoundPosition, Words, draft
from ncu_assist.suggest.evidence.gathering import evidence
from ncu_assist.suggest.model import ReplyForm
from ncu_assist.suggest.prompting.archive import KeptPrompt, PromptArchive, now
from ncu_assist.suggest.prompting.building import Prompt, build_prompt
from ncu_assist.suggest.request import Budget, SuggestRequest

REPAIRS = 2  # how often a compiler's words go back to the model


@dataclass(frozen=True)
class ProvedDraft:
    """A draft with its fate. ``repair`` is what its author may be told, the compiler's words; empty for nothing."""

    stored: StoredDraft
    repair: str = ""


class Prover(Protocol):
    """Who proves drafts, and makes one that was kept the next version."""

    def open(self) -> None:
        """Start what the next proof needs before there is a draft."""
        ...

    def close(self) -> None:
        """End what was started and not used."""
        ...

    def prove(self, task: DraftTask, stored: StoredDraft) -> ProvedDraft:
        """Return a draft with what measuring it gave."""
        ...

    def keep(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, Path]:
        """Write a proved draft as the next version, archive its run, and return it with the file."""
        ...


def draft_task(project: Project, request: SuggestRequest, form: ReplyForm) -> DraftTask:
    """Return what the next draft is to improve, and the prompt that says so; raises as ``evidence`` does."""
    (parent,) = named(project, [request.reference], request.kernel)
    drafts = [one.draft for one in DraftArchive(project.reports).drafts(parent.run.kernel)]
    found = evidence(project, parent.reference, request.workload, drafts, kernel=request.kernel)
    found = replace(found, task=replace(found.task, libraries_allowed=request.libraries))
    make = partial(build_prompt, found, project.prompts, request.prompt_tokens)
    return DraftTask(parent, load_kernel(project, parent.run.kernel), make(form), lambda form: make(form).text)


def task_of_prompt(project: Project, kept: KeptPrompt, libraries: bool = False) -> DraftTask:
    """Return what a prompt that was kept asked for, by its evidence and the run that it was made of.

    ``libraries`` may do the work by now, too. Raises as ``named`` does where that run is gone.
    """
    (parent,) = named(project, [kept.evidence.reference], None)
    task = kept.evidence.task
    asked = replace(kept.evidence, task=replace(task, libraries_allowed=task.libraries_allowed or libraries))
    prompt = Prompt(kept.text, kept.tokens, kept.dropped, asked, kept.sha256, kept.id)
    return DraftTask(parent, load_kernel(project, kept.evidence.kernel), prompt, lambda _: kept.text)


def keep_prompt(project: Project, prompt: Prompt) -> None:
    """Keep a prompt for the replies to it, however late they come."""
    written = KeptPrompt(prompt.id, now(), prompt.text, prompt.tokens, prompt.dropped, prompt.evidence, prompt.sha256)
    PromptArchive(project.reports).keep(written)


@dataclass
class SuggestSession:
    """A suggestion under way. ``prover`` None: drafts are archived, nothing of them is run.

    ``first`` is what a saved reply answers, None for what is to be asked now.
    """

    project: Project
    request: SuggestRequest
    author: ReplySource
    reporter: Reporter
    prover: Prover | None = None
    form: ReplyForm = "fences"
    first: DraftTask | None = None
    drafts: list[StoredDraft] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def run(self) -> Suggested:
        """Make and prove the drafts that were asked for, as far as the budget goes, and return them.

        Raises what ``evidence`` raises, ModelProblem where not one reply came, and what a proof raises of the machine.
        """
        try:
            return self._rounds()
        finally:
            if self.prover is not None:
                self.prover.close()

    def _rounds(self) -> Suggested:
        request, ended = self.request, ""
        if self.prover is not None and not self.author.can_be_answered:
            self.prover.open()  # a reply on disk is a draft in a second; a model takes its time
        first = asked = self.first or draft_task(self.project, request, self.form)
        for number in range(1, request.rounds + 1):
            ended, best = self._round(asked, number)
            if ended or best is None:
                break
            request = replace(request, reference=f"{best.draft.kernel}/{best.draft.version}")
            asked = draft_task(self.project, request, self.form) if number < request.rounds else asked
        return Suggested(tuple(self.drafts), tuple(self.files), ended, first.prompt.dropped)

    def _round(self, task: DraftTask, number: int) -> tuple[str, StoredDraft | None]:
        """Make the candidates of a round; return why it ended early, and the draft that the next one goes on from."""
        proved, ended = [], ""
        for candidate in range(1, self.request.candidates + 1):
            ended = _spent(self.request.budget, self.drafts, time.monotonic() - self.started)
            if ended:
                break
            try:
                proved.append(self._candidate(task, RoundPosition(number, candidate)))
            except ModelProblem as error:
                if not self.drafts:
                    raise
                ended = error.message
                break
        return ended, self._keep(task, proved)

    def _candidate(self, task: DraftTask, place: RoundPosition) -> StoredDraft:
        """Return a draft with its fate, after repairs where it did not build; each repair is a draft of its own."""
        conversation = Conversation(self.author)
        words: Words = task.worded
        for repairs in range(REPAIRS + 1):
            self.reporter.status(f"draft {place.candidate} of round {place.round}: waiting for the reply")
            stored = draft(DraftArchive(self.project.reports), task, conversation, words, place)
            if self.author.can_be_answered:
                keep_prompt(self.project, task.prompt)
            self.drafts.append(stored)
            if self.prover is None or stored.draft.fate != "drafted":
                return stored
            proved = self.prover.prove(task, stored)
            self.drafts[-1] = proved.stored
            words = proved.repair
            if not words or not self.author.can_be_answered or repairs == REPAIRS:
                break
            self.reporter.note("the draft does not build; its author gets the compiler's words")
        return self.drafts[-1]

    def _keep(self, task: DraftTask, proved: Sequence[StoredDraft]) -> StoredDraft | None:
        """Make the fastest draft of a round that may be kept the next version; the others stay drafts."""
        good = [one for one in proved if one.draft.fate == "kept"]
        if not good or self.prover is None:
            return None
        best = max(good, key=lambda one: (one.draft.proof.speedup if one.draft.proof else None) or 0.0)
        kept, path = self.prover.keep(task, best)
        self.files.append(path)
        self.drafts = [kept if one is best else self._passed_over(one, kept, good) for one in self.drafts]
        return kept

    def _passed_over(self, one: StoredDraft, kept: StoredDraft, good: Sequence[StoredDraft]) -> StoredDraft:
        if one not in good:
            return one
        reason = f"right and faster than its parent, but draft {kept.draft.id} of the same round is faster"
        archive = DraftArchive(self.project.reports)
        return archive.update(one, replace(one.draft, fate="rejected", reason=reason))


def _spent(budget: Budget, drafts: Sequence[StoredDraft], seconds: float) -> str:
    """Return why no further draft may be asked for; empty while the budget lasts."""
    tokens = sum(one.draft.cost.prompt_tokens + one.draft.cost.reply_tokens for one in drafts)
    if budget.tokens is not None and tokens >= budget.tokens:
        return f"the budget of {budget.tokens:,} tokens is used up ({tokens:,})"
    if budget.seconds is not None and seconds >= budget.seconds:
        return f"the budget of {budget.seconds:g} s is used up ({seconds:.0f} s)"
    return ""
