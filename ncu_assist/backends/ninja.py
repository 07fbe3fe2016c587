"""One ninja run over several compiler commands, each with its own log, none stopping the others."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_assist import process
from ncu_assist.backends.nvcc import find_ninja
from ncu_assist.errors import EnvironmentProblem, StageFailed

TIMEOUT_S = 1800.0  # for all files together; a heavy template file takes minutes

RULE = """\
builddir = {builddir}
rule compile
  command = $argv -o $tmp $source > $log 2>&1 || {{ rm -f $tmp; exit 1; }}
"""


@dataclass(frozen=True)
class Edge:
    """One command: ``argv -o artifact source``. ``source`` is relative to the folder that ninja runs in."""

    name: str
    argv: tuple[str, ...]
    source: str
    artifact: Path


def run(
    edges: Sequence[Edge], root: Path, env: Mapping[str, str], is_cancelled: Callable[[], bool]
) -> dict[str, float]:
    """Run the commands in ``root``, as many at once as there are cores, and return the seconds of each.

    Afterwards an artifact exists exactly where its command succeeded, and ``<artifact>.log`` holds its output in both
    cases. Raises EnvironmentProblem if the folder cannot be written, StageFailed if ninja itself fails.
    """
    out = edges[0].artifact.parent
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".ninja-", dir=out) as folder:
            return _run(edges, root, env, Path(folder), is_cancelled)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot build in {out}: {error.strerror}", "free space, or make it writable"
        ) from error


def _run(
    edges: Sequence[Edge], root: Path, env: Mapping[str, str], folder: Path, is_cancelled: Callable[[], bool]
) -> dict[str, float]:
    file = folder / "build.ninja"
    file.write_text(RULE.format(builddir=_escape(str(folder))) + "".join(_edge(e, folder) for e in edges))
    argv = [str(find_ninja()), "-k", "0", "-f", str(file)]
    completed = process.run(argv, env=env, cwd=root, timeout_s=TIMEOUT_S, is_stuck=is_cancelled)
    times = _times(folder / ".ninja_log")
    for edge in edges:
        _move(edge, folder, completed)
    return {edge.name: times.get(edge.name, completed.seconds) for edge in edges}


def _edge(edge: Edge, folder: Path) -> str:
    values = {
        "argv": shlex.join(edge.argv),
        "tmp": shlex.quote(str(folder / f"{edge.name}.so")),
        "source": shlex.quote(edge.source),
        "log": shlex.quote(str(folder / f"{edge.name}.log")),
    }
    lines = "".join(f"  {key} = {value.replace('$', '$$')}\n" for key, value in values.items())
    return f"build {_escape(str(folder / edge.name))}.so: compile\n{lines}"


def _escape(path: str) -> str:
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def _move(edge: Edge, folder: Path, completed: process.Completed) -> None:
    log, built = folder / f"{edge.name}.log", folder / f"{edge.name}.so"
    if not log.is_file():
        raise StageFailed(f"ninja failed:\n{completed.stdout}{completed.stderr}", "ncu-assist doctor")
    if completed.timed_out and not built.is_file():
        log.write_text(log.read_text(errors="replace") + f"\nended after {completed.seconds:.0f} s")
    log.replace(edge.artifact.with_suffix(".log"))
    if built.is_file():
        built.replace(edge.artifact)  # last: an artifact means that all is there


def _times(log: Path) -> dict[str, float]:
    """Seconds by name from ninja's own log: start and end in ms, modification time, output, hash."""
    times: dict[str, float] = {}
    for line in log.read_text(errors="replace").splitlines() if log.is_file() else []:
        fields = line.split("\t")
        if len(fields) == 5:
            times[Path(fields[3]).stem] = (int(fields[1]) - int(fields[0])) / 1000
    return times
