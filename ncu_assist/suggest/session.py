"""What the command line asks of suggestions: a prompt, drafts in rounds, the proof of a draft, or to accept one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ncu_assist.analysis.archive import Suggested
from ncu_assist.errors import ModelProblem, UsageProblem
from ncu_assist.pipeline.gpu_workers import gpu_workers
from ncu_assist.pipeline.opened_reports import named
from ncu_assist.project import Project
from ncu_assist.quantity import number_of
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.steps import Reporter
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import Context, best_run, choose_kernel, live_first, recorded_runs_matching
from ncu_assist.store.drafts import Claim, DraftArchive, ModelCost, StoredDraft
from ncu_assist.suggest.accepting import make_version
from ncu_assist.suggest.drafting import Conversation, DraftTask, ReplySource, Words, draft, saved_reply, source_of_saved
from ncu_assist.suggest.evidence.gathering import evidence, kernel_of, sources_of
from ncu_assist.suggest.evidence.task import Cleaner, cleaner, this_machine
from ncu_assist.suggest.model import (
    Endpoint,
    FailedCall,
    Messages,
    ModelAnswer,
    ReplyForm,
    ToolBox,
    ToolLimits,
    ask,
    expected_form,
    tokens_beside,
)
from ncu_assist.suggest.prompting import Prompt, PromptArchive, build_prompt, ids_in
from ncu_assist.suggest.proof.building import DraftCompiler, build_draft
from ncu_assist.suggest.proof.prover import GpuProver, ProofOptions, SandboxProver
from ncu_assist.suggest.reply import REPLY_SCHEMA, ParsedReply, apply, read_reply
from ncu_assist.versions import short_name


@dataclass(frozen=True)
class SuggestRequest:
    """From which run to go on and how: ``candidates`` drafts of each of ``rounds`` prompts.

    ``reference`` None: the fastest own version, see ``parent_of``. ``libraries`` may do the work. ``proving`` None:
    drafts are kept in the archive, nothing of them is run; with ``compiled`` they are compiled. ``force`` asks a model
    also where nothing is left to win. The budgets are for all drafts; tokens are those of prompts and replies together,
    also of requests that failed after they were sent.
    """

    reference: str | None = None
    kernel: str | None = None
    workload: str | None = None
    candidates: int = 1
    rounds: int = 1
    prompt_tokens: int | None = None
    budget_tokens: int | None = None
    budget_s: float | None = None
    libraries: bool = False
    proving: ProofOptions | None = None
    compiled: bool = False
    force: bool = False
    gpus: str | None = None


@dataclass(frozen=True)
class ReplyOptions:
    """Who is to answer: a model at an endpoint, or the reply in a file; nobody for a ``dry`` run.

    ``on_text`` gets the reply as it comes, text from outside. ``tools`` opens those of a kernel that a model may call.
    """

    endpoint: Endpoint
    reply: str | None
    dry: bool
    on_text: Callable[[str], None]
    prompt: str | None = None  # the id of the one that ``reply`` answers, where the reply does not say
    tools: Callable[[str], AbstractContextManager[ToolBox]] | None = None
    to_tool: bool = False  # who answers calls `propose`, and writes no text

    @property
    def form(self) -> ReplyForm:
        """The form to ask for: what the endpoint takes, and of a person at a chat window what is easy to copy."""
        if self.to_tool:
            return "tool"
        return (
            "fences" if self.reply is not None or self.dry or not self.endpoint.model else expected_form(self.endpoint)
        )

    def author(self, reporter: Reporter, tools: ToolBox | None = None) -> ReplySource:
        """Return who answers. Raises UsageProblem for a file without a reply."""
        if self.reply is not None:
            return source_of_saved(saved_reply(self.reply), self.endpoint.model)

        def answer(messages: Messages) -> ModelAnswer:
            return ask(self.endpoint, messages, self.on_text, REPLY_SCHEMA, reporter.note, tools)

        extra = tokens_beside(self.endpoint, REPLY_SCHEMA, tools)
        calls = tools.limits.calls if tools else 0
        return ReplySource(self.endpoint.model, answer, extra_tokens=extra, tool_calls=calls)


@dataclass(frozen=True)
class RedactedTools:
    """Tools whose answers leave this machine as a prompt does: without names of hosts, people and folders."""

    tools: ToolBox
    clean: Cleaner

    @property
    def about(self) -> str:
        return self.tools.about

    @property
    def offered(self) -> Sequence[dict[str, Any]]:
        return self.tools.offered

    @property
    def limits(self) -> ToolLimits:
        return self.tools.limits

    def call(self, name: str, arguments: str) -> str:
        return self.clean.text(self.tools.call(name, arguments))


def parent_of(project: Project, request: SuggestRequest) -> StoredRun:
    """Return the run that a draft starts from: the one asked for, else that of the fastest own version of the kernel.

    A version that calls a library has no kernel to improve. It is the parent only if no own version is checked and
    timed. Raises as ``named`` does.
    """
    if request.reference is not None:
        return named(project, [request.reference], request.kernel)[0]
    store = Store(project.reports)
    name = choose_kernel(store, Context(project, Path.cwd(), request.kernel), None, None)
    if name in kernel_names(project):
        kernel = load_kernel(project, name)
        shown = recorded_runs_matching(store, kernel)
        own = [run for one in kernel.versions if not one.is_peer and (run := shown[one.name]) is not None]
        if best := best_run(live_first(own), kernel.default_workload.name):
            return best
    return named(project, [f"{name}/@best"], None)[0]


@contextmanager
def _tools(project: Project, request: SuggestRequest, answering: ReplyOptions) -> Iterator[ToolBox | None]:
    """Yield what a model may call; None where nobody could call it."""
    if answering.tools is None or answering.reply is not None:
        yield None
        return
    parent = parent_of(project, request)
    with answering.tools(parent.run.kernel) as tools:
        yield RedactedTools(tools, cleaner(parent.run, parent.source_texts().values(), this_machine()))


def prompt_of(
    project: Project, request: SuggestRequest, answering: ReplyOptions, note: Callable[[str], None] = lambda _: None
) -> Prompt:
    """Return the prompt that would be sent; nothing is, but it is kept for a reply to it.

    ``note`` gets a line for each damaged run that it is without. Raises as ``evidence`` and ``build_prompt`` do.
    """
    prompt = draft_task(project, request, answering.form, note).prompt
    PromptArchive(project.reports).keep(prompt)
    return prompt


def suggest(project: Project, request: SuggestRequest, answering: ReplyOptions, reporter: Reporter) -> Suggested:
    """Make the drafts that are asked for, and prove them if wished. Raises as ``SuggestSession.run`` does."""
    prover: Prover | None = DraftCompiler(project, reporter) if request.compiled else None
    if request.proving:
        prover = SandboxProver(project, request.proving, reporter)
        prover.check()  # before a model is paid for a draft that cannot be proved here
    several = gpu_workers(request.gpus) if request.proving and request.gpus else nullcontext(None)
    with several as place, _tools(project, request, answering) as tools:
        if place is not None and request.proving:
            prover = GpuProver(project, request.proving, place, reporter)
        author, first = answering.author(reporter, tools), None
        if not author.can_be_answered:
            first = _answered(project, request, author.answer(()).text, answering.prompt, reporter)
        found = SuggestSession(project, request, author, reporter, prover, answering.form, first).run()
    return replace(found, builds=tuple(prover.told)) if isinstance(prover, DraftCompiler) else found


def compile_reply(project: Project, request: SuggestRequest, path: str) -> Suggested:
    """Compile what a reply, or a whole source, in the file ``path`` would make of a version; nothing of it is kept.

    Raises UnusableReply for a reply of which no source can be made, EnvironmentProblem without a compiler or a sandbox,
    and as ``named`` and ``saved_reply`` do.
    """
    parent = parent_of(project, request)
    kernel, text = kernel_of(project, parent), saved_reply(path)
    suffix = kernel.version(parent.run.version).path.suffix
    reply = ParsedReply(Claim("", "", "draft"), text, ()) if Path(path).suffix == suffix else read_reply(text)
    source = apply(reply, next(iter(sources_of(parent).values())), suffix, kernel)
    made = f"{reply.claim.slug}{suffix}", source.encode()
    place = project.work / "proofs"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix="build-", ignore_cleanup_errors=True) as root:
        return Suggested((), builds=(build_draft(project, True, kernel, parent, made, Path(root), False).told(),))


def _answered(
    project: Project, request: SuggestRequest, reply: str, prompt_id: str | None, reporter: Reporter
) -> DraftTask:
    """Return what a saved reply answers: the prompt with this id, else the one that it names, else the last that fits.

    Raises UsageProblem for a prompt that is not kept, for several, and for one of another version than was asked for.
    """
    archive, ids = PromptArchive(project.reports), (prompt_id,) if prompt_id else ids_in(reply)
    if len(ids) > 1:
        raise UsageProblem(f"the reply names {number_of(len(ids), 'prompt')}: {', '.join(ids)}", f"--prompt {ids[0]}")
    if ids:
        prompt = archive.find(ids[0])
        _check_parent(project, request, prompt)
        return task_of_prompt(project, prompt, request.libraries)
    parent = parent_of(project, request)
    last = archive.last(parent.run.kernel, None if request.reference is None else parent.run.version)
    if last is None:
        reporter.note("the reply names no prompt, and none is kept: it is held against what a prompt would say now")
        return draft_task(project, request, "fences", reporter.note)
    which = f"{last.id} of {short_name(last.evidence.version)}, {last.created[:10]}"
    reporter.note(f"the reply names no prompt; the last one is assumed: {which}")
    return task_of_prompt(project, last, request.libraries)


def _check_parent(project: Project, request: SuggestRequest, prompt: Prompt) -> None:
    """Raise UsageProblem where a reply is to a prompt of another version or kernel than the one asked for."""
    said = prompt.evidence
    own = f"ncu-assist suggest {said.kernel}/{short_name(said.version)} --reply FILE"
    if request.kernel is not None and request.kernel != said.kernel:
        raise UsageProblem(f"{prompt.id} is of {said.kernel}, not of {request.kernel}", own)
    if request.reference is None:
        return
    parent = parent_of(project, request)
    if (parent.run.kernel, parent.run.version) != (said.kernel, said.version):
        raise UsageProblem(f"{prompt.id} is of {said.kernel}/{said.version}, not of {request.reference}", own)


def prove_draft(project: Project, request: SuggestRequest, id: str, reporter: Reporter, keep: bool = True) -> Suggested:
    """Prove a draft of the archive, as ``suggest`` does of a new one; raises UsageProblem for one that was proved.

    Without ``keep`` a draft that may be kept stays a draft, for ``accept_draft``.
    """
    stored = DraftArchive(project.reports).find(request.kernel, id)
    if stored.draft.fate != "drafted" or request.proving is None:
        known = f"ncu-assist ledger {stored.draft.kernel}"
        raise UsageProblem(f"{stored.reference} is {stored.draft.fate} already", known)
    prover = SandboxProver(project, request.proving, reporter)
    prover.check()
    prover.open()
    try:
        task = _task_of(project, request, stored, reporter)
        proved = prover.prove(task, stored)[0]
    finally:
        prover.close()
    if proved.draft.fate != "kept" or not keep:
        return Suggested((proved,))
    kept_draft, path = make_version(project, task.kernel.folder, proved)
    return Suggested((kept_draft,), (path,))


def _task_of(project: Project, request: SuggestRequest, stored: StoredDraft, reporter: Reporter) -> DraftTask:
    """Return what a draft answers: its prompt where that is kept, else what one would say now of its parent."""
    if stored.draft.prompt:
        try:
            return task_of_prompt(project, PromptArchive(project.reports).find(stored.draft.prompt), request.libraries)
        except UsageProblem:
            pass  # its prompt was written elsewhere
    return draft_task(project, replace(request, reference=stored.draft.parent), "fences", reporter.note)


def accept_draft(project: Project, kernel: str | None, id: str, reporter: Reporter) -> Suggested:
    """Make a draft the next version of its kernel, whatever its fate; raises as ``accept`` does."""
    stored = DraftArchive(project.reports).find(kernel, id)
    if stored.draft.fate != "kept":
        reporter.note(f"{stored.reference} is {stored.draft.fate}, and accepted because you say so")
    accepted, path = make_version(project, load_kernel(project, stored.draft.kernel).folder, stored)
    return Suggested((accepted,), (path,))


def runs_of(project: Project, found: Suggested) -> list[StoredRun]:
    """Return the archived runs of the drafts that became versions."""
    wanted = {one.draft.proof.run for one in found.drafts if one.draft.proof and one.draft.proof.run}
    store = Store(project.reports)
    return [store.opened(head) for head in store.heads() if head.reference in wanted] if wanted else []


REPAIRS = 2  # how often a compiler's words go back to the model


class Prover(Protocol):
    """Who proves drafts."""

    def open(self) -> None:
        """Start what the next proof needs before there is a draft."""
        ...

    def begin(self, task: DraftTask, stored: StoredDraft) -> None:
        """Start the build of a draft, beside whatever else is done."""
        ...

    def close(self) -> None:
        """End what was started and not used."""
        ...

    def prove(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, str]:
        """Return a draft with what measuring it gave, and the compiler's words for its author, empty for none."""
        ...


