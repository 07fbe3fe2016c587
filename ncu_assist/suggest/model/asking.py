"""Ask a model a question: calls, retries, simpler forms of the reply, until there is an answer or no hope."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.store.draft_records import ModelCost
from ncu_assist.suggest.model.client import MORE_TIME, Clock, ModelClient, connected, received
from ncu_assist.suggest.model.endpoint import (
    Endpoint,
    Key,
    Message,
    Messages,
    ModelAnswer,
    ReplyForm,
    Scrubber,
    ToolBox,
    find_key,
    is_local,
    is_open,
    resolve,
    shown,
)
from ncu_assist.suggest.model.failures import (
    Dropped,
    Refused,
    Unreachable,
    connection_problem,
    is_too_large,
    key_wanted,
    may_succeed_later,
    missing_key,
    refusal_problem,
    retry_words,
)
from ncu_assist.suggest.model.reply_stream import (
    ReplyInProgress,
    Show,
    form_of,
    gather,
    objects,
    unusable,
    with_reply,
    without_thoughts,
)
from ncu_assist.suggest.model.request_form import (
    REJECTING,
    RequestForm,
    names_an_option,
    remember,
    remembered,
    request,
    simpler_reply,
    without,
    words_of,
)

NO_MODEL = re.compile(
    r"model_not_found|model\b.{0,80}(not found|does ?n.t exist|not exist|not available|unknown)"
    r"|(unknown|no such|invalid|not a valid) model",
    re.IGNORECASE | re.DOTALL,
)
NO_MORE = "No more tools may be called: answer the question now, in the form asked for."
LONGEST_S = 5.0  # for a list that only improves a message
LIST_CHARACTERS = 1_000_000
NEAREST = 5
LONGEST_BACKOFF_S = 30.0  # between two tries without a Retry-After


class FailedCall(ModelProblem):
    """A question that got no answer; ``cost`` is what was spent on it all the same."""

    def __init__(self, message: str, hint: str, cost: ModelCost) -> None:
        super().__init__(message, hint)
        self.cost = cost


def ask(
    endpoint: Endpoint,
    messages: Messages,
    on_text: Show,
    schema: dict[str, Any] | None = None,
    on_note: Callable[[str], None] = lambda note: None,
    tools: ToolBox | None = None,
) -> ModelAnswer:
    """Return the answer of the model to ``messages``, which may be a function of the form that is asked for.

    ``schema`` is the JSON schema of the reply; without one, no form is asked for. Before it answers, the model may call
    ``tools``, where the endpoint takes them. ``on_text`` gets the text as it
    comes, that of replies that are then given up too; ``on_note`` a line for each retry and each simpler form. Both get
    text from outside, to be escaped where it is shown. Raises ModelProblem (FailedCall once a request was sent), and
    UsageProblem for an address that is none.
    """
    address = resolve(endpoint.base_url)
    key = find_key(endpoint.key_file)
    if key is None and not is_local(address):
        raise missing_key()
    if key is not None and is_open(address):
        on_note(f"the key goes to {shown(address)} unencrypted: the address begins with http")
    with connected(address, key, endpoint.limits) as client:
        attempts = Attempts(endpoint, messages, schema, client, key, on_text, on_note, tools)
        try:
            return attempts.answer()
        except ModelProblem as error:
            problem = error
        scrubber = Scrubber(key)  # raised outside the handler: the problem's own text may hold an echo of the key
        raise FailedCall(scrubber.message(problem.message), scrubber.message(problem.hint), attempts.cost)


def expected_form(endpoint: Endpoint) -> ReplyForm:
    """Return the form of reply that a question to ``endpoint`` begins with: what worked last, else the strictest."""
    return (remembered(resolve(endpoint.base_url), endpoint.model) or RequestForm()).reply_form


@dataclass
class Attempts:
    """One question on its way; ``form`` and ``retries`` change with each failure.

    ``schema`` is that of the reply; None where any form will do. ``exchanged`` are the tools that were called so far.
    """

    endpoint: Endpoint
    messages: Messages
    schema: dict[str, Any] | None
    client: ModelClient
    key: Key | None
    on_text: Show
    on_note: Callable[[str], None]
    tools: ToolBox | None = None
    exchanged: list[Message] = field(default_factory=list)
    cost: ModelCost = field(default_factory=ModelCost)
    retries: int = 0
    form: RequestForm = field(init=False)
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        form = remembered(self.client.address, self.endpoint.model) or RequestForm()
        self.form = form if self.schema is not None else replace(form, reply_form="fences")
        self.clock = Clock(self.endpoint.limits)

    def answer(self) -> ModelAnswer:
        """Ask until there is an answer."""
        while True:
            gathered = ReplyInProgress(self.on_text, Scrubber(self.key), self.clock.limits.reply_chars)
            try:
                self._call(gathered)
            except Refused as refused:
                self._after_refusal(refused)
            except (Dropped, Unreachable) as failure:
                self._again(failure)
            else:
                if gathered.calls and self._offers_tools and gathered.finish != "length":
                    self._use_tools(gathered)
                    continue
                answer = self._accepted(gathered)
                if answer is not None:
                    return answer

    @property
    def _offers_tools(self) -> bool:
        return self.tools is not None and self.form.tools

    def _question(self) -> list[Message]:
        """Return what is sent: with the tools what is said of them and was called before, without them neither."""
        asked = self.messages(self.form.reply_form) if callable(self.messages) else self.messages
        if self.tools is None or not self.form.tools:
            return [message for message in asked if message.role != "tool" and not message.calls]
        return [Message("system", self.tools.about), *asked, *self.exchanged]

    def _use_tools(self, gathered: ReplyInProgress) -> None:
        """Call the tools that the model asks for, as far as it may. Raises ModelProblem where it does not stop."""
        assert self.tools is not None
        left = self.tools.limits.left(self._question())
        if not left and any(message.text == NO_MORE for message in self.exchanged):
            raise ModelProblem("the model asks for more tools than it may, and does not answer", "--no-tools")
        self.exchanged.append(Message("assistant", without_thoughts(gathered.text), tuple(gathered.calls)))
        for call in gathered.calls:
            left = self.tools.limits.left(self._question())
            if left:
                self.on_note(f"the model calls {one_line(call.name, 40)} {one_line(call.arguments, 100)}")
            said = self.tools.call(call.name, call.arguments) if left else NO_MORE
            self.exchanged.append(Message("tool", said, answers=call.id))

    def _call(self, gathered: ReplyInProgress) -> None:
        messages = self._question()
        arguments = request(self.endpoint, messages, self.schema, self.form, self.tools)
        try:
            gather(self.client, partial(self.client.completion, arguments), self.clock, gathered)
        finally:
            self.cost = with_reply(self.cost, gathered, sum(len(m.text) for m in messages), self.clock.elapsed())

    def _after_refusal(self, refused: Refused) -> None:
        model = self.endpoint.model
        if is_too_large(refused):
            raise refusal_problem(refused, shown(self.client.address))
        if is_unknown_model(refused, model):
            raise unknown_model(model, offered(self.client, self.clock), self._said(refused))
        form = without(self.form, self.endpoint, refused, self._offers_tools)
        if form is not None:
            self._change(form, f"the endpoint refused the request (HTTP {refused.status}: {self._said(refused)})")
        elif may_succeed_later(refused):
            self._again(refused)
        else:
            raise self._for_good(refused)

    def _for_good(self, refused: Refused) -> ModelProblem:
        if refused.status == 401 and self.key is None:
            return key_wanted(refused)
        known = offered(self.client, self.clock) if refused.status == 404 else ()
        if known and self.endpoint.model not in known:
            return unknown_model(self.endpoint.model, known, "")
        return refusal_problem(refused, shown(self.client.address))

    def _again(self, failure: Refused | Dropped | Unreachable) -> None:
        """Wait before the next try. Raises ModelProblem where there is none."""
        limits = self.clock.limits
        hopeless = isinstance(failure, Unreachable) and (failure.final or is_local(self.client.address))
        if hopeless or self.retries >= limits.retries:
            address = shown(self.client.address)
            if isinstance(failure, Refused):
                raise refusal_problem(failure, address)
            raise connection_problem(failure, address)
        wait = min(limits.retry_wait_s * 2**self.retries, LONGEST_BACKOFF_S)
        if isinstance(failure, Refused) and failure.retry_after_s is not None:
            wait = failure.retry_after_s
        happened = retry_words(failure)
        if wait >= self.clock.left():
            raise ModelProblem(
                f"{happened}, and the time limit does not allow to wait {wait:.3g} s and ask again", MORE_TIME
            )
        self.retries += 1
        self.on_note(f"{happened}; asks again in {wait:.3g} s ({self.retries} of {limits.retries})")
        time.sleep(wait)

    def _change(self, form: RequestForm, happened: str) -> None:
        asked = f"for {form.reply_form}" if form.reply_form != self.form.reply_form else "with fewer options"
        if form.tools != self.form.tools:
            asked, self.exchanged = "without tools", []
        self.on_note(f"{happened}; asks {asked} instead")
        self.form = form

    def _accepted(self, gathered: ReplyInProgress) -> ModelAnswer | None:
        """Return the answer, None where it is asked for again in a simpler form."""
        text = without_thoughts(gathered.text)
        wrong = unusable(gathered, text)
        form = form_of(text, self.form.reply_form)
        simpler = simpler_reply(self.form)
        if wrong is not None and (text.strip() or gathered.refusal or gathered.finish != "stop" or simpler is None):
            raise wrong
        if simpler is not None and (wrong is not None or form is None):
            self._change(simpler, f"the reply is not what {self.form.reply_form} asks for")
            return None
        form = form or self.form.reply_form
        if self.schema is not None:
            remember(self.client.address, self.endpoint.model, replace(self.form, reply_form=form))
        return ModelAnswer(text, self.cost, form, tuple(self.exchanged))

    def _said(self, refused: Refused) -> str:
        return Scrubber(self.key).message(one_line(refused.said))


def offered(client: ModelClient, clock: Clock) -> tuple[str, ...]:
    """Return the names of the models at ``client``, empty where it does not say within a few seconds."""
    brief = Clock(replace(clock.limits, whole_s=min(LONGEST_S, max(0.0, clock.left()))))
    try:
        with closing(received(client, client.models, brief)) as chunks:
            found = next(iter(objects(chunks, LIST_CHARACTERS, client.scrubber.whole)), {})
    except (ModelProblem, Refused, Dropped, Unreachable):
        return ()
    models = found.get("data")
    return tuple(name for entry in models if (name := _name(entry))) if isinstance(models, list) else ()


def is_unknown_model(refused: Refused, model: str) -> bool:
    """Return whether the endpoint says that it has no such model."""
    said = words_of(refused, model)
    return refused.status in REJECTING and bool(NO_MODEL.search(said)) and not names_an_option(said)


def unknown_model(model: str, known: tuple[str, ...], said: str) -> ModelProblem:
    """Return what to say of a model that the endpoint does not have, with the nearest of those it has."""
    words = f"the endpoint does not know the model '{one_line(model, 80)}'"
    if not known:
        return ModelProblem(f"{words}: {said}", "a name that the endpoint lists, with --model")
    near = difflib.get_close_matches(model, known, n=NEAREST, cutoff=0.4)
    if near:
        return ModelProblem(words, " or ".join(f"--model {one_line(name, 80)}" for name in near))
    some = ", ".join(one_line(name, 80) for name in sorted(known)[:NEAREST])
    return ModelProblem(f"{words}; it has {len(known)}, such as {some}", f"--model {one_line(sorted(known)[0], 80)}")


def _name(entry: Any) -> str:
    name = entry.get("id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""
