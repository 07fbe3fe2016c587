"""What same_code.py and power.py share as scripts: their options, the worker in themselves, the order of the steps."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sampling import Job, Subject, new_job, run_workers

from ncu_assist.harness.request import HarnessSettings

if TYPE_CHECKING:
    from sampling_worker import Arrange


@dataclass(frozen=True)
class Script:
    """One script: its file, what it samples, in which processes, what a round is, and what it makes of the samples.

    ``subjects`` takes the device and a folder to build in, ``jobs`` the job to vary and the options. ``finish`` takes
    the job, the folder for the answer and when it all began (monotonic), and returns the exit code.
    """

    file: str
    subjects: Callable[[str, Path], list[Subject]]
    jobs: Callable[[Job, argparse.Namespace], Sequence[Job]]
    arrange: Arrange
    finish: Callable[[Job, Path, float], int]


def options(description: str | None, out: str) -> argparse.ArgumentParser:
    """Return a parser of the options that both have; ``out`` is the folder for the answer unless one is named."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", default=Path(out))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser


def run(script: Script, arguments: argparse.Namespace) -> int:
    """Sample in fresh processes, finish and return the exit code; as a worker, do the one job instead."""
    if arguments.worker:
        from sampling_worker import work

        return work(arguments.worker, script.arrange)
    started = time.monotonic()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = HarnessSettings(stages=("bench",), rounds=arguments.rounds, device=arguments.device)
        job = new_job(script.subjects(arguments.device, Path(folder)), settings, Path(folder))
        run_workers(script.file, script.jobs(job, arguments))
        return script.finish(job, arguments.out, started)
