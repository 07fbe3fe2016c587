"""The one place that starts programs: argv, environment, time limit, signals, captured output."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, TypedDict

from ncu_assist.errors import EnvironmentProblem

CAPTURE_LIMIT = 4_000_000  # characters kept of each stream: a program that floods its output must not fill our memory
LINE_LIMIT = 1_000_000  # characters; a line without an end arrives in pieces
KILL: signal.Signals = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows, which has no other, SIGTERM kills
STEPS = (signal.SIGINT, signal.SIGTERM, KILL)
GRACE_S = 5.0  # between SIGINT, SIGTERM and SIGKILL; ncu needs about a second to write what it has
POLL_S = 0.05
MOST_AT_ONCE = 8  # each may read a report of 100 MB
# Keeps the groups that begin (+) and end (-), and ends those that are left at the end of its stdin: that of ours,
# however it came.
GUARD = """
all=" "
while read -r did group; do
    case "$did$all" in
        +*) all="$all$group ";;
        *" $group "*) all="${all%%" $group "*} ${all#*" $group "}";;
    esac
done
for one in $all; do kill -INT "-$one"; done
[ "$all" = " " ] || sleep 5
for one in $all; do kill -KILL "-$one"; done
"""


def python_argv(*arguments: str) -> list[str]:
    """Return a Python program of ours, without the folder that it starts in on its path: a random.py is the user's."""
    return [sys.executable, "-P", *arguments]


def module_argv(module: str, *arguments: str) -> list[str]:
    """Return the program that runs a module of ours."""
    return python_argv("-m", module, *arguments)


