"""How a request to an endpoint can fail: refused, broken off, not reached; and what to say of each."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line

QUOTED_CHARACTERS = 300  # of what an endpoint says
PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)  # busy, restarting, or behind a busy proxy
NO_CREDIT = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota", re.IGNORECASE)
TOO_LARGE = re.compile(
    r"context.?(length|window|size)|too many tokens|prompt is too long|exceed_context", re.IGNORECASE
)
SET_KEY = "export OPENAI_API_KEY=..., or put the key in ~/.config/ncu-assist/key and chmod 600 it"


@dataclass(eq=False)  # an exception is told apart by identity
class Refused(Exception):
    """The endpoint answered with an error: its HTTP status, its words and code, the seconds it asks to wait."""

    status: int
    said: str
    code: str = ""
    retry_after_s: float | None = None


@dataclass(eq=False)  # an exception is told apart by identity
class Dropped(Exception):
    """The connection broke, or the reply ended before its end."""

    said: str


@dataclass(eq=False)  # an exception is told apart by identity
class Unreachable(Exception):
    """No connection came about. ``final`` where waiting will not help."""

    said: str
    final: bool = False


def refusal(status: int, headers: Mapping[str, str], body: bytes, clean: Callable[[str], str]) -> Refused:
    """Return an HTTP error as the endpoint meant it; ``clean`` takes the key out of what it says."""
    text = body.decode("utf-8", "replace")
    try:
        said, code = error_words(json.loads(text))
    except (ValueError, RecursionError):
        said, code = page_title(text), ""
    if status < 400:
        said = f"redirects to {headers.get('location', 'nowhere')}"
    return Refused(status, clean(said)[:QUOTED_CHARACTERS], clean(code), retry_after(headers))


def error_words(body: Any) -> tuple[str, str]:
    """Return the words and the code of an error object, as OpenAI, FastAPI and others write it."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return str(error), ""
    said = error.get("message") or error.get("detail") or error
    return str(said), " ".join(str(error[k]) for k in ("code", "type", "param") if error.get(k) is not None)


def page_title(text: str) -> str:
    """Return the title of a web page, else its first words without tags."""
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    words = title.group(1) if title else re.sub(r"<[^>]{0,2000}>", " ", text)
    return " ".join(words[: 4 * QUOTED_CHARACTERS].split())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, as number or date; None without a usable one."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    parsed = email.utils.parsedate_tz(text)
    return max(0.0, email.utils.mktime_tz(parsed) - time.time()) if parsed else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def missing_key() -> ModelProblem:
    """Return what to say where an endpoint elsewhere is asked without a key."""
    return ModelProblem("there is no key for the endpoint: it is on another machine, and those want one", SET_KEY)


def key_wanted(refused: Refused) -> ModelProblem:
    """Return what to say where an endpoint on this machine was asked without a key, and wants one."""
    return ModelProblem(
        f"the endpoint wants a key, and none was found (HTTP {refused.status}: {_reason(refused)})", SET_KEY
    )


def may_succeed_later(refused: Refused) -> bool:
    """Return whether the same request may succeed a little later."""
    return refused.status in PASSING and not NO_CREDIT.search(_code_and_words(refused))


def is_too_large(refused: Refused) -> bool:
    """Return whether the prompt is longer than the model takes."""
    return refused.status == 413 or bool(TOO_LARGE.search(_code_and_words(refused)))


def refusal_problem(refused: Refused, address: str) -> ModelProblem:
    """Return what to say of an error that stays."""
    said = f"HTTP {refused.status}: {_reason(refused)}"
    if refused.status < 400:
        words = f"the endpoint {_reason(refused)}, where the key is not sent"
        return ModelProblem(words, "that address, as --base-url, if it is to be trusted")
    if is_too_large(refused):
        return ModelProblem(f"the prompt is longer than the model takes ({said})", "a smaller --max-prompt-tokens")
    if refused.status == 402 or NO_CREDIT.search(_code_and_words(refused)):
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


def connection_problem(failure: Dropped | Unreachable, address: str) -> ModelProblem:
    """Return what to say of a connection that cannot be had or kept."""
    said = one_line(failure.said)
    if isinstance(failure, Dropped):
        return ModelProblem(f"the connection to {address} broke off: {said}", "ask again")
    return ModelProblem(f"{address} cannot be reached: {said}", "start the server there, or check --base-url")


def retry_words(failure: Refused | Dropped | Unreachable) -> str:
    """Return in few words what happened, for the line that says that it is tried again."""
    if isinstance(failure, Refused):
        busy = "the endpoint is rate-limited" if failure.status == 429 else "the endpoint failed"
        return f"{busy} (HTTP {failure.status})"
    if isinstance(failure, Dropped):
        return "the connection broke off"
    return "the endpoint cannot be reached"


def _reason(refused: Refused) -> str:
    return one_line(refused.said, QUOTED_CHARACTERS) or "no reason given"


def _code_and_words(refused: Refused) -> str:
    return f"{refused.code} {refused.said}"
