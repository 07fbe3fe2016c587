"""Write docs/compatibility.md: what is answered of reports of others, by chip, release of ncu and what was collected.

    python benchmarks/compatibility.py FOLDER [FILE]      (docs/compatibility.md unless a file is named)

FOLDER holds reports, plain or each compressed with xz. A file that cannot be read whole is a row too, with the reason.
The page holds no file's name: chip, release, sections and counts only. Takes minutes: the code of every report is read.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ncu_assist import read_report
from ncu_assist.ceilings import ceilings_of
from ncu_assist.errors import NcuAssistError
from ncu_assist.frame import by_launch, combine_launches
from ncu_assist.ncu.report import Report
from ncu_assist.rules import RULES, Facts, diagnose

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compatibility.md"
SUFFIXES = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report", ".csv")
UNEXPLAINED = "unexplained"
THROUGHPUTS = ("dram_throughput", "sm_throughput", "memory_throughput", "issue_slots_busy")
OPERATIONS = ("fp32_flops", "fp64_flops", "fp16_flops", "tensor_ops_fp16")
SETS = {  # sections of each set of ncu that no smaller one has
    "full": {"InstructionStats", "SchedulerStats", "WarpStateStats"},
    "detailed": {"ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "SourceCounters"},
    "basic": {"LaunchStats", "Occupancy", "SpeedOfLight"},
}
READERS = 4  # at a time
UNREAD = "not read"

HEAD = """# Compatibility

What ncu-assist answers for reports that others made: {files} files with {launches} launches of {chips} GPU models, by
chip, release of ncu and what was collected. `benchmarks/compatibility.py` writes this page. `tests/test_corpus.py`
compares it with the reports if they are next to a clone.

- *diagnosis*: launches whose first finding names a cause or a ceiling. *throughput*: launches without one; the busiest
  unit is still named.
- *lines* and *SASS*: files with counters by source line, and by instruction.
- *roofline*: launches with counted operations and DRAM bytes. *memory chart*: launches with counted traffic between
  DRAM and L2, or L2 and L1.
- *ceilings*: measured on such a GPU, or the default for its kind of memory, which is marked *assumed*.

