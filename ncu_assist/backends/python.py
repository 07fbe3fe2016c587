"""Versions in Python: Triton, torch, CuTe DSL, anything importable; nothing to build."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
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


def entry_point(module: Any, name: str, file: str) -> Call:
    """Return a call of ``module.name(*inputs, *outputs)``; raises StageFailed if the module has no such function."""
    function = getattr(module, name, None)
    if not callable(function):
        raise StageFailed(f"{file} defines no function '{name}'", f"name the entry point like the kernel: {name}")

    def call(inputs: tuple[Any, ...], outputs: tuple[Any, ...], integers: Mapping[str, int]) -> None:
        function(*inputs, *outputs)

    return call


def _outcome(version: Version) -> BuildOutcome:
    try:
        compile(version.path.read_bytes(), version.path.name, "exec")
    except (SyntaxError, ValueError) as error:
        where = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        return BuildOutcome(version.name, None, f"{version.path.name}{where}: {error}", False, 0.0)
    return BuildOutcome(version.name, version.path, "", True, 0.0)
