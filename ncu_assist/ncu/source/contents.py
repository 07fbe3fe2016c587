"""What the child process reads of the code behind launches, as plain data between it and the frames made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


SAMPLES, SAMPLES_NOT_ISSUED = "samples", "samples_not_issued"
COUNTERS = {
    SAMPLES: "smsp__pcsamp_sample_count",
    "instructions": "inst_executed",
    "thread_instructions": "thread_inst_executed",
    "predicated_on_thread_instructions": "thread_inst_executed_true",
    "divergent_branches": "smsp__branch_targets_threads_divergent",
    "tag_requests": "memory_l1_tag_requests_global",
    "sectors": "memory_l2_theoretical_sectors_global",
    "sectors_ideal": "memory_l2_theoretical_sectors_global_ideal",
    "sectors_excessive": "derived__memory_l2_theoretical_sectors_global_excessive",
    "sectors_local": "memory_l2_theoretical_sectors_local",
    "wavefronts": "memory_l1_wavefronts_shared",
    "wavefronts_ideal": "memory_l1_wavefronts_shared_ideal",
    "wavefronts_excessive": "derived__memory_l1_wavefronts_shared_excessive",
}
# Column: what is divided by the warp-level instructions. Of 32 lanes, how many took part.
RATIOS = {
    "threads_per_instruction": "thread_instructions",
    "predicated_on_threads_per_instruction": "predicated_on_thread_instructions",
}
NUMBERS = (SAMPLES, SAMPLES_NOT_ISSUED, *list(COUNTERS)[1:], *RATIOS)  # the columns, in the order of the frames

ENTRIES = "launch__function_pcs"  # where the kernel starts: of a launch one address, of a replayed range several
SPACE, ACCESS, ACCESS_BITS = "memory_type", "memory_access_type", "memory_access_size_type"
KINDS = (SPACE, ACCESS, ACCESS_BITS)  # not counts: what an instruction does to which memory
# Bits of the first two as ncu's source page spells them; others are shown as numbers, for no report at hand has them.
SPACES = {4: "Global", 16: "Shared"}
ACCESSES = {2: "Load", 4: "Store", 8: "Atomic"}
# What a launch's metrics lack, and its instructions tell: a metric by address, of plain loads or plain stores alone.
SECTORS_BY_ACCESS = {
    f"{COUNTERS[column]}:{ACCESSES[bit].lower()}": (COUNTERS[column], bit)
    for column in ("sectors", "sectors_ideal")
    for bit in (2, 4)
}

STALL, NOT_ISSUED = "smsp__pcsamp_warps_issue_stalled_", "_not_issued"
STALL_COLUMN = "stall_"
SAMPLED = "smsp__pcsamp_"
KNOWN = frozenset((*COUNTERS.values(), *KINDS))


def is_source_metric(name: str) -> bool:
    """Tell whether a metric becomes a column; the reasons of warp stalls are an open set."""
    return name in KNOWN or name.startswith(STALL)


def stall_columns(metrics: set[str]) -> dict[str, str]:
    """Return the columns of these metrics' warp stall reasons and their metrics: all samples, then not issued."""
    reasons = sorted(name.removeprefix(STALL) for name in metrics if name.startswith(STALL))
    ordered = sorted(reasons, key=lambda reason: reason.endswith(NOT_ISSUED))
    return {STALL_COLUMN + reason: STALL + reason for reason in ordered}


def spelled(bits: int, words: dict[int, str]) -> str | None:
    """Return the words of a bit set as ncu joins them, such as 'Load,Store'; None for an empty one."""
    rest = bits & ~sum(words)
    found = [word for bit, word in words.items() if bits & bit] + ([str(rest)] if rest else [])
    return ",".join(found) or None


REQUEST, DOCUMENT = "source_request.json", "source.json"  # files between parent and child
INSTRUCTION_BYTES = 16  # of every chip since Volta, the oldest that Nsight Compute profiles
NO_FILE, NO_LINE = -1, 0


@dataclass(frozen=True)
class CodeRequest:
    """A launch whose code to read: its place in the file, a number that names its cubins, where its kernels start.

    And the addresses at which it, or another launch of the same kernels, counted something.
    """

    place: int
    cubins: int
    entries: tuple[int, ...]
    counted: tuple[int, ...]


@dataclass(frozen=True)
class SourceRequest:
    """Which launches of a report file to read."""

    launches_in_file: int
    launches: tuple[CodeRequest, ...]


@dataclass(frozen=True)
class SourceFile:
    """A file that code comes from, as the compiler named it; ``content`` is None where it was not imported."""

    name: str
    content: str | None


@dataclass(frozen=True)
class DeviceFunction:
    """A stretch of code without a gap: one instruction every INSTRUCTION_BYTES from address ``start`` on.

    Where the report holds no code, the ``addresses`` at which a launch counted something.
    """

    start: int
    base: int  # where offsets count from: ``start``, but the kernel where the report holds no code at this address
    sass: tuple[str, ...]  # empty where the report holds no code at this address, or was not asked for it
    files: tuple[int, ...]  # of each instruction, a number in ``SourceDocument.files`` or NO_FILE
    lines: tuple[int, ...]  # of each instruction, counted from 1, or NO_LINE
    # Of each instruction its file and line, then those of the calls that it was inlined through, outwards; None where
    # the report does not say. Empty for no instruction: the child knows nothing of it.
    chains: tuple[tuple[tuple[str, int], ...] | None, ...] = ()
    addresses: tuple[int, ...] = ()

    def each_address(self) -> Sequence[int]:
        """Return the address of each instruction."""
        return self.addresses or range(self.start, self.start + len(self.sass) * INSTRUCTION_BYTES, INSTRUCTION_BYTES)


@dataclass(frozen=True)
class LaunchCode:
    """The code that one launch ran, by number: its kernels, one for each entry, then functions that they called."""

    kernel: str  # function name without template arguments and parameters
    functions: tuple[int, ...]


@dataclass(frozen=True)
class SourceDocument:
    """What the child writes as JSON; launches of the same function share it."""

    files: tuple[SourceFile, ...]
    functions: tuple[DeviceFunction, ...]
    launches: tuple[LaunchCode, ...]


@dataclass(frozen=True)
class LaunchSource:
    """The code of one launch with its counters: ``values`` has a row for each metric, a column for each instruction."""

    launch: int
    kernel: str
    functions: tuple[DeviceFunction, ...]
    files: tuple[SourceFile, ...]  # what the numbers in ``DeviceFunction.files`` mean
    metrics: tuple[str, ...]
    values: np.ndarray[Any, Any]

    def sources(self) -> list[SourceFile]:
        """Return the imported files that its code comes from."""
        numbers = sorted({number for function in self.functions for number in set(function.files)} - {NO_FILE})
        return [self.files[number] for number in numbers if self.files[number].content is not None]
