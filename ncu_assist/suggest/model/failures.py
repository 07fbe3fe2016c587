"""How one request can fail in a way that another may mend: refused, broken off, not reached."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

QUOTED_CHARACTERS = 300  # of what an endpoint says


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
        said, code = told(json.loads(text))
    except (ValueError, RecursionError):
        said, code = page_title(text), ""
    if status < 400:
        said = f"redirects to {headers.get('location', 'nowhere')}"
    return Refused(status, clean(said)[:QUOTED_CHARACTERS], clean(code), retry_after(headers))


def told(body: Any) -> tuple[str, str]:
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
