"""Measure what this GPU can reach, or say what is known of it."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.ceilings import Ceilings, ceilings_of, path_of, shipped, stored
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.base import Executor
from ncu_assist.pipeline.ceilings_session import Session
from ncu_assist.pipeline.ceilings_stages import Workshop
from ncu_assist.pipeline.gpus import chosen_gpu, query_gpus
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.record import Device


@dataclass(frozen=True)
class Answer:
    """Ceilings to show; ``path`` is where they lie in the archive, None for those that came with the tool."""

    ceilings: Ceilings
    path: Path | None


def why_no_gpu() -> EnvironmentProblem | None:
    """Return what keeps this machine from measuring, None if it can try."""
    try:
        chosen_gpu(query_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    except EnvironmentProblem as problem:
        return problem
    return None


def known(project: Project) -> tuple[Answer, ...]:
    """Return the ceilings of the GPU here; without one, all that are stored in the archive or came with the tool.

    Raises DamagedData for a file that cannot be read.
    """
    try:
        gpu = chosen_gpu(query_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    except EnvironmentProblem:
        here = [Answer(one, path_of(project.reports, one.device)) for one in stored(project.reports)]
        return (*here, *(Answer(one, None) for one in shipped()))
    digest = hashlib.sha256(gpu.uuid.encode()).hexdigest()
    found = ceilings_of(Device(gpu.name, digest, "", None, None, None, None), project.reports)
    if found is None:
        return ()
    path = path_of(project.reports, found.device)
    return (Answer(found, path if path.is_file() else None),)


def measure_ceilings(project: Project, executor: Executor, quick: bool, reporter: Reporter) -> Answer:
    """Measure the GPU here and return what was stored.

    A stage that fails is noted, and the others go on. Raises what kept everything from being measured: no GPU, no
    compiler, no torch. Ctrl-C keeps the stages before it.
    """
    gpu = chosen_gpu(query_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    folder = project.work / "measure" / f"ceilings-{secrets.token_hex(4)}"
    session = Session(Workshop(project, folder, executor, reporter), quick, gpu.memory_bytes)
    session.run()
    if session.ceilings is None:
        raise session.first_error or EnvironmentProblem("nothing could be measured", "ncu-assist doctor")
    if not any(stage.problem for stage in session.ceilings.stages):  # what a failure left stays, to be looked at
        shutil.rmtree(folder, ignore_errors=True)
    return Answer(session.ceilings, path_of(project.reports, session.ceilings.device))
