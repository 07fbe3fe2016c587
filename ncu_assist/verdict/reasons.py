"""The reason codes of verdicts: what each means, and the command that would settle it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A reason code in words. ``command`` is what would settle it, empty where nothing is left to settle.

    ``command`` may name ``{kernel}``, ``{baseline}`` and ``{candidate}``.
    """

    meaning: str
    command: str = ""


BENCH = "ncu-assist bench {kernel} {baseline} {candidate}"
PROFILE = "ncu-assist profile {kernel} {baseline} {candidate}"

REASONS: dict[str, Reason] = {
    "interval-beyond": Reason("the 99 % interval of the paired ratios lies beyond 0.5 %"),
    "interval-inside": Reason("the 99 % interval of the paired ratios lies within 0.5 %"),
    "interval-across": Reason(
        "the 99 % interval of the paired ratios reaches across 0.5 %: the difference is about that, or the samples are "
        "too few or too noisy",
        f"{BENCH} --rounds 400",
    ),
    "not-resolved": Reason(
        "the two are less than two ticks of the timer apart, which the same code can be on other buffers",
        f"{BENCH} --workload all",
    ),
    "too-few-pairs": Reason("fewer than 10 rounds have a good sample of both", f"{BENCH} --rounds 100"),
    "robust-apart": Reason(
        "the samples are not paired; their ranges, minimum to third quartile, lie 0.5 % apart in time and in SM cycles"
    ),
    "robust-alike": Reason(
        "the samples are not paired; medians within 0.5 %, ranges and samples alike in time and in SM cycles"
    ),
    "robust-alike-in-time": Reason(
        "the samples are not paired; medians within 0.5 %, ranges and samples alike in time; SM clocks are not known"
    ),
    "robust-between": Reason(
        "the samples are not paired; their ranges, minimum to third quartile, are neither apart nor alike", BENCH
    ),
    "robust-scattered": Reason(
        "the samples are not paired; medians and ranges are alike, but many samples have none like them on the other "
        "side",
        BENCH,
    ),
    "clocks-disagree": Reason(
        "the samples are not paired, and time and SM cycles say different things: the clocks were not the same", BENCH
    ),
    "clocks-unknown": Reason(
        "the samples are not paired; the times lie apart, but without SM clocks that may be another clock", BENCH
    ),
    "too-few-samples": Reason("the samples are not paired, and a side has fewer than 20", BENCH),
    "no-samples": Reason("at least one of the two has neither timings nor a duration", PROFILE),
    "only-late-samples": Reason(
        "every sample of one of the two was late: its call was not enqueued before the stream ran on", BENCH
    ),
    "bad-samples": Reason("a sample is no time: zero, negative, infinite or no number", BENCH),
    "one-sample": Reason(
        "there is one duration a side, taken under ncu; identical binaries have been seen 50 % apart in that", BENCH
    ),
    "other-device": Reason("the two were measured on different GPUs", PROFILE),
    "other-kernel": Reason("the two launched no function of the same name and belong to different kernels"),
    "no-common-launch": Reason("no launch of one is found in the other, by NVTX range, shape or name"),
    "other-workload": Reason("the two worked on different data", PROFILE),
    "other-settings": Reason("the two were profiled with other clocks or another cache control", PROFILE),
}
