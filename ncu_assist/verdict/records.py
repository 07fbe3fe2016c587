"""What a verdict says, and its reason codes: what each means, and the command that would settle it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class VerdictReason:
    """A reason code in words. ``command`` is what would settle it, empty where nothing is left to settle.

    ``command`` may name ``{kernel}``, ``{baseline}`` and ``{candidate}``. ``beyond`` is the meaning where the two lie
    farther apart than identical code was ever seen.
    """

    meaning: str
    command: str = ""
    beyond: str = ""


BENCH = "ncu-assist bench {kernel} {baseline} {candidate}"
PROFILE = "ncu-assist profile {kernel} {baseline} {candidate}"
# How much longer one launch of a binary took than another of the same, at most, of 39 kernels (docs/sources.md).
FARTHEST = 0.53

REASONS: dict[str, VerdictReason] = {
    "interval-beyond": VerdictReason("the 99 % interval of the paired ratios lies beyond 0.5 %"),
    "interval-inside": VerdictReason("the 99 % interval of the paired ratios lies within 0.5 %"),
    "interval-across": VerdictReason(
        "the 99 % interval of the paired ratios reaches across 0.5 %: the difference is about that, or the samples are "
        "too few or too noisy",
        f"{BENCH} --rounds 400",
    ),
    "not-resolved": VerdictReason(
        "the two are less than two ticks of the timer apart, which the same code can be on other buffers",
        f"{BENCH} --workload all",
    ),
    "too-few-pairs": VerdictReason("fewer than 10 rounds have a good sample of both", f"{BENCH} --rounds 100 --again"),
    "robust-apart": VerdictReason(
        "the samples are not paired; their ranges, minimum to third quartile, lie 0.5 % apart in time and in SM cycles"
    ),
    "robust-alike": VerdictReason(
        "the samples are not paired; medians within 0.5 %, ranges and samples alike in time and in SM cycles"
    ),
    "robust-alike-in-time": VerdictReason(
        "the samples are not paired; medians within 0.5 %, ranges and samples alike in time; SM clocks are not known"
    ),
    "robust-between": VerdictReason(
        "the samples are not paired; their ranges, minimum to third quartile, are neither apart nor alike", BENCH
    ),
    "robust-scattered": VerdictReason(
        "the samples are not paired; medians and ranges are alike, but many samples have none like them on the other "
        "side",
        BENCH,
    ),
    "clocks-disagree": VerdictReason(
        "the samples are not paired, and time and SM cycles say different things: the clocks were not the same", BENCH
    ),
    "clocks-unknown": VerdictReason(
        "the samples are not paired; the times lie apart, but without SM clocks that may be another clock", BENCH
    ),
    "too-few-samples": VerdictReason(
        "the samples are not paired, and a side has fewer than 20",
        BENCH,
        "the samples are not paired, and a side has fewer than 20; they lie farther apart than identical binaries have "
        f"been seen, {100 * FARTHEST:.0f} %: the time changed, by how much is not settled",
    ),
    "no-samples": VerdictReason("at least one of the two has neither timings nor a duration", PROFILE),
    "only-late-samples": VerdictReason(
        "every sample of one of the two was late: its call was not enqueued before the stream ran on", BENCH
    ),
    "bad-samples": VerdictReason("a sample is no time: zero, negative, infinite or no number", f"{BENCH} --again"),
    "one-sample": VerdictReason(
        "there is one duration a side, taken under ncu; identical binaries have been seen "
        f"{100 * FARTHEST:.0f} % apart in that",
        BENCH,
        "there is one duration a side, taken under ncu; they lie farther apart than identical binaries have been seen, "
        f"{100 * FARTHEST:.0f} %: the time changed, by how much is not settled",
    ),
    "other-device": VerdictReason("the two were measured on different GPUs", PROFILE),
    "other-kernel": VerdictReason("the two launched no function of the same name and belong to different kernels"),
    "no-common-launch": VerdictReason(
        "no launch of one corresponds to a launch of the other, by NVTX range, name or shape"
    ),
    "other-workload": VerdictReason("the two worked on different data", PROFILE),
    "other-size": VerdictReason(
        "one has more than 16 times the work of the other, and the threads or the results to go with it, or a launch "
        "beside it has: a problem of another size, as far as reports tell"
    ),
    "no-result": VerdictReason(
        "one of the two wrote nothing to memory and executed less than a sixteenth of the instructions of the other: "
        "it did not do the work"
    ),
    "other-work": VerdictReason(
        "their names do not say that they do the same work, and one moves and executes more than 16 times as much"
    ),
    "unknown-work": VerdictReason("neither names nor counters say that the two do the same work"),
    "other-passes": VerdictReason(
        "most of the time goes to launches of the same functions in other shapes and another number: nothing says "
        "which of one do the work of which of the other"
    ),
    "other-settings": VerdictReason("the two were profiled with other clocks or another cache control", PROFILE),
}


Word = Literal["faster", "slower", "same", "unclear", "not-comparable"]
Likely = Literal["faster", "slower"]
KILO = 1000  # ns times MHz are thousandths of a cycle


@dataclass(frozen=True)
class Cycles:
    """Two versions by the SM cycles that they take, which are time times SM clock, as ``Verdict`` has them by time.

    ``medians`` are those of the sides, in cycles, None where that is not known of the sides but of their ratio.
    """

    verdict: Word
    reason: str
    speedup: float
    low: float | None = None
    high: float | None = None
    medians: tuple[float, float] | None = None


@dataclass(frozen=True)
class Verdict:
    """Which of two is faster. ``speedup`` is baseline time over candidate time, so above 1 the candidate is faster.

    ``low`` and ``high`` are its 99 % interval; both are None where samples could not be paired, and ``samples`` says
    then how many each side has. ``likely`` is set only beside ``unclear``. ``reason`` is a key of REASONS.
    ``clocks_mhz`` are the median SM clocks of the sides, None unless they differ so much that the reader must know.
    ``cycles`` says the same of SM cycles, None where the clock of a side is not known. ``by_clock``: it is faster or
    slower because its SMs ran at another clock, as a version does that draws more or less power; it does not take fewer
    or more cycles.
    """

    verdict: Word
    likely: Likely | None
    reason: str
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int
    samples: tuple[int, int] | None = None
    clocks_mhz: tuple[float, float] | None = None
    cycles: Cycles | None = None
    by_clock: bool = False

    @property
    def words(self) -> str:
        """The verdict in the words that every output has: ``faster``, ``faster at a higher clock``."""
        if self.by_clock:
            return f"{self.verdict} at a {'higher' if self.verdict == 'faster' else 'lower'} clock"
        return self.verdict.replace("-", " ")

    @property
    def is_of_clock(self) -> bool:
        """Whether the clock made all of the difference: by SM cycles there is none, or the other way round."""
        return self.by_clock and self.cycles is not None and self.cycles.verdict not in ("unclear", self.verdict)

    @property
    def way(self) -> Word:
        """Which way the time went: the verdict, or what is likely where it is more than identical code was ever apart.

        Counters are read by it: what they explain is how the time moved, and not how sure its amount is.
        """
        if self.likely is None or self.speedup is None:
            return self.verdict
        return self.likely if max(self.speedup, 1 / self.speedup) > 1 + FARTHEST else self.verdict

    @property
    def meaning(self) -> str:
        """What the verdict stands on, in words."""
        reason = REASONS[self.reason]
        return reason.beyond if reason.beyond and self.way != self.verdict else reason.meaning

    @property
    def in_cycles(self) -> Verdict | None:
        """The verdict by SM cycles; None where they are not known."""
        if self.cycles is None:
            return None
        by, apart = self.cycles, replace(self, likely=None, by_clock=False)
        return replace(apart, verdict=by.verdict, reason=by.reason, speedup=by.speedup, low=by.low, high=by.high)


def unclear(reason: str) -> Verdict:
    """Return the verdict where nothing can be said, not even how much faster."""
    return Verdict("unclear", None, reason, None, None, None, 0)


def not_comparable(reason: str) -> Verdict:
    """Return the verdict of two runs that differ in something that decides the time; ``reason`` says in what."""
    return Verdict("not-comparable", None, reason, None, None, None, 0)
