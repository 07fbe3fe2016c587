"""The rules against the fault gallery: the first finding, the first three, and no advice where none is due."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
FIRST = 0.95  # of the cases of each half; and the right id is among the first three in all


@pytest.fixture(scope="module")
def judged() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import gallery_scores

        yield tuple(gallery_scores.judged())


@pytest.mark.parametrize("half", ["tuned", "held-out"])
def test_the_first_finding_is_right(judged: Any, half: str) -> None:
    named = [one for one in judged if one.case.half == half and one.wanted]
    assert len(named) >= 40
    wrong = [(one.case.name, one.ids[:3]) for one in named if not one.first_is_right]
    assert len(wrong) <= (1 - FIRST) * len(named), wrong
    assert [one.case.name for one in named if not one.is_among_three] == []


def test_no_advice_where_none_is_due(judged: Any) -> None:
    assert [one.case.name for one in judged if one.cries_wolf] == []


def test_the_judge_can_tell(judged: Any) -> None:
    """Most ids are seen first somewhere, so the counts above are not of one id for all."""
    seen = Counter(one.ids[0] for one in judged)
    assert len(seen) >= 20
    assert all(one.diagnosis.findings for one in judged)
