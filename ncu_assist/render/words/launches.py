"""The launches of a run as a table, what would pay across them, and how many tiles and clusters fit, in sentences."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ncu_assist.analysis.launches import LaunchGroup
from ncu_assist.quantity import duration, percent
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, Cell, Column, Table, amount
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.rules.model.diagnosis import NEAR_CEILING
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.libraries import library_kernel
from ncu_assist.rules.model.occupancy import cluster_room, tile_room
from ncu_assist.rules.model.resources import DRAM_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ncu_assist.analysis.launches import LaunchRow, Payoff
    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.record import Launch
    from ncu_assist.rules.model.of_run import RuleResults

COLUMNS = (
    Column("#", "right", "number"),
    Column("kernel", wraps=True),
    Column("grid", "right", ""),
    Column("time", "right", "number"),
    Column("share", "right", "number"),
    Column("bound by", wraps=True),
    Column("diagnosis", wraps=True),
    Column("to floor", "right", "number"),
)
TO_FLOOR = (
    "to floor: the time over the least time for start, bytes and operations, or over what its finding leaves if that "
    "is less; the gain of the finding is included"
)
OF_WORKLOAD = "to floor: the median over the workload's floor; of a part, its own over its own"
TOO_FEW, INTERRUPTED = "too few counters", "interrupted"
FAR_ABOVE = 2.0  # times its floor: from here on it is told what the floor is made of
ALIKE = 0.9  # of the most that a launch could win: those with at least as much are not worth telling apart
LEAST_TOLD = 0.005  # of all time: a change that wins less is not worth a sentence
MOST_KERNELS = 3  # of a selection, by name
KERNEL = 200  # letters of a kernel where there is room
NAME, TITLE = 40, 24  # letters of a kernel in a sentence, and in a title
MOST_NUMBERS = 24  # letters of the numbers of launches
OF_TEMPLATES = ("Kernel", "Kernel2", "kernel", "device_kernel", "_kernel_agent")  # names that say nothing alone

LIMIT_WORDS = {"shared": "shared memory", "blocks": "places for blocks"}


def selection_words(launches: Sequence[Launch], profiled: int) -> str:
    """Return which launches of a run these are: ``27 launches``, ``launch 2 of 27, small_scale``."""
    count, kernels = len(launches), list(dict.fromkeys(kernel_words(one, NAME) for one in launches))
    if count == profiled != 1:
        return f"{count} launches"
    of = f" of {profiled}" if profiled > 1 else ""
    first = f"launch {launches[0].index}{of}" if count == 1 else f"{count}{of} launches"
    named = ", ".join(kernels[:MOST_KERNELS])
    return f"{first}, {named}{', …' if len(kernels) > MOST_KERNELS else ''}" if kernels else first


def launch_table(shown: RunView, most: int | None = None) -> Table:
    """Return the launches shown, those of one kernel in a row, what takes longest first; ``most`` rows of them.

    A note in the cell of the kernel is the NVTX range, with how many launches are in a row before it; one in that of
    the diagnosis is what it leaves unexplained.
    """
    groups = shown.groups
    rows = tuple(launch_cells(one) for one in groups[:most])
    return Table("launches-table", "Launches, the longest first, each judged alone", COLUMNS, rows)


def launch_cells(group: LaunchGroup) -> tuple[Cell, ...]:
    """Return the row of launches of one kernel."""
    told, took, times = group.told, group.duration_ns, group.times_floor
    count = f"{len(group.rows)} × " if len(group.rows) > 1 else ""
    return (
        Cell(group.numbers, repr(float(group.rows[0].launch.index))),
        Cell(f"{count}{kernel_words(told.launch)}", note=_ranges(group)),
        Cell(grid_words(group)),
        amount(took, duration),
        amount(group.share, share_words),
        Cell(told.bottleneck.name) if told.bottleneck else Cell(),
        Cell(diagnosis_words(group), note=unexplained_words(group)),
        amount(times, times_words),
    )


def _ranges(group: LaunchGroup) -> str:
    """Return the NVTX ranges of a program; those of a call on a workload are ours, and say no more than that."""
    return one_line("/".join(group.ranges)) if group.told.launch.workload is None else ""


def kernel_words(launch: Launch, limit: int = KERNEL) -> str:
    """Return the name of a kernel; the library before one that says nothing alone, e.g. ``CUTLASS Kernel``."""
    of = library_kernel(launch) if launch.kernel in OF_TEMPLATES else None
    return one_line(f"{of.library} {launch.kernel}" if of else launch.kernel, limit)


def grid_words(group: LaunchGroup) -> str:
    """Return the grid of a group's launches without dimensions of one, e.g. ``128x64``; how many there are of them."""
    if group.grid is None:
        return f"{len({row.launch.grid for row in group.rows})} grids"
    return shape_words(group.grid)


