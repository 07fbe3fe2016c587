"""The floor of a workload, what a copy takes, what stays in L2, lowered clocks, and the fastest own version against the
fastest library, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ncu_assist.analysis.roofline import counted_operations
from ncu_assist.analysis.yardstick import COPY, OPERATIONS, measure_of
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Cell, Column, Table, Term, number
from ncu_assist.render.words.terms import against, verdict_badge
from ncu_assist.render.words.verdicts import factor, faster_or_slower, interval_words
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.run_view import RunView, WorkloadRow
    from ncu_assist.analysis.yardstick import OwnAgainstLibrary
    from ncu_assist.ceilings import Floor
    from ncu_assist.record import Bench, Timing, WorkloadFacts

IN_L2 = {"all": "in L2", "written": "writes in L2"}  # in the place of a rate
NO_RATE = "so bytes over time are no rate of DRAM"
WHAT = {"all": "all that is moved", "written": "what is written"}
COPY_TOO = "fits in L2, the copy's too"

OWN_TERM = Term(
    "own / library",
    "time of the library / time of the own version",
    "how much faster or slower the fastest own version is than the fastest library or framework: the verdict on paired "
    "samples of one bench",
)
COLUMNS = (
    Column("workload"),
    Column(OWN_TERM.label, "left", "number", OWN_TERM, wraps=True),
    Column("fastest own", order="number", wraps=True),
    Column("fastest library", order="number", wraps=True),
)


def workload_words(facts: WorkloadFacts) -> str:
    """Return what a workload is, e.g. ``bfloat16, k 8192, m 8192, n 8192, 403 MB to read and write once``."""
    sizes = ", ".join(f"{name} {value}" for name, value in sorted(facts.integers.items()))
    moved = f"{quantity(facts.algorithmic_bytes, 'byte')} to read and write once" if facts.algorithmic_bytes else ""
    return one_line(", ".join(filter(None, [facts.dtype, sizes, moved])), 300)


def l2_words(row: WorkloadRow | None) -> str:
    """Return what of a workload fits in L2, in a sentence; empty for one that does not."""
    if row is None or row.in_l2 is None or row.l2_bytes is None:
        return ""
    facts, size = row.workload, quantity(row.l2_bytes, "byte")
    if row.in_l2 == "all":
        return f"all {quantity(facts.algorithmic_bytes or 0, 'byte')} fit in L2 ({size}), {NO_RATE}"
    return f"the {quantity(facts.written_bytes or 0, 'byte')} written fit in L2 ({size}) and may stay there, {NO_RATE}"


def power_words(bench: Bench) -> str:
    """Return the most that the board drew in a bench, of what it may; empty where that is not known."""
    if bench.power_w is None:
        return ""
    limit = f" of {bench.power_limit_w:.0f}" if bench.power_limit_w else ""
    return f"{bench.power_w:.0f}{limit} W at most"


BEATEN = 1.005  # a time this far below its floor is no noise of the median: verdicts tell half a percent apart
LOWERED = 0.97  # of the highest clock that the same version had in the bench


def lowered_words(bench: Bench | None, timing: Timing | None) -> str:
    """Return by how much the clock of a version was lowered while it was timed, and why; empty where it was not.

    How much a version draws decides its clock then, so that versions differ in time by other factors than in cycles.
    NVML is asked between rounds only, and may name no reason.
    """
    if bench is None or timing is None or not timing.sm_clock_mhz:
        return ""
    highest = max(bench.timings, key=lambda one: one.sm_clock_mhz or 0.0)
    if timing.sm_clock_mhz >= LOWERED * (highest.sm_clock_mhz or 0.0):
        return ""
    why = [one_line(reason) for reason in bench.throttle_reasons or ()]
    said = [f"SM at {timing.sm_clock_mhz:.0f} MHz while it was timed, {highest.sm_clock_mhz:.0f} on {highest.workload}"]
    return "; ".join((*said, *why, *filter(None, (power_words(bench),))))


def copy_words(kept: str | None) -> str:
    """Return what a share of copy of a workload is of, where its data lies in L2; empty where DRAM moves it."""
    return f"{WHAT[kept]} {COPY_TOO}" if kept else ""


def no_rates(rows: Sequence[WorkloadRow]) -> list[str]:
    """Return a line for each remark that a table has in the place of a rate; none where its rates are of operations."""
    found: dict[str, list[WorkloadRow]] = {}
    for row in rows:
        if row.in_l2 is not None and measure_of(rows) is not OPERATIONS:
            found.setdefault(row.in_l2, []).append(row)
    return [
        f"{IN_L2[kind]}: {WHAT[kind]} fits there ({quantity(some[0].l2_bytes or 0, 'byte')}), {NO_RATE}"
        for kind, some in found.items()
    ]


UNMEASURED = "the rate of the host link was not measured: ncu-assist ceilings"


def floor_words(row: WorkloadRow | None) -> str:
    """Return the floor and how far the version is from it; empty for what was not timed, or compared with nothing."""
    if row is None or row.timing is None:
        return ""
    floor, timing = row.floor, row.timing
    first = [f"{floor_note(floor)}{_from_floor(floor, timing)}"] if floor else list(_unknown(row))
    near = _near(floor) if floor else ()
    return "; ".join([*first, *near, *_beside(row, timing, far=floor is None)])


NEAR = 0.8  # of the floor: where what has to be done besides does not overlap with it, this adds up to nearly twice


def _near(floor: Floor) -> Iterator[str]:
    """Yield what else the workload has to do that takes nearly as long, of another unit than what sets the floor."""
    for term in floor.terms[1:]:
        if term.ns >= NEAR * floor.ns and term.unit != "launch":
            yield f"{quantity(term.amount, term.unit)} of {term.bound} take {duration(term.ns)}"


FLOOR = "of floor"
FLOOR_TERM = Term(
    FLOOR,
    "floor_ns / median_ns",
    "the time that what the workload has to move or compute takes at the best rates measured, over the median: "
    "100 % is at the floor, a little more within the spread of those rates",
)


def floor_note(floor: Floor) -> str:
    """Return a floor and what it is by, e.g. ``250 µs, 1.07 GB at the 4.29 TB/s of DRAM (measured on this GPU)``."""
    if floor.unit == "launch":
        return f"{duration(floor.ns)}, {floor.bound} ({one_line(floor.why)})"
    rate = f"{quantity(floor.per_second, f'{floor.unit}/s')} of {floor.bound}"
    return f"{duration(floor.ns)}, {quantity(floor.amount, floor.unit)} at the {rate} ({one_line(floor.why)})"


def _unknown(row: WorkloadRow) -> Iterator[str]:
    if row.workload.host_bytes is not None:
        yield f"not known for {quantity(row.workload.host_bytes, 'byte')} from the host; {UNMEASURED}"


def _beside(row: WorkloadRow, timing: Timing, *, far: bool) -> Iterator[str]:
    """Yield what was timed beside the version. A device copy says nothing of bytes that cross the link."""
    if row.workload.host_bytes is not None:
        if timing.link_ns:
            taken = f"the copy engine takes {duration(timing.link_ns)} for them"
            yield taken + (_how_far(timing.link_ns / timing.median_ns) if far else "")
    elif timing.copy_ns and row.share_of_copy and row.measure is COPY:
        far_from = _how_far(row.share_of_copy, ", no faster")
        yield f"a device copy of the same bytes takes {duration(timing.copy_ns)}{far_from}"
        if kept := l2_words(row):
            yield kept


def _from_floor(floor: Floor, timing: Timing) -> str:
    """Return how far a version is from its floor; the word *assumed* where that rests on a rate that is.

    What stands on a rate that was measured can be beaten: by another GPU of its kind, or where results stay in L2.
    """
    share = floor.ns / timing.median_ns
    is_beaten = share >= BEATEN and floor.unit != "launch"
    far = f": {100 * (1 - 1 / share):.1f} % under it" if is_beaten else _how_far(share)
    away = far + (", assumed" if floor.assumed else "")
    ran, measured = timing.sm_clock_mhz, floor.clock_mhz
    if not ran or not measured or share >= 1 or ran >= LOWERED * measured:
        return away
    clocks = f"that rate was measured at {measured:.0f} MHz, this ran at {ran:.0f}"
    return f"{away} ({factor(max(1.0, ran / measured / share))} at one clock: {clocks})"


def _how_far(share: float, beyond: str = ": reached") -> str:
    if share <= 0:
        return ""
    return f", {factor(1 / share)} away" if share < 1 else beyond


def operations_words(shown: RunView) -> str:
    """Return the operations needed and those counted, e.g. ``1.10 TFLOP needed; counted: Tensor BF16 1.10 TFLOP``.

    Empty but for work whose least time operations set, and without counters.
    """
    needed, counted = counted_operations(shown)
    if not counted:
        return ""
    each = (f"{label} {quantity(count, 'flop')} ({count / needed:.2f}x)" for label, count in counted)
    return f"{quantity(needed, 'flop')} needed; counted: {', '.join(each)}"


def library_sentence(one: OwnAgainstLibrary | None) -> str:
    """Return e.g. ``own / library: v9_wide 18.2 µs, v2_torch_cudnn 20.1 µs: 1.10x faster``; empty for None."""
    if one is None:
        return ""
    sides = ((one.own, one.own_ns), (one.library, one.library_ns))
    own, library = (f"{one_line(name)} {duration(ns)}" for name, ns in sides)
    return f"{OWN_TERM.label}: {own}, {library}: {against(one.verdict) if one.verdict else 'not timed in one bench'}"


def library_table(every: Sequence[OwnAgainstLibrary], intervals: bool = True) -> Table:
    """Return a row a workload with the fastest own version, the fastest library, and the verdict on the two.

    ``intervals``: with the interval of each verdict below it, for which a terminal has no room.
    """
    rows = tuple(
        (
            Cell(one_line(one.workload)),
            judged if intervals else replace(judged, note=""),
            number(one_line(one.own), one.own_ns, duration(one.own_ns)),
            number(one_line(one.library), one.library_ns, duration(one.library_ns)),
        )
        for one in every
        for judged in (ratio_cell(one),)
    )
    return Table("library-table", "The fastest own version against the fastest library", COLUMNS, rows)


def library_words(every: Sequence[OwnAgainstLibrary], alone: tuple[str, str, float] | None) -> str:
    """Return in sentences on how many workloads own versions win, by how much, where libraries do; empty for one.

    ``alone`` is the one version that does best where it does worst against libraries, that workload and that ratio.
    """
    if len(every) < 2:
        return ""
    of_all = f"{len(every)} workloads"
    told = sorted((one.ratio, one.workload, one.verdict.verdict) for one in every if one.verdict and one.ratio)
    won = [(ratio, name) for ratio, name, said in told if said == "faster"]
    lost = [(ratio, name) for ratio, name, said in told if said == "slower"]
    own = f"Own versions are faster than the fastest library on {len(won) or 'none'} of {of_all}"
    if won:
        ends = list(dict.fromkeys((won[0], won[-1])))
        own += f", by {' to '.join(f'{factor(ratio)} ({one_line(name)})' for ratio, name in ends)}"
    if lost:
        own += f"; a library wins on {', '.join(f'{one_line(name)} ({factor(1 / ratio)})' for ratio, name in lost)}"
    else:
        own += "; a library wins on none"
    decided = {name for _, name in (*won, *lost)}
    rest = [one_line(one.workload) for one in every if one.workload not in decided]
    own += f"; the same, or undecided: {', '.join(rest)}" if rest else ""
    if alone is None:
        return f"{own}."
    version, workload, ratio = alone
    least = f"{faster_or_slower(ratio) or 'the same'} on {one_line(workload)} at worst"
    if ratio > 1.0:
        return f"{own}. One version alone, {one_line(version)}, is faster on all of them: {least}."
    return f"{own}. No version alone is faster on all of them; {one_line(version)} comes nearest: {least}."


def ratio_cell(one: OwnAgainstLibrary | None, names: bool = False) -> Cell:
    """Return the verdict on one, absent without a bench of both, by its ratio; below it its interval, or ``names``."""
    badge = verdict_badge(one.verdict) if one else None
    if one is None or one.verdict is None or badge is None:
        return Cell()
    if not names:
        interval = f"99 %: {interval_words(one.verdict)}" if one.verdict.low is not None else ""
        return Cell(badge.text, repr(one.ratio), badge=badge, note=interval)
    said, _, ratio = badge.text.partition(" (")  # where it is unclear or the same, the ratio stands with the names
    beside = f"{one_line(short_name(one.own))}\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}{one_line(short_name(one.library))}"
    told = f"{ratio.rstrip(')')}, {beside}" if ratio else beside
    return Cell(said, repr(one.ratio), badge=replace(badge, text=said), note=told)
