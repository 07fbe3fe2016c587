"""The backends in the order in which they are asked for a source file, and the build of several versions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ncu_assist.backends.base import Backend, BuildOutcome
from ncu_assist.backends.cuda import Cuda
from ncu_assist.backends.python import Python
from ncu_assist.backends.torch_extension import TorchExtension
from ncu_assist.errors import UsageProblem
from ncu_assist.spec import Kernel, Version

BACKENDS: dict[str, Backend] = {
    "torch_extension": TorchExtension(),
    "cuda": Cuda(),
    "python": Python(),
}


def backend_of(path: Path) -> Backend:
    """Return the first backend that claims a source file; raises UsageProblem if none does."""
    for backend in BACKENDS.values():
        if backend.claims(path):
            return backend
    raise UsageProblem(f"no backend builds {path.name}", f"backends: {', '.join(BACKENDS)}")


def build_versions(kernel: Kernel, versions: Sequence[Version], work: Path) -> dict[str, BuildOutcome]:
    """Build versions below ``work`` with their backends, all at once, and return the outcomes in the order given.

    Raises EnvironmentProblem if a compiler that is needed is missing.
    """
    groups: dict[str, list[Version]] = {}
    for version in versions:
        groups.setdefault(backend_of(version.path).name, []).append(version)
    cancelled = threading.Event()
    outcomes: dict[str, BuildOutcome] = {}
    with ThreadPoolExecutor(max_workers=len(BACKENDS)) as pool:
        jobs = [pool.submit(BACKENDS[n].build, kernel, group, work, cancelled.is_set) for n, group in groups.items()]
        try:
            for job in jobs:
                outcomes |= job.result()
        except BaseException:
            cancelled.set()  # the pool waits for its threads: end their compilers first
            raise
    return {version.name: outcomes[version.name] for version in versions}
