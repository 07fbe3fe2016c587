"""Versions that are torch extensions: existing ``.cu`` files with torch headers, built unchanged."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ncu_assist import process
from ncu_assist.backends.base import BuildOutcome, Call, never
from ncu_assist.backends.nvcc import build_hash, environment_facts, find_arch, find_ninja, find_nvcc, options_said
from ncu_assist.backends.python import entry_point
from ncu_assist.errors import NoTorchHeaders, StageFailed
from ncu_assist.sources import source_files
from ncu_assist.spec import Kernel, Version

TORCH_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]torch/(extension|library|all|types|torch)\.h[>\"]", re.MULTILINE
)
CUDA_FLAGS = ("-O3", "-lineinfo", "-Xptxas", "-v")
COMPILERS = ("CXX", "PYTORCH_NVCC")  # variables by which cpp_extension takes others
CHILD = "import sys; from ncu_assist.backends.torch_extension import build_extension; build_extension(*sys.argv[1:])"
WITH_CUDA = "try: install a torch that is built with CUDA (https://pytorch.org/get-started/locally)"
TIMEOUT_S = 1800.0  # half a minute a file is usual; templates of CUTLASS take many
SUFFIX = ".so"


class TorchExtension:
    """Builds ``.cu`` files that include torch headers with ``torch.utils.cpp_extension`` in a child process."""

    name = "torch_extension"

    def claims(self, path: Path) -> bool:
        if path.suffix != ".cu":
            return False
        return any(TORCH_HEADER.search(f.read_text(encoding="utf-8", errors="replace")) for f in source_files(path))

    def options(self) -> str:
        return options_said(CUDA_FLAGS, find_arch(find_nvcc()))

    def build(
        self, kernel: Kernel, versions: Sequence[Version], work: Path, is_cancelled: Callable[[], bool] = never
    ) -> dict[str, BuildOutcome]:
        nvcc = find_nvcc()
        arch, root = find_arch(nvcc), kernel.folder.parent.parent
        facts = (*CUDA_FLAGS, nvcc.version, arch, _torch_version(), sys.version, *environment_facts(*COMPILERS))
        env = _environment(arch)
        gone = threading.Event()

        def build_one(version: Version) -> BuildOutcome:
            name = f"{version.name}_{build_hash(version.path, root, *facts)}"
            folder = (work / "build" / kernel.name / name).resolve()
            return _build_one(version, folder, env, lambda: gone.is_set() or is_cancelled())

        with ThreadPoolExecutor(max_workers=max(1, len(versions))) as pool:
            try:
                return dict(zip((v.name for v in versions), pool.map(build_one, versions), strict=True))
            except BaseException:
                gone.set()
                raise

    def load(self, artifact: Path, kernel: Kernel) -> Call:
        import torch  # noqa: F401  the extension's libraries resolve against those of torch

        spec = importlib.util.spec_from_file_location(artifact.stem, artifact)
        if spec is None or spec.loader is None:
            raise StageFailed(f"{artifact.name} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return entry_point(module, kernel.name, artifact.name)


def _build_one(version: Version, folder: Path, env: dict[str, str], is_cancelled: Callable[[], bool]) -> BuildOutcome:
    artifact, log = folder / f"{folder.name}{SUFFIX}", folder / "build.log"
    if artifact.is_file() and log.is_file():
        return BuildOutcome(version.name, artifact, log.read_text(errors="replace"), True, 0.0)
    folder.mkdir(parents=True, exist_ok=True)
    argv = process.python_argv("-c", CHILD, str(version.path.resolve()), str(folder))
    completed = process.run(argv, env=env, timeout_s=TIMEOUT_S, is_stuck=is_cancelled)
    words = completed.stdout + completed.stderr
    if completed.exit_code != 0 or not artifact.is_file():
        artifact.unlink(missing_ok=True)
        return BuildOutcome(version.name, None, words, False, completed.seconds)
    log.write_text(words)  # last: a log beside the artifact means that the build was complete
    return BuildOutcome(version.name, artifact, words, False, completed.seconds)


def build_extension(source: str, folder: str) -> None:
    """Build a source into ``folder/<name of folder>.so``, in the child; raises what cpp_extension raises."""
    import torch
    from torch.utils import cpp_extension

    if torch.version.cuda is None:  # cpp_extension says that CUDA_HOME is not set, whatever it is
        raise SystemExit(
            f"torch {torch.__version__} is built without CUDA, and a version includes its headers\n{WITH_CUDA}"
        )
    cpp_extension.load(
        name=Path(folder).name,
        sources=[source],
        build_directory=folder,
        extra_cflags=["-O3"],
        extra_cuda_cflags=[*CUDA_FLAGS],
        verbose=True,
    )


def _torch_version() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError as error:
        raise NoTorchHeaders(
            "torch is not installed, and a version includes its headers", "pip install torch"
        ) from error


def _environment(arch: str) -> dict[str, str]:
    """What cpp_extension looks for: nvcc by CUDA_HOME, ninja on PATH and the architecture in TORCH_CUDA_ARCH_LIST."""
    digits = re.sub(r"\D", "", arch)
    suffix = arch.removeprefix(f"sm_{digits}")
    path = os.pathsep.join([str(find_ninja().parent), os.environ.get("PATH", "")])
    nvcc = find_nvcc()
    home = {"CUDA_HOME": str(nvcc.home)} if nvcc.library_flags else {}  # a wheel: cpp_extension does not look there
    architectures = f"{digits[:-1]}.{digits[-1]}{suffix}"
    return {**process.module_environment(), "PATH": path, "TORCH_CUDA_ARCH_LIST": architectures, **home}
