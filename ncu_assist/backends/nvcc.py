"""What a CUDA build needs: nvcc, ninja and the architecture of the GPU here; and one ninja run over several files."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_assist import process
from ncu_assist.environment import VISIBLE, query_gpus, visible_gpus
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.sources import source_files

# All of one release: nvcc's own requirements carry no version, so pip would pair nvcc 13.0 with a newer nvvm.
# cccl is not among them, but cuda_fp16.h includes <nv/target> from it.
WHEELS = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-cccl")
INSTALL_HINT = "pip install " + " ".join(f'"{wheel}==13.0.*"' for wheel in WHEELS)
WHEEL_PATHS = ("cu*/bin/nvcc", "cuda_nvcc/bin/nvcc")
ARCH_VARIABLE = "NCU_ASSIST_ARCH"
DEFAULT_ARCH = "sm_90"
# What has all instructions of a chip, wgmma and setmaxnreg of Hopper among them, and since which nvcc (CUDA 12.0's
# release notes). Code for it runs on that chip alone: it is built where it runs.
ALL_OF_CHIP = {"sm_90": ("sm_90a", 12)}
ARCH = re.compile(r"sm_\d+[af]?")
QUERY_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Nvcc:
    """The compiler found. ``library_flags`` name the folder of the CUDA runtime where nvcc's profile does not."""

    path: Path
    version: str
    library_flags: tuple[str, ...]

    @property
    def home(self) -> Path:
        return self.path.parent.parent


def find_nvcc() -> Nvcc:
    """Return the first nvcc in CUDA_HOME, on PATH, in /usr/local/cuda, in the nvidia-cuda-nvcc wheel.

    Raises EnvironmentProblem if there is none.
    """
    for path in _candidates():
        if path.is_file() and os.access(path, os.X_OK):
            return Nvcc(path, _version(path), _library_flags(path.parent.parent))
    raise EnvironmentProblem("there is no CUDA compiler (nvcc) in CUDA_HOME, on PATH or as a wheel", INSTALL_HINT)


CUOBJDUMP_HINT = "pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"


