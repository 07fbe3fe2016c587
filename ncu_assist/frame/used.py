"""Which of ncu's metrics the catalogue knows: only those need to be read from an archive."""

from __future__ import annotations

import hashlib

from ncu_assist.ncu.catalogue.metrics import CATALOGUE, STALL


def is_used(name: str) -> bool:
    """Tell whether the catalogue knows a metric by its name at ncu: the others need not be read from an archive."""
    return name in _NAMES or STALL.fullmatch(name) is not None


_NAMES = frozenset(name for metric in CATALOGUE.values() for name in metric.names)


def catalogue_sha256() -> str:
    """Return a hash of what ``is_used`` goes by: it changes with the catalogue."""
    return hashlib.sha256("\n".join([STALL.pattern, *sorted(_NAMES)]).encode()).hexdigest()
