"""Where a model is, the key to it, how long it may take, and what it answers."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import SplitResult, urlsplit

from ncu_assist.environment import Condition
from ncu_assist.errors import ModelProblem, UsageProblem
from ncu_assist.store.drafts import ModelCost

ReplyForm = Literal["json_schema", "json_object", "fences", "tool"]  # the last of who calls `propose`
REPLY_FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "fences")  # the strictest first

CHARACTERS_PER_TOKEN = 4  # of English and code, by the tokenizers' own documentation; an estimate
OPENAI = "https://api.openai.com/v1"  # the default of the openai package


@dataclass(frozen=True)
class ToolCall:
    """A tool that a model asks for; ``arguments`` are JSON as it wrote them."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One message of a conversation: with the tools that an assistant asks for, or the call that a tool answers."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True)
class ToolLimits:
    """How many tools a model may call in a conversation, and how many tokens their results may take together."""

    calls: int = 12
    tokens: int = 16_000

    def left(self, messages: Sequence[Message]) -> int:
        """Return how many calls are left after what was said; 0 where the tokens are used up."""
        results = [message for message in messages if message.role == "tool"]
        tokens = sum(len(message.text) for message in results) // CHARACTERS_PER_TOKEN
        return max(0, self.calls - len(results)) if tokens < self.tokens else 0


class ToolBox(Protocol):
    """Tools that a model may call before it answers.

    ``about`` is what it is told of them, text for a system message; ``offered`` are their names, descriptions and
    parameters as a request lists them.
    """

    @property
    def about(self) -> str: ...

    @property
    def offered(self) -> Sequence[dict[str, Any]]: ...

    @property
    def limits(self) -> ToolLimits: ...

    def call(self, name: str, arguments: str) -> str:
        """Return what a tool answers, its errors too, in words for the model."""
        ...


Messages = Sequence[Message] | Callable[[ReplyForm], Sequence[Message]]  # the wording may depend on the form asked for


@dataclass(frozen=True)
class ModelLimits:
    """How long to wait and how much to take. ``whole_s`` bounds one answer with all its retries and waits.

    A model that reasons is silent for minutes before its first word, hence ``first_s``; a word later than ``silence_s``
    after the last sign of life is not coming. A kernel's file is tens of thousands of characters.
    """

    connect_s: float = 10.0
    first_s: float = 300.0
    silence_s: float = 120.0
    whole_s: float = 900.0
    retries: int = 3
    retry_wait_s: float = 1.0  # before the first retry, then doubled; a Retry-After of the endpoint goes first
    reply_chars: int = 1_000_000


@dataclass(frozen=True)
class Endpoint:
    """Where the model is. Without ``base_url`` the package's own (OPENAI_BASE_URL, else api.openai.com).

    ``key_file`` is read where no environment variable holds a key; None is ~/.config/ncu-assist/key. What is None of
    ``max_reply_tokens`` and ``temperature`` is not sent: some models refuse requests that name them.
    """

    model: str
    base_url: str | None = None
    key_file: Path | None = None
    max_reply_tokens: int | None = None
    temperature: float | None = None
    limits: ModelLimits = field(default_factory=ModelLimits)


@dataclass(frozen=True)
class ModelAnswer:
    """The text of a reply and the form that it was written in; before it the tools that were called and answered."""

    text: str
    cost: ModelCost
    form: ReplyForm
    exchanged: tuple[Message, ...] = ()


