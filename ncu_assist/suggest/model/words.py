"""What an endpoint's errors mean: which may pass, and what to say of those that do not."""

from __future__ import annotations

import re

from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.suggest.model.dialect import REJECTING, names_an_option, words_of
from ncu_assist.suggest.model.failures import QUOTED_CHARACTERS, Dropped, Refused, Unreachable
from ncu_assist.suggest.model.gathering import Gathered

PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)  # busy, restarting, or behind a busy proxy
NO_CREDIT = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota", re.IGNORECASE)
TOO_LARGE = re.compile(
    r"context.?(length|window|size)|too many tokens|prompt is too long|exceed_context", re.IGNORECASE
)
NO_MODEL = re.compile(
    r"model_not_found|model\b.{0,80}(not found|does ?n.t exist|not exist|not available|unknown)"
    r"|(unknown|no such|invalid|not a valid) model",
    re.IGNORECASE | re.DOTALL,
)
REFUSAL_SHOWN = 200
SET_KEY = "export OPENAI_API_KEY=..., or put the key in ~/.config/ncu-assist/key and chmod 600 it"


def no_key() -> ModelProblem:
    """Return what to say where an endpoint elsewhere is asked without a key."""
    return ModelProblem("there is no key for the endpoint: it is on another machine, and those want one", SET_KEY)


def key_wanted(refused: Refused) -> ModelProblem:
    """Return what to say where an endpoint on this machine was asked without a key, and wants one."""
    return ModelProblem(
        f"the endpoint wants a key, and none was found (HTTP {refused.status}: {_said(refused)})", SET_KEY
    )


def may_pass(refused: Refused) -> bool:
    """Return whether the same request may succeed a little later."""
    return refused.status in PASSING and not NO_CREDIT.search(_all(refused))


def is_too_large(refused: Refused) -> bool:
    """Return whether the prompt is longer than the model takes."""
    return refused.status == 413 or bool(TOO_LARGE.search(_all(refused)))


def is_unknown_model(refused: Refused, model: str) -> bool:
    """Return whether the endpoint says that it has no such model."""
    said = words_of(refused, model)
    return refused.status in REJECTING and bool(NO_MODEL.search(said)) and not names_an_option(said)


def refused_for_good(refused: Refused, address: str) -> ModelProblem:
    """Return what to say of an error that stays."""
    said = f"HTTP {refused.status}: {_said(refused)}"
    if refused.status < 400:
        words = f"the endpoint {_said(refused)}, where the key is not sent"
        return ModelProblem(words, "that address, as --base-url, if it is to be trusted")
    if is_too_large(refused):
        return ModelProblem(f"the prompt is longer than the model takes ({said})", "a smaller --max-prompt-tokens")
    if refused.status == 402 or NO_CREDIT.search(_all(refused)):
        return ModelProblem(f"the account has no credit left for this model ({said})", "another model with --model")
    if refused.status in (401, 403):
        return ModelProblem(f"the endpoint refused the key ({said})", SET_KEY)
    if refused.status == 429:
        return ModelProblem(f"the endpoint is rate-limited and stayed so ({said})", "ask again in some minutes")
    if refused.status in (404, 405):
        return ModelProblem(f"{address} has no chat completions ({said})", "check --base-url: most end in /v1")
    if refused.status >= 500:
        return ModelProblem(f"the endpoint failed ({said})", "ask again in some minutes")
    return ModelProblem(f"the endpoint refused the request ({said})", "another model with --model")


def broken(failure: Dropped | Unreachable, address: str) -> ModelProblem:
    """Return what to say of a connection that cannot be had or kept."""
    said = one_line(failure.said)
    if isinstance(failure, Dropped):
        return ModelProblem(f"the connection to {address} broke off: {said}", "ask again")
    return ModelProblem(f"{address} cannot be reached: {said}", "start the server there, or check --base-url")


def passing(failure: Refused | Dropped | Unreachable) -> str:
    """Return in few words what happened, for the line that says that it is tried again."""
    if isinstance(failure, Refused):
        busy = "the endpoint is rate-limited" if failure.status == 429 else "the endpoint failed"
        return f"{busy} (HTTP {failure.status})"
    if isinstance(failure, Dropped):
        return "the connection broke off"
    return "the endpoint cannot be reached"


def unusable(gathered: Gathered, text: str) -> ModelProblem | None:
    """Return what is wrong with a reply that came to its end: cut off, refused, empty; None where nothing is.

    ``text`` is what it says beside its reasoning.
    """
    if gathered.refusal or gathered.finish == "content_filter":
        said = one_line(gathered.refusal, REFUSAL_SHOWN) or "its provider's filter stopped the reply"
        return ModelProblem(f"the model refused: {said}", "another model with --model")
    if gathered.finish == "length":
        words = f"the reply was cut off at the limit of tokens, after {len(text):,} characters"
        thought = f" and {gathered.thought:,} of reasoning" if gathered.thought else ""
        return ModelProblem(words + thought, "a model or an endpoint that may write more")
    if not text.strip():
        thought = f": it reasoned for {gathered.thought:,} characters and said nothing" if gathered.thought else ""
        return ModelProblem(f"the reply is empty{thought}", "ask again, or another model with --model")
    return None


def _said(refused: Refused) -> str:
    return one_line(refused.said, QUOTED_CHARACTERS) or "no reason given"


def _all(refused: Refused) -> str:
    return f"{refused.code} {refused.said}"
