"""Plain CUDA C versions: compiled by nvcc into shared objects and called through ctypes.

All files are compiled in one ninja run and reused by the hash of their content.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ncu_assist.backends.base import BuildOutcome, Call, never
from ncu_assist.backends.nvcc import (
    CompileStep,
    Nvcc,
    build_hash,
    environment_facts,
    find_arch,
    find_nvcc,
    options_said,
    run_ninja,
)
from ncu_assist.errors import StageFailed
from ncu_assist.quantity import number_of
from ncu_assist.spec import Kernel, Version

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

    def options(self) -> str:
        return options_said(FLAGS, find_arch(find_nvcc()))

    def build(
        self, kernel: Kernel, versions: Sequence[Version], work: Path, is_cancelled: Callable[[], bool] = never
    ) -> dict[str, BuildOutcome]:
        root = kernel.folder.parent.parent
        sources = [Source(v.name, v.path, root) for v in versions]
        compiled = compile_sources(sources, work / "build" / kernel.name, is_cancelled)
        texts = {v.name: v.path.read_text(encoding="utf-8", errors="replace") for v in versions}
        return {name: _callable(outcome, kernel, texts[name]) for name, outcome in compiled.items()}

    def load(self, artifact: Path, kernel: Kernel) -> Call:
        return load_launcher(artifact, kernel)


def _callable(outcome: BuildOutcome, kernel: Kernel, text: str) -> BuildOutcome:
    """Return an outcome without its artifact where that lacks the launcher, or has one that takes something else.

    It is said here, not when a GPU loads it. ``text`` is the source.
    """
    problem = outcome.artifact and (lacking_launcher(outcome.artifact, kernel) or unfit_launcher(text, kernel))
    return replace(outcome, artifact=None, problem=problem) if problem else outcome


def compile_sources(
    sources: Sequence[Source], out: Path, is_cancelled: Callable[[], bool] = never, arch: str | None = None
) -> dict[str, BuildOutcome]:
    """Compile files of one root into ``out/<name>-<hash>.so`` and return the outcomes by name.

    ``arch`` is that of the GPU here unless given. The hash is over the source with its local includes, the flags,
    nvcc's version, the architecture and what nvcc takes from the environment. What is there is reused without starting
    ninja. Raises EnvironmentProblem if nvcc, ninja or write access is missing.
    """
    nvcc = find_nvcc()
    arch = arch or find_arch(nvcc)
    out = out.resolve()
    facts = (*FLAGS, nvcc.version, arch, *environment_facts())
    hashes = {s.name: build_hash(s.path, s.root, *facts) for s in sources}
    artifacts = {name: out / f"{name}-{one}.so" for name, one in hashes.items()}
    missing = [s for s in sources if not artifacts[s.name].is_file()]
    steps = [
        CompileStep(s.name, _argv(nvcc, arch), str(s.path.relative_to(s.root)), artifacts[s.name]) for s in missing
    ]
    seconds = run_ninja(steps, missing[0].root, _environment(), is_cancelled) if missing else {}
    return {
        s.name: _outcome(s.name, artifacts[s.name], s.name not in seconds, seconds.get(s.name, 0.0)) for s in sources
    }


def compile_library(source: Path, out: Path) -> Path:
    """Compile one file with our flags and return the shared object; raises StageFailed with nvcc's words."""
    outcome = compile_sources([Source(source.stem, source, source.parent)], out)[source.stem]
    if outcome.artifact is None:
        raise StageFailed(f"{source.name} does not compile:\n{outcome.log}", "ncu-assist doctor")
    return outcome.artifact


def _argv(nvcc: Nvcc, arch: str) -> tuple[str, ...]:
    number = arch.removeprefix("sm_")
    return (str(nvcc.path), *FLAGS, "-gencode", f"arch=compute_{number},code=sm_{number}", *nvcc.library_flags)


def _environment() -> dict[str, str]:
    """``-lineinfo`` records the current folder as $PWD spells it: this spelling is the same on every machine.

    Profilers started in the project root still find the file under it.
    """
    return {**os.environ, "PWD": "/proc/self/cwd"}


