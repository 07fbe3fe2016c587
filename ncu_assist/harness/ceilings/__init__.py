"""What the child is asked to measure, and the files in which it leaves what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ncu_assist.harness.request import REQUEST_FILE

Kind = Literal["empty", "dram", "l2", "shared", "link", "pipe", "tensor"]
Mode = Literal["events", "ncu"]
RESULTS = "results.jsonl"
GRAIN = 256 * 8 * 16  # bytes of an array that a block of memory.cu takes in its widest way: every array is a multiple
MIXES = {"fill": (0, 1), "copy": (1, 1), "add": (2, 1), "add3": (3, 1), "read": (1, 0)}  # arrays read, written
WAYS = 8  # of moving, in memory.cu: 1, 2, 4 or 8 vectors a thread, plain or with streaming hints
DEFAULT_WAY = 2
SEPARATOR = "|"


@dataclass(frozen=True)
class Probe:
    """One thing to measure. ``bytes`` is what a stream or a link moves in all, ``share`` a buffer's size over L2's.

    ``way`` None: try all and take the fastest. ``samples`` counts timed or profiled launches.
    """

    kind: Kind
    name: str
    samples: int
    bytes: int = 0
    rounds: int = 0
    share: float = 0.0
    way: int | None = None

    @property
    def id(self) -> str:
        return SEPARATOR.join((self.kind, self.name, str(self.bytes)))

    @property
    def arrays(self) -> tuple[int, int]:
        """How many arrays are read and written."""
        return MIXES.get(self.name, (0, 0))

    @property
    def bytes_each(self) -> int:
        """The bytes of one array of a stream, a little less than asked for."""
        return max(GRAIN, self.bytes // max(1, sum(self.arrays)) // GRAIN * GRAIN)


@dataclass(frozen=True)
class CeilingsRequest:
    """One job for the child. ``libraries`` are shared objects by the name of their source; one may be absent."""

    mode: Mode
    probes: tuple[Probe, ...]
    libraries: dict[str, str]
    nvcc: str
    out: str

    @property
    def path(self) -> Path:
        return Path(self.out) / REQUEST_FILE


@dataclass(frozen=True)
class ProbeResult:
    """What came of a probe: times and SM clocks of its samples, and how much was done in one of them.

    ``work`` is bytes for memory and links, warp instructions for pipes, operations for tensor; of a stream,
    ``read_bytes`` and ``write_bytes`` say which; ``footprint_bytes`` is what L2 held. Under ncu times are ncu's to
    tell, and none stand here. ``problem`` is empty unless nothing was measured.
    """

    probe: Probe
    way: int = 0
    time_ns: tuple[float, ...] = ()
    sm_clock_mhz: tuple[float | None, ...] = ()
    work: float = 0.0
    read_bytes: int = 0
    write_bytes: int = 0
    footprint_bytes: int = 0
    problem: str = ""


def append(out: Path, result: ProbeResult) -> None:
    """Add a result to those in ``out`` at once: a crash afterwards does not take it."""
    with (out / RESULTS).open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")


def results(out: Path) -> Iterator[ProbeResult]:
    """Yield the results in ``out``; a last line that a crash cut is left out."""
    path = out / RESULTS
    for line in path.read_bytes().splitlines() if path.is_file() else []:
        try:
            yield msgspec.json.decode(line, type=ProbeResult)
        except msgspec.DecodeError:
            return
