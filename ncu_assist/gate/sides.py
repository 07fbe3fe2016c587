"""The two sides of a gate: which run stands for a version on a workload, and what is read of it, each file once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ncu_assist.columns import Values
from ncu_assist.diff.learned_noise import LearnedNoise
from ncu_assist.diff.timing import Samples
from ncu_assist.frame import by_launch
from ncu_assist.record import Run, WorkloadFacts
from ncu_assist.store import StoredRun

Pair = tuple[StoredRun, StoredRun]
Workloads = tuple[str | None, str | None]  # what each side calls it; None for a program that knows of none


@dataclass(frozen=True)
class Sides:
    """The two runs that were named, and the runs of the same two sources that count, the ones to prefer first.

    The one that was named goes before them, unless it is not among them, as where it is of another GPU than the
    candidate and they are not. ``force`` compares what cannot be compared. ``every``: all metrics are read, not only
    those that the catalogue knows. ``learned`` is how far they stray on this model of GPU.
    """

    named: Pair
    runs: tuple[Sequence[StoredRun], Sequence[StoredRun]]
    force: bool = False
    every: bool = False
    learned: LearnedNoise | None = None
    samples: Samples = field(default_factory=Samples)
    _read: dict[str, Mapping[int, Values]] = field(default_factory=dict)

    def merged(self, side: int) -> Run:
        """Return the run that was named with the workloads of all: a later bench may have been of one alone."""
        found: dict[str, WorkloadFacts] = {}
        for one in self._best_first(side):
            found.update({facts.name: facts for facts in one.run.workloads if facts.name not in found})
        return replace(self.named[side].run, workloads=tuple(found.values()))

    def counted(self, workloads: Workloads) -> Pair:
        """Return the runs that counters are taken from: those named, unless only another was profiled there."""
        return self._on(0, workloads[0]), self._on(1, workloads[1])

    def failed_check(self, side: int, workload: str | None) -> str:
        """Return why results are wrong on a workload, by the newest check; empty where they are right or unchecked."""
        checks = [check for one in self.runs[side] for check in one.run.checks if check.workload == workload]
        return (checks[0].reason or "wrong") if checks and not checks[0].passed else ""

    def tables(self, stored: StoredRun) -> Mapping[int, Values]:
        """Return the numbers of each launch by ncu's name. Raises DamagedData for metrics that were changed."""
        if stored.reference not in self._read:
            self._read[stored.reference] = by_launch(stored.metrics()) if self.every else stored.by_launch()
        return self._read[stored.reference]

    def _best_first(self, side: int) -> list[StoredRun]:
        named = self.named[side].reference
        return sorted(self.runs[side], key=lambda stored: stored.reference != named)

    def _on(self, side: int, workload: str | None) -> StoredRun:
        every = self._best_first(side)
        profiled = (one for one in every if any(workload in (None, launch.workload) for launch in one.run.launches))
        known = (one for one in every if workload is not None and one.run.workload(workload))
        return next(profiled, None) or next(known, every[0])