def shape_words(shape: tuple[int, int, int]) -> str:
    """Return a grid or block without the trailing dimensions that are one; ``-`` for what is no kernel."""
    x, y, z = shape
    if not x:
        return ABSENT
    return "x".join(map(str, (x, y, z) if z != 1 else (x, y) if y != 1 else (x,)))


def first_numbers(numbers: str) -> str:
    """Return the first of many numbers of launches."""
    if len(numbers) <= MOST_NUMBERS:
        return numbers
    return numbers[: numbers.rindex(",", 0, MOST_NUMBERS)] + ", …"


def share_words(share: float) -> str:
    """Return a part of the time in whole percent, ``<1 %`` for one that is next to nothing."""
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def times_words(times: float) -> str:
    """Return how often a floor fits in a time, e.g. ``1.3x``; what does next to nothing is a thousand times over it."""
    if times >= 1000:
        return ">1000x"
    return f"{times:.2f}x" if times < 10 else f"{times:.0f}x"


def floor_unit(row: LaunchRow) -> str:
    """Return what sets the counted floor of a launch that is far above it; empty where it is near, or a finding's."""
    floor = row.floor
    is_told = floor and (floor.times or 0.0) >= FAR_ABOVE and not (floor.of_workload or floor.by_finding)
    return floor.by if floor and is_told else ""


def floor_units_words(groups: Sequence[LaunchGroup]) -> str:
    """Return what sets floors far below the times: ``floor set by: host link in launches 0, 1; start in launch 3``."""
    units: dict[str, list[int]] = {}
    rows = [row for group in groups for row in group.rows]
    for row in rows:
        if name := floor_unit(row):
            units.setdefault(name, []).append(row.launch.index)
    told = (f"{name} in {_these_launches(sorted(found), len(rows))}" for name, found in units.items())
    return f"floor set by: {'; '.join(told)}" if units else ""


def _these_launches(indices: Sequence[int], every: int) -> str:
    """Return ``launch 3``, ``launches 0, 1``, ``all 20 launches``, or the first of many and how many more there are.

    Two that are all of ``every`` launch shown are named: nobody says ``all 2``.
    """
    if 2 < len(indices) == every:
        return f"all {every} launches"
    numbers = first_numbers(", ".join(map(str, indices))).removesuffix(", …")
    more = len(indices) - numbers.count(",") - 1
    return f"{'launches' if indices[1:] else 'launch'} {numbers}{f' and {more} more' if more else ''}"


def diagnosis_word(row: LaunchRow) -> str:
    """Return the rule that a launch alone is diagnosed with; ``-`` where it was not judged."""
    if row.launch.interrupted:
        return INTERRUPTED
    if row.first is None or row.results is None:
        return "-"
    return TOO_FEW if row.results.diagnosis.lacks_counters else row.first.finding.rule


def lacking_word(results: RuleResults) -> str:
    """Return why rules say nothing of launches: they ended with the program, or few counters; empty where they do."""
    if not results.diagnosis.lacks_counters:
        return ""
    return INTERRUPTED if results.facts.is_interrupted else TOO_FEW


def diagnosis_words(group: LaunchGroup) -> str:
    """Return the diagnosis of a group's launch with the most to win, and of how many of them where that is not all."""
    word = diagnosis_word(group.told)
    same = sum(diagnosis_word(row) == word for row in group.rows)
    return word if same == len(group.rows) or word == "-" else f"{word} ({same} of {len(group.rows)})"