def draft_task(
    project: Project, request: SuggestRequest, form: ReplyForm, note: Callable[[str], None] = lambda _: None
) -> DraftTask:
    """Return what the next draft is to improve, and the prompt that says so; raises as ``evidence`` does."""
    parent = parent_of(project, request)
    drafts = [one.draft for one in DraftArchive(project.reports).drafts()]
    found = evidence(project, parent.reference, request.workload, drafts, kernel=request.kernel, note=note)
    found = replace(found, task=replace(found.task, libraries_allowed=request.libraries))
    make = partial(build_prompt, found, project.prompts, request.prompt_tokens)
    return DraftTask(parent, load_kernel(project, parent.run.kernel), make(form), lambda form: make(form).text)


def task_of_prompt(project: Project, kept: Prompt, libraries: bool = False) -> DraftTask:
    """Return what a prompt that was kept asked for, by its evidence and the run that it was made of.

    ``libraries`` may do the work by now, too. Raises as ``named`` does where that run is gone.
    """
    (parent,) = named(project, [kept.evidence.reference], None)
    task = kept.evidence.task
    task = replace(task, libraries_allowed=task.libraries_allowed or libraries)
    prompt = replace(kept, evidence=replace(kept.evidence, task=task))
    return DraftTask(parent, load_kernel(project, kept.evidence.kernel), prompt, lambda _: kept.text)


