"""What ncu's log file says: which launches it profiled, how far it is, what went wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# ==PROF== Profiling "name" - 0 (1/20): 0%....50%....100% - 38 passes     with (1/20) only under --launch-count
LAUNCH_LINE = re.compile(r'^==PROF== Profiling "(?P<name>.*)" - (?P<index>\d+)(?: \(\d+/\d+\))?:(?P<rest>.*)$')
PASSES = re.compile(r"- (\d+) pass")  # "pass" or "passes", the last letters perhaps not yet written
PERCENT = re.compile(r"(\d+)%(\.*)")
PERCENT_PER_DOT = 10
KERNEL_LINE = re.compile(r"^\s*\d+\. (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch in the log; ``passes`` is None until ncu has finished it."""

    name: str
    index: int
    percent: int
    passes: int | None


@dataclass(frozen=True)
class LogFacts:
    """A whole log: the finished launches in order, one not finished, ncu's warnings and errors, and the text itself."""

    profiled: tuple[ProfiledLaunch, ...]
    unfinished: tuple[ProfiledLaunch, ...]
    warnings: tuple[str, ...]
    errors: tuple[str, ...]
    kernels_seen: tuple[str, ...]  # what ncu offers when its filter matched nothing
    raw: str


def read_log(text: str) -> LogFacts:
    """Return the facts of a log; a launch counts as profiled only when its line says how many passes it took."""
    launches = [launch for launch in map(_launch, text.splitlines()) if launch is not None]
    return LogFacts(
        profiled=tuple(launch for launch in launches if launch.passes is not None),
        unfinished=tuple(launch for launch in launches if launch.passes is None),
        warnings=_messages(text, "WARNING"),
        errors=_messages(text, "ERROR"),
        kernels_seen=_kernels_seen(text),
        raw=text,
    )


class LogFollower:
    """Reads a log while ncu writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0  # bytes of whole lines read so far; a line grows until ncu is done with its launch
        self._last: ProfiledLaunch | None = None

    def poll(self) -> tuple[ProfiledLaunch, ...]:
        """Return the launches that began, advanced or ended since the last call; none while there is no log."""
        try:
            with self._path.open("rb") as log:
                log.seek(self._read)
                data = log.read()
        except OSError:
            return ()
        self._read += data.rfind(b"\n") + 1
        launches = [_launch(line) for line in data.decode("utf-8", errors="replace").splitlines()]
        news = [launch for launch in launches if launch is not None and launch != self._last]
        if news:
            self._last = news[-1]
        return tuple(news)


def _launch(line: str) -> ProfiledLaunch | None:
    match = LAUNCH_LINE.match(line)
    if match is None:
        return None
    passes = PASSES.search(match["rest"])
    marks = PERCENT.findall(match["rest"])
    percent = int(marks[-1][0]) + PERCENT_PER_DOT * len(marks[-1][1]) if marks else 0
    return ProfiledLaunch(match["name"], int(match["index"]), min(percent, 100), int(passes[1]) if passes else None)


def _messages(text: str, kind: str) -> tuple[str, ...]:
    """Return the messages of a kind, each with the lines that belong to it: those up to the next '=='."""
    found = re.findall(rf"^=={kind}== (.*(?:\n(?!==|Available Kernels).*)*)", text, re.MULTILINE)
    return tuple(message.strip() for message in found)


def _kernels_seen(text: str) -> tuple[str, ...]:
    _, _, after = text.partition("Available Kernels:")
    return tuple(KERNEL_LINE.findall(after.split("\n==")[0]))
