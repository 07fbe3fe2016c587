"""Ask a model a question: calls, retries, simpler forms of the reply, until there is an answer or no hope."""

from __future__ import annotations

import difflib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ncu_assist.atomic import atomic_write
from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.store.drafts import ModelCost
from ncu_assist.suggest.model.client import (
    MORE_TIME,
    Clock,
    Dropped,
    ModelClient,
    NeverReachable,
    Refused,
    ReplyInProgress,
    Show,
    Unreachable,
    connected,
    connection_problem,
    form_of,
    gather,
    is_charged,
    is_too_large,
    key_wanted,
    may_succeed_later,
    missing_key,
    objects,
    received,
    refusal_problem,
    retry_words,
    unusable,
    with_reply,
    without_thoughts,
)
from ncu_assist.suggest.model.endpoint import (
    CHARACTERS_PER_TOKEN,
    REPLY_FORMS,
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
    user_folder,
)

TokensField = Literal["max_completion_tokens", "max_tokens", ""]
TOKENS_FIELDS: tuple[TokensField, ...] = ("max_completion_tokens", "max_tokens", "")  # the second is the older name

OF_THE_REPLY = re.compile(r"response.?format|json.?schema|json.?object|structured|schema|grammar|guided", re.IGNORECASE)
OF_THE_TOKENS = re.compile(r"max_(completion_)?tokens", re.IGNORECASE)
OF_THE_USAGE = re.compile(r"stream_options|include_usage", re.IGNORECASE)
OF_THE_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
# vLLM: "auto" tool choice requires …; llama.cpp: Unsupported param: tools; Ollama: … does not support tools;
# OpenRouter: No endpoints found that support tool use.
OF_THE_TOOLS = re.compile(r"\btools?\b|tool_(choice|calls?)|function.?call", re.IGNORECASE)
OPTIONS = (OF_THE_REPLY, OF_THE_TOKENS, OF_THE_USAGE, OF_THE_TEMPERATURE, OF_THE_TOOLS)
REJECTING = (400, 404, 422)  # what servers answer to a field that they do not know
NEVER_FOR_A_FIELD = (401, 402, 403, 408, 409, 413, 429, 502, 503, 504, 529)
FILE = "endpoints.json"
KEPT_S = 30 * 24 * 3600.0  # servers are updated and learn the stricter forms
LARGEST_BYTES = 1_000_000
MOST_ENTRIES = 200


@dataclass(frozen=True)
class RequestForm:
    """The form of a request: how the reply is asked for, name of the token limit, and which options are sent."""

    reply_form: ReplyForm = "json_schema"
    tokens: TokensField = "max_completion_tokens"
    usage: bool = True
    temperature: bool = True
    tools: bool = True


def request(
    endpoint: Endpoint,
    messages: Sequence[Message],
    schema: dict[str, Any] | None,
    form: RequestForm,
    tools: ToolBox | None = None,
) -> dict[str, Any]:
    """Return the arguments of the client's call: nothing beyond what was asked for and the endpoint takes."""
    arguments: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [_sent(message) for message in messages],
        "stream": True,
    }
    if tools is not None and form.tools:
        arguments["tools"] = [{"type": "function", "function": one} for one in tools.offered]
        if not tools.limits.left(messages):
            arguments["tool_choice"] = "none"
    if form.usage:
        arguments["stream_options"] = {"include_usage": True}
    if endpoint.max_reply_tokens is not None and form.tokens:
        arguments[form.tokens] = endpoint.max_reply_tokens
    if endpoint.temperature is not None and form.temperature:
        arguments["temperature"] = endpoint.temperature
    if schema is not None and form.reply_form != "fences":
        arguments["response_format"] = _response_format(schema, form.reply_form)
    return arguments


def _characters_beside(arguments: dict[str, Any]) -> int:
    """Return the characters that a request sends beside its messages and that the model reads: tools and schema."""
    return sum(len(json.dumps(arguments[key])) for key in ("tools", "response_format") if key in arguments)


def _sent(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.answers, "content": message.text}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in message.calls
    ]
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def words_of(refused: Refused, model: str) -> str:
    """Return what the endpoint says, without the model's name, which may hold any word."""
    return re.sub(rf"(?<![\w.-]){re.escape(model)}(?![\w.-])", "", f"{refused.code} {refused.said}")


def names_an_option(said: str) -> bool:
    """Return whether an endpoint's words are about an optional part of a request."""
    return any(option.search(said) for option in OPTIONS)


def simpler_reply(form: RequestForm) -> RequestForm | None:
    """Return ``form`` with the next simpler form of the reply, None after the simplest."""
    below = REPLY_FORMS[REPLY_FORMS.index(form.reply_form) + 1 :]
    return replace(form, reply_form=below[0]) if below else None


