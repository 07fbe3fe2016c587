"""How much memory a child process that reads a report may take, so that a damaged one cannot take the machine's."""

from __future__ import annotations

import contextlib


def limit_memory(limit: int) -> None:
    """Limit this process to so many bytes of address space, and let it leave no core.

    Where the system has no such limit, as Windows, or refuses it, as macOS, the reader works without: the parent's
    limit of time still ends it.
    """
    try:
        import resource
    except ModuleNotFoundError:
        return
    for which, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, limit)):
        hard = resource.getrlimit(which)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (least, least))
