"""What came of tuning a version: each combination of values with its time, and whether one beats the file's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import VersionOutcome

if TYPE_CHECKING:
    from ncu_assist.analysis.diff import Diff
    from ncu_assist.record import Timing

Values = Mapping[str, int]


@dataclass(frozen=True)
class TuneOutcome:
    """A version tuned on a workload.

    ``rows`` hold the values of each combination and what became of it, those of the file first; ``rounds`` is how often
    each was timed that did not drop out. ``diff`` is the verdict of the fastest other combination against the file's
    values, in a bench of the two alone; None where no other could be timed. ``kept`` is the file that the winner's
    values were written into.
    """

    kernel: str
    version: str
    workload: str
    rounds: int
    rows: tuple[tuple[Values, VersionOutcome], ...]
    diff: Diff | None = None
    kept: Path | None = None

    @property
    def own(self) -> Values:
        """The values that the file has."""
        return self.rows[0][0]

    def timing(self, row: VersionOutcome) -> Timing | None:
        """Return the time of a combination; None where it has none."""
        return row.run.run.timing(self.workload) if row.run and not row.failure else None

    def is_dropped(self, row: VersionOutcome) -> bool:
        """Tell whether a combination dropped out before the last round."""
        timing = self.timing(row)
        return timing is not None and timing.samples + timing.dropped < self.rounds

    @property
    def ranked(self) -> list[tuple[Values, VersionOutcome]]:
        """Return what was timed, the fastest first; what dropped out comes after what was timed to the end."""
        timed = [(self.timing(row), one, row) for one, row in self.rows]
        known = [(self.is_dropped(row), timing.median_ns, one, row) for timing, one, row in timed if timing]
        return [(one, row) for _, _, one, row in sorted(known, key=lambda found: found[:2])]

    @property
    def winner(self) -> Values | None:
        """Return the values that are faster than the file's, by the verdict; None where there are none."""
        best = self.diff.candidate.version if self.diff and self.diff.verdict.verdict == "faster" else None
        return next((one for one, row in self.rows if row.version == best), None)
