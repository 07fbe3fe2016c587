"""The tries of one question: calls, retries and the ladder of reply forms, until there is an answer or no hope."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ncu_assist.drafts.records import Cost
from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.suggest.model import words
from ncu_assist.suggest.model.address import is_local, shown
from ncu_assist.suggest.model.catalogue import offered, unknown_model
from ncu_assist.suggest.model.clock import MORE_TIME, Clock
from ncu_assist.suggest.model.dialect import Dialect, next_rung, request, without
from ncu_assist.suggest.model.failures import Dropped, Refused, Unreachable
from ncu_assist.suggest.model.gathering import Gathered, Show, gather
from ncu_assist.suggest.model.line import Line
from ncu_assist.suggest.model.memory import remember, remembered
from ncu_assist.suggest.model.records import Answer, Endpoint, Message, Messages, Rung
from ncu_assist.suggest.model.secret import Key, Scrubber
from ncu_assist.suggest.model.spending import with_reply
from ncu_assist.suggest.model.wording import rung_of, without_thoughts

LONGEST_BACKOFF_S = 30.0  # between two tries without a Retry-After


@dataclass(frozen=True)
class Question:
    """What is asked, of which model, and the schema of the reply; None where any form will do."""

    endpoint: Endpoint
    messages: Messages
    schema: dict[str, Any] | None

    def first_form(self, address: str) -> Dialect:
        """Return the form to begin with: what worked last, else the strictest."""
        form = remembered(address, self.endpoint.model) or Dialect()
        return form if self.schema is not None else replace(form, rung="fences")

    def worded(self, rung: Rung) -> Sequence[Message]:
        """Return the messages as they ask for the form of ``rung``."""
        return self.messages(rung) if callable(self.messages) else self.messages


@dataclass
class Attempts:
    """One question on its way; ``form`` and ``retries`` change with each failure."""

    question: Question
    line: Line
    key: Key | None
    on_text: Show
    on_note: Callable[[str], None]
    cost: Cost = field(default_factory=Cost)
    retries: int = 0
    form: Dialect = field(init=False)
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.form = self.question.first_form(self.line.address)
        self.clock = Clock(self.question.endpoint.limits)

    def answer(self) -> Answer:
        """Ask until there is an answer."""
        while True:
            gathered = Gathered(self.on_text, Scrubber(self.key), self.clock.limits.reply_chars)
            try:
                self._call(gathered)
            except Refused as refused:
                self._after_refusal(refused)
            except (Dropped, Unreachable) as failure:
                self._again(failure)
            else:
                answer = self._accepted(gathered)
                if answer is not None:
                    return answer

    def _call(self, gathered: Gathered) -> None:
        question = self.question
        messages = question.worded(self.form.rung)
        arguments = request(question.endpoint, messages, question.schema, self.form)
        try:
            gather(self.line, partial(self.line.completion, arguments), self.clock, gathered)
        finally:
            self.cost = with_reply(self.cost, gathered, sum(len(m.text) for m in messages), self.clock.elapsed())

    def _after_refusal(self, refused: Refused) -> None:
        model = self.question.endpoint.model
        if words.is_too_large(refused):
            raise words.refused_for_good(refused, shown(self.line.address))
        if words.is_unknown_model(refused, model):
            raise self._unknown_model(refused)
        form = without(self.form, self.question.endpoint, refused)
        if form is not None:
            self._change(form, f"the endpoint refused the request (HTTP {refused.status}: {self._said(refused)})")
        elif words.may_pass(refused):
            self._again(refused)
        else:
            raise self._for_good(refused)

    def _for_good(self, refused: Refused) -> ModelProblem:
        if refused.status == 401 and self.key is None:
            return words.key_wanted(refused)
        known = offered(self.line, self.clock) if refused.status == 404 else ()
        if known and self.question.endpoint.model not in known:
            return unknown_model(self.question.endpoint.model, known, "")
        return words.refused_for_good(refused, shown(self.line.address))

    def _unknown_model(self, refused: Refused) -> ModelProblem:
        return unknown_model(self.question.endpoint.model, offered(self.line, self.clock), self._said(refused))

    def _again(self, failure: Refused | Dropped | Unreachable) -> None:
        """Wait before the next try. Raises ModelProblem where there is none."""
        limits = self.clock.limits
        hopeless = isinstance(failure, Unreachable) and (failure.final or is_local(self.line.address))
        if hopeless or self.retries >= limits.retries:
            raise self._final(failure)
        wait = min(limits.retry_wait_s * 2**self.retries, LONGEST_BACKOFF_S)
        if isinstance(failure, Refused) and failure.retry_after_s is not None:
            wait = failure.retry_after_s
        happened = words.passing(failure)
        if wait >= self.clock.left():
            raise ModelProblem(
                f"{happened}, and the time limit does not allow to wait {wait:.3g} s and ask again", MORE_TIME
            )
        self.retries += 1
        self.on_note(f"{happened}; asks again in {wait:.3g} s ({self.retries} of {limits.retries})")
        time.sleep(wait)

    def _final(self, failure: Refused | Dropped | Unreachable) -> ModelProblem:
        address = shown(self.line.address)
        if isinstance(failure, Refused):
            return words.refused_for_good(failure, address)
        return words.broken(failure, address)

    def _change(self, form: Dialect, happened: str) -> None:
        asked = f"for {form.rung}" if form.rung != self.form.rung else "with fewer options"
        self.on_note(f"{happened}; asks {asked} instead")
        self.form = form

    def _accepted(self, gathered: Gathered) -> Answer | None:
        """Return the answer, None where it is asked for again on a lower rung."""
        text = without_thoughts(gathered.text)
        wrong = words.unusable(gathered, text)
        rung = rung_of(text, self.form.rung)
        lower = next_rung(self.form)
        if wrong is not None and (text.strip() or gathered.refusal or gathered.finish != "stop" or lower is None):
            raise wrong
        if lower is not None and (wrong is not None or rung is None):
            self._change(lower, f"the reply is not what {self.form.rung} asks for")
            return None
        return self._answer(text, rung or self.form.rung)

    def _answer(self, text: str, rung: Rung) -> Answer:
        if self.question.schema is not None:
            remember(self.line.address, self.question.endpoint.model, replace(self.form, rung=rung))
        return Answer(text, self.cost, rung)

    def _said(self, refused: Refused) -> str:
        return Scrubber(self.key).message(one_line(refused.said))
