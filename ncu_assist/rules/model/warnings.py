"""What misleads about a measurement itself, never about the kernel: the warnings, and what `explain` says of each."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.frame import Combined
from ncu_assist.ncu.catalogue import metric as sections
from ncu_assist.ncu.catalogue.glossary import GlossaryEntry
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.noise import SHORT_NS
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import noun_of, quantity
from ncu_assist.rules.model.diagnosis import Diagnosis, by_last_release
from ncu_assist.rules.model.facts import Facts

# Less than half of what must have come from or gone to DRAM: no rounding, and no estimate of the bytes that is a little
# off, but data that was in L2 before the kernel began.
RESIDENT_BELOW = 0.5
# DRAM writes that no store explains. A recorded kernel that stores nothing, with its caches flushed by ncu, shows up to
# 3.5 % of its traffic and 5 MB; a zeroing flush leaves up to 60 MB (docs/sources.md, Noise). Between the two.
DIRTY_SHARE = 0.1
DIRTY_BYTES = 10 << 20
# What `ncu --section` takes for each section (`ncu --list-sections`).
IDENTIFIERS = {
    sections.SPEED: "SpeedOfLight",
    sections.COMPUTE: "ComputeWorkloadAnalysis",
    sections.MEMORY: "MemoryWorkloadAnalysis",
    sections.CHART: "MemoryWorkloadAnalysis_Chart",
    sections.TABLES: "MemoryWorkloadAnalysis_Tables",
    sections.SCHEDULER: "SchedulerStats",
    sections.WARP_STATE: "WarpStateStats",
    sections.INSTRUCTIONS: "InstructionStats",
    sections.LAUNCH: "LaunchStats",
    sections.OCCUPANCY: "Occupancy",
    sections.DISTRIBUTION: "WorkloadDistribution",
    sections.SOURCE: "SourceCounters",
}
ALL = "--set full"
FEW = 4  # metrics that are named one by one
# Where a launch writes more than three times the L2, little of it is still there when the next one reads it.
OUTGROWN = 3
# Of the DRAM bytes of a chain: what could have stayed in L2 is worth a warning from here on, as it is from here on that
# redundant-traffic counts a surplus.
STAYED = 0.05
KEPT = "none"  # ncu's --cache-control under which what a launch leaves in L2 is there for the next


def warnings(
    facts: Facts, cache_control: str | None = None, diagnosis: Diagnosis | None = None, asked: Sequence[str] = ()
) -> dict[str, str]:
    """Return what misleads about a measurement, a sentence by its id, as users and scripts refer to it.

    What cannot be told from these counters is left out. ``cache_control`` is what ncu did with the caches before each
    launch, None where nobody knows; ``asked`` are the metrics that rules ask for.
    """
    told = {
        "short-kernel": _short(facts),
        "l2-resident-input": _resident(facts),
        "dirty-flush": _dirty(facts),
        "chain-upper-bound": _chain(facts, cache_control),
        "launch-count-differs": _counts(facts),
        "impossible-value": _impossible(facts, asked),
        "metric-missing": metric_missing(diagnosis, facts) if diagnosis else "",
    }
    return {id: sentence for id, sentence in told.items() if sentence}


def metric_missing(diagnosis: Diagnosis, facts: Facts) -> str:
    """Return which rules the report has too few counters for, and the sections of ncu to collect.

    Of sections that were collected what is missing is none that this chip and release count: nothing can be done about
    it, and nothing is said. ``unanswered`` names it all the same. Nor is anything said of an interrupted launch.
    """
    gaps = {} if facts.is_interrupted else sections_lacked(diagnosis, facts)
    if not gaps:
        return ""
    lacking = dict.fromkeys(section for own in gaps.values() for section in own)
    options = " ".join(f"--section {IDENTIFIERS.get(one, one)}" for one in lacking) if len(lacking) <= FEW else ALL
    rules = ", ".join(gaps) if len(gaps) <= FEW else f"{len(gaps)} of {diagnosis.asked} rules"
    with_what = f"{words}," if (words := by_last_release(facts)) else ""
    named = f"the {noun_of(len(lacking), 'section')} {', '.join(lacking)}"
    return f"counters are missing of {named}: collect `{options}`{with_what} to ask {rules}"


def sections_lacked(diagnosis: Diagnosis, facts: Facts) -> dict[str, list[str]]:
    """Return the rules that could not answer and lack sections of ncu, with these; not those that lack metrics only."""
    return {one.rule: own for one in diagnosis.unanswered if (own := _sections_of(one.missing, facts))}


def _sections_of(keys: Sequence[str], facts: Facts) -> list[str]:
    """Return the sections that some metrics are of, without those that were collected."""
    every = (part for key in keys for part in getattr(ROWS[key], "needs", (key,)))
    parts = [part for part in dict.fromkeys(every) if facts.get(part) is None]
    found = dict.fromkeys(CATALOGUE[part].section for part in parts if part in CATALOGUE)
    return [section for section in found if section and not is_collected(section, facts)]


def can_be_collected(key: str, facts: Facts) -> bool:
    """Tell whether a metric that is missing may be in a section that was not collected, or is of none.

    What a collected section lacks is none that this chip and release count: nobody has lost it.
    """
    parts = [part for part in getattr(ROWS[key], "needs", (key,)) if part in CATALOGUE]
    return bool(_sections_of((key,), facts)) or not any(CATALOGUE[part].section for part in parts)


def is_collected(section: str, facts: Facts) -> bool:
    """Tell whether a section of ncu was collected: the report has it, or most of its metrics are known."""
    if IDENTIFIERS.get(section) in facts.sections:
        return True
    keys = [key for key, metric in CATALOGUE.items() if metric.section == section]
    known = [facts.get(key) is not None for key in keys]
    return 2 * sum(known) > len(known)


def _impossible(facts: Facts, asked: Sequence[str]) -> str:
    """Return what of the metrics that rules ask for no hardware can have: no rule rests on it."""
    found = {
        key: one.combined.impossible[key] for one in facts.by_kernel for key in asked if key in one.combined.impossible
    }
    if not found:
        return ""
    told = ", ".join(f"{ROWS[key].label} {quantity(value, ROWS[key].unit)}" for key, value in list(found.items())[:FEW])
    more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
    return f"the report says {told}{more}, which no hardware can have: counters of different passes; no rule uses it"


def _short(facts: Facts) -> str:
    typical = facts.combined.typical_ns
    if not typical or not facts.is_short:
        return ""
    return (
        f"a launch takes {typical / 1000:.1f} µs: below {SHORT_NS / 1000:.0f} µs ratios of counters from different "
        "passes cannot be trusted"
    )


def _resident(facts: Facts) -> str:
    moved, needed = facts.get("dram_bytes"), _least_dram_bytes(facts)
    if moved is None or needed is None or needed <= 0 or moved >= RESIDENT_BELOW * needed:
        return ""
    return (
        f"DRAM moved {_mb(moved)} where at least {_mb(needed)} had to pass: the input was in L2 before the kernel "
        "began, so DRAM figures do not apply to a cold one; flush L2 or use data larger than L2"
    )


def _least_dram_bytes(facts: Facts) -> float | None:
    """Return the bytes of the workload that cannot have stayed in L2 nor in the host's memory; None if unknown."""
    written, host = _bytes_written(facts), facts.value("host_bytes")
    if facts.algorithmic_bytes is None or written is None:
        return None
    l2 = facts.device.l2_bytes if facts.device else None
    stays = written if l2 is None else min(written, float(l2))  # dirty lines, written back after the end
    return facts.algorithmic_bytes - host - stays


