"""What an export is made of, and what a format has to offer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "ncu-assist.export/1"


@dataclass(frozen=True)
class Export:
    """One table, and what there is to say about it.

    ``about`` goes into formats that have room for it, and may depend on the run alone: no time, no machine. ``units``
    are those of columns that have one. ``notes`` are for people, on stderr too.
    """

    table: str
    frame: pd.DataFrame
    about: dict[str, Any]
    units: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def head(self) -> dict[str, Any]:
        """Return all but the rows, in the order in which it is written."""
        return {"schema": SCHEMA, "table": self.table, **self.about, "notes": list(self.notes)}


class Format(Protocol):
    """A format: ``BINARY`` is not for terminals; ``chunks`` yields the file piece by piece, so that memory is bounded.

    Absent values are empty in CSV, null elsewhere, never 0; the order of columns and rows is that of the frame.
    """

    @property
    def BINARY(self) -> bool: ...

    def chunks(self, export: Export) -> Iterator[bytes]: ...
