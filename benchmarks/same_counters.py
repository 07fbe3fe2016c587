"""Hold the counters of a kernel against those of the same kernel: how many come out as changed, and which.

    python benchmarks/same_counters.py

The noise is learned from one half of the recordings in tests/data and tested on the other, both ways: every launch
against every other of the same work, and calls of ``profile --repeats`` against those of another process. Nothing
changed between them, so every word but unchanged and undecided is wrong. As in a diff, only what is always looked at
can be flagged; exit code 3 if any of it is.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from metric_noise import learned, measured, repeats

from ncu_assist.analysis.diff.changes import changes
from ncu_assist.analysis.diff.flagging import flags, with_roles
from ncu_assist.analysis.diff.noise import NoiseModel
from ncu_assist.frame import Combined, by_launch, combine_repeats
from ncu_assist.ncu.catalogue.noise import Recording, deviations
from ncu_assist.verdict import Verdict

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
HALVES = (
    (DATA / "repeats_full_h200_2025.3.1.ncu-rep.zst", DATA / "repeats_first"),
    (DATA / "repeats_again_full_h200_2025.3.1.ncu-rep.zst", DATA / "repeats_second"),
)
SLOWER = Verdict("slower", None, "interval-beyond", 0.5, 0.5, 0.5, 100)  # the verdict under which all is flagged
DECIDED = ("improved", "regressed", "changed")
Paths = Sequence[Path]
Tally = tuple[Counter[str], Counter[str]]  # of words, and of metrics with a wrong one


def noise_of(paths: Paths) -> NoiseModel:
    """Return what can be learned from some recordings."""
    groups, units = repeats(paths)
    return NoiseModel(Recording("gh100", "", "", 0, deviations(learned(list(groups.values()), units))))


def same_work(paths: Paths) -> dict[tuple[object, ...], list[Combined]]:
    """Return each launch alone, by what it does."""
    found: dict[tuple[object, ...], list[Combined]] = {}
    for launches, metrics in itertools.chain.from_iterable(map(measured, paths)):
        tables = by_launch(metrics)
        for one in launches:
            key = (one.kernel, one.grid, one.block)
            found.setdefault(key, []).append(combine_repeats(None, [[one]], tables))
    return found


def repeated(path: Path) -> dict[tuple[object, ...], Combined]:
    """Return the calls of each run of an archive as repeats, by what they do."""
    found = {}
    for launches, metrics in measured(path):
        made = combine_repeats(None, [[one] for one in launches], by_launch(metrics))
        found[launches[0].kernel, launches[0].grid, launches[0].block] = made
    return found


def pairs_of_launches(paths: Paths) -> Iterator[tuple[Combined, Combined]]:
    """Yield every launch with every other that does the same work."""
    for launches in same_work(paths).values():
        yield from itertools.permutations(launches, 2)


def pairs_of_processes(learnt: Path, tested: Path) -> Iterator[tuple[Combined, Combined]]:
    """Yield the repeated calls of two processes that do the same work, both ways."""
    left, right = repeated(learnt), repeated(tested)
    for key in left.keys() & right.keys():
        yield from ((left[key], right[key]), (right[key], left[key]))


def tally(pairs: Iterator[tuple[Combined, Combined]], noise: NoiseModel, every: bool) -> Tally:
    """Return how often each word was said and, of what is always looked at, a flag raised; then the wrong words."""
    words: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for before, after in pairs:
        told = with_roles(changes(before, after, noise, every), SLOWER)
        words += Counter(change.verdict for change in told)
        words["flagged"] += 0 if every else len(flags(told, SLOWER))
        words["pairs"] += 1
        named += Counter(f"{change.metric} {change.verdict}" for change in told if change.verdict in DECIDED)
    return words, named


def summary(words: Counter[str], named: Counter[str], every: bool) -> dict[str, object]:
    """Return the figures of a tally: values that both sides have, of them the wrong words, of those the worse ones."""
    return {
        "pairs": words["pairs"],
        "values": words["unchanged"] + words["undecided"] + named.total(),
        "wrong": named.total(),
        "worse": words["regressed"],
        **({} if every else {"flagged": words["flagged"]}),
        "words": {word: words[word] for word in (*DECIDED, "unchanged", "undecided", "missing")},
        "named": dict(named),
    }


def tallies(every: bool) -> dict[str, Tally]:
    """Return the tally of each half by the noise of the other, of both together, and of repeats by their own noise."""
    first = tally(pairs_of_launches(HALVES[1]), noise_of(HALVES[0]), every)
    second = tally(pairs_of_launches(HALVES[0]), noise_of(HALVES[1]), every)
    processes = tally(pairs_of_processes(HALVES[0][1], HALVES[1][1]), noise_of(()), every)
    return {
        "first to second": first,
        "second to first": second,
        "both ways": (first[0] + second[0], first[1] + second[1]),
        "repeats alone": processes,
    }


def main() -> int:
    """Print the figures of what is always looked at and of all metrics, and return the exit code."""
    found: dict[str, dict[str, object]] = {}
    for every, name in ((False, "always looked at"), (True, "all metrics")):
        found |= {f"{what}, {name}": summary(*told, every) for what, told in tallies(every).items()}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 3 if any(one.get("flagged") for one in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