def module_environment() -> dict[str, str]:
    """Return this process's environment, in which a child in any folder imports this same package."""
    package = Path(__file__).parents[1]
    if package.name in (
        "site-packages",
        "dist-packages",
    ):  # it is found there; named first, it would also stand before Python's own
        return dict(os.environ)
    path = filter(None, [str(package), os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


class RunOptions(TypedDict, total=False):
    """What ``run`` takes beside the command line, for those who pass it on: an executor."""

    env: Mapping[str, str] | None
    cwd: Path | None
    timeout_s: float | None
    on_line: Callable[[str], None] | None
    on_error_line: Callable[[str], None] | None
    is_stuck: Callable[[], bool] | None


@dataclass(frozen=True)
class Completed:
    """A program that ended: how, after how long, and what it said. ``exit_code`` is negative for a signal."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool


def side_by_side() -> int:
    """Return how many programs that work all the time may run beside each other."""
    return min(MOST_AT_ONCE, os.cpu_count() or 1)


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float | None = None,
    on_line: Callable[[str], None] | None = None,
    on_error_line: Callable[[str], None] | None = None,
    is_stuck: Callable[[], bool] | None = None,
) -> Completed:
    """Run a program in a process group of its own and return when it has ended.

    ``on_line`` gets each line of its stdout as it comes, ``on_error_line`` each of its stderr, in a thread of its own.
    ``is_stuck`` is asked about 20 times a second; when it says yes, or after ``timeout_s``, the whole group is ended
    (SIGINT, SIGTERM, SIGKILL) and ``timed_out`` is set. Ctrl-C ends the group in the same way and is passed on; an
    error that one of the three raises ends it by SIGKILL at once and is passed on. The group ends as well where this
    process is killed. Raises EnvironmentProblem if the program cannot be started.
    """
    started = time.monotonic()
    _GUARD.ready()
    timed_out = False
    child = None
    with contextlib.ExitStack() as guarded:
        try:
            with _ctrl_c_waits():
                child = _start(argv, env, cwd)
                guarded.enter_context(_GUARD.over(child.pid))
                out, err = _Reader(child.stdout, on_line), _Reader(child.stderr, on_error_line)
            while not _ended(child, out):
                out.check()
                err.check()
                late = timeout_s is not None and time.monotonic() - started > timeout_s
                if late or (is_stuck is not None and is_stuck()):
                    timed_out = True
                    end_group(child)
                    break
        except BaseException as error:
            if child is not None:
                end_group(child, (KILL,) if isinstance(error, Exception) else STEPS)
            raise
    exit_code = child.wait()
    said = out.text(), err.text()
    out.check()
    err.check()
    return Completed(tuple(argv), exit_code, *said, time.monotonic() - started, timed_out)


@contextlib.contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Let a Ctrl-C in a with block come at its end: in the midst it would leave a child that no one knows.

    The signal is not blocked, since a child would inherit that.
    """
    hears = signal.getsignal(signal.SIGINT)
    if not callable(hears) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _number, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, hears)
        if came:
            hears(signal.SIGINT, came[0])


def _start(argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            list(argv),
            env=None if env is None else dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentProblem(f"cannot start {argv[0]}: {error.strerror}", "ncu-assist doctor") from error


class Waiting:
    """A program that was started before its work is known: it gets ready, prints a line, and reads its work at a pipe.

    ``command`` makes its command line with the path of the pipe. As it prints its first line that is not empty, or
    ends, ``ready`` is set and ``on_ready`` called. Raises OSError where no pipe can be made.
    """

    def __init__(
        self,
        command: Callable[[str], Sequence[str]],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        on_ready: Callable[[], object] | None = None,
    ) -> None:
        self.ready = threading.Event()
        self._folder = Path(tempfile.mkdtemp(prefix="ncu-assist-"))
        self._pipe = self._folder / "work"
        os.mkfifo(self._pipe, 0o600)
        self._on_ready = on_ready
        self._lines: list[str] = []
        self._on_line: Callable[[str], None] | None = None
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._completed: Completed | BaseException | None = None
        argv = command(str(self._pipe))
        self._thread = threading.Thread(target=self._run, args=(argv, env, cwd), daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether the program has ended, or could not be started."""
        return not self._thread.is_alive()

    def run(
        self,
        work: bytes,
        on_line: Callable[[str], None] | None = None,
        is_stuck: Callable[[], bool] | None = None,
        timeout_s: float | None = None,
    ) -> Completed:
        """Give the program its work, one line, and return when it has ended, as the function ``run`` does.

        ``on_line`` gets what it printed before, too; ``timeout_s`` counts from now on.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            with self._pipe.open("r+b", buffering=0) as pipe:  # r+: no reader is waited for
                pipe.write(work + b"\n")
                self._hear(on_line or (lambda _line: None))
                while self._thread.is_alive():
                    is_late = deadline is not None and time.monotonic() > deadline
                    if is_late or (is_stuck is not None and is_stuck()):
                        self._ending.set()
                    self._thread.join(POLL_S)
        except BaseException:
            self.end()
            raise
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        if isinstance(self._completed, Completed):
            return self._completed
        assert self._completed is not None
        raise self._completed

    def end(self) -> None:
        """End the program, whatever it does."""
        self._ending.set()
        self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None) -> None:
        try:
            self._completed = run(argv, env=env, cwd=cwd, on_line=self._line, is_stuck=self._ending.is_set)
        except BaseException as error:
            self._completed = error
        finally:
            self._is_ready()

    def _is_ready(self) -> None:
        if self._on_ready is not None:
            self._on_ready()
        self.ready.set()

    def _hear(self, on_line: Callable[[str], None]) -> None:
        with self._lock:
            for line in self._lines:
                on_line(line)
            self._on_line = on_line

    def _line(self, line: str) -> None:
        with self._lock:
            if self._on_line is None:
                self._lines.append(line)
            else:
                self._on_line(line)
        if line:
            self._is_ready()


class _Guard:
    """Ends programs if this process is killed, which can do nothing then: a shell, started with the first program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    @contextlib.contextmanager
    def over(self, group: int) -> Iterator[None]:
        """Watch over a group of processes for the length of a with block; without a shell nothing does."""
        self._tell("+", group)
        try:
            yield
        finally:
            self._tell("-", group)

    def ready(self) -> None:
        """Start the shell before the program, so that only one write lies between the program's start and its guard."""
        if hasattr(os, "killpg"):
            with self._lock, contextlib.suppress(OSError):
                self._running()

    def _tell(self, did: str, group: int) -> None:
        if not hasattr(os, "killpg"):
            return
        with self._lock, contextlib.suppress(OSError):
            try:
                shell = self._running()
            finally:
                (self._groups.add if did == "+" else self._groups.discard)(group)
            self._write(shell, did, [group])

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the shell, which is told all groups again if it was ended."""
        if self._shell is None or self._shell.poll() is not None:
            self._shell = self._start()
            self._write(self._shell, "+", self._groups)
        return self._shell

    @staticmethod
    def _write(shell: subprocess.Popen[bytes], did: str, groups: Iterable[int]) -> None:
        assert shell.stdin is not None
        shell.stdin.write("".join(f"{did} {one}\n" for one in groups).encode())

    def _start(self) -> subprocess.Popen[bytes]:
        silent = subprocess.DEVNULL
        argv = ["sh", "-c", GUARD]
        return subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=silent, stderr=silent, bufsize=0, start_new_session=True
        )


_GUARD = _Guard()


def _ended(child: subprocess.Popen[str], out: _Reader) -> bool:
    """Wait for a child, but not long, and tell whether it has ended.

    The end of its stdout is noticed at once, waiting with a limit looks only every 50 ms.
    """
    is_silent = out.ends_within(POLL_S)
    try:
        child.wait(timeout=POLL_S if is_silent else 0)
    except subprocess.TimeoutExpired:
        return False
    return True


def end_group(child: subprocess.Popen[str], steps: Sequence[signal.Signals] = STEPS) -> None:
    """End a child and everything it started: SIGINT first, so that a profiler can keep what is finished.

    Returns when the child's own children are gone, too: one that is init of a pid namespace goes last of its
    namespace, and later than a child that only waited for it.
    """
    if not hasattr(os, "killpg"):  # Windows has no groups of processes that could be ended together
        child.kill()
        child.wait()
        return
    watched: list[int] = []
    try:
        watched = _children(child.pid)
        for step in steps:
            os.killpg(child.pid, step)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=GRACE_S)
                break
    except ProcessLookupError:
        pass
    except KeyboardInterrupt:  # again: it shall not take its time
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, KILL)
        child.wait()
        raise
    finally:
        for handle in watched:
            select.select([handle], [], [], GRACE_S)
            os.close(handle)


def _children(pid: int) -> list[int]:
    """Return handles of a process's children that become readable when these end; none where the kernel lacks that."""
    handles = []
    with contextlib.suppress(OSError, AttributeError):
        for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            handles.append(os.pidfd_open(int(number)))
    return handles


class _Reader:
    """Drains one stream in a thread, so that a child never blocks on a full pipe."""

    def __init__(self, stream: IO[str] | None, on_line: Callable[[str], None] | None) -> None:
        self._lines: list[str] = []
        self._kept = 0
        self._on_line = on_line
        self._error: BaseException | None = None
        assert stream is not None
        self._stream = stream
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        with self._stream:
            while line := self._stream.readline(LINE_LIMIT):
                if self._kept < CAPTURE_LIMIT:
                    self._lines.append(line)
                    self._kept += len(line)
                if self._on_line is not None and self._error is None:
                    try:
                        self._on_line(line.rstrip("\n"))
                    except BaseException as error:  # raised where the program is waited for
                        self._error = error

    def check(self) -> None:
        """Raise what ``on_line`` raised."""
        if self._error is not None:
            raise self._error

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end of the stream, at most so long, and tell whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def text(self) -> str:
        self._thread.join(timeout=GRACE_S)
        return "".join(self._lines)