*set* is the largest of ncu's sets that has a section of its own in the report: warp states are only in `full`, the
memory analysis is in `detailed`, throughputs are in `basic`. `metrics` means metrics without a section. `?` means that
the report does not say which ncu made it.
"""
COLUMNS = (
    "chip", "cc", "ncu", "set", "files", "launches", "diagnosis", "throughput", "lines", "SASS", "roofline",
    "memory chart", "ceilings",
)  # fmt: skip


@dataclass(frozen=True)
class Answered:
    """What is answered of one file."""

    chip: str
    capability: str
    ncu: str
    collected: str
    launches: int = 0
    diagnosis: int = 0
    throughput: int = 0
    roofline: int = 0
    memory_chart: int = 0
    lines: bool = False
    sass: bool = False
    ceilings: str = "-"
    problem: str = ""

    @property
    def row(self) -> tuple[str, str, str, str]:
        return self.capability, self.chip, self.ncu, self.collected


def answered(path: Path) -> Answered:
    """Return what is answered of a report; one that cannot be read has the reason instead."""
    try:
        report = read_report(path)
    except NcuAssistError as error:
        return Answered(
            "-",
            "-",
            "-",
            UNREAD,
            problem=error.message.replace(path.name, "the file").replace(path.name.removesuffix(".xz"), "the file"),
        )
    tables = by_launch(report.metrics)
    ceilings = ceilings_of(report.device) if report.device else None
    seen: Counter[str] = Counter()
    for launch in report.records:
        combined = combine_launches(None, [launch], [tables.get(launch.index, {})])
        seen.update(_of_launch(Facts(combined, report.device, ceilings)))
    lines, sass = _code(report)
    return Answered(
        report.device.name if report.device else "-", report.device.compute_capability if report.device else "-",
        release(report.ncu_version), collected(report), len(report.records), seen["diagnosis"], seen["throughput"],
        seen["roofline"], seen["memory chart"], lines, sass, "measured" if ceilings else "assumed",
    )  # fmt: skip


def _of_launch(facts: Facts) -> Iterator[str]:
    """Yield what is answered of one launch."""
    first = diagnose(facts, RULES).first
    if first is not None and first.finding.rule != UNEXPLAINED:
        yield "diagnosis"
    elif any(facts.get(key) is not None for key in THROUGHPUTS):
        yield "throughput"
    is_counted = any(facts.get(key) is not None for key in OPERATIONS)
    if facts.duration_ns and is_counted and facts.get("dram_bytes") is not None:
        yield "roofline"
    if any(facts.get(key) is not None for key in ("dram_bytes", "l2_sectors_sm")):
        yield "memory chart"


def _code(report: Report) -> tuple[bool, bool]:
    """Return whether a report has counters by source line, and by instruction."""
    if report.lossy:
        return False, False
    try:
        sass = report.sass
        return bool(len(sass)) and bool(report.lines["line"].notna().any()), bool(len(sass))
    except NcuAssistError:
        return False, False


def release(version: str | None) -> str:
    """Return year and number of an ncu: '2025.3' of '2025.3.1.0'."""
    return ".".join(version.split(".")[:2]) if version else "?"


def collected(report: Report) -> str:
    """Return what was collected: the largest set of ncu that the report holds a section of."""
    if report.lossy:
        return "CSV"
    held = set((report.contents.session.held or "").split(","))
    return next((name for name, sections in SETS.items() if sections & held), "metrics")


def page(found: Sequence[Answered]) -> str:
    """Return the page: a row for each chip, release and set."""
    read = [one for one in found if not one.problem]
    head = HEAD.format(files=len(read), launches=sum(o.launches for o in read), chips=len({o.chip for o in read}))
    rows = [_row([one for one in read if one.row == row]) for row in sorted({one.row for one in read}, key=_order)]
    parts = [head, _table(COLUMNS, rows)]
    refused = Counter(one.problem for one in found if one.problem)
    if refused:
        parts += ["\nNot read:\n", *(f"- {count} x {problem}" for problem, count in sorted(refused.items()))]
    return "\n".join(parts).rstrip("\n") + "\n"


def _order(row: tuple[str, ...]) -> tuple[object, ...]:
    capability, *others = row
    return tuple(int(part) if part.isdigit() else -1 for part in capability.split(".")), *others


def _row(some: Sequence[Answered]) -> tuple[str, ...]:
    first, launches = some[0], sum(one.launches for one in some)
    counted = (sum(of(one) for one in some) for of in _COUNTS)
    diagnosis, throughput, roofline, memory = (_of(count, launches) for count in counted)
    lines, sass = (_of(sum(each), len(some)) for each in ([o.lines for o in some], [o.sass for o in some]))
    return (
        first.chip, first.capability, first.ncu, first.collected, str(len(some)), str(launches), diagnosis, throughput,
        lines, sass, roofline, memory, first.ceilings,
    )  # fmt: skip


_COUNTS = (
    lambda one: one.diagnosis, lambda one: one.throughput, lambda one: one.roofline, lambda one: one.memory_chart,
)  # fmt: skip


def _of(count: int, every: int) -> str:
    return "all" if count == every and every else "-" if not count else str(count)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def files_of(folder: Path) -> list[Path]:
    """Return the reports of a folder in order, compressed ones too."""
    every = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in every if (Path(path.stem) if path.suffix == ".xz" else path).suffix in SUFFIXES)


def answers(folder: Path) -> list[Answered]:
    """Return what is answered of every report of a folder; each is read by a process of its own, some at a time."""
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(answered, files_of(folder)))


def main(folder: Path, target: Path) -> None:
    """Write the page of a folder."""
    target.write_text(page(answers(folder)), encoding="utf-8")


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else PAGE)
