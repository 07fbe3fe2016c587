"""ncu-assist: versions of a GPU kernel, built, checked, timed, profiled and explained."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncu_assist.ncu.report import Report, read_report

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "read_report"]


def __getattr__(name: str) -> object:
    """Import the public functions when they are used: the command line stays quick without them."""
    if name in ("Report", "read_report"):
        return getattr(importlib.import_module("ncu_assist.ncu.report"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
