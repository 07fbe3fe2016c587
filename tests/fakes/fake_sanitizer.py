"""A fake compute-sanitizer for machines without one: it runs the program and says what the real one said.

``install(folder)`` puts an executable ``compute-sanitizer`` into a folder for PATH, whole, as a sandbox shows only what
is on PATH. Beside it lie the recorded words, ``<version>-<tool>.txt``, of single hazards
``<version>-<tool>-hazard.txt``; where there is no such file, nothing was found.
A file ``mode`` there says what it does else: hang, crash (no summary), broken (its libraries are not there).
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
START = "========= COMPUTE-SANITIZER\n"
BROKEN = "========= Error: Unable to find injection library libsanitizer-collection.so\n"
SUMMARIES = {"racecheck": "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"}


def install(folder: Path) -> Path:
    """Put an executable ``compute-sanitizer`` that runs this file into a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # the user of a sandbox looks into it
    program, source = folder / "compute-sanitizer", folder / "fake_sanitizer.py"
    shutil.copyfile(__file__, source)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{source.resolve()}" "$@"\n')
    program.chmod(0o755)
    return program


def main(argv: list[str]) -> int:
    tool, command = argv[argv.index("--tool") + 1], argv[argv.index(sys.executable) :]
    mode = (HERE / "mode").read_text().strip() if (HERE / "mode").is_file() else ""
    if mode == "broken":
        sys.stdout.write(BROKEN)
        return 1
    sys.stdout.write(START)
    sys.stdout.flush()
    if mode == "hang":
        while True:
            signal.pause()
    exit_code = subprocess.call(command)
    if not mode:
        version = json.loads(Path(command[-1]).read_text())["artifact"]["version"]
        hazards = "-hazard" if "hazard" in argv[: argv.index(sys.executable)] else ""
        recorded = HERE / f"{version}-{tool}{hazards}.txt"
        sys.stdout.write(own_words(recorded) or SUMMARIES.get(tool, "========= ERROR SUMMARY: 0 errors\n"))
    return exit_code


def own_words(recorded: Path) -> str:
    """Return the tool's own lines in a recorded output, without the first one."""
    text = recorded.read_text(encoding="utf-8") if recorded.is_file() else ""
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith("=========") and line != START)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
