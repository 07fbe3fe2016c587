"""A probe ready to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """The call, what one call does, and the check of its result, which returns what is wrong.

    ``amount`` is bytes for memory and links, warp instructions for pipes, operations for tensor.
    """

    call: Callable[[], None]
    amount: float
    read_bytes: int = 0
    write_bytes: int = 0
    footprint_bytes: int = 0
    fault: Callable[[], str] | None = None
