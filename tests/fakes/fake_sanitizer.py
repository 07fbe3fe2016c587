"""A fake compute-sanitizer for machines without one: it runs the program and says what the real one said.

``install(folder)`` puts an executable ``compute-sanitizer`` into a folder for PATH. The environment chooses what it
does:

FAKE_SANITIZER_SAYS  a folder with the recorded words, ``<version>-<tool>.txt``; where there is no such file, nothing
                     was found
FAKE_SANITIZER_MODE  ok (default), hang, crash (it ends without a summary), or broken (its libraries are not there)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

START = "========= COMPUTE-SANITIZER\n"
BROKEN = "========= Error: Unable to find injection library libsanitizer-collection.so\n"
SUMMARIES = {"racecheck": "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"}


def install(folder: Path) -> Path:
    """Put an executable ``compute-sanitizer`` that runs this file into a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "compute-sanitizer"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).resolve()}" "$@"\n')
    program.chmod(0o755)
    return program


def main(argv: list[str]) -> int:
    tool, command = argv[argv.index("--tool") + 1], argv[argv.index(sys.executable) :]
    mode = os.environ.get("FAKE_SANITIZER_MODE", "ok")
    if mode == "broken":
        sys.stdout.write(BROKEN)
        return 1
    sys.stdout.write(START)
    sys.stdout.flush()
    if mode == "hang":
        while True:
            signal.pause()
    exit_code = subprocess.call(command)
    if mode == "ok":
        version = json.loads(Path(command[-1]).read_text())["artifact"]["version"]
        recorded = Path(os.environ.get("FAKE_SANITIZER_SAYS", ".")) / f"{version}-{tool}.txt"
        sys.stdout.write(own_words(recorded) or SUMMARIES.get(tool, "========= ERROR SUMMARY: 0 errors\n"))
    return exit_code


def own_words(recorded: Path) -> str:
    """Return the tool's own lines in a recorded output, without the first one."""
    text = recorded.read_text(encoding="utf-8") if recorded.is_file() else ""
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith("=========") and line != START)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
