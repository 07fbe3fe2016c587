"""What was measured of one version, put together as a run and saved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ncu_assist import __version__
from ncu_assist.ncu import compressed
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.judging import save_judged
from ncu_assist.pipeline.profiling import VersionCapture
from ncu_assist.pipeline.timings import always_late, samples_of, timings_of
from ncu_assist.record import Bench, Check, Device, HostMemory, Profile, Run, Toolchain, WorkloadFacts
from ncu_assist.sources import source_files, source_sha256
from ncu_assist.spec import Kernel, Version, Workload
from ncu_assist.store import Store, StoredRun, machine_hash, metrics_parquet, new_run_id, samples_parquet

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measurement:
    """Everything measured in one invocation that its versions share."""

    kernel: Kernel
    workloads: tuple[Workload, ...]
    moment: datetime
    device: Device | None
    toolchain: Toolchain
    bench: Bench | None  # without timings: those are each version's own
    samples: pd.DataFrame | None
    options: ProfileOptions | None
    command: str
    repeats: int = 1  # profiled calls of each workload
    host_memory: HostMemory | None = None


@dataclass(frozen=True)
class VersionResult:
    """What was measured of one version alone."""

    version: Version
    build_log: str
    checks: tuple[Check, ...] = ()
    capture: VersionCapture | None = None
    notes: tuple[str, ...] = field(default=())


def save(store: Store, shared: Measurement, result: VersionResult) -> StoredRun:
    """Save a version's run and return it. Raises EnvironmentProblem when the archive cannot be written."""
    version = result.version
    source = source_sha256(version.path)
    capture = result.capture
    run = Run(
        run_id=new_run_id(shared.moment, version.name + source),
        kernel=shared.kernel.name,
        version=version.name,
        source="live",
        created=shared.moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        tool=__version__,
        machine=machine_hash(),
        source_sha256=source,
        verified=True,
        device=shared.device,
        toolchain=_toolchain(shared.toolchain, capture),
        workloads=tuple(workload_facts(shared.kernel, w) for w in _served(shared, version)),
        checks=result.checks,
        bench=_bench(shared, version),
        profile=profile_facts(shared.options, len(capture.launches), shared.command, shared.repeats)
        if capture and shared.options
        else None,
        launches=capture.launches if capture else (),
        notes=(*result.notes, *_late(shared, version), *(silence(capture) if capture else ())),
        host_memory=shared.host_memory,
    )
    return save_judged(store, run, _files(shared, result))


def _served(shared: Measurement, version: Version) -> list[Workload]:
    """Return the workloads of a version's run, the default one first: it is what a reader means who names none."""
    return sorted(filter(version.serves, shared.workloads), key=lambda workload: not workload.default)


def workload_facts(kernel: Kernel, workload: Workload) -> WorkloadFacts:
    """Return a workload with the bytes and operations it takes, as they are now."""
    return WorkloadFacts(
        name=workload.name,
        dtype=workload.dtype,
        integers=dict(workload.integers),
        algorithmic_bytes=kernel.algorithmic_bytes(workload),
        flops=kernel.flops(workload),
        host_bytes=kernel.host_bytes(workload),
        written_bytes=kernel.written_bytes(workload),
    )


def capture_files(capture: VersionCapture) -> dict[str, bytes]:
    """Return the files of a run that hold its counters; without a launch that is what ncu said."""
    if not capture.launches:
        return {"ncu.log": capture.log.encode()}
    return {
        "metrics.parquet": metrics_parquet(capture.metrics),
        "report.ncu-rep.zst": compressed.compress(capture.data),
        "ncu.log": capture.log.encode(),
    }


def _late(shared: Measurement, version: Version) -> tuple[str, ...]:
    late = () if shared.samples is None else always_late(shared.samples, version.name)
    why = "its calls take longer to enqueue than the stream is held, or wait for the GPU"
    return (f"no time on {', '.join(late)}: every sample was late, as {why}",) if late else ()


def silence(capture: VersionCapture) -> tuple[str, ...]:
    """Return the note of a version that launched no kernel, on all of its workloads or on some."""
    if not capture.silent:
        return ()
    where = f" on {', '.join(capture.silent)}" if capture.launches else ""
    return (f"launched no kernel{where}: nothing to count",)


def _files(shared: Measurement, result: VersionResult) -> dict[str, bytes]:
    folder = shared.kernel.folder
    sources = (*source_files(result.version.path), folder / "kernel.toml", shared.kernel.reference)
    files = {f"source/{path.name}": path.read_bytes() for path in sources}
    if result.build_log:
        files["build.log"] = result.build_log.encode()
    if result.capture:
        files |= capture_files(result.capture)
    if shared.samples is not None:
        own = samples_of(shared.samples, result.version.name)
        if result.version.name in set(own["version"]):
            files["samples.parquet"] = samples_parquet(own)
    return files


def _bench(shared: Measurement, version: Version) -> Bench | None:
    if shared.bench is None or shared.samples is None:
        return None
    timings = timings_of(shared.samples, version.name)
    if not timings:
        return None
    b = shared.bench
    return Bench(b.bench_id, b.flush, b.rounds, b.temperature_c, b.throttle_reasons, timings)


def profile_facts(options: ProfileOptions, launches: int, command: str, repeats: int = 1) -> Profile:
    """Return how counters were taken, and for how many launches ncu's log vouches."""
    return Profile(
        section_set=options.section_set,
        clock_control=options.clock_control,
        cache_control=options.cache_control,
        replay_mode=options.replay_mode,
        launches_logged=launches,
        command=command,
        repeats=repeats,
    )


def _toolchain(toolchain: Toolchain, capture: VersionCapture | None) -> Toolchain:
    """Return what the child and the report know together."""
    return replace(toolchain, ncu=capture.toolchain.ncu, cuda=capture.toolchain.cuda) if capture else toolchain
