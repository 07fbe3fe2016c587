"""Finding what a name stands for: a metric, a derived metric, a stall reason, NVIDIA's rule, another name of ncu."""

from __future__ import annotations

import difflib
import fnmatch
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.chips import (
    Chip,
    RecordedName,
    known_chips,
    named_chip,
    names,
    nearest_chip,
    on_chip,
    recorded_names,
)
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metric_doctor import MISTAKEN, check_names, spelled, suggestion
from ncu_assist.ncu.catalogue.metrics import CATALOGUE, GROUPS, STALL
from ncu_assist.ncu.catalogue.rows import DERIVED_GROUPS, ROWS, Row
from ncu_assist.ncu.catalogue.spelling import nearest, split
from ncu_assist.ncu.catalogue.stalls import SAMPLED, SAMPLED_AS, STALL_REASONS, StallReason


@dataclass(frozen=True)
class NvidiaRule:
    """One rule. ``section``: ncu's identifier of the section. ``look_at``: keys that say the same in numbers."""

    name: str
    section: str
    finds: str
    look_at: tuple[str, ...]


# fmt: off
_RULES = (
    NvidiaRule("AchievedOccupancy", "Occupancy",
               "Fewer warps were active than registers, shared memory and block size allow: blocks or warps of uneven "
               "length, or a grid that does not fill the GPU. It costs time only where latency is the problem.",
               ("achieved_occupancy", "theoretical_occupancy", "sm_imbalance", "waves_per_sm")),
    NvidiaRule("CPIStall", "WarpStateStats",
               "The state in which warps spend most cycles between two instructions; a finding of this rule is named "
               "after it. It says what to hide or to shorten, if the schedulers do not issue often enough.",
               ("warp_cycles_per_instruction", "issued_per_cycle", "stall_long_scoreboard")),
    NvidiaRule("FPInstructions", "InstructionStats",
               "Additions and multiplications that are not fused although fused ones do two operations at once. Only "
               "pairs that depend on each other can be fused, and only arithmetic that bounds the kernel counts.",
               ("fp32_add_per_cycle", "fp32_mul_per_cycle", "fp32_fma_per_cycle", "pipe_fma")),
    NvidiaRule("HighPipeUtilization", "ComputeWorkloadAnalysis",
               "How busy the busiest arithmetic pipe is, from all of them idle to one that bounds the kernel: then "
               "use other or fewer instructions; an idle one asks for more warps or less waiting.",
               ("pipe_fma", "pipe_alu", "pipe_xu", "pipe_lsu", "pipe_tensor_cycles")),
    NvidiaRule("IssueSlotUtilization", "SchedulerStats",
               "Schedulers often find no warp that can issue. Either more warps or fewer waits help, but not in a "
               "kernel whose memory is already at its limit.",
               ("issued_per_cycle", "no_eligible", "active_warps", "eligible_warps")),
    NvidiaRule("LaunchConfiguration", "LaunchStats",
               "A grid or block that does not suit the GPU: fewer blocks than SMs, a last wave that is nearly empty, "
               "or a block that is no multiple of 32 threads.",
               ("waves_per_sm", "last_wave_fill", "grid_size", "block_size")),
    NvidiaRule("MemoryApertureUsage", "MemoryWorkloadAnalysis_Chart",
               "Many L2 misses go to memory of the host or of another GPU, which is slower than DRAM.",
               ("host_sectors_missed", "host_bytes", "pcie_read_bandwidth")),
    NvidiaRule("MemoryCacheAccessPattern", "MemoryWorkloadAnalysis_Tables",
               "Threads use few of the 32 bytes of each sector that L1 or L2 moves for them: a stride, or a "
               "structure of which one field is read.",
               ("sector_efficiency_load", "sector_efficiency_store", "global_sectors_excessive")),
    NvidiaRule("MemoryL2Compression", "MemoryWorkloadAnalysis_Chart",
               "Data sent to the compression unit of L2 was not compressed, or is written in a scattered way. It "
               "also reports kernels that never asked for compressible memory; those can pass it by.",
               ("l2_sectors_write", "dram_bytes_write")),
    NvidiaRule("PCSamplingData", "SourceCounters",
               "Samples of the program counter were asked for and none was taken, mostly as the kernel is shorter than "
               "the sampling interval: nothing can be said per line.", ("samples", "duration")),
    NvidiaRule("PMSamplingData", "PmSampling",
               "The kernel is too short for the sampling interval of the timeline, so few samples were taken. It says "
               "nothing about the kernel's speed.", ("duration",)),
    NvidiaRule("SOLBottleneck", "SpeedOfLight",
               "What bounds the kernel, by its two throughputs: computing or memory above 80 % of the peak is near "
               "its limit; both below 60 % means latency, or a grid that is too small.",
               ("sm_throughput", "memory_throughput", "dram_throughput", "waves_per_sm")),
    NvidiaRule("SOLFPRoofline", "SpeedOfLight_RooflineChart",
               "Which share of the peak of FP32 and of FP64 arithmetic was reached; a low one is no fault in a kernel "
               "that memory bounds. Tensor cores are not in it.",
               ("fp32_flops", "fp64_flops", "intensity_fp32", "intensity_fp64")),
    NvidiaRule("SharedMemoryConflicts", "MemoryWorkloadAnalysis_Tables",
               "Accesses to shared memory take several passes as lanes of a warp meet in one bank; counted by "
               "hardware, so up to 2 % are arbitration between warps. Pad or swizzle the array.",
               ("bank_conflict_ways", "shared_wavefronts_excessive", "bank_conflicts_load", "bank_conflicts_store")),
    NvidiaRule("SlowPipeLimiter", "ComputeWorkloadAnalysis",
               "One slow pipe (such as FP64 or XU) is at its peak while the pipes are hardly used on average, so its "
               "instructions hold up the others. Move work to other pipes, such as from fp64 to fp32.",
               ("sm_busy", "issue_slots_busy", "pipe_fp64", "pipe_xu")),
    NvidiaRule("TheoreticalOccupancy", "Occupancy",
               "An SM cannot hold as many warps as it has room for; the finding names the limit: registers, shared "
               "memory, blocks or barriers. It costs time only where latency is the problem.",
               ("theoretical_occupancy", "block_limit_registers", "block_limit_shared_memory", "block_limit_warps")),
    NvidiaRule("ThreadDivergence", "WarpStateStats",
               "Instructions run with part of a warp's 32 threads, through branches, predicates or blocks that are "
               "no multiple of 32.",
               ("threads_per_instruction", "threads_per_instruction_predicated", "divergent_branches")),
    NvidiaRule("UncoalescedGlobalAccess", "SourceCounters",
               "Accesses to global memory touch more sectors than their bytes need; the finding lists the "
               "instructions that touch most. Let neighbouring threads access neighbouring addresses.",
               ("global_sectors_excessive", "global_sectors_theoretical", "sector_efficiency")),
    NvidiaRule("UncoalescedSharedAccess", "SourceCounters",
               "Accesses to shared memory take more wavefronts than their bytes need: bank conflicts, worked out from "
               "the addresses of each instruction. The finding lists the instructions.",
               ("shared_wavefronts_excessive", "excess_wavefront_share", "bank_conflict_ways")),
    NvidiaRule("WorkloadImbalance", "WorkloadDistribution",
               "Some SMs, schedulers or slices of L1 or L2 worked far longer or shorter than the mean: blocks of "
               "uneven length, too few blocks, or addresses that camp on few slices.",
               ("sm_imbalance", "sm_cycles_active_min", "sm_cycles_active_max", "l2_cycles_active_max")),
)
# fmt: on

