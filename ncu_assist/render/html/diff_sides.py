"""Both sides of a diff by their facts, aligned: what each is, where and how it was measured, what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from ncu_assist.analysis.diff import DiffSide
from ncu_assist.analysis.run_view import Shown
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Run, Timing
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.badge import Badge
from ncu_assist.render.html.head import Link
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table

DIFFERS = Badge("≠ differs", "plain")
FORBIDS = Badge("≠ forbids a comparison", "bad")
DIGITS = 12  # of a hash
APART = ("median", "middle half", "under ncu", "bound by", "check")  # of each side, also where they are the same
Answer = Callable[[Shown, DiffSide], str]


@dataclass(frozen=True)
class _Fact:
    """A fact of a side, ``ABSENT`` where it is not known; ``asked`` is what the diff calls it where it compares it."""

    name: str
    answer: Answer
    asked: str = ""


@dataclass(frozen=True)
class SidesPart:
    """What differs between the sides, aligned, and what is the same, once."""

    apart: Table
    alike: tuple[tuple[str, str], ...]


def sides_part(facts: DiffFacts) -> SidesPart:
    """Return the facts of both sides; of each that the diff compares, whether it differs and forbids to compare."""
    diff = facts.diff
    both = (facts.baseline, diff.baseline), (facts.candidate, diff.candidate)
    answers = [(fact, fact.answer(*both[0]), fact.answer(*both[1])) for fact in FACTS]
    hard = {one.what for one in diff.differences if one.hard}
    rows = [_row(*one, hard) for one in answers if one[1] != one[2] or one[0].name in APART]
    alike = tuple((fact.name, one) for fact, one, other in answers if one == other != ABSENT and fact.name not in APART)
    columns = (Column("", order=""), *(Column(name, order="") for name in facts.names), Column("", order=""))
    runs = (Cell("run"), *_runs(facts), Cell(""))
    shown = [runs, *(row for row in rows if any(cell.text != ABSENT for cell in row[1:3]))]
    return SidesPart(Table("sides-table", "What both sides are", columns, tuple(shown)), alike)


def _row(fact: _Fact, before: str, after: str, hard: set[str]) -> tuple[Cell, ...]:
    differs = fact.asked and ABSENT not in (before, after) and before != after
    mark = Cell(badge=FORBIDS if fact.asked in hard else DIFFERS) if differs else Cell("")
    return Cell(fact.name), Cell(before), Cell(after), mark


def _runs(facts: DiffFacts) -> Iterator[Cell]:
    for side, href in zip((facts.diff.baseline, facts.diff.candidate), facts.around.runs, strict=True):
        name = one_line(side.reference if side.run_id else PurePath(side.reference).name)
        yield Cell(name, link=Link(name, href) if href else None)


def _timing(write: Callable[[Timing], str | None]) -> Answer:
    return lambda _, side: (write(side.timing) if side.timing else None) or ABSENT


def _of_run(write: Callable[[Run], object]) -> Answer:
    return lambda shown, _: _said(write(shown.run))


def _profiled(name: str) -> Answer:
    return _of_run(lambda run: getattr(run.profile, name) if run.profile else None)


def _said(value: object) -> str:
    return ABSENT if value is None or value == "" else one_line(str(value))


def _workload(shown: Shown, side: DiffSide) -> str:
    row = next((row for row in shown.rows if row.workload.name == side.workload), None)
    if row is None:
        return ABSENT
    facts = row.workload
    sizes = ", ".join(f"{name} {value}" for name, value in sorted(facts.integers.items()))
    moved = f", {quantity(facts.algorithmic_bytes, 'byte')} at least" if facts.algorithmic_bytes else ""
    return one_line(f"{facts.name}: {facts.dtype}, {sizes}{moved}")


def _check(shown: Shown, side: DiffSide) -> str:
    row = next((row for row in shown.rows if row.workload.name == side.workload), None)
    if row is None or row.check is None:
        return ABSENT
    return "passed" if row.check.passed else one_line(f"FAILED: {row.check.reason}")


def _under_ncu(shown: Shown, side: DiffSide) -> str:
    if not side.launches:
        return "launched no kernel" if shown.run.launched_nothing else "no counters"
    count = "1 launch" if side.launches == 1 else f"{side.launches} launches"
    if side.compared != side.launches:
        count = f"{count}, {side.compared} compared"
    return f"{duration(side.duration_ns)}, {count}" if side.duration_ns is not None else count


def _bound(shown: Shown, side: DiffSide) -> str:
    return f"{side.bottleneck.name} ({side.bottleneck.percent:.0f} %)" if side.bottleneck else ABSENT


def _gpu(shown: Shown, side: DiffSide) -> str:
    device = shown.run.device
    if device is None:
        return ABSENT
    count = f", {device.sm_count} SMs" if device.sm_count else ""
    return one_line(f"{device.name}, compute capability {device.compute_capability}{count}")


def _samples(timing: Timing) -> str:
    dropped = f", {timing.dropped} late ones dropped" if timing.dropped else ""
    clock = f", at {timing.sm_clock_mhz:.0f} MHz" if timing.sm_clock_mhz else ""
    return f"{timing.samples}{dropped}{clock}"


FACTS = (
    _Fact("version", lambda _, side: one_line(f"{side.kernel}/{side.version}")),
    _Fact("median", _timing(lambda timing: duration(timing.median_ns))),
    _Fact("middle half", _timing(lambda timing: f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}")),
    _Fact("samples", _timing(_samples)),
    _Fact("copy", _timing(lambda timing: f"{duration(timing.copy_ns)} for the same bytes" if timing.copy_ns else None)),
    _Fact("copy engine", _timing(lambda timing: duration(timing.link_ns) if timing.link_ns else None)),
    _Fact("under ncu", _under_ncu),
    _Fact("bound by", _bound),
    _Fact("check", _check),
    _Fact("workload", _workload, "workload"),
    _Fact("GPU", _gpu, "GPU model"),
    _Fact("driver", _of_run(lambda run: run.device.driver if run.device else None), "driver"),
    _Fact("CUDA", _of_run(lambda run: run.toolchain.cuda), "CUDA"),
    _Fact("ncu", _of_run(lambda run: run.toolchain.ncu), "ncu"),
    _Fact("nvcc", _of_run(lambda run: run.toolchain.nvcc), "nvcc"),
    _Fact("torch", _of_run(lambda run: run.toolchain.torch), "torch"),
    _Fact("section set", _profiled("section_set"), "section set"),
    _Fact("clock control", _profiled("clock_control"), "clock control"),
    _Fact("cache control", _profiled("cache_control"), "cache control"),
    _Fact("replay mode", _profiled("replay_mode"), "replay mode"),
    _Fact("created", lambda _, side: _said(side.created[:19].replace("T", " "))),
    _Fact("source", lambda _, side: side.source),
    _Fact("source hash", _of_run(lambda run: (run.source_sha256 or "")[:DIGITS])),
)
