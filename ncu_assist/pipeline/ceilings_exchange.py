"""Ceilings that are sent to somebody else, and those that come from somewhere else."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_assist.ceilings import Ceilings, decode, path_of, save, shipped, stored
from ncu_assist.ceilings.checking import problems
from ncu_assist.ceilings.storage import product
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.compressed import is_compressed
from ncu_assist.ncu.report_file import MAGIC
from ncu_assist.pipeline.ceilings import known
from ncu_assist.project import Project
from ncu_assist.render.redact import redact_text

EXPORT = "ncu-assist ceilings --export FILE, where they were measured"
MOST_BYTES = 16 << 20  # ten thousand points; those that come with the tool take 53 kB
SHOWN = 3  # of what cannot be


@dataclass(frozen=True)
class Imported:
    """Ceilings as they are stored now, and where; ``was_there``: exactly these were already."""

    ceilings: Ceilings
    path: Path
    was_there: bool


def to_send(project: Project, gpu: str | None) -> Ceilings:
    """Return the ceilings to export: of the GPU here, or of the one named, without what names this machine.

    Raises UsageProblem where none are known, or of several GPUs and none was named.
    """
    every = [answer.ceilings for answer in known(project)] if gpu is None else [*stored(project.reports), *shipped()]
    found = every if gpu is None else [one for one in every if product(gpu) in product(one.device.name)]
    names = sorted({one.device.name for one in found})
    if not found:
        what = f"no ceilings of a '{gpu}' are known" if gpu else "no ceilings are known of this GPU"
        raise UsageProblem(what, "ncu-assist ceilings, to measure them; --show lists those known")
    if len(names) > 1:
        raise UsageProblem(f"ceilings of several GPUs are known: {', '.join(names)}", f"--gpu '{names[0]}'")
    newest = max(found, key=lambda one: one.created)
    stages = tuple(replace(stage, problem=redact_text(stage.problem)) for stage in newest.stages)
    return replace(newest, stages=stages, notes=tuple(map(redact_text, newest.notes)), origin="live")


def take_in(project: Project, path: Path, force: bool) -> Imported:
    """Check ceilings from elsewhere and store them in the archive, for all reports of GPUs of that model.

    Raises UsageProblem for what is no such file, and for one that would replace others of this GPU; DamagedData for one
    that was changed, or whose values cannot be; NewerData for one of a later version.
    """
    ceilings = replace(read(path), origin="imported")
    target = path_of(project.reports, ceilings.device)
    same = [one for one in stored(project.reports) if path_of(project.reports, one.device) == target]
    if any(replace(one, origin="imported", digest="") == replace(ceilings, digest="") for one in same):
        return Imported(ceilings, target, was_there=True)
    if same and not force:
        raise UsageProblem(
            f"ceilings of this {ceilings.device.name} are stored already, of {same[0].created[:10]}; "
            f"{path.name} has those of {ceilings.created[:10]}",
            "--force to replace them",
        )
    return Imported(ceilings, save(project.reports, ceilings), was_there=False)


def read(path: Path) -> Ceilings:
    """Return the ceilings in a file, checked. Raises as ``take_in`` does."""
    data = _bytes(path)
    _refuse_others(path.name, data)
    ceilings = decode(data, path.name, EXPORT)
    if wrong := problems(ceilings):
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise DamagedData(f"{path.name} has what cannot be: {'; '.join(wrong[:SHOWN])}{more}", EXPORT)
    return ceilings


def _bytes(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise UsageProblem(
                f"{path.name} has {path.stat().st_size} bytes: no file of ceilings is that large", EXPORT
            )
        return path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}", EXPORT) from error


def _refuse_others(name: str, data: bytes) -> None:
    """Raise UsageProblem for a file of another kind, which it names."""
    if data.startswith(MAGIC) or is_compressed(data):
        kind = "a report of Nsight Compute" if data.startswith(MAGIC) else "a compressed file"
        raise UsageProblem(f"{name} is {kind}, not ceilings", f"ncu-assist ceilings --show {name}")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"{name} is not JSON, so no ceilings: {error}", EXPORT) from error
    said = str(found.get("schema", "")) if isinstance(found, dict) else ""
    if isinstance(found, dict) and "gpus" in found:
        raise UsageProblem(f"{name} is what `ncu-assist ceilings --json` prints, not what --export writes", EXPORT)
    if not said.startswith("ncu-assist.ceilings/"):
        what = f"of the schema '{said}'" if said else "without a schema"
        raise UsageProblem(f"{name} is JSON {what}, not ceilings", EXPORT)