def _outcome(name: str, artifact: Path, reused: bool, seconds: float) -> BuildOutcome:
    log = artifact.with_suffix(".log")
    words = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return BuildOutcome(name, artifact if artifact.is_file() else None, words, reused, seconds)


C_DTYPES = {
    "float": "float32",
    "double": "float64",
    "__half": "float16",
    "half": "float16",
    "int": "int32",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "long long": "int64",
    "int64_t": "int64",
    "int32_t": "int32",
    # The same bits: torch computes with few unsigned types.
    **dict.fromkeys(("unsigned int", "unsigned", "uint32_t"), "int32"),
    **dict.fromkeys(("unsigned long long", "uint64_t", "size_t"), "int64"),
    "unsigned char": "uint8",
    "uint8_t": "uint8",
}
C_TYPES = {dtype: name for name, dtype in reversed(C_DTYPES.items())}
MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian
DYNAMIC_SYMBOLS, FUNCTION, LOCAL = 11, 2, 0  # SHT_DYNSYM, STT_FUNC, STB_LOCAL of the System V ABI
SECTION, SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


def lacking_launcher(artifact: Path, kernel: Kernel) -> str:
    """Return why the launcher cannot be called, with what to write; empty where it can, or the file is no ELF file."""
    functions = exported_functions(artifact)
    if functions is None or kernel.name in functions:
        return ""
    mangled = [name for name in functions if name.startswith("_Z") and f"{len(kernel.name)}{kernel.name}" in name]
    plain = [name for name in functions if not name.startswith("_")]
    if mangled:
        found = f'it has one with C++ linkage only, {mangled[0]}: extern "C" is missing'
    elif plain:
        found = f"the functions it has are {', '.join(plain[:5])}"
    else:
        found = 'it has no function with extern "C"'
    return f"it compiles, but has no function {kernel.name} to call; {found}; write: {launcher_form(kernel)}"


