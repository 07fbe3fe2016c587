"""The bars of throughput: the link to the host stands among them only where something crossed it."""

from __future__ import annotations

import pytest
from ladder import ROOT, counters

from ncu_assist.analysis.run_view import BARS, LINK, throughputs
from ncu_assist.frame import combine_tables
from ncu_assist.store import Store


def test_a_kernel_that_leaves_the_host_alone_has_no_bar_of_the_link() -> None:
    assert [key for key, _ in throughputs(counters(6))] == [key for key in BARS if key != LINK]


def test_one_that_reads_pinned_memory_has() -> None:
    stored = next(one for one in Store(ROOT / "reports").runs("fast_h2d") if one.run.version == "v6_line_aligned")
    found = dict(throughputs(combine_tables(stored.run, stored.by_launch(), "t256k")))
    assert found[LINK] == pytest.approx(100 * 55.10 / 63.02, abs=0.1)
