"""Put the measurements of one version together as a run, with a summary of its samples, and save it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist import __version__
from ncu_assist.backends import BACKENDS, backend_of
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.environment import VISIBLE, chosen_gpu, query_gpus
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.harness.client import Measured
from ncu_assist.harness.events import COPY, EMPTY, LINK
from ncu_assist.ncu import compressed
from ncu_assist.ncu.command import ProfileOptions, find_ncu, version_of
from ncu_assist.pipeline.derived import save_judged
from ncu_assist.pipeline.profiling import VersionCapture
from ncu_assist.record import Bench, Commit, Profile, Run, Timing, Toolchain, WorkloadFacts
from ncu_assist.sources import name_beside, source_files, source_sha256
from ncu_assist.spec import Kernel, Version, Workload
from ncu_assist.store import Store, StoredRun, machine_hash, metrics_parquet, new_run_id, samples_parquet

if TYPE_CHECKING:
    import pandas as pd


BENCH, NCU = "bench", "ncu"  # stages whose duration a run records
Need = tuple[str, tuple[str, ...]]  # a version's requirements: the name of a backend, and packages
TORCH_VERSION = re.compile(r"^__version__ *= *['\"]([^'\"]+)", re.MULTILINE)  # in torch/version.py


@dataclass(frozen=True)
class Tools:
    """The programs and libraries of this machine; each is asked for its version once, on first use."""

    _options: dict[str, str] = field(default_factory=dict, repr=False)

    def of(self, version: Version) -> Toolchain:
        """Return the toolchain of a version, as far as it is known before the run: without Triton and ncu.

        Raises EnvironmentProblem if a compiler is missing.
        """
        return self.for_need(need_of(version))

    def for_need(self, need: Need) -> Toolchain:
        """Return the toolchain for any version with this need."""
        backend, packages = need
        if backend not in self._options:
            self._options[backend] = BACKENDS[backend].options()
        options = self._options[backend]
        return Toolchain(
            python=platform.python_version(),
            torch=self._torch,
            nvcc=self._nvcc if options else None,
            nvcc_options=options or None,
            packages={name: self._package(name) for name in packages},
        )

    @cached_property
    def _nvcc(self) -> str:
        return find_nvcc().version

    @cached_property
    def _torch(self) -> str | None:
        """Return torch's own version, as pip's may lack ``+cu130``, without importing torch, which takes seconds."""
        spec = importlib.util.find_spec("torch")
        file = Path(spec.origin).with_name("version.py") if spec and spec.origin else None
        found = TORCH_VERSION.search(file.read_text(encoding="utf-8")) if file and file.is_file() else None
        return found[1] if found else None

    def _package(self, name: str) -> str:
        for distribution in self._distributions.get(name, [name]):
            try:
                return importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError:
                continue
        return "unknown"

    @cached_property
    def _distributions(self) -> dict[str, list[str]]:
        return dict(importlib.metadata.packages_distributions())


def need_of(version: Version) -> Need:
    """Return the backend and packages that a version needs."""
    return backend_of(version.path).name, version.packages


@dataclass(frozen=True)
class Setup:
    """The setup of a machine: the GPU model and the driver (None on a CPU), and the programs and libraries.

    ``toolchains`` are by need, without needs that lack a compiler; ``absent`` are missing packages. ``ncu`` is empty if
    it was not requested or is missing.
    """

    gpu: str | None
    driver: str | None
    triton: str | None
    toolchains: Mapping[Need, Toolchain]
    absent: frozenset[str]
    ncu: str = ""


def setup_here(needs: Collection[Need], has_gpu: bool, has_ncu: bool) -> Setup:
    """Return the setup of this machine. Raises EnvironmentProblem if a required GPU or ncu is missing."""
    gpu = driver = triton = None
    if has_gpu:
        driver, gpus = query_gpus()
        gpu = chosen_gpu(gpus, os.environ.get(VISIBLE)).name
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        triton = importlib.metadata.version("triton")
    tools, toolchains = Tools(), dict[Need, Toolchain]()
    for need in needs:
        with contextlib.suppress(EnvironmentProblem):
            toolchains[need] = tools.for_need(need)
    named = {name for _, packages in needs for name in packages}
    absent = frozenset(name for name in named if importlib.util.find_spec(name) is None)
    return Setup(gpu, driver, triton, toolchains, absent, version_of(find_ncu()) if has_ncu else "")


def timings_of(samples: pd.DataFrame, version: str) -> tuple[Timing, ...]:
    """Return one Timing for each workload on which ``version`` has at least one sample that was not late."""
    found = []
    for workload, group in samples.groupby("workload", sort=False, observed=True):
        own = group[group["version"] == version]
        kept = own[~own["late"]]
        if kept.empty:
            continue
        quartiles = kept["time_ns"].quantile([0.25, 0.5, 0.75])
        clock = kept["sm_clock_mhz"].median()
        found.append(
            Timing(
                workload=str(workload),
                bench_id=str(kept["bench_id"].iloc[0]),
                samples=len(kept),
                dropped=len(own) - len(kept),
                median_ns=float(quartiles[0.5]),
                q1_ns=float(quartiles[0.25]),
                q3_ns=float(quartiles[0.75]),
                min_ns=float(kept["time_ns"].min()),
                sm_clock_mhz=None if clock != clock else float(clock),
                empty_ns=_median(group, EMPTY),
                copy_ns=_median(group, COPY),
                link_ns=_median(group, LINK),
            )
        )
    return tuple(found)


def always_late(samples: pd.DataFrame, version: str) -> tuple[str, ...]:
    """Return the workloads on which every sample of ``version`` was late: they have no Timing."""
    own = samples[samples["version"] == version]
    late = own.groupby("workload", sort=False, observed=True)["late"].all()
    return tuple(str(workload) for workload, always in late.items() if always)


def samples_of(samples: pd.DataFrame, version: str) -> pd.DataFrame:
    """Return the samples of a version, and of the empty call and the copies timed with it."""
    return samples[samples["version"].isin([version, EMPTY, COPY, LINK])].reset_index(drop=True)


def _median(samples: pd.DataFrame, version: str) -> float | None:
    kept = samples[(samples["version"] == version) & ~samples["late"]]["time_ns"]
    return None if kept.empty else float(kept.median())


@dataclass(frozen=True)
class Measurement:
    """Everything measured in one invocation that its versions share."""

    kernel: Kernel
    workloads: tuple[Workload, ...]
    moment: datetime
    measured: Measured
    options: ProfileOptions | None
    command: str
    repeats: int = 1  # profiled calls of each workload
    commit: Commit | None = None
    tools: Tools = field(default_factory=Tools)
    toolchains: Mapping[str, Toolchain] = field(default_factory=dict)  # of versions that another machine built
    machine: str | None = None  # the hash of that machine


def save(
    store: Store,
    shared: Measurement,
    version: Version,
    build_log: str,
    capture: VersionCapture | None,
    notes: tuple[str, ...],
) -> StoredRun:
    """Save a version's run and return it. Raises EnvironmentProblem when the archive cannot be written."""
    source = source_sha256(version.path)
    untimed = _untimed(shared, version)
    run = Run(
        run_id=new_run_id(shared.moment, version.name + source),
        kernel=shared.kernel.name,
        version=version.name,
        source="live",
        created=shared.moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        tool=__version__,
        machine=shared.machine or machine_hash(),
        source_sha256=source,
        verified=True,
        device=shared.measured.device,
        toolchain=_toolchain(shared, version, capture),
        workloads=tuple(workload_facts(shared.kernel, w) for w in _served(shared, version)),
        checks=shared.measured.checks.get(version.name, ()),
        bench=_bench(shared, version),
        profile=replace(
            profile_facts(shared.options, len(capture.launches), shared.command, shared.repeats), gpu=capture.gpu
        )
        if capture and shared.options
        else None,
        launches=capture.launches if capture else (),
        notes=(*notes, *dict.fromkeys(untimed.values()), *(_silence(capture) if capture else ())),
        host_memory=shared.measured.host_memory,
        commit=shared.commit,
        took_s=_took_s(shared, version, capture),
        sections=capture.sections if capture else (),
        untimed=untimed,
        silent=capture.silent if capture else (),
    )
    return save_judged(store, run, _files(shared, version, build_log, capture))


