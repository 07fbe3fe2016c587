"""The key of an endpoint: found in the environment or a private file, and kept out of every text."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ncu_assist.errors import ModelProblem

VARIABLES = ("NCU_ASSIST_API_KEY", "OPENAI_API_KEY")
LONGEST_KEY_BYTES = 4096  # a longer file is something else
SHORTEST_SCRUBBED = 8  # a placeholder such as "none" is no secret, and stands in ordinary words
STAND_IN = "[key]"


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


def default_key_file(environment: Mapping[str, str]) -> Path:
    """Return where the key of this user is looked for: ncu-assist/key in the folder for settings."""
    folder = environment.get("XDG_CONFIG_HOME", "")
    return (Path(folder) if Path(folder).is_absolute() else Path.home() / ".config") / "ncu-assist" / "key"


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
