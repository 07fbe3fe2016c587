"""What a report of a bug needs: versions, this machine, the last error; names of people and machines are taken out."""

from __future__ import annotations

import getpass
import importlib.metadata
import os
import platform
import shlex
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ncu_assist import __version__
from ncu_assist.atomic import atomic_write
from ncu_assist.environment import BugReport, Examination, LastError
from ncu_assist.executors.local import lock_folder
from ncu_assist.render.redact import Identity, redact_command, redact_text

FILE = "last_error.json"  # where programs of this user keep their state, else beside its locks
LONGEST = 20_000  # letters of a message or a traceback that are kept
PACKAGES = (
    *("click", "jinja2", "msgspec", "ncu-report", "numpy", "nvidia-ml-py", "openai", "pandas", "protobuf", "pyarrow"),
    *("rich", "zstandard", "torch", "triton", "ninja"),
)


def remember(words: Sequence[str], exit_code: int, message: str, hint: str = "", traceback: str = "") -> None:
    """Keep an error for the report of a bug; where that cannot be done, nothing is said: the error itself was."""
    told = (message[:LONGEST], hint[:LONGEST], traceback[-LONGEST:])
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = LastError(now, __version__, shlex.join(["ncu-assist", *words])[:LONGEST], exit_code, *told)
    folder = _folder()
    with suppress(OSError, UnicodeError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
            return
        with atomic_write(folder / FILE) as file:
            file.write(msgspec.json.encode(found))


def recall() -> LastError | None:
    """Return the last error of this user; None where there is none that can be read."""
    try:
        return msgspec.json.decode((_folder() / FILE).read_bytes(), type=LastError)
    except (OSError, msgspec.DecodeError):
        return None


def _folder() -> Path:
    """Return the folder that the XDG specification names for state, where it is set."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return Path(state) / "ncu-assist" if Path(state).is_absolute() else lock_folder()


def bug_report(version: str, examination: Examination) -> BugReport:
    """Return what to send: paths keep the names of files, names of users, hosts and addresses go."""
    last = recall()
    identity = _identity(last)
    looked = tuple(
        replace(one, detail=redact_text(one.detail, identity), fix=redact_text(one.fix, identity))
        for one in examination.conditions
    )
    shown = last and replace(
        last,
        command=redact_command(last.command, identity),
        message=redact_text(last.message, identity),
        hint=redact_text(last.hint, identity),
        traceback=redact_text(last.traceback, identity),
    )
    return BugReport(version, platform.python_version(), platform.platform(), _packages(), Examination(looked), shown)


def _identity(last: LastError | None) -> Identity:
    """Return who must not be named: this user on this host, and whoever the error names."""
    user, texts = "", [last.message, last.traceback] if last else []
    with suppress(OSError, KeyError):
        user = getpass.getuser()
    with suppress(RuntimeError):  # a user without a home
        texts.append(str(Path.home()))
    named = [f"USER={user}", f"HOSTNAME={socket.gethostname()}", *([last.command] if last else [])]
    return Identity.of(commands=named, texts=texts)


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
