"""What a report holds, as plain data: between whoever reads a form of report and the tables that are made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncu_assist.record import NOT_KERNELS

if TYPE_CHECKING:
    import numpy as np


# What a child process can be asked to read; NVIDIAS is how many launches NVIDIA's reader finds. BOTH are scalars, and
# samples in a folder of that name; PRINTED is text of a terminal, EXPORTED a table in CSV.
SCALARS, INSTANCES, SAMPLES, BOTH, NVIDIAS = "scalars", "instances", "samples", "both", "nvidias"
PRINTED, EXPORTED = "printed", "exported"
WANTED = "wanted.json"  # the launches that instances are read of, all without such a file
DOCUMENT, VALUES = "contents.json", "values"  # the files it writes: a Document, a list of texts or a count, and doubles

# Columns of instances as the child writes them: the type code of their array. Texts stand as numbers in a list.
INSTANCE_COLUMNS = {"launch": "i", "metric": "i", "instance": "i", "id": "Q", "id_text": "i", "value": "d", "text": "i"}
NO_TEXT = -1
NO_ID = 2**64 - 1


@dataclass(frozen=True)
class RuleFacts:
    """One finding of NVIDIA's own rules on one launch."""

    rule: str
    section: str | None
    title: str | None
    message: str | None
    kind: str | None  # ok, optimization, warning or error
    speedup_type: str | None  # local or global; None before 2023, where rules estimate nothing
    speedup_pct: float | None
    focus_metrics: tuple[str, ...]


@dataclass(frozen=True)
class LaunchFacts:
    """One launch: who it is and where it stands. Its values are in ``Contents.values``."""

    kernel: str  # function name without template arguments and parameters
    signature: str  # demangled, with both
    mangled: str  # empty where the form has none
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    process: int | None
    context: int | None
    stream: int | None
    ranges: tuple[str, ...]  # NVTX push/pop ranges of the default domain, outermost first
    domain_ranges: tuple[str, ...]  # push/pop ranges of other domains, as 'domain:range', outermost first
    start_end_ranges: tuple[str, ...]  # start/end ranges of all domains, as 'domain:range' outside the default one
    names: int  # which of ``Contents.name_lists`` its values follow
    texts: dict[int, int]  # position in that list -> number in ``Contents.texts``, for metrics that are texts
    rules: tuple[RuleFacts, ...] = ()
    unsized: bool = False  # a kernel whose sizes were not printed; grid and block are zeros

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel and not a range, a command list or a graph."""
        return any(self.grid) or self.kernel not in NOT_KERNELS

    @property
    def interrupted(self) -> bool:
        """Whether the program ended while this kernel was profiled: ncu then writes no sizes and hardly a value."""
        return self.is_kernel and not any(self.grid) and not self.unsized


@dataclass(frozen=True)
class SessionFacts:
    """What the session blocks of a report say; empty or None where the form has none."""

    versions: dict[str, str]  # of programs as ncu names them, such as 'Display Driver Version'
    clock_control: str | None = None
    replay_mode: str | None = None
    sections: str | None = None  # identifiers of the sections asked for, with commas between
    held: str | None = None  # likewise of those that its launches hold
    command: str | None = None  # ncu's command line
    host: str | None = None
    created: int | None = None  # seconds since 1970, UTC

    @property
    def ncu_version(self) -> str | None:
        """Return the version of the ncu that measured, such as '2025.3.1.0'."""
        return self.versions.get("Nsight Compute Target", "").split(" ")[0] or None

    @property
    def cuda_version(self) -> str | None:
        """Return the version of CUDA that the program ran with, such as '13.0'."""
        return self.versions.get("CUDA Version")

    @property
    def driver(self) -> str | None:
        """Return the version of the display driver."""
        return self.versions.get("Display Driver Version")


@dataclass(frozen=True)
class Document:
    """Everything of ``Contents`` but the values: what a child process writes as JSON."""

    launches: tuple[LaunchFacts, ...]
    name_lists: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...]
    units: dict[str, str]
    session: SessionFacts
    notes: tuple[str, ...] = ()  # what is odd about the report, in words, and yet no damage


@dataclass(frozen=True)
class Contents(Document):
    """All launches of a report. ``values`` holds one double a name, launch after launch; NaN for texts and absences.

    Values are in base units (ns, byte, hz, %), ``units`` has that of each metric by name.
    """

    values: np.ndarray[Any, Any] = field(kw_only=True)

    def names(self, launch: int) -> tuple[str, ...]:
        """Return the names of a launch's metrics, sorted: the order of its values."""
        return self.name_lists[self.launches[launch].names]

    def slices(self) -> Iterator[slice]:
        """Yield where in ``values`` each launch stands."""
        at = 0
        for one in self.launches:
            size = len(self.name_lists[one.names])
            yield slice(at, at + size)
            at += size