def unexplained_words(of: LaunchRow | LaunchGroup) -> str:
    """Return how far launches are above their floor for no known cause; empty where a finding explains it."""
    rows = of.rows if isinstance(of, LaunchGroup) else (of,)
    assumed = any(row.floor.assumed for row in rows if row.floor and row.unexplained_ns)
    floor = "an assumed floor" if assumed else "the floor"
    return f"{duration(of.unexplained_ns)} above {floor}, cause unknown" if of.unexplained_ns else ""


def unjudged_words(shown: RunView) -> str:
    """Return how many launches of the table were not judged one by one; empty where all were."""
    idle = [row for group in shown.groups for row in group.rows if not row.judged]
    if not idle:
        return ""
    shares = [row.share for row in idle if row.share is not None]
    time = f" ({share_words(sum(shares))} of the time)" if shares else ""
    return f"the {len(idle)} shortest launches{time} were not judged: --json judges all"


def chosen_words(shown: RunView) -> str:
    """Return of how many launches those shown were chosen; empty where all are."""
    count = len(shown.launches)
    of = "run" if shown.run.run_id else "report"
    return f"{count} of the {shown.profiled} launches of this {of}" if count < shown.profiled else ""


MOST_SPREADS = 6  # kernels


def spread_sentences(shown: RunView) -> list[str]:
    """Return how far times stray over the runs of a program that was run several times: of all, then of each row."""
    combined = shown.combined
    if combined.workload is not None or combined.repeats < 2:
        return []
    known = {one.index: place for place, one in enumerate(combined.launches)}
    said = [f"over {combined.repeats} runs of the program: {_spread(combined.samples('duration'))}"]
    for group in shown.groups[:MOST_SPREADS] if len(shown.groups) > 1 else ():
        places = [known[row.launch.index] for row in group.rows if row.launch.index in known]
        name = kernel_words(group.told.launch, NAME)
        said.append(f"  {group.numbers} {name}: {_spread(combined.of_places(places).samples('duration'))}")
    return said


def _spread(times: Sequence[float]) -> str:
    if not times:
        return "no times"
    low, high = min(times), max(times)
    return f"{duration(median(times))}, from {duration(low)} to {duration(high)} ({100 * (high / low - 1):.1f} %)"


def focus_words(shown: RunView) -> str:
    """Return which launch details are of, e.g. ``Launch 2, wmma_gemm``, and why that one; empty for a call."""
    if shown.focus is None:
        return ""
    launch, count = shown.focus.launch, sum(len(group.rows) for group in shown.groups)
    why = f", {why_in_focus(shown)} of {count} (--launch N: another)" if count > 1 else ""
    return f"Launch {launch.index}, {kernel_words(launch, TITLE)}{why}"


def why_in_focus(shown: RunView) -> str:
    """Return why details are of this launch: ``the most to win``, of all or of those that together win most."""
    if shown.focus is not None and shown.focus.unexplained_ns and shown.payoffs:
        return "the farthest above its floor"
    if shown.focus is None or not shown.focus.winnable_ns:
        return "the first" if shown.focus is not None and shown.focus.launch.duration_ns is None else "the longest"
    is_most = all((row.winnable_ns or 0.0) <= shown.focus.winnable_ns for group in shown.groups for row in group.rows)
    return "the most to win" if is_most else f"the most to win of {len(shown.payoffs[0].rows)} alike,"


def payoff_sentences(shown: RunView, most: int | None = None, figures: bool = True) -> list[str]:
    """Return a sentence on each change that would pay across launches, the most winnable time first.

    Without ``figures`` it leaves out those of the advice, which the diagnosis has.

    E.g. ``2 float32 matrix products of cuBLAS take 81 % of the time; multiply in TF32: up to 3.1 ms less (52 %)``.
    """
    return [payoff_sentence(one, figures) for one in worth_telling(shown)[:most]]


def worth_telling(shown: RunView) -> list[Payoff]:
    """Return the changes that win enough of all time to be told, the most winnable first."""
    return [one for one in shown.payoffs if one.won is None or one.won >= LEAST_TOLD]


