"""The rules against kernels bound on the chip: no tuning was done for them, and what they miss is listed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
STILL_WRONG = {"attention_query_a_block"}  # the first finding; README of the gallery, "Bound on the chip", has why
WORST_MEDIAN = 0.15  # of |ln(estimated / achieved)|: 0.40 as it was found; the target


@pytest.fixture(scope="module")
def judged() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import gallery_scores

        yield tuple(gallery_scores.judged(folder=gallery_scores.CHIP_REPORTS, parts=("chip",)))


def test_every_case_was_recorded(judged: Any) -> None:
    import gallery_scores

    recorded = {one.case.name for one in judged}
    assert recorded == {case.name for case in gallery_scores.cases("chip") if case.profile}


def test_the_first_finding_is_right_but_where_it_is_known_not_to_be(judged: Any) -> None:
    assert {one.case.name for one in judged if not one.first_is_right} <= STILL_WRONG
    assert [one.case.name for one in judged if one.cries_wolf] == []


def test_every_pair_has_figures_and_estimates_are_near_what_was_achieved(judged: Any) -> None:
    import gallery_scores
    import gallery_speedups

    used, left_out = gallery_speedups.speedups(judged, gallery_scores.CHIP_REPORTS)
    assert left_out == ()
    assert len(used) >= 40
    assert gallery_speedups.median_error(used, "estimated") <= WORST_MEDIAN


def test_the_product_of_floats_is_told_as_its_readme_has_it(judged: Any) -> None:
    """Floor, distance and the next step, right in each of five."""
    import product_story

    told = list(product_story.rows())
    assert len(told) == 5
    readme = (BENCHMARKS.parent / "tests" / "gallery" / "README.md").read_text()
    assert "\n".join((product_story.HEAD, *told)) in readme
    assert ["l1-bound" in row for row in told] == [True, True, True, True, False]
    assert "near-ceiling" in told[-1]
