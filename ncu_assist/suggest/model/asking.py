"""Asks a model a question; whatever goes wrong is said in words that hold no key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ncu_assist.drafts.records import Cost
from ncu_assist.errors import ModelProblem
from ncu_assist.suggest.model import words
from ncu_assist.suggest.model.address import is_local, is_open, resolve, shown
from ncu_assist.suggest.model.attempts import Attempts, Question
from ncu_assist.suggest.model.dialect import Dialect
from ncu_assist.suggest.model.gathering import Show
from ncu_assist.suggest.model.line import connected
from ncu_assist.suggest.model.memory import remembered
from ncu_assist.suggest.model.records import Answer, Endpoint, Messages, Rung
from ncu_assist.suggest.model.secret import Scrubber, find_key


class FailedCall(ModelProblem):
    """A question that got no answer; ``cost`` is what was spent on it all the same."""

    def __init__(self, message: str, hint: str, cost: Cost) -> None:
        super().__init__(message, hint)
        self.cost = cost


def ask(
    endpoint: Endpoint,
    messages: Messages,
    on_text: Show,
    schema: dict[str, Any] | None = None,
    on_note: Callable[[str], None] = lambda note: None,
) -> Answer:
    """Return the answer of the model to ``messages``, which may be a function of the rung that is asked for.

    ``schema`` is the JSON schema of the reply; without one, no form is asked for. ``on_text`` gets the text as it
    comes, that of replies that are then given up too; ``on_note`` a line for each retry and each lower rung. Both get
    text from outside, to be escaped where it is shown. Raises ModelProblem (FailedCall once a request was sent), and
    UsageProblem for an address that is none.
    """
    address = resolve(endpoint.base_url)
    key = find_key(endpoint.key_file)
    if key is None and not is_local(address):
        raise words.no_key()
    if key is not None and is_open(address):
        on_note(f"the key goes to {shown(address)} unencrypted: the address begins with http")
    with connected(address, key, endpoint.limits) as line:
        attempts = Attempts(Question(endpoint, messages, schema), line, key, on_text, on_note)
        try:
            return attempts.answer()
        except ModelProblem as error:
            problem = error
        scrubber = Scrubber(key)  # raised outside the handler: the problem's own text may hold an echo of the key
        raise FailedCall(scrubber.message(problem.message), scrubber.message(problem.hint), attempts.cost)


def expected_rung(endpoint: Endpoint) -> Rung:
    """Return the rung that a question to ``endpoint`` begins with: what worked last, else the strictest."""
    return (remembered(resolve(endpoint.base_url), endpoint.model) or Dialect()).rung
