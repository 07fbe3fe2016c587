"""How fast DRAM can be where nobody measured such a GPU: like with like, and as good on the gallery as with curves."""

from __future__ import annotations

from typing import Any

import pytest
from made_facts import BENCHMARKS, gallery

from ncu_assist.rules.model.dram import OF_PEAK, OF_PEAK_SMALL, asked_share, fill, is_full, reach


@pytest.mark.parametrize(("share", "full"), [(0.78, False), (0.84, True)])
def test_what_l2_holds_of_a_few_hundred_megabytes_does_not_make_three_quarters_enough(share: float, full: bool) -> None:
    """As version 2 of lightning_decode: 71 % counted, 78 % with what L2 held, and 1.16 times as fast was possible."""
    facts = gallery("healthy_sum", dram_throughput=100 * share, dram_bytes_read=3e8)
    assert fill(facts) == asked_share(facts) / OF_PEAK
    assert is_full(facts) is full


def test_three_quarters_only_below_128_mebibytes() -> None:
    sizes = {size: reach(gallery("healthy_sum", dram_bytes_read=size * 1e6)).share for size in (100.0, 140.0, 2000.0)}
    assert sizes == {100.0: OF_PEAK_SMALL, 140.0: OF_PEAK, 2000.0: OF_PEAK}


@pytest.mark.slow
def test_the_tuned_half_is_told_without_any_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import gallery_scores

    def none(_: Any) -> None:
        return None

    monkeypatch.setattr(gallery_scores, "_ceilings", none)
    named = [one for one in gallery_scores.judged("tuned") if one.wanted]
    assert all(one.facts.ceilings is None for one in named)
    assert sum(one.first_is_right for one in named) >= 0.9 * len(named)
