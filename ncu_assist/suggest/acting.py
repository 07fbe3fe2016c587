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
from ncu_assist.suggest.conversation import LanguageModel, ReplySource, SavedReply, saved_reply
from ncu_assist.suggest.drafting import DraftRequest
from ncu_assist.suggest.evidence import BEST
from ncu_assist.suggest.model import Endpoint, Messages, ModelAnswer, ReplyForm, ask, expected_form
from ncu_assist.suggest.prompting import Prompt
from ncu_assist.suggest.prompting.archive import KeptPrompt, PromptArchive, ids_in
from ncu_assist.suggest.proof.prover import SandboxProver, make_version
from ncu_assist.suggest.reply import REPLY_SCHEMA
from ncu_assist.suggest.request import SuggestRequest
from ncu_assist.suggest.rounds import SuggestSession, keep_prompt, request_of, request_of_prompt
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

    def speaker(self, reporter: Reporter) -> ReplySource:
        """Return who answers. Raises UsageProblem for a file without a reply."""
        if self.reply is not None:
            return SavedReply(saved_reply(self.reply), self.model)
        return LanguageModel(self.model, partial(_ask, self, reporter))


def _ask(voice: ReplyOptions, reporter: Reporter, messages: Messages) -> ModelAnswer:
    return ask(voice.endpoint, messages, voice.on_text, REPLY_SCHEMA, reporter.note)


def prompt_of(project: Project, wish: SuggestRequest, voice: ReplyOptions) -> Prompt:
    """Return the prompt that would be sent; nothing is, but it is kept for a reply to it.

    Raises as ``evidence`` and ``build_prompt`` do.
    """
    prompt = request_of(project, wish, voice.form).prompt
    keep_prompt(project, prompt)
    return prompt


def suggest(project: Project, wish: SuggestRequest, voice: ReplyOptions, reporter: Reporter) -> Suggested:
    """Make the drafts that a wish asks for and, where it says so, prove them. Raises as ``SuggestSession.run`` does."""
    prover = SandboxProver(project, wish.proving, reporter) if wish.proving else None
    if prover is not None:
        prover.check()  # before a model is paid for a draft that cannot be proved here
    speaker = voice.speaker(reporter)
    first = _answered(project, wish, speaker.text, voice.prompt, reporter) if isinstance(speaker, SavedReply) else None
    return SuggestSession(project, wish, speaker, reporter, prover, voice.form, first).run()


def _answered(
    project: Project, wish: SuggestRequest, reply: str, named: str | None, reporter: Reporter
) -> DraftRequest:
    """Return what a saved reply answers: the prompt ``named``, else the one that it names, else the last that fits.

    Raises UsageProblem for a prompt that is not kept, for several, and for one of another version than was asked for.
    """
    archive, ids = PromptArchive(project.reports), (named,) if named else ids_in(reply)
    if len(ids) > 1:
        raise UsageProblem(f"the reply names {len(ids)} prompts: {', '.join(ids)}", f"--prompt {ids[0]}")
    if ids:
        kept_prompt = archive.find(ids[0])
        _check_parent(project, wish, kept_prompt)
        return request_of_prompt(project, kept_prompt, wish.libraries)
    (parent,) = resolved(project, [wish.reference], wish.kernel)
    last = archive.last(parent.run.kernel, None if wish.reference == BEST else parent.run.version)
    if last is None:
        reporter.note("the reply names no prompt, and none is kept: it is held against what a prompt would say now")
        return request_of(project, wish, "fences")
    which = f"{last.id} of {short_name(last.evidence.version)}, {last.created[:10]}"
    reporter.note(f"the reply names no prompt; the last one is assumed: {which}")
    return request_of_prompt(project, last, wish.libraries)


def _check_parent(project: Project, wish: SuggestRequest, kept_prompt: KeptPrompt) -> None:
    """Raise UsageProblem where a reply is to a prompt of another version or kernel than the one asked for."""
    said = kept_prompt.evidence
    own = f"ncu-assist suggest {said.kernel}/{short_name(said.version)} --reply FILE"
    if wish.kernel is not None and wish.kernel != said.kernel:
        raise UsageProblem(f"{kept_prompt.id} is of {said.kernel}, not of {wish.kernel}", own)
    if wish.reference == BEST:
        return
    (parent,) = resolved(project, [wish.reference], wish.kernel)
    if (parent.run.kernel, parent.run.version) != (said.kernel, said.version):
        raise UsageProblem(f"{kept_prompt.id} is of {said.kernel}/{said.version}, not of {wish.reference}", own)


def prove_draft(project: Project, wish: SuggestRequest, id: str, reporter: Reporter) -> Suggested:
    """Prove a draft of the archive, as ``suggest`` does of a new one; raises UsageProblem for one that was proved."""
    stored = DraftArchive(project.reports).find(wish.kernel, id)
    if stored.draft.fate != "drafted" or wish.proving is None:
        known = f"ncu-assist ledger {stored.draft.kernel}"
        raise UsageProblem(f"{stored.reference} is {stored.draft.fate} already", known)
    prover = SandboxProver(project, wish.proving, reporter)
    prover.check()
    prover.open()
    try:
        asked = _asked_of(project, wish, stored)
        proved = prover.prove(asked, stored).stored
    finally:
        prover.close()
    if proved.draft.fate != "kept":
        return Suggested((proved,))
    kept_draft, path = prover.keep(asked, proved)
    return Suggested((kept_draft,), (path,))


def _asked_of(project: Project, wish: SuggestRequest, stored: StoredDraft) -> DraftRequest:
    """Return what a draft answers: its prompt where that is kept, else what one would say now of its parent."""
    if stored.draft.prompt:
        try:
            return request_of_prompt(project, PromptArchive(project.reports).find(stored.draft.prompt), wish.libraries)
        except UsageProblem:
            pass  # its prompt was written elsewhere
    return request_of(project, replace(wish, reference=stored.draft.parent), "fences")


def accept_draft(project: Project, wish: SuggestRequest, id: str, reporter: Reporter) -> Suggested:
    """Make a draft the next version of its kernel, whatever its fate; raises as ``drafts.accept`` does."""
    stored = DraftArchive(project.reports).find(wish.kernel, id)
    if stored.draft.fate != "kept":
        reporter.note(f"{stored.reference} is {stored.draft.fate}, and accepted because you say so")
    accepted, path = make_version(project, load_kernel(project, stored.draft.kernel).folder, stored)
    return Suggested((accepted,), (path,))


def runs_of(project: Project, found: Suggested) -> list[StoredRun]:
    """Return the archived runs of the drafts that became versions."""
    wanted = {one.draft.proof.run for one in found.drafts if one.draft.proof and one.draft.proof.run}
    return [run for run in Store(project.reports).runs() if run.reference in wanted] if wanted else []
