"""What is known of GPUs without measuring: of this one, of that of a run; ceilings that are sent, or from elsewhere."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from ncu_assist.ceilings import Ceilings, ceilings_of, decode, path_of, save, shipped, stored
from ncu_assist.ceilings.known import KnownGpu, attribute_peak, known_rates
from ncu_assist.ceilings.storage import problems, product
from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.ncu.compressed import is_compressed
from ncu_assist.ncu.report_file import MAGIC
from ncu_assist.pipeline.doctor import gpu_here
from ncu_assist.pipeline.opened_reports import named
from ncu_assist.project import Project
from ncu_assist.record import Device
from ncu_assist.render.redact import redact_text
from ncu_assist.store import StoredRun

EXPORT = "ncu-assist ceilings --export FILE, where they were measured"
MOST_BYTES = 16 << 20  # ten thousand points; those that come with the tool take 53 kB
SHOWN = 3  # of what cannot be


def why_no_gpu() -> EnvironmentProblem | None:
    """Return what keeps this machine from measuring, None if it can try."""
    try:
        gpu_here()
    except EnvironmentProblem as problem:
        return problem
    return None


def known(project: Project) -> tuple[tuple[Ceilings, Path | None], ...]:
    """Return the ceilings of the GPU here; without one, all that are stored in the archive or came with the tool.

    Each with where it lies in the archive, None for those that came with the tool.

    Raises DamagedData for a file that cannot be read.
    """
    try:
        gpu = gpu_here()
    except EnvironmentProblem:
        here = [(one, path_of(project.reports, one.device)) for one in stored(project.reports)]
        return (*here, *((one, None) for one in shipped()))
    digest = hashlib.sha256(gpu.uuid.encode()).hexdigest()
    found = ceilings_of(Device(gpu.name, digest, "", None, None, None, None), project.reports)
    if found is None:
        return ()
    path = path_of(project.reports, found.device)
    return ((found, path if path.is_file() else None),)


def to_send(project: Project, gpu: str | None) -> Ceilings:
    """Return the ceilings to export: of the GPU here, or of the one named, without what names this machine.

    Raises UsageProblem where none are known, or of several GPUs and none was named.
    """
    every = [one for one, _ in known(project)] if gpu is None else [*stored(project.reports), *shipped()]
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


def take_in(project: Project, path: Path, force: bool) -> tuple[Ceilings, Path, bool]:
    """Check ceilings from elsewhere and store them in the archive, for all reports of GPUs of that model.

    Return them as they are stored now, where, and whether exactly these were there already.

    Raises UsageProblem for what is no such file, and for one that would replace others of this GPU; DamagedData for one
    that was changed, or whose values cannot be; NewerData for one of a later version.
    """
    ceilings = replace(read(path), origin="imported")
    target = path_of(project.reports, ceilings.device)
    same = [one for one in stored(project.reports) if path_of(project.reports, one.device) == target]
    if any(replace(one, origin="imported", digest="") == replace(ceilings, digest="") for one in same):
        return ceilings, target, True
    if same and not force:
        raise UsageProblem(
            f"ceilings of this {ceilings.device.name} are stored already, of {same[0].created[:10]}; "
            f"{path.name} has those of {ceilings.created[:10]}",
            "--force to replace them",
        )
    return ceilings, save(project.reports, ceilings), False


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


BUS_WIDTH = "device__attribute_global_memory_bus_width"  # bits
MEMORY_CLOCKS = ("device__attribute_max_mem_frequency_khz", "device__attribute_memory_clock_rate")  # kHz, both


def known_of(project: Project, reference: str) -> KnownGpu:
    """Return what is known of the GPU that a run or a report is of; raises as ``named`` does, and without a GPU."""
    (stored,) = named(project, (reference,), None)
    device = stored.run.device
    if device is None:
        raise UsageProblem(f"{stored.reference} does not say on which GPU it was measured", "name another run")
    ceilings = ceilings_of(device, project.reports)
    return KnownGpu(stored.reference, device, ceilings, known_rates(device, ceilings, dram_peak(stored)))


def dram_peak(stored: StoredRun) -> float | None:
    """Return DRAM's peak in bytes a second from the device attributes of a run; None where they do not say it."""
    values = stored.metrics()
    found = {name: values.loc[values["metric"] == name, "value"].dropna() for name in (BUS_WIDTH, *MEMORY_CLOCKS)}
    width, *clocks = [float(column.iloc[0]) if len(column) else 0.0 for column in found.values()]
    clock = next((one for one in clocks if one), 0.0)
    return attribute_peak(width, clock, stored.run.device.compute_capability if stored.run.device else "")
