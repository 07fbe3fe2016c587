"""A build in a process of its own: what a parent asks of it, and what it leaves, as files.

A draft is built by such a process inside a sandbox: a compiler reads whatever file a source includes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist.backends.base import BuildOutcome

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
    return [sys.executable, "-m", "ncu_assist.backends", str(path)]


def encode(outcomes: Mapping[str, BuildOutcome]) -> bytes:
    """Return outcomes as ``decode`` reads them."""
    return msgspec.json.encode(outcomes, enc_hook=str)


def decode(data: bytes) -> dict[str, BuildOutcome]:
    """Return what ``encode`` wrote, by version: built anew, as far as the parent knows.

    Raises msgspec.DecodeError for anything else.
    """
    found = msgspec.json.decode(data, type=dict[str, BuildOutcome], dec_hook=lambda _, path: Path(path))
    return {name: replace(outcome, version=name, reused=False) for name, outcome in found.items()}
