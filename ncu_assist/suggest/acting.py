"""What the command line asks for: a prompt, a suggestion, the proof of a draft, or to accept one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ncu_assist.analysis.archive import Suggested
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.reading import named as resolved
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.spec_file import load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.drafts import DraftArchive, StoredDraft
from ncu_assist.suggest.accepting import make_version
from ncu_assist.suggest.conversation import LanguageModel, ReplySource, SavedReply, saved_reply
from ncu_assist.suggest.drafting import DraftTask
from ncu_assist.suggest.evidence.gathering import BEST
from ncu_assist.suggest.model import Endpoint, Messages, ModelAnswer, ReplyForm, ask, expected_form
from ncu_assist.suggest.prompting.archive import KeptPrompt, PromptArchive, ids_in
from ncu_assist.suggest.prompting.building import Prompt
from ncu_assist.suggest.proof.prover import SandboxProver
from ncu_assist.suggest.reply.form import REPLY_SCHEMA
from ncu_assist.suggest.request import SuggestRequest
from ncu_assist.suggest.rounds import SuggestSession, draft_task, keep_prompt, task_of_prompt
from ncu_assist.versions import short_name


@dataclass(frozen=True)
class ReplyOptions:
    """Who is to answer: a model at an endpoint, or the reply in a file; nobody for a ``dry`` run.

    ``on_text`` gets the reply as it comes, text from outside.
    """

    model: str
    base_url: str | None
    key_file: Path | None
    reply: str | None
    dry: bool
    on_text: Callable[[str], None]
    prompt: str | None = None  # the id of the one that ``reply`` answers, where the reply does not say

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.model, self.base_url, self.key_file)

    @property
    def form(self) -> ReplyForm:
        """The form to ask for: what the endpoint takes, and of a person at a chat window what is easy to copy."""
        return "fences" if self.reply is not None or self.dry or not self.model else expected_form(self.endpoint)

    def author(self, reporter: Reporter) -> ReplySource:
        """Return who answers. Raises UsageProblem for a file without a reply."""
        if self.reply is not None:
            return SavedReply(saved_reply(self.reply), self.model)
        return LanguageModel(self.model, partial(_ask, self, reporter))


def _ask(answering: ReplyOptions, reporter: Reporter, messages: Messages) -> ModelAnswer:
    return ask(answering.endpoint, messages, answering.on_text, REPLY_SCHEMA, reporter.note)


def prompt_of(project: Project, request: SuggestRequest, answering: ReplyOptions) -> Prompt:
    """Return the prompt that would be sent; nothing is, but it is kept for a reply to it.

    Raises as ``evidence`` and ``build_prompt`` do.
    """
    prompt = draft_task(project, request, answering.form).prompt
    keep_prompt(project, prompt)
    return prompt


def suggest(project: Project, request: SuggestRequest, answering: ReplyOptions, reporter: Reporter) -> Suggested:
    """Make the drafts that are asked for, and prove them if wished. Raises as ``SuggestSession.run`` does."""
    prover = SandboxProver(project, request.proving, reporter) if request.proving else None
    if prover is not None:
        prover.check()  # before a model is paid for a draft that cannot be proved here
    author = answering.author(reporter)
    first = (
        _answered(project, request, author.text, answering.prompt, reporter) if isinstance(author, SavedReply) else None
    )
    return SuggestSession(project, request, author, reporter, prover, answering.form, first).run()


def _answered(
    project: Project, request: SuggestRequest, reply: str, named: str | None, reporter: Reporter
) -> DraftTask:
    """Return what a saved reply answers: the prompt ``named``, else the one that it names, else the last that fits.

    Raises UsageProblem for a prompt that is not kept, for several, and for one of another version than was asked for.
    """
    archive, ids = PromptArchive(project.reports), (named,) if named else ids_in(reply)
    if len(ids) > 1:
        raise UsageProblem(f"the reply names {len(ids)} prompts: {', '.join(ids)}", f"--prompt {ids[0]}")
    if ids:
        prompt = archive.find(ids[0])
        _check_parent(project, request, prompt)
        return task_of_prompt(project, prompt, request.libraries)
    (parent,) = resolved(project, [request.reference], request.kernel)
    last = archive.last(parent.run.kernel, None if request.reference == BEST else parent.run.version)
    if last is None:
        reporter.note("the reply names no prompt, and none is kept: it is held against what a prompt would say now")
        return draft_task(project, request, "fences")
    which = f"{last.id} of {short_name(last.evidence.version)}, {last.created[:10]}"
    reporter.note(f"the reply names no prompt; the last one is assumed: {which}")
    return task_of_prompt(project, last, request.libraries)


def _check_parent(project: Project, request: SuggestRequest, prompt: KeptPrompt) -> None:
    """Raise UsageProblem where a reply is to a prompt of another version or kernel than the one asked for."""
    said = prompt.evidence
    own = f"ncu-assist suggest {said.kernel}/{short_name(said.version)} --reply FILE"
    if request.kernel is not None and request.kernel != said.kernel:
        raise UsageProblem(f"{prompt.id} is of {said.kernel}, not of {request.kernel}", own)
    if request.reference == BEST:
        return
    (parent,) = resolved(project, [request.reference], request.kernel)
    if (parent.run.kernel, parent.run.version) != (said.kernel, said.version):
        raise UsageProblem(f"{prompt.id} is of {said.kernel}/{said.version}, not of {request.reference}", own)


def prove_draft(project: Project, request: SuggestRequest, id: str, reporter: Reporter) -> Suggested:
    """Prove a draft of the archive, as ``suggest`` does of a new one; raises UsageProblem for one that was proved."""
    stored = DraftArchive(project.reports).find(request.kernel, id)
    if stored.draft.fate != "drafted" or request.proving is None:
        known = f"ncu-assist ledger {stored.draft.kernel}"
        raise UsageProblem(f"{stored.reference} is {stored.draft.fate} already", known)
    prover = SandboxProver(project, request.proving, reporter)
    prover.check()
    prover.open()
    try:
        asked = _task_of(project, request, stored)
        proved = prover.prove(asked, stored).stored
    finally:
        prover.close()
    if proved.draft.fate != "kept":
        return Suggested((proved,))
    kept_draft, path = prover.keep(asked, proved)
    return Suggested((kept_draft,), (path,))


def _task_of(project: Project, request: SuggestRequest, stored: StoredDraft) -> DraftTask:
    """Return what a draft answers: its prompt where that is kept, else what one would say now of its parent."""
    if stored.draft.prompt:
        try:
            return task_of_prompt(project, PromptArchive(project.reports).find(stored.draft.prompt), request.libraries)
        except UsageProblem:
            pass  # its prompt was written elsewhere
    return draft_task(project, replace(request, reference=stored.draft.parent), "fences")


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
    return [run for run in Store(project.reports).runs() if run.reference in wanted] if wanted else []
