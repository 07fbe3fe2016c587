"""Which ceilings answer for a GPU: its own, else those of another GPU of its model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ncu_assist.ceilings.records import Ceilings
from ncu_assist.ceilings.storage import SHIPPED, shipped, stored
from ncu_assist.record import Device


def ceilings_of(device: Device, reports: Path | None = None, data: Path = SHIPPED) -> Ceilings | None:
    """Return the ceilings measured on this GPU, else those of its model marked *recorded* or *imported*, else None.

    A report does not say which GPU of its model it is of; it gets the model's. ``reports`` is the archive, None where
    there is none. Raises DamagedData for a file that would answer and cannot be read.
    """
    here = list(stored(reports)) if reports is not None else []
    own = [c for c in here if device.uuid_sha256 and c.device.uuid_sha256 == device.uuid_sha256]
    if own:
        return replace(_newest(own), origin="live")  # also one that was sent: it is of this very GPU
    alike = [replace(c, origin="recorded") if c.origin == "live" else c for c in here if _is_alike(c, device)]
    known = [c for c in shipped(data) if _is_alike(c, device)]
    found = alike or known
    return _newest(found) if found else None


def _is_alike(ceilings: Ceilings, device: Device) -> bool:
    """Return whether a GPU is of the model that was measured: same name, and as many multiprocessors if both say."""
    one, other = ceilings.device, device
    sizes = {one.sm_count, other.sm_count} - {None}
    return one.name.casefold() == other.name.casefold() and len(sizes) <= 1


def _newest(found: Iterable[Ceilings]) -> Ceilings:
    return max(found, key=lambda c: c.created)
