"""How fast DRAM can be where nobody measured such a GPU: like with like, and as good on the gallery as with curves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_facts import BENCHMARKS, gallery, made

from ncu_assist.rules.model.dram import OF_CEILING, OF_PEAK_SHORT, asked_share, fill, is_full, reach


@pytest.mark.parametrize(("share", "full"), [(0.78, False), (0.84, True)])
def test_what_l2_holds_of_a_few_hundred_megabytes_does_not_make_three_quarters_enough(share: float, full: bool) -> None:
    """As version 2 of lightning_decode: 71 % counted, 78 % with what L2 held, and 1.16 times as fast was possible."""
    facts = gallery("healthy_sum", dram_throughput=100 * share, dram_bytes_read=3e8)
    assert fill(facts) == asked_share(facts) / reach(facts).share
    assert is_full(facts) is full


@pytest.mark.parametrize(("duration_ns", "share"), [(10_000.0, OF_PEAK_SHORT), (1e9, OF_CEILING * 0.89)])
def test_a_long_launch_is_asked_for_more(duration_ns: float, share: float) -> None:
    found = reach(made(duration_ns, dram_bytes_read=1e8, dram_bytes_write=0.0))
    assert found.share == pytest.approx(share, rel=1e-4)
    assert found.assumed


def test_the_kind_of_memory_decides() -> None:
    facts = gallery("healthy_sum")
    assert facts.device is not None
    gddr = replace(facts, device=replace(facts.device, compute_capability="8.6"))
    assert reach(gddr).share == pytest.approx(reach(facts).share * 0.91 / 0.89)
    assert reach(gddr).why == (
        "no ceiling was measured on such a GPU; streams over GDDR reach 91 to 96 % on T4, GTX 1660 SUPER, A40, RTX 4090"
    )


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
