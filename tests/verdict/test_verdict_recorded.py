"""The paired rule on recorded samples of the same code: no pair is faster or slower.

A recording is tests/data/same_code_<name>.parquet: samples as a bench stores them, with a column ``pair`` (and ``kind``
where there are several): each pair has two versions, whose names sort baseline first. More files need no edit here.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from factories import samples_frame, times

from ncu_assist.verdict import compare

pytestmark = pytest.mark.slow

RECORDINGS = sorted((Path(__file__).parents[1] / "data").glob("same_code_*.parquet"))


def pair_words(samples: pd.DataFrame) -> Counter[str]:
    """Judge every pair of a recording; rows of the empty call and the copy, in brackets, belong to no pair."""
    versions = samples[~samples["version"].str.startswith("(")]
    found: Counter[str] = Counter()
    for key, frame in versions.groupby([name for name in ("workload", "kind", "pair") if name in versions]):
        baseline, candidate = (frame[frame["version"] == name] for name in sorted(frame["version"].unique()))
        verdict = compare(baseline, candidate)
        assert verdict.pairs > 0, f"{key}: no rounds in common"
        found[verdict.verdict] += 1
    return found


def recording(slowdowns: list[float]) -> pd.DataFrame:
    """Make samples as a recording has them, one pair a slowdown."""
    frames = [
        samples_frame(side, version=version).assign(pair=pair)
        for pair, slowdown in enumerate(slowdowns)
        for version, side in (("v2", times(1e5, 2 * pair)), ("v2 (again)", times(1e5, 2 * pair + 1) * (1 + slowdown)))
    ]
    other = samples_frame(np.ones(9), version="(empty)").assign(pair=0)
    return pd.concat([*frames, other], ignore_index=True)


def test_pairs_of_a_recording_are_judged_one_by_one() -> None:
    assert pair_words(recording([0.0, 0.05, -0.05, 0.05])) == Counter(slower=2, faster=1, same=1)
    two_kinds = pd.concat([recording([0.05]).assign(kind=kind) for kind in ("own", "same")])
    assert pair_words(two_kinds) == Counter(slower=2)


def test_no_recorded_pair_of_the_same_code_is_faster_or_slower() -> None:
    found = {path.stem: pair_words(pd.read_parquet(path)) for path in RECORDINGS}
    assert {name: words for name, words in found.items() if words["faster"] or words["slower"]} == {}