def find_cuobjdump(nvcc: Nvcc) -> Path | None:
    """Return the program that prints the code of what was built: beside nvcc, on PATH, Triton's, or as a wheel."""
    on_path = shutil.which("cuobjdump")
    found = [nvcc.path.parent / "cuobjdump", nvcc.path.resolve().parent / "cuobjdump"]
    found += [Path(on_path)] if on_path else []
    for package, pattern in (("triton", "backends/nvidia/bin/cuobjdump"), ("nvidia", "cu*/bin/cuobjdump")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            found += sorted(Path(folder).glob(pattern), reverse=True)
    return next((path for path in found if path.is_file() and os.access(path, os.X_OK)), None)


def find_ninja() -> Path:
    """Return the ninja of the ``ninja`` package, else the one on PATH; raises EnvironmentProblem if there is none."""
    beside = Path(sys.executable).parent / "ninja"
    spec = importlib.util.find_spec("ninja")
    packaged = [beside]
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent
        packaged += [folder / "data" / "bin" / "ninja", folder.parent / "bin" / "ninja"]
    on_path = shutil.which("ninja")
    for path in [*packaged, *([Path(on_path)] if on_path else [])]:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise EnvironmentProblem("ninja, which runs the compiler, is not installed", "pip install ninja")


def find_arch(nvcc: Nvcc) -> str:
    """Return the architecture to build for: NCU_ASSIST_ARCH, else that of the GPU that is used, else sm_90.

    Unless NCU_ASSIST_ARCH says it, it is the one with all of the chip's instructions where ``nvcc`` knows that: sm_90a.
    Raises UsageProblem if NCU_ASSIST_ARCH is not of the form sm_90 or sm_90a.
    """
    wanted = os.environ.get(ARCH_VARIABLE)
    if wanted is not None:
        if not ARCH.fullmatch(wanted):
            raise UsageProblem(f"{ARCH_VARIABLE} is '{wanted}'", f"{ARCH_VARIABLE}=sm_90")
        return wanted
    capability = _capability()
    return whole_chip(f"sm_{capability}" if capability else DEFAULT_ARCH, nvcc.version)


def whole_chip(arch: str, nvcc_version: str) -> str:
    """Return the architecture with all instructions of a chip where this nvcc knows it: sm_90a for sm_90."""
    whole, since = ALL_OF_CHIP.get(arch, (arch, 0))
    return whole if int(nvcc_version.split(".")[0]) >= since else arch


def _candidates() -> Iterator[Path]:
    home = os.environ.get("CUDA_HOME")
    if home:
        yield Path(home) / "bin" / "nvcc"
    on_path = shutil.which("nvcc")
    if on_path:
        yield Path(on_path)
    yield Path("/usr/local/cuda/bin/nvcc")
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for pattern in WHEEL_PATHS:
            yield from sorted(Path(folder).glob(pattern), reverse=True)


def _version(path: Path) -> str:
    completed = process.run([str(path), "--version"], timeout_s=QUERY_TIMEOUT_S)
    match = re.search(r"\bV(\d+\.\d+\.\d+)", completed.stdout)
    if completed.exit_code != 0 or match is None:
        raise EnvironmentProblem(f"{path.name} --version failed: {completed.stderr.strip()}", INSTALL_HINT)
    return match.group(1)


def _library_flags(home: Path) -> tuple[str, ...]:
    """The wheels keep libcudart_static.a in ``lib``; nvcc's profile looks in ``lib64`` and ``targets``."""
    is_wheel = (home / "lib" / "libcudart_static.a").is_file() and not (home / "lib64").exists()
    return (f"-L{home / 'lib'}",) if is_wheel else ()


def _capability() -> str:
    """Return that of the GPU that is used; of the first where all are hidden, as a build may be for another process."""
    try:
        gpus = query_gpus()[1]
    except EnvironmentProblem:
        return ""
    return (visible_gpus(gpus, os.environ.get(VISIBLE)) or gpus)[0].capability


def build_hash(path: Path, root: Path, *facts: str) -> str:
    """Return a hash of a source with its local includes, by their paths from ``root``, and of what else decides."""
    digest = hashlib.sha256("\0".join(facts).encode())
    for file in source_files(path):
        digest.update(b"\0" + os.fsencode(os.path.relpath(file, root)) + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


# What nvcc takes from the environment: options before and after its own; and where it finds compiler and headers.
BEFORE, AFTER = "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"
FOUND_BY = ("NVCC_CCBIN", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")


def options_said(flags: Sequence[str], arch: str) -> str:
    """Return all options of a build, those of the environment too, in nvcc's order."""
    before, after = (" ".join(os.environ.get(name, "").split()) for name in (BEFORE, AFTER))
    return " ".join(filter(None, (before, *flags, arch, after)))


def environment_facts(*more: str) -> tuple[str, ...]:
    """Return what of the environment decides on a build, ``more`` variables among it; nothing of what is not set."""
    return tuple(f"{name}={value}" for name in (BEFORE, AFTER, *FOUND_BY, *more) if (value := os.environ.get(name)))


BUILD_TIMEOUT_S = 1800.0  # for all files together; a heavy template file takes minutes

RULE = """\
builddir = {builddir}
rule compile
  command = $argv -o $tmp $source > $log 2>&1 || {{ rm -f $tmp; exit 1; }}
"""


@dataclass(frozen=True)
class CompileStep:
    """One command: ``argv -o artifact source``. ``source`` is relative to the folder that ninja runs in."""

    name: str
    argv: tuple[str, ...]
    source: str
    artifact: Path


def run_ninja(
    steps: Sequence[CompileStep], root: Path, env: Mapping[str, str], is_cancelled: Callable[[], bool]
) -> dict[str, float]:
    """Run the commands in ``root``, as many at once as there are cores, and return the seconds of each.

    Afterwards an artifact exists exactly where its command succeeded, and ``<artifact>.log`` holds its output in both
    cases. Raises EnvironmentProblem if the folder cannot be written, StageFailed if ninja itself fails.
    """
    out = steps[0].artifact.parent
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".ninja-", dir=out) as folder:
            return _run_in(steps, root, env, Path(folder), is_cancelled)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot build in {out}: {error.strerror}", "free space, or make it writable"
        ) from error


def _run_in(
    steps: Sequence[CompileStep], root: Path, env: Mapping[str, str], folder: Path, is_cancelled: Callable[[], bool]
) -> dict[str, float]:
    file = folder / "build.ninja"
    file.write_text(
        RULE.format(builddir=_ninja_escaped(str(folder))) + "".join(_build_statement(s, folder) for s in steps)
    )
    argv = [str(find_ninja()), "-k", "0", "-f", str(file)]
    completed = process.run(argv, env=env, cwd=root, timeout_s=BUILD_TIMEOUT_S, is_stuck=is_cancelled)
    times = _ninja_times(folder / ".ninja_log")
    for step in steps:
        _move(step, folder, completed)
    return {step.name: times.get(step.name, completed.seconds) for step in steps}


def _build_statement(step: CompileStep, folder: Path) -> str:
    values = {
        "argv": shlex.join(step.argv),
        "tmp": shlex.quote(str(folder / f"{step.name}.so")),
        "source": shlex.quote(step.source),
        "log": shlex.quote(str(folder / f"{step.name}.log")),
    }
    lines = "".join(f"  {key} = {value.replace('$', '$$')}\n" for key, value in values.items())
    return f"build {_ninja_escaped(str(folder / step.name))}.so: compile\n{lines}"


def _ninja_escaped(path: str) -> str:
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def _move(step: CompileStep, folder: Path, completed: process.Completed) -> None:
    log, built = folder / f"{step.name}.log", folder / f"{step.name}.so"
    if not log.is_file():
        raise StageFailed(f"ninja failed:\n{completed.stdout}{completed.stderr}", "ncu-assist doctor")
    if completed.timed_out and not built.is_file():
        log.write_text(log.read_text(errors="replace") + f"\nstopped after {completed.seconds:.0f} s")
    log.replace(step.artifact.with_suffix(".log"))
    if built.is_file():
        built.replace(step.artifact)  # last: an artifact means that all is there


def _ninja_times(log: Path) -> dict[str, float]:
    """Seconds by name from ninja's own log: start and end in ms, modification time, output, hash."""
    times: dict[str, float] = {}
    for line in log.read_text(errors="replace").splitlines() if log.is_file() else []:
        fields = line.split("\t")
        if len(fields) == 5:
            times[Path(fields[3]).stem] = (int(fields[1]) - int(fields[0])) / 1000
    return times
