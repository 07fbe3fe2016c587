"""Plain CUDA C versions: compiled by nvcc into shared objects, all in one ninja run, reused by content hash."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_assist.backends import ninja
from ncu_assist.backends.base import BuildOutcome, Call, never
from ncu_assist.backends.nvcc import Nvcc, find_arch, find_nvcc
from ncu_assist.backends.symbols import lacking_launcher
from ncu_assist.errors import StageFailed
from ncu_assist.spec import Kernel, Version, source_files

# -nodlink: no relocatable device code here, and the device linker would note its library paths in the binary.
FLAGS = ("-O3", "-lineinfo", "-shared", "-nodlink", "-Xcompiler", "-fPIC", "-Xptxas", "-v")


@dataclass(frozen=True)
class Source:
    """One file to compile: its name, its path, and the folder that its path is given relative to."""

    name: str
    path: Path
    root: Path


class Cuda:
    """Builds ``vN_*.cu`` without torch headers; the launcher is called through ctypes."""

    name = "cuda"

    def claims(self, path: Path) -> bool:
        return path.suffix == ".cu"

    def build(
        self, kernel: Kernel, versions: Sequence[Version], work: Path, is_cancelled: Callable[[], bool] = never
    ) -> dict[str, BuildOutcome]:
        root = kernel.folder.parent.parent
        sources = [Source(v.name, v.path, root) for v in versions]
        compiled = compile_sources(sources, work / "build" / kernel.name, is_cancelled)
        return {name: _callable(outcome, kernel) for name, outcome in compiled.items()}

    def load(self, artifact: Path, kernel: Kernel) -> Call:
        from ncu_assist.backends.launcher import load_launcher

        return load_launcher(artifact, kernel)


def _callable(outcome: BuildOutcome, kernel: Kernel) -> BuildOutcome:
    """Return an outcome without its artifact where that lacks the launcher: said here, not when a GPU loads it."""
    problem = lacking_launcher(outcome.artifact, kernel) if outcome.artifact else ""
    return replace(outcome, artifact=None, problem=problem) if problem else outcome


def compile_sources(
    sources: Sequence[Source], out: Path, is_cancelled: Callable[[], bool] = never, arch: str | None = None
) -> dict[str, BuildOutcome]:
    """Compile files of one root into ``out/<name>-<hash>.so`` and return the outcomes by name.

    ``arch`` is that of the GPU here unless given. The hash is over the source with its local includes, the flags,
    nvcc's version and the architecture. What is there is reused without starting ninja. Raises EnvironmentProblem if
    nvcc, ninja or write access is missing.
    """
    nvcc, arch = find_nvcc(), arch or find_arch()
    out = out.resolve()
    artifacts = {s.name: out / f"{s.name}-{_content_hash(s, nvcc, arch)}.so" for s in sources}
    missing = [s for s in sources if not artifacts[s.name].is_file()]
    edges = [
        ninja.Edge(s.name, _argv(s, nvcc, arch), str(s.path.relative_to(s.root)), artifacts[s.name]) for s in missing
    ]
    seconds = ninja.run(edges, missing[0].root, _environment(), is_cancelled) if missing else {}
    return {
        s.name: _outcome(s.name, artifacts[s.name], s.name not in seconds, seconds.get(s.name, 0.0)) for s in sources
    }


def compile_library(source: Path, out: Path) -> Path:
    """Compile one file with our flags and return the shared object; raises StageFailed with nvcc's words."""
    outcome = compile_sources([Source(source.stem, source, source.parent)], out)[source.stem]
    if outcome.artifact is None:
        raise StageFailed(f"{source.name} does not compile:\n{outcome.log}", "ncu-assist doctor")
    return outcome.artifact


def _argv(source: Source, nvcc: Nvcc, arch: str) -> tuple[str, ...]:
    number = arch.removeprefix("sm_")
    return (str(nvcc.path), *FLAGS, "-gencode", f"arch=compute_{number},code=sm_{number}", *nvcc.library_flags)


def _environment() -> dict[str, str]:
    """``-lineinfo`` records the current folder as $PWD spells it: this spelling is the same on every machine.

    Profilers started in the project root still find the file under it.
    """
    return {**os.environ, "PWD": "/proc/self/cwd"}


def _content_hash(source: Source, nvcc: Nvcc, arch: str) -> str:
    digest = hashlib.sha256("\0".join((*FLAGS, nvcc.version, arch)).encode())
    for file in source_files(source.path):
        digest.update(b"\0" + str(os.path.relpath(file, source.root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _outcome(name: str, artifact: Path, reused: bool, seconds: float) -> BuildOutcome:
    log = artifact.with_suffix(".log")
    words = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return BuildOutcome(name, artifact if artifact.is_file() else None, words, reused, seconds)
