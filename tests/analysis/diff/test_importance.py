"""In which order changes are worth reading."""

from __future__ import annotations

from dataclasses import replace

from ncu_assist.analysis.diff import Change
from ncu_assist.analysis.diff.flagging import by_importance, has_moved
from ncu_assist.rules.model.resources import Bottleneck


def change(metric: str, before: float, after: float, **more: object) -> Change:
    unit = str(more.pop("unit", ""))
    delta = after - before if unit == "%" else after / before - 1 if before else None
    made = Change(metric, metric, unit, before, after, delta, "improved")
    return replace(made, **more)  # type: ignore[arg-type]


CHANGES = (
    change("registers", 32, 30, verdict="changed"),
    change("stall_wait", 1, 1.1, unit="%", verdict="unchanged"),
    change("instructions", 1e6, 2e6, verdict="regressed", role="side-effect"),
    change("dram_bytes", 4e8, 3e8),
    change("stall_barrier", 10, 90, unit="%", verdict="regressed"),
    change("shared_wavefronts", 0, 5, verdict="changed", is_material=False),
    change("l2_sectors", 5, 4, verdict="undecided"),
    change("duration", 100, 90),
    change("gone", 0, 0, verdict="missing"),
)


def test_the_time_then_what_is_work_on_what_binds_then_what_moved_furthest() -> None:
    order = [one.metric for one in by_importance(CHANGES, (Bottleneck("DRAM", 80.0), None))]
    assert order[:2] == ["duration", "dram_bytes"]
    assert order[2:4] == ["stall_barrier", "instructions"]
    assert order[-3:] == ["l2_sectors", "stall_wait", "gone"]


def test_what_explains_a_slowdown_comes_before_what_moved_further() -> None:
    told = tuple(replace(one, role="explains") if one.metric == "registers" else one for one in CHANGES)
    assert by_importance(told)[1].metric == "registers"


def test_without_a_bottleneck_only_the_size_counts_and_a_rise_from_nothing_is_large() -> None:
    found = [one.metric for one in by_importance([change("a", 1, 2), change("b", 0, 1), change("c", 1, 1.5)])]
    assert found == ["b", "a", "c"]


def test_what_is_undecided_has_not_moved() -> None:
    assert [has_moved(one) for one in CHANGES].count(True) == 6


def test_the_order_of_equals_stays() -> None:
    same = [change(name, 1, 1, verdict="unchanged") for name in "dbca"]
    assert list(by_importance(same)) == same
