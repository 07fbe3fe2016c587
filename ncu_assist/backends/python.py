"""Versions in Python: Triton, torch, CuTe DSL, anything importable; nothing to build."""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncu_assist.backends.base import BuildOutcome, Call, never
from ncu_assist.errors import StageFailed
from ncu_assist.spec import Kernel, Version


class Python:
    """Imports ``vN_*.py`` by path; its function named like the kernel is called with (*inputs, *outputs)."""

    name = "python"

    def claims(self, path: Path) -> bool:
        return path.suffix == ".py"

    def options(self) -> str:
        return ""

    def build(
        self, kernel: Kernel, versions: Sequence[Version], work: Path, is_cancelled: Callable[[], bool] = never
    ) -> dict[str, BuildOutcome]:
        return {v.name: _outcome(v) for v in versions}

    def load(self, artifact: Path, kernel: Kernel) -> Call:
        return entry_point(import_file(artifact), kernel.name, artifact.name)


def import_file(path: Path) -> Any:
    """Import a Python file under a module name of its own, so that equal file names never meet; return the module."""
    name = f"ncu_assist_{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise StageFailed(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def add_to_path(kernel: Path) -> None:
    """Let a Python version import its neighbours in the kernel's folder, and from the root of the project.

    Both come last: a ``random.py`` there must not stand for Python's.
    """
    for folder in (str(kernel), str(kernel.parent.parent)):
        if folder not in sys.path:
            sys.path.append(folder)


def entry_point(module: Any, name: str, file: str) -> Call:
    """Return a call of ``module.name(*inputs, *outputs)``; raises StageFailed if the module has no such function."""
    function = getattr(module, name, None)
    if isinstance(function, Returning):
        return function
    if not callable(function):
        raise StageFailed(f"{file} defines no function '{name}'", f"name the entry point like the kernel: {name}")

    def call(inputs: tuple[Any, ...], outputs: tuple[Any, ...], integers: Mapping[str, int]) -> None:
        function(*inputs, *outputs)

    return call


@dataclass(frozen=True)
class Returning:
    """A function that returns its results, as a version: a call copies them into the outputs."""

    name: str
    function: Callable[..., Any]

    def __call__(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], integers: Mapping[str, int]) -> None:
        results = results_of(self.name, self.function(*inputs))
        found, wanted = ([(one.dtype, tuple(one.shape)) for one in some] for some in (results, outputs))
        if found != wanted:
            raise StageFailed(f"{self.name} returns {_shapes(found)}, but the reference {_shapes(wanted)}")
        for output, result in zip(outputs, results, strict=True):
            output.copy_(result.detach())

    def alone(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], integers: Mapping[str, int]) -> None:
        """Call the function and drop its results: what is timed and profiled."""
        self.function(*inputs)


def measured(call: Call) -> Call:
    """Return what of a call is timed and profiled."""
    return call.alone if isinstance(call, Returning) else call


def results_of(name: str, returned: Any) -> tuple[Any, ...]:
    """Return the tensors that a function returned; raises StageFailed for anything else."""
    results = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
    others = [type(one).__name__ for one in results if not hasattr(one, "element_size")]
    if others or not results:
        what = ", ".join(others) or "no result"
        raise StageFailed(f"{name} returns {what}: a function must return a tensor or a tuple of tensors")
    return results


def jit_again(function: Any, file: str, lines: Sequence[str], first: int, options: Mapping[str, Any]) -> Any:
    """Return a Triton function made from its Python function, whose ``file`` may be the cell of a notebook.

    ``first`` is the number of the first of its ``lines`` there, which Triton reads again.
    """
    import triton

    function.__code__ = function.__code__.replace(co_filename=file)  # cloudpickle forgets it
    if not Path(file).is_file():
        known = linecache.cache.get(file)
        text = list(known[2]) if known is not None and len(known) == 4 else []
        text += [""] * (first - 1 + len(lines) - len(text))
        text[first - 1 : first - 1 + len(lines)] = lines
        linecache.cache[file] = (sum(map(len, text)), None, [line or "\n" for line in text], file)
    return triton.jit(function, **options)


def _shapes(found: Sequence[tuple[Any, tuple[int, ...]]]) -> str:
    return ", ".join(f"{str(dtype).removeprefix('torch.')} {list(shape)}" for dtype, shape in found)


def _outcome(version: Version) -> BuildOutcome:
    try:
        compile(version.path.read_bytes(), version.path.name, "exec")
    except (SyntaxError, ValueError) as error:
        where = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        return BuildOutcome(version.name, None, f"{version.path.name}{where}: {error}", False, 0.0)
    return BuildOutcome(version.name, version.path, "", True, 0.0)
