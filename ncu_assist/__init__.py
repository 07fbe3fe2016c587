"""ncu-assist: versions of a GPU kernel, built, checked, timed, profiled and explained."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncu_assist.errors import DamagedData, NcuAssistError
    from ncu_assist.ncu.report import Report, read_report

__version__ = "0.1.0"
__all__ = ["DamagedData", "NcuAssistError", "Report", "__version__", "read_report"]

_HOMES = dict.fromkeys(("DamagedData", "NcuAssistError"), "ncu_assist.errors")
_HOMES |= dict.fromkeys(("Report", "read_report"), "ncu_assist.ncu.report")


def __getattr__(name: str) -> object:
    """Import public names when they are used: the command line stays quick without them."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