def payoff_sentence(payoff: Payoff, figures: bool = True) -> str:
    count = len(payoff.rows)
    won = f" ({share_words(payoff.won)} of all time)" if payoff.won is not None else ""
    unsure = ", assumed" if payoff.assumed else ""
    time = (
        "" if payoff.share is None else f" {'take' if count > 1 else 'takes'} {share_words(payoff.share)} of the time"
    )
    advice = (payoff.full_advice if figures else payoff.advice) or (
        f"see {payoff.rule}" if payoff.rule != NEAR_CEILING else ""
    )
    return f"{_what(payoff)}{time}; {payoff.rule}: {advice}: up to {duration(payoff.winnable_ns)} less{won}{unsure}"


def to_win(payoff: Payoff) -> str:
    """Return how the launch with most to win stands to the others that a change is for; empty for one alone.

    E.g. ``has the most to win of these 4, 12.0 µs``, ``is shown first: all 11 are alike, 128 to 137 µs each to win``.
    """
    wins = payoff.wins
    if len(wins) < 2:
        return ""
    if min(wins) < ALIKE * max(wins):
        return f"has the most to win of these {len(wins)}, {duration(max(wins))}"
    least, most = duration(min(wins)), duration(max(wins))
    low = least.removesuffix(most[most.rfind(" ") :])
    each = most if least == most else f"{low} to {most}"
    return f"is shown first; all {len(wins)} are alike, {each} each to win"


def _what(payoff: Payoff) -> str:
    """Return which launches a change is for; by number where another is for others of their kernel."""
    count = len(payoff.rows)
    launches = f"{count} launches of " if count > 1 else ""
    which = f" (#{first_numbers(LaunchGroup(payoff.rows).numbers)})" if payoff.is_part else ""
    if payoff.kernels > 1 and payoff.library is None:
        return f"{launches}{payoff.kernels} kernels{which}"
    if payoff.library is None:
        return f"{launches}{one_line(payoff.kernel, NAME)}{which}"
    return f"{count} × {payoff.library.words}{which}"


def bound_note(shown: RunView) -> str:
    """Return a note for behind the sentence on what binds a run; empty if there is nothing to explain.

    It says why DRAM is bound by its rows, or why the bar of a cache is longer, in the whole percents shown. That of L1
    is of active cycles, so it is held against the other in its share of all.
    """
    values, bound = shown.combined.values, shown.bottleneck
    if bound is None:
        return ""
    if bound.name == DRAM_ROWS:
        return "; scattered sectors open a row each"
    l1, l2, active = (values[key] for key in ("l1_cache_throughput", "l2_cache_throughput", "sm_active_share"))
    of_all = None if l1 is None or active is None else l1 * min(active, 100.0) / 100.0
    if any(one is not None and round(one) > round(bound.percent) for one in (of_all or l1, l2)):
        return "; a cache's bar above that counts parts that do not limit memory"
    return "; L1's bar above that is of active cycles" if l1 is not None and round(l1) > round(bound.percent) else ""


def block_limits(shown: RunView) -> dict[str, float]:
    """Return how many blocks each limit allows on an SM; empty where that is not known, and of several launches."""
    return allowed_blocks(shown.results.facts) if shown.results and len(shown.combined.launches) == 1 else {}


def limits_of(allowed: Mapping[str, float]) -> tuple[str, float]:
    """Return all that allow the fewest blocks, in words, and how many those are; empty where that is not known."""
    fewest = min(allowed.values(), default=0.0)
    return all_of([LIMIT_WORDS.get(word, word) for word, count in allowed.items() if count == fewest]), fewest


def all_of(names: Sequence[str]) -> str:
    """Return names as a sentence has them: ``registers, warps and shared memory``."""
    *most, last = names or ("",)
    return f"{', '.join(most)} and {last}" if most else last


def room_words(facts: Facts) -> tuple[str, ...]:
    """Return sentences on tiles and clusters of a launch; none for one without TMA and without clusters."""
    tiles, clusters = tile_room(facts), cluster_room(facts)
    said = []
    if tiles:
        said.append(f"A{tiles.told[1:]}.")
    if clusters:
        lost = 1 - clusters.blocks / clusters.alone if clusters.alone else 0.0
        without = f", {percent(lost)} fewer than without clusters" if lost > 0 else ""
        at_once = f"{clusters.clusters} at once: {clusters.blocks} blocks on the GPU"
        said.append(f"In clusters of {clusters.size}, {at_once}{without}.")
    return tuple(said)