@dataclass
class SuggestSession:
    """A suggestion under way. ``prover`` None: drafts are archived, nothing of them is run.

    ``first`` is what a saved reply answers, None for what is to be asked now. ``unanswered`` is what requests cost of
    which no draft came.
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
    unanswered: ModelCost = field(default_factory=ModelCost)
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

    def _tell_cost(self, task: DraftTask) -> None:
        """Say before a model is asked about how many tokens are sent at least."""
        if not self.author.can_be_answered:
            return
        count, prompt, extra = (
            self.request.rounds * self.request.candidates,
            task.prompt.tokens,
            self.author.extra_tokens,
        )
        parts = f" ({prompt:,} of the prompt, {extra:,} of tools and form)" if extra else ""
        total = f" for each{parts}, {count * (prompt + extra):,} in all" if count > 1 else parts
        calls = f"after each of up to {self.author.tool_calls} tool calls and " if self.author.tool_calls else ""
        is_measured = self.prover is not None and not isinstance(self.prover, DraftCompiler)
        self.reporter.note(
            f"{number_of(count, 'draft')}: at least about {prompt + extra:,} tokens are sent{total}. "
            f"They are sent again {calls}for each repair. Replies are extra."
            + (" Each draft that builds is checked, timed and profiled." if is_measured else "")
        )

    def _rounds(self) -> Suggested:
        request, ended = self.request, ""
        if self.prover is not None and not self.author.can_be_answered:
            self.prover.open()  # a reply on disk is a draft in a second; a model takes its time
        first = task = self.first or draft_task(self.project, request, self.form, self.reporter.note)
        if self.author.can_be_answered and not request.force and (done := _done(task)):
            other = f"ncu-assist suggest {task.kernel.name}/VERSION"
            raise UsageProblem(f"{done}: a draft has nothing left to win", f"--force to ask all the same, or {other}")
        self._tell_cost(task)
        for number in range(1, request.rounds + 1):
            ended, best = self._round(task, number)
            if ended and not self.drafts:
                raise UsageProblem(f"{ended} before the model was asked", "a larger budget, or none")
            if ended or best is None:
                break
            request = replace(request, reference=f"{best.draft.kernel}/{best.draft.version}")
            if number < request.rounds:
                task = draft_task(self.project, request, self.form, self.reporter.note)
                ended = _done(task)
            if ended:
                break
        return Suggested(tuple(self.drafts), tuple(self.files), ended, first.prompt.dropped)

    def _round(self, task: DraftTask, number: int) -> tuple[str, StoredDraft | None]:
        """Ask for the candidates of a round, each built while the next is asked for, then prove one after the other.

        Return why the round ended early, and the draft that the next one goes on from.
        """
        asked: list[tuple[Conversation, StoredDraft]] = []
        ended = ""
        for candidate in range(1, self.request.candidates + 1):
            ended = self._spent()
            if ended:
                break
            conversation = Conversation(self.author)
            try:
                asked.append((conversation, self._ask(task, conversation, task.worded, number, candidate)))
            except ModelProblem as error:
                if not self.drafts:
                    raise
                ended = error.message
                break
        proved = [self._prove(task, conversation, stored) for conversation, stored in asked]
        return ended, self._keep(task, proved)

    def _ask(
        self, task: DraftTask, conversation: Conversation, words: Words, number: int, candidate: int
    ) -> StoredDraft:
        """Return a draft of what its author answers; its build begins."""
        self.reporter.status(f"draft {candidate} of round {number}: waiting for the reply")
        try:
            stored = draft(DraftArchive(self.project.reports), task, conversation, words, number, candidate)
        except FailedCall as error:
            if tokens := error.cost.prompt_tokens + error.cost.reply_tokens:
                self.reporter.note(f"no draft came of requests with about {tokens:,} tokens; the budget counts them")
            self.unanswered = ModelCost.of_all((self.unanswered, error.cost))
            raise
        if self.author.can_be_answered:
            PromptArchive(self.project.reports).keep(task.prompt)
        self.drafts.append(stored)
        if self.prover is not None and stored.draft.fate == "drafted":
            self.prover.begin(task, stored)
        return stored

    def _prove(self, task: DraftTask, conversation: Conversation, stored: StoredDraft) -> StoredDraft:
        """Return a draft with its fate, after repairs where it does not build; each repair is a draft of its own."""
        for repairs in range(REPAIRS + 1):
            if self.prover is None or stored.draft.fate != "drafted":
                break
            proved, repair = self.prover.prove(task, stored)
            self.drafts[self.drafts.index(stored)] = stored = proved
            if not repair or not self.author.can_be_answered or repairs == REPAIRS:
                break
            if ended := self._spent():
                self.reporter.note(f"the draft does not build, and {ended}")
                break
            self.reporter.note("the draft does not build; its author gets the compiler's words")
            try:
                stored = self._ask(task, conversation, repair, stored.draft.round, stored.draft.candidate)
            except ModelProblem as error:
                self.reporter.note(f"asking for a repair came to nothing: {error.message}")
                break
        return stored

    @property
    def spent_tokens(self) -> int:
        """The tokens of all requests and replies so far, also of those that came to nothing."""
        costs = (*(one.draft.cost for one in self.drafts), self.unanswered)
        return sum(one.prompt_tokens + one.reply_tokens for one in costs)

    def _spent(self) -> str:
        """Return why no further request may be sent; empty while the budget lasts."""
        request, tokens, seconds = self.request, self.spent_tokens, time.monotonic() - self.started
        if request.budget_tokens is not None and tokens >= request.budget_tokens:
            return f"the budget of {request.budget_tokens:,} tokens is used up ({tokens:,})"
        if request.budget_s is not None and seconds >= request.budget_s:
            return f"the budget of {request.budget_s:g} s is used up ({seconds:.0f} s)"
        return ""

    def _keep(self, task: DraftTask, proved: Sequence[StoredDraft]) -> StoredDraft | None:
        """Make the fastest draft of a round that may be kept the next version; the others stay drafts."""
        good = [one for one in proved if one.draft.fate == "kept"]
        if not good:
            return None
        best = max(good, key=lambda one: (one.draft.proof.speedup if one.draft.proof else None) or 0.0)
        kept, path = make_version(self.project, task.kernel.folder, best)
        self.files.append(path)
        self.drafts = [kept if one is best else self._passed_over(one, kept, good) for one in self.drafts]
        return kept

    def _passed_over(self, one: StoredDraft, kept: StoredDraft, good: Sequence[StoredDraft]) -> StoredDraft:
        if one not in good:
            return one
        reason = f"right and faster than its parent, but draft {kept.draft.id} of the same round is faster"
        archive = DraftArchive(self.project.reports)
        return archive.update(one, replace(one.draft, fate="rejected", reason=reason))


DONE = ("at-dram-roofline", "at-compute-roofline")


def _done(task: DraftTask) -> str:
    """Return why there is nothing left to win for the next round: what binds is at its ceiling; empty otherwise."""
    evidence = task.prompt.evidence
    is_done = evidence.diagnosis_id in DONE
    return f"{short_name(evidence.version)} is at its floor ({evidence.diagnosis_id})" if is_done else ""
