"""From a reply to a draft in the archive: who answers, what was said, and the reply applied to the parent's source."""

from __future__ import annotations

import codecs
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from ncu_assist.errors import ModelProblem, UsageProblem
from ncu_assist.spec import Kernel
from ncu_assist.store import StoredRun
from ncu_assist.store.drafts import (
    PROMPT,
    REFUSAL,
    TOOLS,
    Claim,
    Draft,
    DraftArchive,
    ModelCost,
    StoredDraft,
    new_draft_id,
    reply_name,
    source_name,
)
from ncu_assist.suggest.model import FailedCall, Message, Messages, ModelAnswer, ReplyForm
from ncu_assist.suggest.prompting import Prompt
from ncu_assist.suggest.reply import UnusableReply, apply, flaws, read_reply

LARGEST_BYTES = 1_000_000  # a kernel's file is tens of thousands
STDIN = "-"
SAVE_AGAIN = "save the reply as plain text in UTF-8"
MARKS = (  # the longer ones first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class ReplySource:
    """Who answers: a model, or the reply in a file, behind which there is nobody to ask again.

    ``name`` is the model, empty where it is not known. ``answer`` raises ModelProblem where there is no answer.
    ``extra_tokens`` go with each prompt, for the tools and the form of the reply; ``tool_calls`` are allowed.
    """

    name: str
    answer: Callable[[Messages], ModelAnswer] = field(repr=False)
    can_be_answered: bool = True
    extra_tokens: int = 0
    tool_calls: int = 0


def source_of_saved(text: str, name: str = "") -> ReplySource:
    """Return the source of a reply that was saved; ``name`` is the model that it came from."""
    return ReplySource(name, lambda _: ModelAnswer(text, ModelCost(), "fences"), can_be_answered=False)


@dataclass
class Conversation:
    """What was said so far; one draft begins it, and its repairs go on with it."""

    author: ReplySource
    messages: list[Message] = field(default_factory=list)

    def say(self, text: str | Callable[[ReplyForm], str]) -> ModelAnswer:
        """Say something and return the answer; the wording may depend on the form that is asked for.

        Raises ModelProblem where there is no answer.
        """
        answer = self.author.answer(lambda form: [*self.messages, _said(text, form)])
        self.messages += [_said(text, answer.form), *answer.exchanged, Message("assistant", answer.text)]
        return answer


def _said(text: str | Callable[[ReplyForm], str], form: ReplyForm) -> Message:
    return Message("user", text if isinstance(text, str) else text(form))


def saved_reply(path: Path | str, stdin: BinaryIO | None = None) -> str:
    """Return the text of the reply in the file ``path``, or of standard input for ``-``.

    Raises UsageProblem for a file that cannot be read, is empty, too large, or no text.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    content = _content(path, stdin)
    if len(content) > LARGEST_BYTES:
        raise UsageProblem(f"{name} is larger than {LARGEST_BYTES:,} bytes: no reply is that long", SAVE_AGAIN)
    text = _decoded(content, name)
    if not text.strip():
        raise UsageProblem(f"{name} is empty: there is no reply in it", SAVE_AGAIN)
    return text


def _content(path: Path | str, stdin: BinaryIO | None) -> bytes:
    if str(path) == STDIN:
        return (stdin or sys.stdin.buffer).read(LARGEST_BYTES + 1)
    try:
        with Path(path).open("rb") as stream:
            return stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageProblem(
            f"the reply {path} cannot be read: {error.strerror}", "--reply with a file that exists"
        ) from None


def _decoded(content: bytes, name: str) -> str:
    encoding = next((encoding for mark, encoding in MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        words = f"{name} is not text in {encoding}: byte {error.start} cannot be read"
        raise UsageProblem(words, SAVE_AGAIN) from None
    if "\0" in text:
        raise UsageProblem(f"{name} is not text: it holds zero bytes", SAVE_AGAIN)
    return text


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


@dataclass
class _Written:
    """What became of one request: the replies, what they cost, and the source or why there is none."""

    replies: list[str] = field(default_factory=list)
    cost: ModelCost = field(default_factory=ModelCost)
    exchanged: list[Message] = field(default_factory=list)  # the tools that were called
    claim: Claim | None = None
    source: str = ""
    refusal: str = ""
    answer_to_author: str = ""  # what to say to the author of a reply that cannot be used


def draft(
    archive: DraftArchive, task: DraftTask, conversation: Conversation, words: Words, round: int, candidate: int
) -> StoredDraft:
    """Say ``words``, make a draft of the reply and archive it: ``drafted``, or ``rejected`` where it cannot be used.

    ``round`` and ``candidate`` are its place in the suggestion, both from 1.

    An edit that does not apply, or a reply of another form, is sent back once with what is wrong; the first reply is
    kept where that comes to nothing. Raises ModelProblem where there is no reply at all, EnvironmentProblem where the
    archive cannot be written.
    """
    written = _write(task, conversation, words)
    record = _record(task, conversation, written, round, candidate)
    files = {PROMPT: task.prompt.text.encode()}
    files |= {reply_name(i): text.encode("utf-8", "replace") for i, text in enumerate(written.replies, 1)}
    if written.exchanged:
        files[TOOLS] = _tool_calls(written.exchanged).encode("utf-8", "replace")
    if written.refusal:
        files[REFUSAL] = written.answer_to_author.encode("utf-8", "replace")
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
            if isinstance(error, FailedCall):
                written.cost = ModelCost.of_all((written.cost, error.cost))
            written.refusal += f"; asking again came to nothing: {error.message}"
            break
        written.replies.append(answer.text)
        written.cost = ModelCost.of_all((written.cost, answer.cost))
        written.exchanged += answer.exchanged
        problem = _problem(task, written)
        if problem is None or not conversation.author.can_be_answered or corrections == CORRECTIONS:
            break
        words = f"{problem.to_model}\nAnswer again in the form asked for, with the same one change."
    return written


def _tool_calls(exchanged: Sequence[Message]) -> str:
    """Return the tools that a model called, a line of JSON each, with what they answered."""
    answers = {message.answers: message.text for message in exchanged if message.role == "tool"}
    calls = [call for message in exchanged for call in message.calls]
    rows = ({"tool": one.name, "arguments": one.arguments, "answer": answers.get(one.id, "")} for one in calls)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _problem(task: DraftTask, written: _Written) -> UnusableReply | None:
    """Read the last reply and apply it; return what keeps that from being done."""
    try:
        reply = read_reply(written.replies[-1])
        written.claim = reply.claim
        written.source, written.refusal = apply(reply, task.source, task.suffix, task.kernel), ""
    except UnusableReply as error:
        written.refusal, written.answer_to_author = error.reason, error.to_model
        return error
    return None


def _record(task: DraftTask, conversation: Conversation, written: _Written, round: int, candidate: int) -> Draft:
    now, evidence = datetime.now(UTC), task.prompt.evidence
    return Draft(
        id=new_draft_id("".join(written.replies), now),
        kernel=task.kernel.name,
        parent=task.parent.reference,
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        model=conversation.author.name,
        origin="model" if conversation.author.can_be_answered else "file",
        round=round,
        candidate=candidate,
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