def _bytes_written(facts: Facts) -> float | None:
    """Return the bytes that the launches handed to L2 to write; None where stores were not counted."""
    stored = facts.get("l2_sectors_write")
    if stored is None:
        return None
    return SECTOR_BYTES * (stored + facts.value("l2_sectors_reduction") + facts.value("l2_sectors_atomic"))


def _dirty(facts: Facts) -> str:
    written, own, moved = facts.get("dram_bytes_write"), _bytes_written(facts), facts.value("dram_bytes")
    if written is None or own is None:
        return ""
    foreign = written - own
    if foreign < DIRTY_BYTES * len(facts.combined.launches) or foreign < DIRTY_SHARE * moved:
        return ""
    return (
        f"DRAM took {_mb(written)} of writes where the kernel stored {_mb(own)}: dirty lines of whatever ran before "
        "are counted as its own; flush by reading a clean buffer"
    )


def _chain(facts: Facts, cache_control: str | None) -> str:
    launches, moved = facts.combined.launches, facts.get("dram_bytes")
    if cache_control == KEPT or len(launches) < 2 or facts.combined.workload is None or moved is None:
        return ""
    stayed = _could_have_stayed(facts, moved)
    if stayed < STAYED * moved:
        return ""
    return (
        f"the DRAM bytes of {len(launches)} launches are an upper bound: by default ncu flushes the caches "
        "before each launch, so what one leaves in L2 for the next is counted as DRAM traffic, up to "
        f"{_mb(stayed)} of {_mb(moved)}"
    )


def _could_have_stayed(facts: Facts, moved: float) -> float:
    """Return the DRAM bytes of a chain that without a flush might have stayed in L2, no more than the surplus.

    What each launch but the last wrote, as far as L2 holds it: written back and read again, so twice.
    """
    l2 = facts.device.l2_bytes if facts.device else None
    written = [_bytes_written(Facts(facts.combined.only([one]))) or 0.0 for one in facts.combined.launches[:-1]]
    fitting = sum(one if l2 is None else min(one, l2) for one in written if l2 is None or one < OUTGROWN * l2)
    surplus = moved if facts.algorithmic_bytes is None else max(0.0, moved - facts.algorithmic_bytes)
    return min(2 * fitting, surplus)


def _counts(facts: Facts) -> str:
    repeats: tuple[Combined, ...] = (facts.combined, *facts.combined.further)
    counts = sorted({len(one.launches) for one in repeats})
    if len(counts) < 2:
        return ""
    return (
        f"the same work was profiled {len(repeats)} times, with {counts[0]} to {counts[-1]} launches: their sums are "
        "not of the same work"
    )


def _mb(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


_TEXTS = {
    "short-kernel": (
        "A launch takes less than 20 µs. ncu collects counters in several passes, each of which runs the kernel again; "
        "in so short a time starting and ending weigh as much as the work, and ratios of counters from different "
        "passes can be above 100 % or far off.\n\nWhat to try: measure a larger workload; compare times by `bench`, "
        "not by ncu."
    ),
    "l2-resident-input": (
        "DRAM moved less than half of the bytes that had to pass: the input was already in L2 before the kernel began, "
        "as it is smaller than L2 or was just written. DRAM figures then do not apply to a cold input.\n\nWhat to try: "
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
        "The report lacks sections that some rules need. A rule that could not be asked says nothing, which does not "
        "mean that the kernel is free of its fault: `unanswered` in `--json` names each with what it lacks.\n\nWhat to "
        "try: profile again with the sections that the warning names, or with `--set full`, which has all of them."
    ),
}
WARNINGS = {name: GlossaryEntry(name, text, "warning") for name, text in _TEXTS.items()}  # what each id means
