"""A build in a process of its own, ``python -m … REQUEST.json``: what a parent asks of it, and what it leaves.

A draft is built by such a process inside a sandbox: a compiler reads whatever file a source includes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist.backends import build_versions
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import NcuAssistError
from ncu_assist.spec_file import read_kernel

REQUEST, OUTCOMES, PROBLEM = "build_request.json", "build_outcomes.json", "build_problem.json"


@dataclass(frozen=True)
class BuildRequest:
    """Versions of a kernel folder to build below ``work``; the outcomes go into ``out``."""

    kernel_folder: str
    versions: tuple[str, ...]
    work: str
    out: str


@dataclass(frozen=True)
class BuildProblem:
    """Why nothing could be built: an error of the environment."""

    message: str
    hint: str
    exit_code: int


def command(request: BuildRequest) -> list[str]:
    """Write a request into its folder and return the program that does what it asks."""
    path = Path(request.out) / REQUEST
    path.write_bytes(msgspec.json.encode(request))
    return [sys.executable, "-m", "ncu_assist.backends.building", str(path)]


def encode(outcomes: Mapping[str, BuildOutcome]) -> bytes:
    """Return outcomes as ``decode`` reads them."""
    return msgspec.json.encode(outcomes, enc_hook=str)


def decode(data: bytes) -> dict[str, BuildOutcome]:
    """Return what ``encode`` wrote, by version: built anew, as far as the parent knows.

    Raises msgspec.DecodeError for anything else.
    """
    found = msgspec.json.decode(data, type=dict[str, BuildOutcome], dec_hook=lambda _, path: Path(path))
    return {name: replace(outcome, version=name, reused=False) for name, outcome in found.items()}


def main(path: Path) -> int:
    """Build what the request names and return 0, or the exit code of what kept it from being built."""
    request = msgspec.json.decode(path.read_bytes(), type=BuildRequest)
    kernel, out = read_kernel(Path(request.kernel_folder)), Path(request.out)
    try:
        outcomes = build_versions(kernel, [kernel.version(name) for name in request.versions], Path(request.work))
    except NcuAssistError as error:
        (out / PROBLEM).write_bytes(msgspec.json.encode(BuildProblem(error.message, error.hint, error.exit_code)))
        return error.exit_code
    (out / OUTCOMES).write_bytes(encode(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
