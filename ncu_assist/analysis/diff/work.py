"""Whether the launches of a pair do the same work, as far as names and what ncu counted of them can say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from ncu_assist.analysis.diff.pairing import LaunchPair
from ncu_assist.analysis.diff.records import RunDifference
from ncu_assist.frame import combine_launches
from ncu_assist.frame.columns import Values
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import quantity
from ncu_assist.record import Launch

Tables = Mapping[int, Values]
Both = tuple[float, float]
OTHER_SIZE, OTHER_WORK, UNKNOWN_WORK = "other-size", "other-work", "unknown-work"
# How much more a thread or an instruction may do where only the code changed: 16 bytes a load instead of one.
MOST_WORK_A_THREAD = 16
BYTES, INSTRUCTIONS = "dram_bytes", "instructions"


def work_doubt(pair: LaunchPair, tables: tuple[Tables, Tables]) -> str:
    """Return the reason code of what speaks against the same work in a pair of launches, empty where nothing does.

    Code that did everything in one thread may be given many: threads count only with the bytes of DRAM, or where these
    are not known the instructions. What has one function's name on both sides may have found a way with fewer of
    everything. Where not even a name says that the work is the same, bytes and instructions must not both say that it
    is not: code that reuses more moves fewer bytes by the same instructions, and wider loads move the same bytes by
    fewer.
    """
    threads = threads_apart(pair)
    named = pair.confidence != "order" or pair.baseline[0].kernel == pair.candidate[0].kernel
    if not threads and named:
        return ""
    moved, executed = (_apart(_counted(pair, tables, key)) for key in (BYTES, INSTRUCTIONS))
    work = executed if moved is None else moved
    if work is None:
        return UNKNOWN_WORK
    if threads and work == threads:
        return OTHER_SIZE
    return OTHER_WORK if not named and moved and moved == executed else ""


def threads_apart(pair: LaunchPair) -> int:
    """Return which side has the more threads by more than a thread may do more: 1 the candidate, -1 the baseline."""
    return _apart(_threads(pair)) or 0


def is_repeated(launches: Sequence[Launch], tables: Tables) -> bool:
    """Return whether launches of one function and shape may be one work again: levels of a tree, a frontier are not."""
    counts = [count for one in launches if (count := CATALOGUE[INSTRUCTIONS].value(tables.get(one.index, {})))]
    return not counts or not _apart((min(counts), max(counts)))


def work_differences(
    pairs: Sequence[LaunchPair], doubts: Sequence[str], tables: tuple[Tables, Tables]
) -> tuple[tuple[RunDifference, ...], str]:
    """Return what says of pairs that their work differs, and the reason code that forbids the comparison, or empty.

    ``doubts`` are what ``work_doubt`` returns of each. Other work forbids it where most of the time of a side is spent
    in it.
    """
    others = [(pair, doubt) for pair, doubt in zip(pairs, doubts, strict=True) if doubt in (OTHER_SIZE, OTHER_WORK)]
    is_most = any(
        2.0 * _time([pair for pair, _ in others], side) >= _time(pairs, side) > 0.0
        for side in ("baseline", "candidate")
    )
    found = []
    for pair, doubt in zip(pairs, doubts, strict=True):
        names = " → ".join(dict.fromkeys((pair.baseline[0].kernel, pair.candidate[0].kernel)))
        is_other = doubt in (OTHER_SIZE, OTHER_WORK)
        if threads_apart(pair):
            question = ", another size of the problem?" if doubt else ""
            before, after = (f"{count:,}" for count in _threads(pair))
            found.append(RunDifference(f"threads of {names}{question}", before, after, is_most and is_other))
        if doubt == OTHER_WORK:
            for key in (BYTES, INSTRUCTIONS):
                counts = _counted(pair, tables, key) or (0.0, 0.0)
                before, after = (quantity(one, ROWS[key].unit) for one in counts)
                found.append(RunDifference(f"{ROWS[key].label} of {names}", before, after, is_most))
    return tuple(found), others[0][1] if is_most else ""


def _time(pairs: Iterable[LaunchPair], side: str) -> float:
    """Return the time of all launches that one side has in pairs, as far as it is known."""
    return sum(one.duration_ns or 0.0 for pair in pairs for one in getattr(pair, side))


def _threads(pair: LaunchPair) -> Both:
    """Return the threads of a launch of either side; zeros for chains."""
    if not (pair.repeats or len(pair.baseline) == len(pair.candidate) == 1):
        return 0, 0
    before, after = (prod(one.grid) * prod(one.block) for one in (pair.baseline[0], pair.candidate[0]))
    return before, after


def _counted(pair: LaunchPair, tables: tuple[Tables, Tables], key: str) -> Both | None:
    """Return what was counted of the first launch of each side; None where it was not, or a side did nothing."""
    found = [_value(side[0], own, key) for side, own in zip((pair.baseline, pair.candidate), tables, strict=True)]
    before, after = found
    return (before, after) if before and after else None


def _value(launch: Launch, tables: Tables, key: str) -> float | None:
    return combine_launches(None, [launch], [tables.get(launch.index, {})]).values[key]


def _apart(counts: Both | None) -> int | None:
    """Return 1 where the second is more than MOST_WORK_A_THREAD times the first, -1 the other way round, else 0.

    None where they are not known.
    """
    if counts is None:
        return None
    if not min(counts) or max(counts) <= MOST_WORK_A_THREAD * min(counts):
        return 0
    return 1 if counts[1] > counts[0] else -1