# What is not closed goes on to the end: looking for it again from each later place would take the square of the time.
_COMMENT = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|("(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?)', re.DOTALL)
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
SCALAR = re.compile(
    r"(?:const )?(?:(?:un)?signed )?(?P<type>long long|long|int|short|bool|size_t|u?int\d+_t|unsigned|float|double|half"
    r"|__half|__nv_bfloat16)(?: int)?(?: const)? \w+"
)
FLOATING = ("float", "double", "half", "__half", "__nv_bfloat16")


def without_comments(source: str) -> str:
    """Return a source with a space for each comment; what looks like one in a string stays."""
    return _COMMENT.sub(lambda found: found[1] or " ", source)


def split_parameters(parameters: str) -> tuple[str, ...]:
    """Return a list of parameters at its outer commas."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += (letter in _PAIRS) - (letter in _PAIRS.values())
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    stripped = tuple(part.strip() for part in parts)
    return () if stripped in (("",), ("void",)) else stripped


def unfit_launcher(text: str, kernel: Kernel) -> str:
    """Return why a launcher, as its source declares it, cannot be called as kernel.toml says; empty where it can.

    Nothing is said of types that are not known, as those that the file names itself.
    """
    declared = re.search(rf'extern\s+"C"\s+cudaError_t\s+{kernel.name}\s*\(([^()#]*)\)', without_comments(text))
    if declared is None:
        return ""
    taken = [" ".join(one.split()) for one in split_parameters(declared[1])]
    form = f"write: {launcher_form(kernel)}"
    if len(taken) != len(kernel.arguments) + 1:
        given = f"{', '.join(kernel.arguments)} and the stream"
        return f"its launcher takes {number_of(len(taken), 'argument')}, but kernel.toml has {given}; {form}"
    for one, name in zip(taken, kernel.arguments, strict=False):
        scalar = SCALAR.fullmatch(one)
        if scalar and name in _tensors(kernel):
            number = f'if it is not a tensor, write numbers = ["{name}"] in kernel.toml'
            return f"its launcher takes {one} where kernel.toml has the pointer {name}; {form}; {number}"
        if "*" in one and name not in _tensors(kernel):
            return f"its launcher takes {one} where kernel.toml has the integer {name}; {form}"
        if scalar and scalar["type"] in FLOATING:
            return (
                f"its launcher takes {one}, and gets a 64-bit integer there, so that it would compute with another "
                f"number; take long long {name} and scale it ({name} / 65536.0), or make it a constant of the file"
            )
    return ""


def _tensors(kernel: Kernel) -> set[str]:
    return {*kernel.inputs, *(one.name for one in kernel.outputs)} - set(kernel.numbers)


def launcher_form(kernel: Kernel) -> str:
    """Return how the launcher is declared, with ``…`` for a type that kernel.toml does not say."""
    outputs = {one.name: one for one in kernel.outputs}

    def typed(name: str) -> str:
        if name in outputs:
            dtypes = {kernel.dtype(outputs[name], one) for one in kernel.workloads}
            return f"{C_TYPES[dtypes.pop()] if len(dtypes) == 1 else '…'}* {name}"
        return f"const …* {name}" if name in _tensors(kernel) else f"long long {name}"

    return f'extern "C" cudaError_t {kernel.name}({", ".join(map(typed, kernel.arguments))}, cudaStream_t stream)'


def exported_functions(path: Path) -> tuple[str, ...] | None:
    """Return the functions that a shared object defines for others, sorted; None for what is no ELF file or is cut."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        return None
    try:
        (at,), (count,) = struct.unpack_from("<Q", data, 0x28), struct.unpack_from("<H", data, 0x3C)
        sections = [SECTION.unpack_from(data, at + number * SECTION.size) for number in range(count)]
        found: set[str] = set()
        for _, kind, _, _, start, size, link, *_ in sections:
            if kind != DYNAMIC_SYMBOLS:
                continue
            texts = sections[link][4]
            for entry in range(start, start + size, SYMBOL.size):
                name, info, _, section, _, _ = SYMBOL.unpack_from(data, entry)
                if info & 0xF == FUNCTION and info >> 4 != LOCAL and section:
                    found.add(data[texts + name : data.index(b"\0", texts + name)].decode("utf-8", "replace"))
    except (struct.error, IndexError, ValueError):
        return None
    return tuple(sorted(found))


def load_launcher(artifact: Path, kernel: Kernel) -> Call:
    """Return the launcher named like the kernel; the call raises RuntimeError for a cudaError_t other than 0.

    It gets pointers and 64-bit integers in the order of ``kernel.arguments`` and torch's current stream last;
    ``kernel.numbers`` go as integers.
    Raises StageFailed if the shared object cannot be loaded or has no such function.
    """
    launcher = _function(artifact, kernel.name)
    places = {name: index for index, name in enumerate((*kernel.inputs, *(o.name for o in kernel.outputs)))}
    stream = _current_stream()

    def call(inputs: tuple[Any, ...], outputs: tuple[Any, ...], integers: Mapping[str, int]) -> None:
        given = (*inputs, *outputs)
        numbers = {**integers, **{name: given[places[name]] for name in kernel.numbers}}
        values = [
            ctypes.c_int64(numbers[name]) if name in numbers else ctypes.c_void_p(given[places[name]].data_ptr())
            for name in kernel.arguments
        ]
        status = launcher(*values, ctypes.c_void_p(stream()))
        if status != 0:
            raise RuntimeError(f"CUDA error: {kernel.name} returned {_error_name(status)}")

    return call


def _function(artifact: Path, name: str) -> Any:
    try:
        function = getattr(ctypes.CDLL(str(artifact)), name)
    except OSError as error:
        raise StageFailed(f"{artifact.name} cannot be loaded: {error}") from error
    except AttributeError as error:
        hint = f'declare it: extern "C" cudaError_t {name}(..., cudaStream_t stream)'
        raise StageFailed(f"{artifact.name} has no function '{name}'", hint) from error
    function.restype = ctypes.c_int
    return function


def _current_stream() -> Callable[[], int]:
    import torch

    if not torch.cuda.is_available():
        return lambda: 0
    return lambda: int(torch.cuda.current_stream().cuda_stream)


def _error_name(status: int) -> str:
    import torch

    try:
        return f"{torch.cuda.cudart().cudaGetErrorString(torch.cuda.cudart().cudaError(status))} ({status})"
    except Exception:  # a torch without CUDA, or an error that it does not know
        return f"cudaError_t {status}"
