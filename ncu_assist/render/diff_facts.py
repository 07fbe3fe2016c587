"""What the page of a diff shows: the diff, every metric, both runs as they are shown alone, and where the page lies."""

from __future__ import annotations

from dataclasses import dataclass, field

from ncu_assist.analysis.diff import Change, Diff
from ncu_assist.analysis.diff.timing import TimedSamples
from ncu_assist.analysis.records import ArchivedRun
from ncu_assist.analysis.run_view import RunView
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Link
from ncu_assist.render.words.verdicts import names
from ncu_assist.verdict import Verdict

NAME_LETTERS = 22  # in the head of a column of numbers


@dataclass(frozen=True)
class DiffFacts:
    """Two runs side by side. ``combined`` of each is of the launches that the diff compares, and of no others.

    ``samples`` are all that were taken of each on the workload. ``made_of`` are the stored runs that the page depends
    on: both sides and the bench that their times come from.
    """

    diff: Diff
    every: tuple[Change, ...] = field(repr=False)
    baseline: RunView = field(repr=False)
    candidate: RunView = field(repr=False)
    samples: tuple[TimedSamples | None, TimedSamples | None] = field(repr=False)
    made_of: tuple[ArchivedRun, ...] = field(repr=False)
    crumbs: tuple[Link, ...] = ()  # above the page
    links: tuple[str, str] = ("", "")  # to the pages of baseline and candidate, empty for none
    # That both sides were timed on: the medians of both, baseline first, and the verdict there.
    workloads: tuple[tuple[str, tuple[float, float], Verdict], ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What columns and legends call the two sides: long names are cut, and told apart by their part if alike."""
        short = [one_line(name, NAME_LETTERS) for name in names(self.diff)]
        return (short[0], short[1]) if short[0] != short[1] or self.diff.is_one_run else ("baseline", "candidate")

    @property
    def is_comparable(self) -> bool:
        return self.diff.verdict.verdict != "not-comparable"

    @property
    def has_counters(self) -> bool:
        """Whether both sides have counters that can be laid over each other."""
        return self.is_comparable and all(any(one.combined.tables) for one in (self.baseline, self.candidate))
