"""Runs GPU work on this machine, one program a GPU at a time, with a lock file a GPU.

Two runs that share a GPU would spoil each other's timings, and a second ncu fails at once.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.process import Completed, RunOptions

VISIBLE = "CUDA_VISIBLE_DEVICES"


def gpu_key(env: Mapping[str, str]) -> str:
    """Return the UUID of the first GPU that ``env`` leaves visible, or what it says of it where NVML cannot tell."""
    chosen = env.get(VISIBLE, "").split(",")[0].strip() or "0"
    if chosen.startswith(("GPU-", "MIG-")):
        return chosen
    return (_uuid(int(chosen)) if chosen.isdigit() else None) or f"gpu-{chosen}"


def _uuid(index: int) -> str | None:
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no package, no driver
        return None
    try:
        uuid = pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(index))
        return uuid.decode() if isinstance(uuid, bytes) else str(uuid)
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()


WAIT_S = 120.0
POLL_S = 0.1
COMMAND_LIMIT = 500  # characters of the holder's command that are kept
LOCKED_BYTE = 1 << 20  # far behind these


def lock_folder() -> Path:
    """Return this user's folder for locks. It does not follow TMPDIR: runs with another TMPDIR must meet here."""
    if not hasattr(os, "getuid"):  # Windows, where each user has a folder for temporary files
        return Path(tempfile.gettempdir()) / "ncu-assist"
    system = Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())
    return system / f"ncu-assist-{os.getuid()}"


@contextlib.contextmanager
def held(folder: Path, key: str, command: str, wait_s: float) -> Iterator[None]:
    """Hold the lock ``key`` for the length of a with block.

    Raises EnvironmentProblem if another process still has it after ``wait_s`` seconds, naming its pid and command, or
    if the folder cannot be used.
    """
    handle = _open(folder, key)
    try:
        deadline = time.monotonic() + wait_s
        while not _take(handle):
            if time.monotonic() > deadline:
                raise _taken(handle, wait_s)
            time.sleep(POLL_S)
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, f"{os.getpid()}\n{command[:COMMAND_LIMIT]}\n".encode("utf-8", "replace"))
        yield
    finally:
        os.close(handle)  # releases the lock, as the end of the process would


def _open(folder: Path, key: str) -> int:
    path = folder / (re.sub(r"[^\w-]", "_", key) + ".lock")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
            raise EnvironmentProblem(f"{folder} belongs to another user", f"remove {folder}")
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)  # no child inherits it
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot lock the GPU with {path}: {error.strerror}", f"make {folder} writable"
        ) from error


def _take(handle: int) -> bool:
    try:
        import fcntl
    except ModuleNotFoundError:
        return _take_on_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take_on_windows(handle: int) -> bool:
    """Lock one byte behind the text, which others can read then: Windows keeps them from what is locked."""
    try:
        msvcrt: Any = importlib.import_module("msvcrt")
    except ModuleNotFoundError as error:
        raise EnvironmentProblem("this Python has no file locks, so a GPU cannot be kept for one run") from error
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def _taken(handle: int, wait_s: float) -> EnvironmentProblem:
    os.lseek(handle, 0, os.SEEK_SET)
    words = os.read(handle, COMMAND_LIMIT + 100).decode(errors="replace").split("\n")
    pid, command = (words[0], words[1]) if len(words) > 1 else ("unknown", "")
    message = f"the GPU is in use by process {pid} ({command or 'command unknown'}), still after {wait_s:.0f} s"
    return EnvironmentProblem(message, f"wait for process {pid}, or end it")


@dataclass(frozen=True)
class Local:
    """Holds a lock on the GPU while the program runs. ``folder`` None: this user's folder for all projects.

    ``command`` is what others are told who wait for the GPU; None: the command line itself.
    """

    folder: Path | None = None
    wait_s: float = WAIT_S
    name: str = "local"
    command: str | None = None

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> Completed:
        env = options.get("env")
        key = gpu_key(os.environ if env is None else env)
        with held(self.folder or lock_folder(), key, self.command or " ".join(argv), self.wait_s):
            return process.run(argv, **options)
