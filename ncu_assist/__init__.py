"""ncu-assist: versions of a GPU kernel, built, checked, timed, profiled and explained."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from ncu_assist.moved import MovedModules

if TYPE_CHECKING:
    from ncu_assist.api import (
        DiagnosedReport,
        KernelHistory,
        KernelTrend,
        MeasuredKernel,
        RunComparison,
        RunSummary,
        archive,
        bench,
        diff,
        explain,
        history,
        metrics,
        profile,
        read_report,
        show,
        trend,
    )
    from ncu_assist.errors import DamagedData, NcuAssistError
    from ncu_assist.ncu.report import Report

__version__ = "0.1.0"
__all__ = [
    "DamagedData",
    "DiagnosedReport",
    "KernelHistory",
    "KernelTrend",
    "MeasuredKernel",
    "NcuAssistError",
    "Report",
    "RunComparison",
    "RunSummary",
    "__version__",
    "archive",
    "bench",
    "diff",
    "explain",
    "history",
    "metrics",
    "profile",
    "read_report",
    "show",
    "trend",
]

_HOMES = dict.fromkeys(__all__, "ncu_assist.api") | {"Report": "ncu_assist.ncu.report"}
_HOMES |= dict.fromkeys(("DamagedData", "NcuAssistError"), "ncu_assist.errors")
# Asked last, for what nobody finds: a script that imports a module of an older layout is told where it is now.
sys.meta_path += [MovedModules()]


def __getattr__(name: str) -> object:
    """Import public names when they are used: the command line stays quick without them."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, also those that are not imported yet."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
