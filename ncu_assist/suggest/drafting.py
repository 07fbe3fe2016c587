"""From a reply to a draft in the archive: read, applied to the parent's source, held against the evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ncu_assist.errors import ModelProblem
from ncu_assist.spec import Kernel
from ncu_assist.store import StoredRun
from ncu_assist.store.draft_records import Claim, Draft, ModelCost
from ncu_assist.store.drafts import PROMPT, REFUSAL, DraftArchive, StoredDraft, new_draft_id, reply_name, source_name
from ncu_assist.suggest.conversation import Conversation
from ncu_assist.suggest.model import ReplyForm
from ncu_assist.suggest.prompting.building import Prompt
from ncu_assist.suggest.reply.applying import apply
from ncu_assist.suggest.reply.citing import flaws
from ncu_assist.suggest.reply.form import UnusableReply
from ncu_assist.suggest.reply.reading import read_reply

Words = str | Callable[[ReplyForm], str]
CORRECTIONS = 1  # how often a reply that cannot be used is sent back with what is wrong with it


@dataclass(frozen=True)
class DraftTask:
    """What a draft is to improve: the run of its parent, the kernel, and the prompt made of both."""

    parent: StoredRun
    kernel: Kernel
    prompt: Prompt = field(repr=False)
    worded: Callable[[ReplyForm], str] = field(repr=False)  # the same prompt, asking for another form of the reply

    @property
    def suffix(self) -> str:
        """``.cu`` or ``.py``, the language of the parent, in which the draft is written too."""
        return self.prompt.evidence.suffix

    @property
    def source(self) -> str:
        """The parent's own file as it was measured."""
        return next(iter(self.parent.source_texts().values()))


@dataclass(frozen=True)
class RoundPosition:
    """Where in a suggestion a draft stands, both counted from 1."""

    round: int = 1
    candidate: int = 1


@dataclass
class _Written:
    """What became of one request: the replies, what they cost, and the source or why there is none."""

    replies: list[str] = field(default_factory=list)
    cost: ModelCost = field(default_factory=ModelCost)
    claim: Claim | None = None
    source: str = ""
    refusal: str = ""
    told: str = ""  # what the author of a reply that cannot be used is told


def draft(
    archive: DraftArchive, task: DraftTask, conversation: Conversation, words: Words, position: RoundPosition
) -> StoredDraft:
    """Say ``words``, make a draft of the reply and archive it: ``drafted``, or ``rejected`` where it cannot be used.

    An edit that does not apply, or a reply of another form, is sent back once with what is wrong; the first reply is
    kept where that comes to nothing. Raises ModelProblem where there is no reply at all, EnvironmentProblem where the
    archive cannot be written.
    """
    written = _write(task, conversation, words)
    record = _record(task, conversation, written, position)
    files = {PROMPT: task.prompt.text.encode()}
    files |= {reply_name(i): text.encode("utf-8", "replace") for i, text in enumerate(written.replies, 1)}
    if written.refusal:
        files[REFUSAL] = written.told.encode("utf-8", "replace")
    if written.source:
        files[source_name(task.suffix)] = written.source.encode()
    return archive.save(record, files)


def _write(task: DraftTask, conversation: Conversation, words: Words) -> _Written:
    written = _Written()
    for corrections in range(CORRECTIONS + 1):
        try:
            answer = conversation.say(words)
        except ModelProblem as error:
            if not written.replies:
                raise
            written.refusal += f"; asking again came to nothing: {error.message}"
            break
        written.replies.append(answer.text)
        written.cost = ModelCost.of_all((written.cost, answer.cost))
        problem = _problem(task, written)
        if problem is None or not conversation.author.can_be_answered or corrections == CORRECTIONS:
            break
        words = f"{problem.to_model}\nAnswer again in the form asked for, with the same one change."
    return written


def _problem(task: DraftTask, written: _Written) -> UnusableReply | None:
    """Read the last reply and apply it; return what keeps that from being done."""
    try:
        reply = read_reply(written.replies[-1])
        written.claim = reply.claim
        written.source, written.refusal = apply(reply, task.source, task.suffix, task.kernel), ""
    except UnusableReply as error:
        written.refusal, written.told = error.reason, error.to_model
        return error
    return None


def _record(task: DraftTask, conversation: Conversation, written: _Written, position: RoundPosition) -> Draft:
    now, evidence = datetime.now(UTC), task.prompt.evidence
    return Draft(
        id=new_draft_id("".join(written.replies), now),
        kernel=task.kernel.name,
        parent=task.parent.reference,
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        model=conversation.author.name,
        origin="model" if conversation.author.can_be_answered else "file",
        round=position.round,
        candidate=position.candidate,
        diagnosis=evidence.diagnosis_id,
        claim=written.claim,
        suffix=task.suffix,
        prompt_sha256=task.prompt.sha256,
        prompt=task.prompt.id,
        source_sha256=hashlib.sha256(written.source.encode()).hexdigest() if written.source else "",
        fate="rejected" if written.refusal else "drafted",
        reason=f"its reply could not be used: {written.refusal}" if written.refusal else "",
        flaws=flaws(written.claim, {item.id: item for item in evidence.items}) if written.claim else (),
        cost=written.cost,
    )
