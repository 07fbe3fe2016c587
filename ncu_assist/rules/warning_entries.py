"""What each warning of a diagnosis means and what to do about it, as `explain` shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WarningEntry:
    """The documentation of a warning, by its id."""

    id: str
    text: str


_TEXTS = {
    "short-kernel": (
        "A launch takes less than 20 µs. ncu collects counters in several passes, each of which runs the kernel again; "
        "in so short a time starting and ending weigh as much as the work, and ratios of counters from different "
        "passes can be above 100 % or far off.\n\nWhat to try: measure a larger workload; compare times by `bench`, "
        "not by ncu."
    ),
    "l2-resident-input": (
        "DRAM moved less than half of the bytes that had to pass: the input was already in L2 before the kernel began, "
        "as it is smaller than L2 or was just written. No DRAM figure then holds for a cold input.\n\nWhat to try: "
        "flush L2 before the kernel (`--cache-control all` of ncu), or use data of more than three times its size."
    ),
    "dirty-flush": (
        "DRAM took more writes than the kernel stored: L2 held dirty lines of whatever ran before, and writing them "
        "back is counted as this kernel's traffic.\n\nWhat to try: flush by reading a large clean buffer, not by "
        "writing or zeroing one."
    ),
    "chain-upper-bound": (
        "The DRAM bytes of several launches are a sum. ncu flushes the caches before each launch by default, so what "
        "one launch leaves in L2 for the next is read from DRAM again under ncu, and not in a real run. The sum is an "
        "upper bound where an intermediate result is smaller than three times L2.\n\nWhat to try: measure the chain "
        "as one range (`--replay-mode range` or `app-range` of ncu), or without flushing (`--cache-control none`)."
    ),
    "impossible-value": (
        "A ratio is more than all, or less than nothing: a hit rate of 140 %. It is NVIDIA's own, from counters that "
        "were taken in different passes of a kernel that does not do the same in each. It is shown with a remark, and "
        "no rule uses it.\n\nWhat to try: measure a larger workload, and make the kernel do the same each time it runs."
    ),
    "launch-count-differs": (
        "The same work was profiled several times with different numbers of launches, so that their sums are not of "
        "the same work.\n\nWhat to try: fix what depends on chance or on warming up, such as autotuning, before the "
        "profiled range."
    ),
    "metric-missing": (
        "The report lacks counters that some rules need. A rule that could not be asked says nothing, which does not "
        "mean that the kernel is free of its fault: `unanswered` in `--json` names each with what it lacks.\n\nWhat to "
        "try: profile again with `--set full`, which has all sections that the rules look at."
    ),
}
WARNINGS: dict[str, WarningEntry] = {name: WarningEntry(name, text) for name, text in _TEXTS.items()}
