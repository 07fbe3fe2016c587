"""What a parent asks of its child: a JSON file with the versions to load and the stages to run."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import msgspec

from ncu_assist.atomic import atomic_write
from ncu_assist.backends import backend_of
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.cuda import compile_library
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.spec import Kernel, Workload

REQUEST_FILE = "request.json"
T = TypeVar("T")
Stage = Literal["check", "bench", "profile"]
Flush = Literal["read", "memset", "none"]
DEVICE_SOURCE = Path(__file__).with_name("device.cu")
SEED_LIMIT = 2**31


class RequestWithPath(Protocol):
    """A request that knows the file it belongs into, which is called ``REQUEST_FILE``."""

    @property
    def path(self) -> Path: ...


def write_request(request: RequestWithPath) -> Path:
    """Write a request into its folder and return the file."""
    request.path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(request.path) as file:  # whole for a child that waits for it
        # Not the json of msgspec: a path may hold bytes that are no UTF-8, as any beyond ASCII is in the C locale.
        file.write(json.dumps(msgspec.to_builtins(request)).encode("ascii"))
    return request.path


def read_request(path: Path, kind: type[T]) -> T:
    """Return the request in a file, of the kind that was written there."""
    return msgspec.convert(json.loads(path.read_bytes()), type=kind, strict=True)


@dataclass(frozen=True)
class HarnessSettings:
    """How to measure. ``trials`` is the number of seeds in check, ``repeats`` that of further calls a seed,
    ``profile_repeats`` that of profiled calls.

    ``rounds`` and ``warmup`` count bench rounds kept and not kept. A version whose first ``late_enough`` samples are
    all late is not timed on; 0 times it to the end. ``race`` names a version that is timed to the end while the others
    drop out once they cannot be the fastest; empty: none does. ``device`` is cuda; cpu serves tests.
    """

    stages: tuple[Stage, ...]
    trials: int = 3
    repeats: int = 5
    profile_repeats: int = 1
    rounds: int = 100
    warmup: int = 3
    late_enough: int = 0
    race: str = ""
    flush: Flush = "read"
    device: str = "cuda"


@dataclass(frozen=True)
class Artifact:
    """A built version: its full name, the backend that loads it, and the file."""

    version: str
    backend: str
    path: str


@dataclass(frozen=True)
class HarnessRequest:
    """One job for the child. Results go to files in ``out``; a second child with the same request goes on there."""

    kernel_folder: str
    artifacts: tuple[Artifact, ...]
    workloads: tuple[str, ...]
    settings: HarnessSettings
    seeds: tuple[int, ...]
    bench_id: str
    out: str
    helpers: str | None = None  # device.cu as a shared object; only bench on a GPU needs it
    nvcc: str | None = None  # its version, where it built one of the artifacts
    skip: tuple[tuple[str, str], ...] = ()  # (version, workload) not to run, e.g. because the check failed

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(a.version for a in self.artifacts)

    @property
    def path(self) -> Path:
        return Path(self.out) / REQUEST_FILE


def new_request(
    kernel: Kernel,
    outcomes: Mapping[str, BuildOutcome],
    workloads: Sequence[Workload],
    settings: HarnessSettings,
    work: Path,
) -> HarnessRequest:
    """Return a request for the versions that built, with fresh seeds and a folder of its own, and write it there.

    Builds the bench's device code where it is needed. Raises EnvironmentProblem if that lacks a compiler.
    """
    request = with_builds(unbuilt_request(kernel, tuple(outcomes), workloads, settings, work), kernel, outcomes, work)
    write_request(request)
    return request


def unbuilt_request(
    kernel: Kernel, versions: Sequence[str], workloads: Sequence[Workload], settings: HarnessSettings, work: Path
) -> HarnessRequest:
    """Return a request, with fresh seeds, for versions that are still to be built, maybe on another machine."""
    bench_id = secrets.token_hex(6)
    return HarnessRequest(
        kernel_folder=str(kernel.folder.resolve()),
        artifacts=tuple(Artifact(name, "", "") for name in versions),
        workloads=tuple(w.name for w in workloads),
        settings=settings,
        seeds=tuple(secrets.randbelow(SEED_LIMIT) for _ in range(max(1, settings.trials))),
        bench_id=bench_id,
        out=str((work / "measure" / bench_id).resolve()),
    )


def with_builds(
    request: HarnessRequest, kernel: Kernel, outcomes: Mapping[str, BuildOutcome], work: Path
) -> HarnessRequest:
    """Return a request for those versions that built below ``work``, the bench's device code among what is built.

    Raises EnvironmentProblem if that lacks a compiler.
    """
    built = {name: o.artifact for name, o in outcomes.items() if o.artifact is not None}
    artifacts = tuple(Artifact(n, backend_of(kernel.version(n).path).name, str(p.resolve())) for n, p in built.items())
    times_gpu = request.settings.device == "cuda" and "bench" in request.settings.stages
    return replace(
        request,
        kernel_folder=str(kernel.folder.resolve()),
        artifacts=artifacts,
        helpers=str(compile_library(DEVICE_SOURCE, work / "build" / "harness")) if times_gpu else None,
        nvcc=find_nvcc().version if any(a.backend != "python" for a in artifacts) else None,
    )
