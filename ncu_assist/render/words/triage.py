"""A triage in words: where the time of a program goes, what the gaps and copies say, what to profile and how."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from ncu_assist.quantity import duration, noun_of, percent, quantity, times_as_fast
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Cell, Column, Link, Table, amount, number
from ncu_assist.rules.model.libraries import qualified_name

if TYPE_CHECKING:
    from ncu_assist.analysis.triage import CopyGroup, GapBand, KernelGroup, ProfiledGroup, Triage

LONGEST_NAME = 90  # letters of a kernel with its template arguments
NAMESPACE = re.compile(r"\(anonymous namespace\)::|<unnamed>::|\b[A-Za-z_]\w*::")
MOST_NAMED = 3  # commands that are written out
LITTLE = 0.01  # of the time from first to last work: not worth a sentence
LEAST_SHOWN = 0.0005  # of the time: less is 0.0 %
MUCH_IDLE = 0.3  # above it the host decides, and no kernel
LAUNCHES_NS = 10_000.0  # gaps below are those of launches
PAGEABLE = "pageable"
COLUMNS = (
    Column("kernel"),
    Column("grid", "right"),
    Column("block", "right"),
    Column("launches", "right", "number"),
    Column("total", "right", "number"),
    Column("mean", "right", "number"),
    Column("share", "right", "number"),
    Column("sum", "right", "number"),
)
PROFILED_COLUMNS = (
    Column("kernel", wraps=True),
    Column("one launch", "right", "number"),
    Column("diagnosis"),
    Column("could be", "right", "number"),
    Column("of all", "right", "number"),
    Column("run", wraps=True),
)


def triage_title(found: Triage) -> str:
    """Return what the program did in one line."""
    ran = f"{found.launches:,} launches of {len(found.groups):,} kernels and shapes, {duration(found.total_ns)}"
    if found.time is None:
        return f"{found.program}: {ran}"
    return f"{found.program}: {ran} in {duration(found.time.span_ns)}"


def triage_provenance(found: Triage) -> str:
    """Return by what it was recorded and on which GPU."""
    return " · ".join(filter(None, (f"recorded by {found.recorder}", found.gpu, found.command)))


def groups_table(found: Triage, most: int | None = None, letters: int = LONGEST_NAME) -> Table:
    """Return a row a kernel and shape, the most time first; of more than ``most`` the rest is said below.

    Names are cut after ``letters``.
    """
    shown = found.groups[:most]
    rest = found.groups[len(shown) :]
    note = f"and {len(rest)} more, {duration(sum(one.total_ns for one in rest))}" if rest else ""
    rows = tuple(_row(found, one, letters) for one in shown)
    return Table("kernels", "Kernels by time", COLUMNS, rows, filterable=most is None, note=note)


def _row(found: Triage, one: KernelGroup, letters: int) -> tuple[Cell, ...]:
    name = one_line(name_of(found, one), letters)
    page = next((each.page for each in found.profiled if found.groups[each.group] is one), "")
    return (
        Cell(name, link=Link(name, page) if page else None),
        Cell(_shape(one.grid)),
        Cell(_shape(one.block)),
        number(f"{one.launches:,}", one.launches),
        number(duration(one.total_ns), one.total_ns),
        number(duration(one.mean_ns), one.mean_ns),
        number(percent(one.share), one.share),
        number(percent(one.cumulative), one.cumulative),
    )


def name_of(found: Triage, one: KernelGroup) -> str:
    """Return the name of a kernel; with template arguments where others are called so, too."""
    others = {each.signature for each in found.groups if each.kernel == one.kernel}
    if len(others) < 2:
        return one_line(one.kernel, LONGEST_NAME)
    return one_line(NAMESPACE.sub("", qualified_name(one.signature)), LONGEST_NAME)


def _shape(sizes: tuple[int, int, int]) -> str:
    """Return sizes without the ones at their end; a dash where the trace does not say them."""
    if not any(sizes):
        return "-"
    kept = sizes if sizes[2] > 1 else sizes[:2] if sizes[1] > 1 else sizes[:1]
    return "x".join(map(str, kept))


def time_lines(found: Triage) -> Iterator[str]:
    """Yield what the time between first and last work went to, and what the gaps say."""
    time = found.time
    if time is None:
        yield "gaps and copies: not known, as ncu takes the time of each launch alone"
        return
    span = time.span_ns or 1.0
    parts = (("kernels", time.kernels_ns), ("copies alone", time.copies_ns), ("idle", time.idle_ns))
    yield f"the GPU: {', '.join(f'{what} {percent(ns / span)} ({duration(ns)})' for what, ns in parts if ns)}"
    if time.idle_ns / span < LITTLE:
        return
    yield f"idle in {', '.join(map(_band, time.bands))}"
    for gap in (one for one in time.longest if one.duration_ns / span >= LITTLE):
        after, before = one_line(gap.after, LONGEST_NAME), one_line(gap.before, LONGEST_NAME)
        yield f"  {duration(gap.duration_ns)} at {duration(gap.at_ns)}, after {after}, before {before}"
    if time.idle_ns / span >= MUCH_IDLE:
        yield _idle_advice(found)


def _band(band: GapBand) -> str:
    many = f"{band.gaps:,} {noun_of(band.gaps, 'gap')}"
    upto = f"above {duration(band.least_ns)}" if band.most_ns is None else f"up to {duration(band.most_ns)}"
    return f"{many} {upto} ({duration(band.total_ns)})"


def _idle_advice(found: Triage) -> str:
    assert found.time is not None
    short = sum(band.total_ns for band in found.time.bands if band.most_ns is not None and band.most_ns <= LAUNCHES_NS)
    if short > found.time.idle_ns / 2:
        return "the host launches too slowly: fewer and larger kernels (fusing, torch.compile), or a CUDA graph"
    return (
        "the host keeps the GPU waiting: look for data that is loaded, .item() or synchronize() before the long gaps; "
        "no faster kernel shortens them"
    )


def copies_table(found: Triage) -> Table | None:
    """Return a row a way that bytes were copied; None where nothing was."""
    if not found.copies:
        return None
    columns = (Column("copies"), *(Column(one, "right", "number") for one in ("number", "bytes", "total", "rate")))
    return Table("copies", "Copies", columns, tuple(map(_copy_row, found.copies)))


def _copy_row(one: CopyGroup) -> tuple[Cell, ...]:
    rate = one.bytes_per_second
    return (
        Cell(f"{one.way} {one.memory}".strip()),
        number(f"{one.copies:,}", one.copies),
        Cell() if one.bytes is None else number(quantity(one.bytes, "byte"), one.bytes),
        number(duration(one.total_ns), one.total_ns),
        Cell() if rate is None else number(quantity(rate, "byte/s"), rate),
    )


def copy_lines(found: Triage) -> Iterator[str]:
    """Yield what to do about copies that take a part of the time."""
    slow = sum(one.total_ns for one in found.copies if one.memory == PAGEABLE)
    if found.whole_ns and slow / found.whole_ns >= LITTLE:
        yield (
            f"{duration(slow)} of copies from or to pageable memory: pin it (pin_memory, cudaMallocHost), "
            "and they are faster and can run beside kernels"
        )


def profiled_table(found: Triage, letters: int = LONGEST_NAME) -> Table | None:
    """Return a row for each launch that ncu profiled: what it is diagnosed with, and what that is of the program.

    Names are cut after ``letters``.
    """
    shown = tuple(one for one in found.profiled if one.reference)
    if not shown:
        return None
    of_what = "of the time from first work to last" if found.time else "of the time of all kernels"
    note = f"of all: what it could save in all its launches, {of_what}"
    rows = tuple(_profiled(found, one, letters) for one in shown)
    return Table("profiled", "One launch each under ncu", PROFILED_COLUMNS, rows, note=note)


def _profiled(found: Triage, one: ProfiledGroup, letters: int) -> tuple[Cell, ...]:
    group, speedup, share = found.groups[one.group], one.estimated_speedup, one.saved_share
    reference = one.reference.partition("@")[0]
    return (
        Cell(one_line(name_of(found, group), letters)),
        amount(one.duration_ns, duration),
        Cell(one.rule) if one.rule else Cell(),
        amount(speedup, times_as_fast),
        Cell() if share is None else number(f"-{100 * share:.1f} %" if share >= LEAST_SHOWN else "nothing", share),
        Cell(reference, link=Link(reference, one.page)),
    )


def profiled_lines(found: Triage) -> Iterator[str]:
    """Yield what ncu found in each launch, what to try, and what went wrong."""
    for one in found.profiled:
        name = name_of(found, found.groups[one.group])
        if one.message:
            yield f"{name}: {one_line(one.message)}"
            if one.advice:
                yield f"  try: {one_line(one.advice)}"
        if one.problem:
            yield f"{name}: {one_line(one.problem, 400)}"


def next_commands(found: Triage) -> tuple[str, ...]:
    """Return the commands that profile what takes the time, or look closer at what was profiled."""
    done = [one for one in found.profiled if one.reference]
    if done:
        return tuple(f"ncu-assist show {one.reference.partition('@')[0]} --lines" for one in done[:MOST_NAMED])
    most = min(MOST_NAMED, len(found.groups))
    every = (f"ncu-assist triage --profile-top {most} -- {one_line(found.command, 1000)}",) if found.command else ()
    return (*every, profile_command(found, 0))


def profile_command(found: Triage, group: int) -> str:
    """Return the command that profiles the launch that stands for a group."""
    one = found.groups[group]
    skip = f" --skip-launches {one.skip}" if one.skip else ""
    name = quote(one_line(found.archived_as(group)))
    command = one_line(found.command, 1000) or "PROGRAM"
    return (
        f"ncu-assist profile --kernel {name} --filter {quote(one_line(one.kernel))}{skip} --max-launches 1 -- {command}"
    )