def _served(shared: Measurement, version: Version) -> list[Workload]:
    """Return the workloads of a version's run, the default one first, because readers who name none mean it."""
    return sorted(filter(version.serves, shared.workloads), key=lambda workload: not workload.default)


def workload_facts(kernel: Kernel, workload: Workload) -> WorkloadFacts:
    """Return a workload with its current bytes and operations."""
    return WorkloadFacts(
        name=workload.name,
        dtype=workload.dtype,
        integers=dict(workload.integers),
        algorithmic_bytes=kernel.algorithmic_bytes(workload),
        flops=kernel.flops(workload),
        host_bytes=kernel.host_bytes(workload),
        written_bytes=kernel.written_bytes(workload),
        work=kernel.work(workload),
    )


def capture_files(capture: VersionCapture) -> dict[str, bytes]:
    """Return the files of a run with its counters, or ncu's log if there was no launch."""
    if not capture.launches:
        return {"ncu.log": capture.log.encode()}
    return {
        "metrics.parquet": metrics_parquet(capture.metrics),
        "report.ncu-rep.zst": compressed.compress(capture.data),
        "ncu.log": capture.log.encode(),
    }


def _untimed(shared: Measurement, version: Version) -> dict[str, str]:
    late = () if shared.measured.samples is None else always_late(shared.measured.samples, version.name)
    why = "its calls take longer to enqueue than the stream is held, or they wait for the GPU"
    return dict.fromkeys(late, f"no time on {', '.join(late)}: every sample was late, because {why}")


