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
OTHER_SIZE, OTHER_WORK, NO_RESULT, UNKNOWN_WORK = "other-size", "other-work", "no-result", "unknown-work"
ARE_OTHER = OTHER_SIZE, OTHER_WORK, NO_RESULT
# How much more a thread or an instruction may do where only the code changed: 16 bytes a load instead of one.
MOST_WORK_A_THREAD = 16
BYTES, INSTRUCTIONS = "dram_bytes", "instructions"
# All ways in which what a kernel computes leaves its SMs: L1 writes through, and TMA stores pass here too.
RESULTS = ("l2_sectors_write", "l2_sectors_reduction", "l2_sectors_atomic")
SPILLED = "local_store_sectors"  # of a thread's own memory: they pass with the results, and are none


def work_doubt(pair: LaunchPair, tables: tuple[Tables, Tables]) -> str:
    """Return the reason code of what speaks against the same work in a pair of launches, empty where nothing does.

    Code that did everything in one thread may be given many: threads count only with the bytes of DRAM, or where these
    are not known the instructions. What has one function's name on both sides may have found a way with fewer of
    everything but of the results that it writes. Where not even a name says that the work is the same, bytes and
    instructions must not both say that it is not: code that reuses more moves fewer bytes by the same instructions, and
    wider loads move the same bytes by fewer. What wrote nothing, with far fewer instructions, did none of the work.
    """
    threads = threads_apart(pair)
    named = pair.confidence != "order" or pair.baseline[0].kernel == pair.candidate[0].kernel
    executed = _apart(_counted(pair, tables, INSTRUCTIONS))
    if named and not threads and not executed:
        return ""
    moved, results = _apart(_counted(pair, tables, BYTES)), _results(pair, tables, executed or 0)
    if executed and results and not results[executed < 0] and results[executed > 0]:
        return NO_RESULT
    if named and moved and moved == executed == _apart(results):
        return OTHER_SIZE
    if named and not threads:
        return ""
    work = executed if moved is None else moved
    if work is None:
        return UNKNOWN_WORK
    if threads and work == threads:
        return OTHER_SIZE
    return OTHER_WORK if not named and moved and moved == executed else ""


def work_doubts(pairs: Sequence[LaunchPair], tables: tuple[Tables, Tables]) -> list[str]:
    """Return what ``work_doubt`` does of each pair; where a program is of another size, more work says that of all.

    One launch with more threads and more work shows that: beside it, more bytes and instructions of another are no
    worse code.
    """
    doubts = [work_doubt(pair, tables) for pair in pairs]
    sizes = {_more_work(pair, tables) for pair, doubt in zip(pairs, doubts, strict=True) if doubt == OTHER_SIZE} - {0}
    return [
        OTHER_SIZE if not doubt and sizes and {_more_work(pair, tables)} == sizes else doubt
        for pair, doubt in zip(pairs, doubts, strict=True)
    ]


def _more_work(pair: LaunchPair, tables: tuple[Tables, Tables]) -> int:
    """Return which side moves and executes more than 16 times as much: 1 the candidate, -1 the baseline, 0 neither."""
    moved, executed = (_apart(_counted(pair, tables, key)) for key in (BYTES, INSTRUCTIONS))
    return moved if moved and moved == executed else 0


def _results(pair: LaunchPair, tables: tuple[Tables, Tables], more: int = 0) -> Both | None:
    """Return the sectors that a launch of either side wrote; None for chains, and where they were not all counted.

    At least what the side that did ``more`` wrote (1 the candidate, -1 the baseline), at most what the other did: those
    of local memory pass with them, as far as L1 did not keep them.
    """
    before, after = _written(pair.baseline[0], tables[0]), _written(pair.candidate[0], tables[1])
    if before is None or after is None or not _is_single(pair):
        return None
    return before[more >= 0], after[more <= 0]


def _written(launch: Launch, tables: Tables) -> Both | None:
    known = [one for key in RESULTS if (one := _value(launch, tables, key)) is not None]
    spilled = _value(launch, tables, SPILLED) or 0.0
    return (max(0.0, sum(known) - spilled), sum(known)) if len(known) == len(RESULTS) else None


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
    others = [(pair, doubt) for pair, doubt in zip(pairs, doubts, strict=True) if doubt in ARE_OTHER]
    is_most = any(
        2.0 * _time([pair for pair, _ in others], side) >= _time(pairs, side) > 0.0
        for side in ("baseline", "candidate")
    )
    found: list[RunDifference] = []
    for pair, doubt in zip(pairs, doubts, strict=True):
        names = " → ".join(dict.fromkeys((pair.baseline[0].kernel, pair.candidate[0].kernel)))
        hard = is_most and doubt in ARE_OTHER
        if threads_apart(pair):
            question = ", another size of the problem?" if doubt and doubt != NO_RESULT else ""
            before, after = (f"{count:,}" for count in _threads(pair))
            found.append(RunDifference(f"threads of {names}{question}", before, after, hard))
        if doubt in ARE_OTHER and not (doubt == OTHER_SIZE and threads_apart(pair)):
            told = [(ROWS[key].label, ROWS[key].unit, _counted(pair, tables, key)) for key in (BYTES, INSTRUCTIONS)]
            for label, unit, counts in (*told, ("L2 sectors written", "sector", _results(pair, tables))):
                before, after = (quantity(one, unit) for one in counts or (0.0, 0.0))
                found += [RunDifference(f"{label} of {names}", before, after, hard)] if counts else []
    first = {one.what: one for one in reversed(found)}  # of several launches of a function
    return tuple(one for one in found if first[one.what] is one), others[0][1] if is_most else ""


def _time(pairs: Iterable[LaunchPair], side: str) -> float:
    """Return the time of all launches that one side has in pairs, as far as it is known."""
    return sum(one.duration_ns or 0.0 for pair in pairs for one in getattr(pair, side))


def _threads(pair: LaunchPair) -> Both:
    """Return the threads of a launch of either side; zeros for chains."""
    if not _is_single(pair):
        return 0, 0
    before, after = (prod(one.grid) * prod(one.block) for one in (pair.baseline[0], pair.candidate[0]))
    return before, after


def _is_single(pair: LaunchPair) -> bool:
    return pair.repeats or len(pair.baseline) == len(pair.candidate) == 1


def _counted(pair: LaunchPair, tables: tuple[Tables, Tables], key: str) -> Both | None:
    """Return what was counted of the first launch of each side; None where it was not."""
    before, after = (
        _value(side[0], own, key) for side, own in zip((pair.baseline, pair.candidate), tables, strict=True)
    )
    return None if before is None or after is None else (before, after)


def _value(launch: Launch, tables: Tables, key: str) -> float | None:
    return combine_launches(None, [launch], [tables.get(launch.index, {})]).values[key]


def _apart(counts: Both | None) -> int | None:
    """Return 1 where the second is more than MOST_WORK_A_THREAD times the first, -1 the other way round, else 0.

    None where they are not known, and where a side did nothing.
    """
    if counts is None or not min(counts):
        return None
    if max(counts) <= MOST_WORK_A_THREAD * min(counts):
        return 0
    return 1 if counts[1] > counts[0] else -1
