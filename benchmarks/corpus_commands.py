"""What the commands make of a folder of reports: how each ends, how long it takes and how much memory it needs.

    python benchmarks/corpus_commands.py FOLDER [--seconds 3] [--megabytes 500] [--only NAME]

Of each report `show`, `show --json --lines`, `diff` with itself, `report` and `export` are run, one after the other, in
an empty folder. Prints one JSON object: the slowest and the largest of each command, and every one that left a
traceback, ended with another exit code than 0, printed no JSON where it should, or went over a limit; then the exit
code is 1. Seconds are those of the clock; beside them stands the processor time of the command and its children, which
is what to look at on a machine that does other work. Memory is that of the largest process of a command.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

TRACEBACK = "Traceback (most recent call last)"
KIB_IN_MB = 1024 / 1e6


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    file: str
    command: str
    seconds: float
    processor_s: float
    megabytes: float
    wrong: str  # empty where nothing is


def main() -> int:
    """Run all commands on all files, and print how they ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--megabytes", type=float, default=500.0)
    parser.add_argument("--only", default="", help="only files whose name holds this")
    asked = parser.parse_args()
    files = [path for path in sorted(asked.folder.iterdir()) if path.is_file() and asked.only in path.name]
    found = []
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            found += [_run(path, name, words, Path(folder)) for name, words in _commands(path.absolute())]
    names = list(dict.fromkeys(one.command for one in found))
    result = {
        "files": len(files),
        "commands": len(found),
        "largest": {name: _largest([one for one in found if one.command == name]) for name in names},
        "wrong": [asdict(one) for one in found if one.wrong],
        "slow": [asdict(one) for one in found if one.seconds > asked.seconds],
        "large": [asdict(one) for one in found if one.megabytes > asked.megabytes],
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    return 1 if result["wrong"] or result["slow"] or result["large"] else 0


def _commands(path: Path) -> Iterator[tuple[str, list[str]]]:
    yield "show", ["show", str(path)]
    yield "show --json --lines", ["show", "--json", "--lines", str(path)]
    yield "diff", ["diff", str(path), str(path)]
    yield "report", ["report", str(path), "--output", "page.html"]
    yield "export", ["export", str(path), "--output", "metrics.csv"]


def _run(path: Path, name: str, words: list[str], folder: Path) -> Ended:
    argv = [sys.executable, "-m", "ncu_assist", *words]
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        started = time.monotonic()
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder)
        _, status, used = os.wait4(child.pid, 0)  # with the children that it waited for
        seconds = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
    wrong = _wrong(child.returncode, (folder / "out").read_bytes(), (folder / "err").read_text(), "--json" in words)
    return Ended(
        path.name, name, round(seconds, 2), round(used.ru_utime + used.ru_stime, 2), used.ru_maxrss * KIB_IN_MB, wrong
    )


def _wrong(code: int, out: bytes, err: str, is_json: bool) -> str:
    """Return what is wrong with an end: a traceback, an exit code, no JSON; empty where nothing is."""
    if TRACEBACK in err:
        return err.strip().splitlines()[-1]
    if code != 0:
        return f"exit code {code}: {err.strip()[-300:]}"
    if is_json:
        try:
            json.loads(out)
        except ValueError as error:
            return f"no JSON: {error}"
    return ""


def _largest(ended: list[Ended]) -> dict[str, object]:
    return {
        "seconds": max((one.seconds, one.file) for one in ended),
        "processor_s": max((one.processor_s, one.file) for one in ended),
        "megabytes": max((one.megabytes, one.file) for one in ended),
    }


if __name__ == "__main__":
    sys.exit(main())
