"""A build in a process of its own, ``python -m … FOLDER OUT VERSION…``: what a parent asks of it, and what it leaves.

A draft is built by such a process inside a sandbox: a compiler reads whatever file a source includes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from ncu_assist.backends import build_versions
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import NcuAssistError
from ncu_assist.process import module_argv
from ncu_assist.spec_file import read_kernel

OUTCOMES, PROBLEM = "build_outcomes.json", "build_problem.json"


def command(folder: Path, versions: Sequence[str], out: Path) -> list[str]:
    """Return the program that builds versions of a kernel folder below ``out``, and leaves there what came of it."""
    return module_argv("ncu_assist.backends.building", str(folder), str(out), *versions)


def encode(outcomes: Mapping[str, BuildOutcome]) -> bytes:
    """Return outcomes as ``decode`` reads them."""
    return msgspec.json.encode(outcomes, enc_hook=str)


def decode(data: bytes) -> dict[str, BuildOutcome]:
    """Return what ``encode`` wrote, by version: built anew, as far as the parent knows.

    Raises msgspec.DecodeError for anything else.
    """
    found = msgspec.json.decode(data, type=dict[str, BuildOutcome], dec_hook=lambda _, path: Path(path))
    return {name: replace(outcome, version=name, reused=False) for name, outcome in found.items()}


def main(folder: Path, out: Path, *versions: str) -> int:
    """Build and return 0, or the exit code of what kept it from building; PROBLEM then has its message and hint."""
    kernel = read_kernel(folder)
    try:
        outcomes = build_versions(kernel, [kernel.version(name) for name in versions], out)
    except NcuAssistError as error:
        (out / PROBLEM).write_bytes(msgspec.json.encode((error.message, error.hint)))
        return error.exit_code
    (out / OUTCOMES).write_bytes(encode(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
