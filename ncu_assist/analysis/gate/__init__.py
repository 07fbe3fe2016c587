"""Two runs against limits: what got worse by more than was allowed, what cannot be told, and the exit code of both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ncu_assist.analysis.diff import RunDifference
from ncu_assist.analysis.diff.comparing import FARTHEST_FIRST
from ncu_assist.record import Source
from ncu_assist.sources import Misnamed
from ncu_assist.store import StoredRun, machine_hash, shown_source
from ncu_assist.verdict import MARGIN, Likely

if TYPE_CHECKING:
    from ncu_assist.analysis.gate.limits import Limit


GateWord = Literal["pass", "regression", "unclear"]
LimitKind = Literal["relative", "points", "absolute", "value"]
NOT_MEASURED: Literal["not measured"] = "not measured"  # the outcome where a side has no run that counts
WORST_FIRST: tuple[GateWord, ...] = ("regression", "unclear", "pass")
EXIT_CODES: dict[GateWord, int] = {"pass": 0, "regression": 3, "unclear": 4}
NOT_MEASURED_CODE = 4

# Why a check is not kept, beside the codes of REASONS of the verdict. The words for each are in render.
ACROSS_LIMIT, ACROSS_MARGIN, MAY_BE_NOISE = "across-limit", "across-margin", "may-be-noise"
NOT_COUNTED, CHECK_FAILED = "not-counted", "check-failed"
TOO_FEW_RUNS, BASELINE_ITSELF = "too-few-runs", "baseline-itself"
NOT_RESOLVED = "not-resolved"  # of the verdict: less than two ticks of the timer apart
GATE_REASONS = (ACROSS_LIMIT, ACROSS_MARGIN, MAY_BE_NOISE, NOT_COUNTED, CHECK_FAILED, TOO_FEW_RUNS, BASELINE_ITSELF)


SideWithout = tuple[str, str | None]  # a version without a metric, and its section set: None where it has no profile


@dataclass(frozen=True)
class GateDetail:
    """What a reason is about: ``text`` from outside, e.g. how a check failed, the sides that lack a metric.

    ``nearest`` is the metric they have that is spelled most like it; ``likely`` is what one duration a side says.
    """

    text: str = ""
    version: str = ""
    likely: Likely | None = None
    lacking: tuple[SideWithout, ...] = ()
    nearest: str = ""


@dataclass(frozen=True)
class GateCheck:
    """One limit on one workload, None for a program that knows of none.

    Values are in the unit of the metric, medians of a bench for ``time``; None where a side has none. ``delta`` is in
    points for percentages, else relative: 0.1 is 10 % more, of time 10 % slower; ``low`` and ``high`` are its 99 %
    interval, of time only. ``noise`` is by how much a counter may be beyond its limit and kept, in its unit, and by
    twice that unclear; 0 for what repeats exactly, None for time. ``verdict`` is the word of the verdict by time, or of
    the change of a counter. ``reason`` is a code of REASONS or GATE_REASONS, empty for a check that passed and where
    the numbers say it all; ``next`` the command that would settle it, or empty. ``clocks_mhz`` are the SM clocks of
    both sides where they differ so much that the reader must know. Of a time ``cycles`` is ``delta`` in SM cycles, None
    where they are not known, and ``words`` the verdict in words: ``by_clock`` is it where another clock explains it.
    """

    workload: str | None
    limit: Limit
    outcome: GateWord
    verdict: str
    baseline: float | None = None
    candidate: float | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    detail: GateDetail = GateDetail()
    next: str = ""
    noise: float | None = None
    clocks_mhz: tuple[float, float] | None = None
    cycles: float | None = None
    words: str = ""
    by_clock: bool = False

    @property
    def is_inside(self) -> bool:
        """Whether an unclear time shows nothing beyond its limit: it is inside as measured, or may not have changed.

        So is what the timer does not resolve. ``settles_at`` is the least limit that would be kept for sure.
        """
        if self.outcome != "unclear" or self.delta is None or self.low is None:
            return False
        return self.reason == NOT_RESOLVED or self.delta <= max(self.limit.amount, MARGIN) or self.low <= 0

    @property
    def settles_at(self) -> float | None:
        """The least limit on time that the check would keep, as a part of the time; None where there is no interval."""
        return None if self.high is None else max(self.high, MARGIN)

    @property
    def excess(self) -> float | None:
        """By how much a counter is beyond its limit, in its unit; None for time and where a side lacks it."""
        if self.limit.is_on_time or self.baseline is None or self.candidate is None:
            return None
        return self.limit.excess(self.baseline, self.candidate)


@dataclass(frozen=True)
class Gate:
    """Two runs compared within limits, workload by workload.

    ``differences`` are of what differs besides the version; ``forced`` are reason codes of what forbids a comparison
    that was made all the same; ``notes`` say what the checks do not. ``window`` are the runs that times were held
    against, the newest first, ``by_window`` that they are meant, also where there are none; ``baseline`` is then the
    newest at their lowest level. ``stands_in``: no baseline is set, and v0 stands in for one. ``unclear_passes``: a
    time that is unclear and shows nothing beyond its limit breaks nothing.
    """

    baseline: StoredRun
    candidate: StoredRun
    checks: tuple[GateCheck, ...]
    differences: tuple[RunDifference, ...] = ()
    forced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    window: tuple[StoredRun, ...] = ()
    by_window: bool = False
    stands_in: bool = False
    unclear_passes: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether there is nothing to hold it against, so that checks are of what the candidate is."""
        return self.by_window and not self.window

    @property
    def outcome(self) -> GateWord:
        """A regression if there is any, else unclear if anything is."""
        return worst("pass" if self.lets_pass(check) else check.outcome for check in self.checks)

    def lets_pass(self, check: GateCheck) -> bool:
        """Tell whether a check is unclear and breaks nothing all the same."""
        return self.unclear_passes and check.is_inside

    @property
    def source(self) -> Source:
        """The farther of the two: imported, recorded, live."""
        both = [shown_source(one.run, machine_hash()) for one in (self.baseline, self.candidate)]
        return min(both, key=FARTHEST_FIRST.index)

    @property
    def is_of_this_machine(self) -> bool:
        """Whether the candidate was measured here."""
        return shown_source(self.candidate.run, machine_hash()) == "live"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


