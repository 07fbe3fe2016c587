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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from ncu_assist import process
from ncu_assist.environment import VISIBLE, chosen_gpu, query_gpus
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.base import Executor
from ncu_assist.process import Completed, RunOptions, Waiting


def gpu_key(env: Mapping[str, str]) -> str:
    """Return the UUID of the first GPU that ``env`` leaves visible, or what it says of it where NVML cannot tell."""
    try:
        return chosen_gpu(query_gpus()[1], env.get(VISIBLE)).uuid
    except EnvironmentProblem:
        word = env.get(VISIBLE, "").split(",")[0].strip() or "0"
        return word if word.startswith(("GPU-", "MIG-")) else f"gpu-{word}"


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
        raise EnvironmentProblem("this Python has no file locks, so one run cannot lock the GPU") from error
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
    message = f"the GPU is in use by process {pid} ({command or 'command unknown'}), even after {wait_s:.0f} s"
    return EnvironmentProblem(message, f"wait for process {pid}, or stop it")


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


HARNESS = "ncu_assist.harness"
WARM = "--warm"  # the child waits for its request at the pipe that is named next


@dataclass
class Warm:
    """Runs the measuring child in a process that is warm already: torch imported, the GPU opened, nothing else done.

    A process serves one measurement and ends with it. What a version breaks, leaks or leaves in caches ends there too,
    so that a number is that of a fresh process. The next one is warmed while the person reads. It is for one folder and
    environment, which ``start`` gives it; ``close`` ends what still waits.

    ``rehearsal`` is the file of a request without versions: what its check and bench call of torch is called once
    before, where nobody else measures on the GPU meanwhile. ``under`` is the command line of a profiler to start the
    process with. Without a ``device`` (empty) the process leaves the GPU alone until its request comes.
    """

    device: str
    local: Local = field(default_factory=Local)
    name: str = "warm"
    rehearsal: Path | None = None
    under: tuple[str, ...] = ()
    _spare: Waiting | None = None

    def start(self, env: Mapping[str, str], cwd: Path | None) -> None:
        """Warm a process for the next measurement, unless one is waiting."""
        if self.is_waiting:
            return
        self.close()
        rehearsal, until_ready = list[str](), contextlib.ExitStack()
        if self.rehearsal is not None:
            with contextlib.suppress(EnvironmentProblem):  # somebody measures
                folder = self.local.folder or lock_folder()
                until_ready.enter_context(held(folder, gpu_key(env), "a measurement to come", 0.0))
                rehearsal.append(str(self.rehearsal))

        def command(pipe: str) -> list[str]:
            return [*self.under, *process.module_argv(HARNESS, WARM, pipe, self.device, *rehearsal)]

        try:
            self._spare = Waiting(command, env=env, cwd=cwd, on_ready=until_ready.close)
        except OSError:
            until_ready.close()
            raise

    @property
    def is_waiting(self) -> bool:
        """Whether a process was started that has not ended, and has no request yet."""
        return self._spare is not None and not self._spare.is_over

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process that was started is warm, or has failed; tell whether it is."""
        return self._spare is not None and self._spare.ready.wait(timeout_s)

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> Completed:
        """Hand a request of the harness to the warm process; run any other program as ``Local`` does."""
        program = argv[len(self.under) :]
        if tuple(argv[: len(self.under)]) != self.under or list(program[:-1]) != process.module_argv(HARNESS):
            return self.local.run(argv, **options)
        env = options.get("env") or os.environ
        command = self.local.command or " ".join(argv)
        with held(self.local.folder or lock_folder(), gpu_key(env), command, self.local.wait_s):
            self.start(env, options.get("cwd"))
            assert self._spare is not None
            warm, self._spare = self._spare, None
            on_line, is_stuck = options.get("on_line"), options.get("is_stuck")
            return warm.run(os.fsencode(program[-1]), on_line, is_stuck, options.get("timeout_s"))

    def close(self) -> None:
        """End the process that waits and give its memory back."""
        if self._spare is not None:
            self._spare.end()
            self._spare = None


@dataclass(frozen=True)
class Stoppable:
    """An executor that ends its program once ``is_over`` says so, as Ctrl-C would: what is finished is kept."""

    within: Executor
    is_over: Callable[[], bool]
    name: str = "stoppable"

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> Completed:
        is_stuck = options.get("is_stuck")

        def look() -> bool:
            if self.is_over():
                raise KeyboardInterrupt
            return is_stuck is not None and is_stuck()

        options["is_stuck"] = look
        return self.within.run(argv, **options)
