"""Which of several versions that are timed round by round cannot be the fastest any more.

A version is dropped at a look where it was slower than the fastest so far by more than MARGIN in so many of their
rounds that one which is not that much slower would show it by chance less often than the look allows: the sign test,
an exact binomial tail. Rounds are paired, so what slows a whole round slows both. Over all looks and versions the
chances add up to CHANCE at most (Bonferroni): one in a hundred races drops the fastest, or less.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from statistics import median

CHANCE = 0.01  # as verdicts are held at 99 %
MARGIN = 0.005  # that of verdicts: less is no difference
LOOKS = 4  # at fifths of the rounds: after the last fifth there is nothing left to save
Times = Mapping[str, Mapping[int, float]]  # ns of each version, by round


def is_look(rounds_done: int, rounds: int) -> bool:
    """Tell whether to look after so many rounds."""
    return any(rounds_done == round(rounds * part / (LOOKS + 1)) for part in range(1, LOOKS + 1))


def losers(times: Times, entered: int) -> set[str]:
    """Return the versions to drop, of those that are left of ``entered``; the fastest by its median never is."""
    known = {name: rounds for name, rounds in times.items() if rounds}
    if len(known) < 2:
        return set()
    fastest = min(known, key=lambda name: median(known[name].values()))
    chance = CHANCE / (LOOKS * (entered - 1))
    return {name for name in known if name != fastest and _is_slower(known[name], known[fastest], chance)}


def _is_slower(one: Mapping[int, float], fastest: Mapping[int, float], chance: float) -> bool:
    pairs = [(one[number], fastest[number]) for number in one.keys() & fastest.keys()]
    slower = sum(own > best * (1 + MARGIN) for own, best in pairs)
    return tail(len(pairs), slower) <= chance


def tail(count: int, least: int) -> float:
    """Return how likely at least so many heads are in so many throws."""
    return float(sum(comb(count, heads) for heads in range(least, count + 1)) / 2**count)