def without(form: RequestForm, endpoint: Endpoint, refused: Refused, offers_tools: bool = False) -> RequestForm | None:
    """Return the form to try after ``refused``, None where nothing that could be left out explains it.

    What the endpoint names is left out; where it names nothing, tools, a simpler reply, then an option less at a time.
    """
    if refused.status in NEVER_FOR_A_FIELD:
        return None
    said = words_of(refused, endpoint.model)
    if offers_tools and (OF_THE_TOOLS.search(said) or (refused.status in REJECTING and not names_an_option(said))):
        return replace(form, tools=False)
    named = _named(form, endpoint, said)
    if named is not None or refused.status not in REJECTING:
        return named
    return simpler_reply(form) or _fewer_options(form, endpoint)


def _named(form: RequestForm, endpoint: Endpoint, said: str) -> RequestForm | None:
    if OF_THE_USAGE.search(said) and form.usage:
        return replace(form, usage=False)
    if OF_THE_TEMPERATURE.search(said) and form.temperature and endpoint.temperature is not None:
        return replace(form, temperature=False)
    if OF_THE_TOKENS.search(said) and form.tokens and endpoint.max_reply_tokens is not None:
        return _next_tokens(form)
    return simpler_reply(form) if OF_THE_REPLY.search(said) else None


def _fewer_options(form: RequestForm, endpoint: Endpoint) -> RequestForm | None:
    if form.usage:
        return replace(form, usage=False)
    if form.tokens and endpoint.max_reply_tokens is not None:
        return _next_tokens(form)
    return replace(form, temperature=False) if form.temperature and endpoint.temperature is not None else None


def _next_tokens(form: RequestForm) -> RequestForm:
    return replace(form, tokens=TOKENS_FIELDS[TOKENS_FIELDS.index(form.tokens) + 1])


def _response_format(schema: dict[str, Any], form: ReplyForm) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def cache_file() -> Path:
    """Return the file, in the folder that this user's environment names for caches."""
    return user_folder(os.environ, "XDG_CACHE_HOME", ".cache") / FILE


def remembered(address: str, model: str) -> RequestForm | None:
    """Return what worked last with ``model`` at ``address``, None where nothing is known or it is long ago."""
    entry = _entries().get(_name(address, model))
    if not isinstance(entry, dict) or not 0 <= time.time() - _at(entry) < KEPT_S:
        return None
    form = RequestForm(**{f.name: entry.get(f.name, f.default) for f in fields(RequestForm)})
    sound = form.reply_form in REPLY_FORMS and form.tokens in TOKENS_FIELDS
    return form if sound and all(isinstance(one, bool) for one in (form.usage, form.temperature, form.tools)) else None


def remember(address: str, model: str, form: RequestForm) -> None:
    """Keep what worked. A folder that cannot be written is no error: it is found out again next time."""
    if remembered(address, model) == form:
        return
    entries = {**_entries(), _name(address, model): {**asdict(form), "at": time.time()}}
    newest = dict(sorted(entries.items(), key=lambda entry: _at(entry[1]))[-MOST_ENTRIES:])
    with suppress(OSError):
        _write(cache_file(), json.dumps(newest, indent=1))


def _entries() -> dict[str, Any]:
    try:
        with cache_file().open("rb") as stream:
            found = json.loads(stream.read(LARGEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, mode=0o600) as file:
        file.write(text.encode())


def _at(entry: Any) -> float:
    at = entry.get("at") if isinstance(entry, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _name(address: str, model: str) -> str:
    return f"{shown(address)} {model}"


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


def tokens_beside(endpoint: Endpoint, schema: dict[str, Any] | None, tools: ToolBox | None) -> int:
    """Return about how many tokens each question to ``endpoint`` sends beside the prompt: tools and reply schema."""
    form = remembered(resolve(endpoint.base_url), endpoint.model) or RequestForm()
    about = len(tools.about) if tools is not None and form.tools else 0
    return (about + _characters_beside(request(endpoint, (), schema, form, tools))) // CHARACTERS_PER_TOKEN


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
        charged = True
        try:
            gather(self.client, partial(self.client.completion, arguments), self.clock, gathered)
        except Exception as failure:
            charged = is_charged(failure, gathered)
            raise
        finally:
            seconds = self.clock.elapsed()
            characters = sum(len(m.text) + sum(len(call.arguments) for call in m.calls) for m in messages)
            characters += _characters_beside(arguments)
            counted = with_reply(self.cost, gathered, characters, seconds)
            self.cost = counted if charged else replace(self.cost, seconds=seconds)

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
        is_local_one = isinstance(failure, Unreachable) and is_local(self.client.address)
        hopeless = is_local_one or isinstance(failure, NeverReachable)
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
    return tuple(name for entry in models if (name := _model_name(entry))) if isinstance(models, list) else ()


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


def _model_name(entry: Any) -> str:
    name = entry.get("id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""