NVIDIA_RULES: dict[str, NvidiaRule] = {rule.name: rule for rule in _RULES}


@dataclass(frozen=True)
class NamedRollup:
    """A name that ncu has and the catalogue has not, or not with this rollup; ``keys``: rows with the same base."""

    recorded: RecordedName
    rollup: str
    keys: tuple[str, ...]


Subject = Row | StallReason | NvidiaRule | NamedRollup

NEAR_CHIP = 0.85  # of difflib: one letter of five left out
MANY = "several metrics have a key that begins with"
SHORTEST = 4  # letters that a key may be asked for by
LONG = 6  # letters that say which rule is meant
# What programmers write for short -> the part of keys and labels that is meant. Matched as they stand, these find
# nothing, or something else: "smem" is in "sysmem".
SHORT = {
    "bw": "bandwidth", "gmem": "global", "insts": "instructions", "lmem": "local", "regs": "register",
    "shmem": "shared", "smem": "shared", "tput": "throughput",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a search found: rows by group, rows that the chip lacks, and ncu's names outside the catalogue.

    ``chip`` is a recorded one. ``instead_of``: the chip that was asked for, where its own names were not recorded.
    ``in_full``: with all ways to know a row, not its names alone.
    """

    chip: str | None
    groups: dict[str, tuple[Row, ...]]
    lacking: tuple[str, ...]
    names: tuple[RecordedName, ...]
    instead_of: Chip | None = None
    in_full: bool = False


def search(patterns: Sequence[str], asked: str | None) -> Found:
    """Return what matches any of ``patterns``: parts of a key, a name or a label, or with ``*`` the whole of it.

    An abbreviation of the field, as ``smem``, finds the rows of what it is short for, and ncu's names that have it.
    Names outside the catalogue are looked through for a chip, and where the catalogue has nothing. Raises UsageProblem
    for a pattern that nothing matches. ``asked`` is a chip or a product, as ``ad102`` or ``RTX 4090``; for one whose
    names were not recorded the nearest answers, and is named.
    """
    wanted = _known_chip(asked) if asked is not None else None
    chip = nearest_chip(wanted).name if wanted else None
    rows = {group: tuple(row for row in _rows(group) if _is_wanted(row, patterns)) for group in GROUPS}
    here = {
        group: tuple(row for row in some if not chip or spelled(row.key, on_chip(chip))) for group, some in rows.items()
    }
    lacking = tuple(row.key for group, some in rows.items() for row in some if row not in here[group])
    missed = [pattern for pattern in patterns if not any(_is_wanted(r, [pattern]) for g in GROUPS for r in _rows(g))]
    names = tuple(_names(patterns if chip else missed, chip))
    unknown = [pattern for pattern in missed if not any(_matches(pattern, (one.name,)) for one in names)]
    if unknown:
        raise _not_found(unknown, chip)
    instead_of = wanted if wanted and wanted.name != chip else None
    groups = {group: some for group, some in here.items() if some}
    return Found(chip, groups, lacking, names, instead_of, bool(patterns or chip))


def explain(name: str) -> tuple[Subject, ...]:
    """Return what a key, a name of ncu with or without rollup, a label, a stall reason or a rule stands for.

    Raises UsageProblem with the command for the nearest name where nothing is called so.
    """
    subjects = tuple(dict.fromkeys(_subjects(name.strip())))
    if not subjects:
        start = re.sub(r"[ -]", "_", name.strip().lower())
        begin = [key for key in ROWS if len(start) >= SHORTEST and key.startswith(start)]
        if len(begin) > 1:
            raise UsageProblem(f"{MANY} '{name}': {', '.join(begin)}", f"ncu-assist metrics {shlex.quote(start)}")
        near = _near(name.strip())
        hint = f"ncu-assist explain {shlex.quote(near)}" if near else _listing(name)
        meant = f"; did you mean '{near}'?" if near else ""
        raise UsageProblem(f"no metric, label, stall reason, rule or word is called '{name}'{meant}", hint)
    return subjects


def _near(name: str) -> str:
    """Return the nearest name of any kind; empty where none is near."""
    typed = name.lower().replace(" ", "_").replace("-", "_")
    if "__" in name:
        return suggestion(name, on_chip(None))
    keys = (*ROWS, *STALL_REASONS, *SAMPLED_AS)
    kinds = {one.lower(): one for one in (*MISTAKEN, *keys, *NVIDIA_RULES)}
    near = typed if typed in kinds else next(iter(nearest(typed, kinds)), "")
    if near in MISTAKEN:
        return next((one for one in MISTAKEN[near] if spelled(one, on_chip(None))), "")
    parts_of = [rule for rule in NVIDIA_RULES if len(typed) >= LONG and typed in rule.lower()]
    return kinds[near] if near else next(iter(parts_of), "")


def _listing(name: str, chip: str | None = None) -> str:
    """Return the command that lists what shares the name, else its longest word that anything has, else all.

    A name whose meaning is known to have no answer has no words to look for.
    """
    typed = name.strip().lower()
    words = [] if typed in MISTAKEN else sorted(re.findall(r"[a-z0-9]{3,}", typed), key=len, reverse=True)
    rows = [row for group in GROUPS for row in _rows(group)]
    pattern = next((one for one in (typed, *words) if one and any(_is_wanted(row, [one]) for row in rows)), "")
    rest = [*([shlex.quote(pattern)] if pattern else []), *(["--chip", chip] if chip else [])]
    return " ".join(["ncu-assist", "metrics", *rest])


def _subjects(name: str) -> Iterator[Subject]:
    reason = name.removeprefix("stall_")
    for pattern in (STALL, SAMPLED):
        match = pattern.fullmatch(name)
        reason = match.group(1) if match else reason
    reason = reason.removesuffix("_not_issued")  # a column of lines and sass
    reason = SAMPLED_AS.get(reason, reason)
    if reason in STALL_REASONS:
        yield STALL_REASONS[reason]
        return
    rules = {one.lower(): rule for one, rule in NVIDIA_RULES.items()}
    if name.lower() in rules:
        yield rules[name.lower()]
        return
    if name in ROWS:
        yield ROWS[name]
        return
    exact: list[Row] = [metric for metric in CATALOGUE.values() if name in metric.names]
    label = name.lower()
    yield from exact or [row for row in ROWS.values() if label and label in _labels(row)]
    base, rollup = split(name)
    recorded = recorded_names().get(name) or recorded_names().get(base)
    if recorded and not exact and on_chip(None).has(name if rollup else recorded.name):
        yield _named(recorded, rollup)
    elif recorded and not exact and not rollup:
        yield _named(recorded, "")


def _named(recorded: RecordedName, rollup: str) -> NamedRollup:
    keys = [key for key, metric in CATALOGUE.items() if recorded.name in {split(name)[0] for name in metric.names}]
    answers = [one for one in MISTAKEN.get(recorded.name, ()) if one in ROWS]
    return NamedRollup(recorded, rollup, (*keys, *answers))


def _labels(row: Row) -> set[str]:
    return {row.label.lower(), row.shown_as.lower()} if isinstance(row, Metric) else {row.label.lower()}


def _rows(group: str) -> tuple[Row, ...]:
    return (*GROUPS[group], *DERIVED_GROUPS.get(group, ()))


def _is_wanted(row: Row, patterns: Sequence[str]) -> bool:
    texts = (row.key, row.label, *((*row.names, row.shown_as) if isinstance(row, Metric) else ()))
    return not patterns or any(_matches(SHORT.get(pattern.lower(), pattern), texts) for pattern in patterns)


def _matches(pattern: str, texts: Sequence[str]) -> bool:
    wanted = pattern.lower()
    if "*" in wanted:
        return any(fnmatch.fnmatchcase(text.lower(), wanted) for text in texts)
    return any(wanted in text.lower() for text in texts)


def _names(patterns: Sequence[str], chip: str | None) -> Iterator[RecordedName]:
    listed = {split(name)[0] for metric in CATALOGUE.values() for name in metric.names}
    for recorded in recorded_names().values():
        matches = any(_matches(pattern, (recorded.name,)) for pattern in patterns)
        if matches and recorded.is_on(chip) and recorded.name not in listed:
            yield recorded


def _known_chip(asked: str) -> Chip:
    """Return the chip that is meant; raises UsageProblem, with the nearest name, for one that nobody knows."""
    chip = named_chip(asked)
    if chip is not None:
        return chip
    digits = re.sub(r"\D", "", asked)  # some may be left out; with others it is another chip
    alike = [name for name in names() if re.sub(r"\D", "", name).startswith(digits)]
    near = next(iter(difflib.get_close_matches(asked.lower(), alike, n=1, cutoff=NEAR_CHIP)), None)
    meant = f"did you mean '{near}'?" if near else known_chips()
    raise UsageProblem(f"there is no chip '{asked}'; {meant}", _listing("", near))


def _not_found(patterns: Sequence[str], chip: str | None) -> UsageProblem:
    checked = check_names(patterns, on_chip(chip))
    offered = [problem.suggestion for problem in checked if problem.suggestion]
    names = ", ".join(f"'{pattern}'" for pattern in patterns)
    at_chip = f" --chip {chip}" if chip else ""
    hint = f"ncu-assist metrics {shlex.quote(offered[0])}{at_chip}" if offered else _listing(patterns[0], chip)
    where = f" on {chip}" if chip else ""
    detail = "; ".join(problem.line for problem in checked if "__" in problem.line)
    return UsageProblem(f"no metric{where} matches {names}" + (f": {detail}" if detail else ""), hint)