def _silence(capture: VersionCapture) -> tuple[str, ...]:
    """Return the note of a version that launched no kernel, on all of its workloads or on some."""
    if not capture.silent:
        return ()
    where = f" on {', '.join(capture.silent)}" if capture.launches else ""
    return (f"launched no kernel{where}: nothing to count",)


def _files(shared: Measurement, version: Version, build_log: str, capture: VersionCapture | None) -> dict[str, bytes]:
    files = dict[str, bytes]()
    for path in (version.path, shared.kernel.folder / "kernel.toml", shared.kernel.reference):
        files |= {f"source/{name_beside(path, file)}": file.read_bytes() for file in source_files(path)}
    if build_log:
        files["build.log"] = build_log.encode()
    if capture:
        files |= capture_files(capture)
    if shared.measured.samples is not None:
        own = samples_of(shared.measured.samples, version.name)
        if version.name in set(own["version"]):
            files["samples.parquet"] = samples_parquet(own)
    return files


def _bench(shared: Measurement, version: Version) -> Bench | None:
    if shared.measured.bench is None or shared.measured.samples is None:
        return None
    timings = timings_of(shared.measured.samples, version.name)
    if not timings:
        return None
    own = shared.measured.device.uuid_sha256 if shared.measured.device else None
    others = {workload: gpu for workload, gpu in shared.measured.gpus.items() if gpu != own}
    return replace(shared.measured.bench, timings=tuple(replace(one, gpu=others.get(one.workload)) for one in timings))


def _took_s(shared: Measurement, version: Version, capture: VersionCapture | None) -> dict[str, float]:
    served = {workload.name for workload in _served(shared, version)}
    took = {f"{BENCH} {name}": round(seconds, 3) for name, seconds in shared.measured.took_s.items() if name in served}
    if capture and capture.took_s is not None:
        took[NCU] = round(capture.took_s, 3)
    return took


def profile_facts(options: ProfileOptions, launches: int, command: str, repeats: int = 1) -> Profile:
    """Return how counters were taken, and the number of launches in ncu's log."""
    return Profile(
        section_set=options.section_set,
        clock_control=options.clock_control,
        cache_control=options.cache_control,
        replay_mode=options.replay_mode,
        launches_logged=launches,
        command=command,
        repeats=repeats,
    )


def _toolchain(shared: Measurement, version: Version, capture: VersionCapture | None) -> Toolchain:
    """Return the toolchain known from the child, the report and the build."""
    own = shared.toolchains.get(version.name) or shared.tools.of(version)
    known = replace(shared.measured.toolchain, nvcc_options=own.nvcc_options, packages=own.packages)
    return replace(known, ncu=capture.toolchain.ncu, cuda=capture.toolchain.cuda) if capture else known
