"""What the source lines of one side of a diff cost, and the files that they stand in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

Place = tuple[str, int]  # a file as the lines name it, and a line of it
Group = tuple[tuple[int, ...], tuple[int, ...]]  # launches of the baseline and the candidate that do the same work


@dataclass(frozen=True)
class LineCost:
    """A line, all compared launches together.

    ``ns`` is its share of the warp samples of each launch times the duration of that under ncu; ``share`` is that of
    the time of all code that was read, as a page on one run has it. ``launches`` are those that ran it. Excesses and
    instructions are None where they were not counted. ``is_wasteful`` where the excess is no trifle beside the time of
    all.
    """

    file: str
    line: int
    text: str | None  # None where the source was not imported
    ns: float
    share: float
    samples: int = 0
    stall: str | None = None  # the reason most of its warps waited for, in ncu's spelling
    sectors_excessive: float | None = None  # of global memory, L2
    wavefronts_excessive: float | None = None  # of shared memory, L1
    instructions: float | None = None
    is_wasteful: bool = False
    launches: tuple[int, ...] = ()

    @property
    def place(self) -> Place:
        return self.file, self.line

    @property
    def excess(self) -> float:
        """Return excess sectors and wavefronts together: each is a pass through L1 that a better access saves."""
        return (self.sectors_excessive or 0.0) + (self.wavefronts_excessive or 0.0)


@dataclass(frozen=True)
class SideLines:
    """The lines of one side, of one call of the work; ``note`` says why there are none, or what they are not of.

    ``texts`` are whole files by the names that lines have, ``own`` is the version's own among these, None for a foreign
    program. ``pass_ns`` is the time that the L1 caches of all SMs together take for one sector or wavefront at their
    peak, one a cycle each: what an excess costs at least where it binds. None where clock or SMs are not known.
    """

    lines: tuple[LineCost, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    own: str | None = None
    duration_ns: float = 0.0
    pass_ns: float | None = None
    note: str = ""
    lined: frozenset[int] = frozenset()  # the launches whose code was read and has line numbers

    @property
    def sample_ns(self) -> float:
        """Return the time that a sample stands for, of all lines together."""
        samples = sum(line.samples for line in self.lines)
        return sum(line.ns for line in self.lines) / samples if samples else 0.0

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that lines are in, the one where most time goes first."""
        times: dict[str, float] = {}
        for line in self.lines:
            times[line.file] = times.get(line.file, 0.0) + line.ns
        return tuple(sorted(times, key=lambda name: (-times[name], name)))


def base_name(file: str) -> str:
    """Return the last part of a path as a compiler wrote it."""
    return PurePath(file).name
