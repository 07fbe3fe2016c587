"""Records with torch.profiler what a program does on its GPU, from the moment it has imported torch until its end.

Python imports a module of this name in every process. It runs in the user's Python, which may lack ncu-assist.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

FOLDER = os.environ.get("NCU_ASSIST_TRACE_FOLDER", "")
SECONDS = float(os.environ.get("NCU_ASSIST_TRACE_SECONDS", "0") or 0)


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Calls a function when torch was imported, once."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_record(module: ModuleType) -> None:
                load(module)
                self._then()

            spec.loader.exec_module = load_and_record  # type: ignore[method-assign]
        return spec


def _record() -> None:
    """Begin to record, and see to it that it ends with the process, or after the seconds that were asked for."""
    from torch.profiler import ProfilerActivity, profile, supported_activities

    if ProfilerActivity.CUDA not in supported_activities():
        return
    recorder = profile(activities=[ProfilerActivity.CUDA])
    recorder.start()
    process = os.getpid()

    def end() -> None:
        if os.getpid() == process:  # and not one that was forked from it
            _save(recorder)

    def end_all(_signal: int, _frame: FrameType | None) -> None:
        atexit.unregister(end)
        end()
        os._exit(0)

    atexit.register(end)
    if SECONDS:
        signal.signal(signal.SIGALRM, end_all)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)


def _save(recorder: Any) -> None:
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    recorder.stop()
    part = Path(FOLDER, f"{os.getpid()}.part")
    recorder.export_chrome_trace(str(part))
    part.replace(part.with_suffix(".json"))


def _next_of_this_name() -> None:
    """Import the sitecustomize that ours stands before, if there is one."""
    here = Path(__file__).resolve().parent
    others = [folder for folder in sys.path if Path(folder).resolve() != here]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


if FOLDER:
    sys.meta_path.insert(0, _AfterTorch(_record))
    _next_of_this_name()