def resolve(base_url: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the address that is meant: the one given, else OPENAI_BASE_URL, else that of OpenAI.

    Raises UsageProblem for what is no address of a web server.
    """
    address = base_url or environment.get("OPENAI_BASE_URL") or OPENAI
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageProblem(f"{shown(address)} is not the address of an endpoint", "--base-url http://127.0.0.1:8000/v1")
    return address


def is_local(address: str) -> bool:
    """Return whether ``address`` is on this machine, by its name alone: nothing is looked up."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified  # 0.0.0.0, as servers print where they listen


def shown(address: str) -> str:
    """Return ``address`` without what may be secret in it: user, password, query."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "what was given"
    return SplitResult(parts.scheme, host, parts.path.rstrip("/"), "", "").geturl() or "what was given"


def is_open(address: str) -> bool:
    """Return whether what is sent to ``address`` can be read on the way: plain HTTP to another machine."""
    return urlsplit(address).scheme == "http" and not is_local(address)


VARIABLES = ("NCU_ASSIST_API_KEY", "OPENAI_API_KEY")
LONGEST_KEY_BYTES = 4096  # a longer file is something else
SHORTEST_SCRUBBED = 8  # a placeholder such as "none" is no secret, and stands in ordinary words
STAND_IN = "[key]"
NO_HOME = Path("/nonexistent")  # as in /etc/passwd for users that own no files


class Key:
    """A key that shows itself in no text, repr or traceback; ``reveal`` is for the client alone."""

    def __init__(self, value: str, origin: str) -> None:
        self._value = value
        self.origin = origin

    def __repr__(self) -> str:
        return f"Key(from {self.origin})"

    def reveal(self) -> str:
        return self._value


class Scrubber:
    """Takes a key out of text that arrives in pieces, wherever it is cut; what may be its beginning is held back."""

    def __init__(self, key: Key | None) -> None:
        secret = key.reveal() if key else ""
        self._secret = secret if len(secret) >= SHORTEST_SCRUBBED else ""
        self._held = ""

    def whole(self, text: str) -> str:
        """Return ``text`` without the key."""
        return text.replace(self._secret, STAND_IN) if self._secret else text

    def message(self, text: str) -> str:
        """Return ``text``, which may have been shortened, without the key or a beginning of it."""
        for length in range(len(self._secret), SHORTEST_SCRUBBED - 1, -1):
            text = text.replace(self._secret[:length], STAND_IN)
        return text

    def feed(self, piece: str) -> str:
        """Return what may be shown now that ``piece`` has come."""
        text = self.whole(self._held + piece)
        cut = len(text) - self._beginning(text)
        self._held = text[cut:]
        return text[:cut]

    def rest(self) -> str:
        """Return what was held back, at the end of a text."""
        held, self._held = self._held, ""
        return held

    def _beginning(self, text: str) -> int:
        longest = min(len(self._secret) - 1, len(text))
        return next((n for n in range(longest, 0, -1) if text.endswith(self._secret[:n])), 0)


def user_folder(environment: Mapping[str, str], variable: str, default: str) -> Path:
    """Return this user's folder for files of ncu-assist: in the one that ``variable`` names, else ``default`` at home.

    A user without a home, as in many containers, has a folder that does not exist.
    """
    folder = Path(environment.get(variable, ""))
    if not folder.is_absolute():
        try:
            folder = Path.home() / default
        except RuntimeError:
            folder = NO_HOME / default
    return folder / "ncu-assist"


def default_key_file(environment: Mapping[str, str]) -> Path:
    """Return where the key of this user is looked for: ncu-assist/key in the folder for settings."""
    return user_folder(environment, "XDG_CONFIG_HOME", ".config") / "key"


def find_key(key_file: Path | None, environment: Mapping[str, str] = os.environ) -> Key | None:
    """Return the key to use, None where there is none: a file that was named, the environment, the default file.

    Raises ModelProblem for a file that others may read or own, and for what cannot be a key; the text never shows it.
    """
    if key_file is not None:
        return _from_file(key_file)
    for name in VARIABLES:
        if environment.get(name, "").strip():
            return _checked(environment[name], name)
    default = default_key_file(environment)
    return _from_file(default) if default.exists() else None


def _from_file(path: Path) -> Key:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for a writer
    except OSError as error:
        raise ModelProblem(f"the key file {path} cannot be opened: {error.strerror}") from None
    try:
        _refuse_shared(os.fstat(descriptor), path)
        content = os.read(descriptor, LONGEST_KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > LONGEST_KEY_BYTES:
        raise ModelProblem(f"the key file {path} is larger than {LONGEST_KEY_BYTES} bytes: it holds something else")
    return _checked(content.decode("latin-1"), f"the file {path}")


def _refuse_shared(facts: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise ModelProblem(f"the key file {path} is not a regular file")
    if not hasattr(os, "geteuid"):  # Windows: who may read a file stands in its access list, not in these bits
        return
    if facts.st_uid != os.geteuid():
        raise ModelProblem(f"the key file {path} belongs to another user, who could have put any key there")
    if facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = stat.S_IMODE(facts.st_mode)
        raise ModelProblem(f"the key file {path} is open to others (mode {mode:04o})", f"chmod 600 {path}")


def _checked(value: str, origin: str) -> Key:
    key = value.strip()
    if not key:
        raise ModelProblem(f"{origin} holds no key: it is empty")
    if not all("!" <= character <= "~" for character in key):  # a header cannot carry it; its text would say it
        raise ModelProblem(f"{origin} holds no key: it has blanks, line breaks or characters beyond ASCII within")
    return Key(key, origin)


MODEL, BASE_URL = "NCU_ASSIST_MODEL", "NCU_ASSIST_BASE_URL"  # which `suggest` reads where its options do not say it
REACHED_WITHIN_S = 3.0
PORTS = {"https": 443, "http": 80}


def endpoint_condition(environment: Mapping[str, str] = os.environ) -> Condition:
    """Return whether a model could be asked: its name, a key, and that its address answers; nothing is sent.

    Raises ModelProblem or UsageProblem with what is missing.
    """
    model = environment.get(MODEL, "").strip()
    if not model:
        raise ModelProblem("no model is named; suggest needs one, or --reply", f"export {MODEL}=NAME")
    address = resolve(environment.get(BASE_URL), environment)
    key = find_key(None, environment)
    if key is None and not is_local(address):
        raise ModelProblem(f"no key for {shown(address)}", f"export {VARIABLES[-1]}=…")
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname, parts.port or PORTS[parts.scheme]), REACHED_WITHIN_S).close()
    except OSError as error:
        raise ModelProblem(f"{shown(address)} does not answer: {error}", f"curl {shown(address)}") from error
    open_way = ", unencrypted" if is_open(address) else ""
    return Condition("model", "ok", f"{model} at {shown(address)}, which answers{open_way}", needed=False)