@dataclass(frozen=True)
class Unmeasured:
    """A version that a gate was asked about, as its source is now, and that no run which counts is of.

    ``run`` is one that does not count: of its source as it was, or, where ``needs_live``, not of this machine; None
    where there is none. ``is_stale``: that run is of another source than the version has now. ``skipped`` says which
    of its packages are not installed here, ``misnamed`` that its file is not called as a version's must be.
    ``workloads`` are those that kernel.toml has changed or renamed since ``run``, by the names they have now;
    ``shared`` are the files that all versions are measured with and that have changed since. ``since`` is a commit, as
    it was named: ``gone`` are runs that it has and that are gone or changed; without any, what is not measured here is
    the version as that commit has it.
    """

    kernel: str
    version: str
    run: StoredRun | None = None
    needs_live: bool = False
    is_stale: bool = False
    skipped: str = ""
    misnamed: Misnamed | None = None
    workloads: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    since: str = ""
    gone: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotMeasured:
    """A gate that has nothing to judge, as at least one of its sides is not measured; ``next`` measures what is not.

    ``window`` is what a candidate was to be held against where that is several runs, as it was typed: the candidate
    then stands for both sides.
    """

    baseline: StoredRun | Unmeasured
    candidate: StoredRun | Unmeasured
    next: str
    notes: tuple[str, ...] = ()
    outcome: Literal["not measured"] = NOT_MEASURED
    exit_code: int = NOT_MEASURED_CODE
    window: str = ""

    @property
    def missing(self) -> tuple[Unmeasured, ...]:
        """The sides that are not measured, the candidate first; one where a version is to be held against itself."""
        both = (self.candidate,) if self.baseline == self.candidate else (self.candidate, self.baseline)
        return tuple(one for one in both if isinstance(one, Unmeasured))


@dataclass(frozen=True)
class GateSet:
    """What came of each version that changed since a commit; ``first`` are those that nothing is there to hold against.

    ``since`` is the commit, as it was named; ``removed`` are the versions that it has and that are gone.
    """

    since: str
    gates: tuple[Gate | NotMeasured, ...]
    first: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """That of a regression before any other, then that of what is unclear or not measured."""
        return min((one.exit_code for one in self.gates if one.exit_code), default=0)


def worst(outcomes: Iterable[GateWord]) -> GateWord:
    """Return the worst of several outcomes."""
    return min(outcomes, key=WORST_FIRST.index, default="unclear")
