"""What ncu's log file says: which launches it profiled, how far it is, what went wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.executors.sandbox.folders import open_regular

MOST_BYTES = 1 << 24  # of a log that are read at once; the rest is there the next time
# ==PROF== Profiling "name" - 0 (1/20): 0%....50%....100% - 38 passes
# (1/20) stands there only under --launch-count, and neither it nor the number where kernels are filtered by name. What
# ncu has to say while a launch is replayed, such as that it takes long, stands in the middle: 0%==WARNING== ..., and
# on the next line ....50%....100% - 38 passes. So whatever comes before its next ==PROF== belongs to a launch.
LAUNCH = re.compile(
    r'^==PROF== Profiling "(?P<name>.*)"(?: - \d+)?(?: \(\d+/\d+\))?:(?P<rest>(?: *\d.*)?(?:\n(?!==PROF== ).*)*)$',
    re.MULTILINE,
)
BEGIN = b"==PROF== Profiling "
PASSES = re.compile(r"- (\d+) pass")  # "pass" or "passes", the last letters perhaps not yet written
PERCENT = re.compile(r"(\d+)%(\.*)")
PERCENT_PER_DOT = 10
KERNEL_LINE = re.compile(r"^\s*\d+\. (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch in the log, numbered from 0 in its order; ``passes`` is None until ncu has finished it."""

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
    launches = _launches(text.encode(errors="replace"), 0)
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
        self._read = 0  # bytes read so far, without those of a launch that ncu is not done with
        self._done = 0  # launches in those
        self._last: ProfiledLaunch | None = None

    def poll(self) -> tuple[ProfiledLaunch, ...]:
        """Return the launches that began, advanced or ended since the last call; none while there is no log."""
        try:
            with open_regular(self._path) as log:  # whoever is profiled could put a pipe or a link in its place
                log.seek(self._read)
                data = log.read(MOST_BYTES)
        except OSError:
            return ()
        news = [one for one in _launches(data, self._done) if one != self._last]
        whole = _finished(data)
        self._read += len(whole)
        self._done += len(_launches(whole, 0))
        if news:
            self._last = news[-1]
        return tuple(news)


def _finished(data: bytes) -> bytes:
    """Return the whole lines, up to a last launch that is not finished."""
    whole = data[: data.rfind(b"\n") + 1]
    launches = _launches(whole, 0)
    return whole[: whole.rfind(BEGIN)] if launches and launches[-1].passes is None else whole


def _launches(data: bytes, first: int) -> list[ProfiledLaunch]:
    text = data.decode(errors="replace")
    return [_launch(match, index) for index, match in enumerate(LAUNCH.finditer(text), first)]


def _launch(match: re.Match[str], index: int) -> ProfiledLaunch:
    passes = PASSES.search(match["rest"])
    marks = PERCENT.findall(match["rest"])
    percent = int(marks[-1][0]) + PERCENT_PER_DOT * len(marks[-1][1]) if marks else 0
    return ProfiledLaunch(match["name"], index, min(percent, 100), int(passes[1]) if passes else None)


def _messages(text: str, kind: str) -> tuple[str, ...]:
    """Return the messages of a kind, each with the lines that belong to it: up to the next '==' or a launch's rest."""
    further = r"\n(?!==|\.|\d+%| - \d+ pass|Available Kernels).*"
    found = re.findall(rf"(?:^|(?<=[%.]))=={kind}== (.*(?:{further})*)", text, re.MULTILINE)
    return tuple(message.strip() for message in found)


def _kernels_seen(text: str) -> tuple[str, ...]:
    _, _, after = text.partition("Available Kernels:")
    return tuple(KERNEL_LINE.findall(after.split("\n==")[0]))
