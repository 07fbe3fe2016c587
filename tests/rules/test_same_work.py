"""Launches that do the same work: told by what units do for them, judged alike, with savings by their own time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from factories import launch, make_run

from ncu_assist.frame import combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.of_run import RuleResults, agreed, findings_of, results_of
from ncu_assist.rules.model.same_work import MOST_ASKED, asked, same_work

# Of a wave that is hardly filled, near the threshold of `tail-effect`: how long the mean multiprocessor rests decides.
COUNTED = {
    "waves_per_sm": 2.4, "grid_size": 1024, "sm_count": 72, "block_size": 128, "dram_throughput": 20,
    "l1_writeback_busy": 38, "issue_slots_busy": 30, "sm_cycles_active_max": 100, "sm_cycles_elapsed": 100,
    "registers": 38, "shared_memory": 0,
}  # fmt: skip


def told(number: int, mean: float, duration_ns: float = 100_000.0, **changes: Any) -> RuleResults:
    """Return what rules say of a launch whose mean multiprocessor works for a part of the time, in percent."""
    counted = COUNTED | {"sm_cycles_active": mean}
    of_launch = {key: changes.pop(key) for key in ("grid", "signature") if key in changes}
    table = {CATALOGUE[key].names[0]: float(value) for key, value in (counted | changes).items()}
    one = launch(number, duration_ns=duration_ns, **of_launch)
    found = results_of(make_run(), combine_launches("small", [one], [table]), whole=False)
    assert found
    return found


def first_rules(results: list[RuleResults]) -> list[str]:
    return [one.diagnosis.findings[0].finding.rule for one in results]


def places(launches: Sequence[Facts]) -> list[tuple[int, ...]]:
    return [group.places for group in same_work(launches)]


def test_the_made_launches_are_on_both_sides_of_the_threshold() -> None:
    assert first_rules([told(0, 97.9), told(1, 97.3)]) == ["unexplained", "tail-effect"]


def test_most_of_the_time_decides_for_all() -> None:
    every = [told(0, 97.9), told(1, 97.3, 97_000.0), told(2, 97.9), told(3, 97.8)]
    same = agreed(every)
    assert first_rules(same) == ["unexplained"] * 4
    assert all(same[place].diagnosis is every[place].diagnosis for place in (0, 2, 3))
    assert same[1].facts is every[1].facts


def test_savings_go_by_the_time_of_each() -> None:
    every = [told(0, 97.3), told(1, 97.0, 101_000.0), told(2, 97.9, 99_000.0)]
    first, _, last = (one.diagnosis.findings[0] for one in agreed(every))
    typical = agreed(every)[1].diagnosis.findings[0]
    assert first.saved_ns < typical.saved_ns
    assert last.finding.rule == "tail-effect"
    assert last.saved_ns == pytest.approx(typical.saved_ns * 99 / 101)
    assert last.finding.saved_ns == pytest.approx(typical.finding.saved_ns * 99 / 101)
    assert (last.estimated_speedup, last.severity) == (typical.estimated_speedup, typical.severity)


@pytest.mark.parametrize(
    "changes",
    [
        {"grid": (16, 1, 1)},
        {"signature": "add_one_kernel<2>(float*, int)"},
        {"registers": 40},
        {"shared_memory": 4096},
        {"l1_writeback_busy": 41},  # work for L1 that takes 3 % of the time
    ],
)
def test_other_work_is_judged_by_itself(changes: dict[str, Any]) -> None:
    every = [told(0, 97.9), told(1, 97.9), told(2, 97.3, **changes)]
    assert first_rules(agreed(every)) == ["unexplained", "unexplained", "tail-effect"]


def test_time_alone_makes_no_other_work() -> None:
    """Units that are busy for a smaller share of a longer time do the same."""
    longer = told(1, 97.9, 110_000.0, dram_throughput=20 / 1.1, l1_writeback_busy=38 / 1.1, issue_slots_busy=30 / 1.1)
    assert places([told(0, 97.9).facts, longer.facts]) == [(0, 1)]


def test_each_launch_is_in_one_group() -> None:
    facts = [told(place, 97.9, l1_writeback_busy=30 + place).facts for place in range(12)]
    groups = places(facts)
    assert sorted(place for group in groups for place in group) == list(range(12))
    assert max(map(len, groups)) == 5  # two steps of 1 % to each side of the middle one


def test_what_nobody_counted_is_not_the_same() -> None:
    bare = [replace(one.facts, combined=combine_launches("small", one.facts.combined.launches, [{}])) for one in
            (told(0, 97.9), told(1, 97.9))]  # fmt: skip
    assert places(bare) == [(0,), (1,)]


def test_the_link_to_the_host_is_a_unit_whose_work_counts() -> None:
    """Pages that come on the first touch: the link works in one launch only, every other unit in both."""
    sectors = 100_000.0 * 63 * 0.85 / 32
    known = {"host_sectors_read": 0.5 * sectors, "pcie_link_width": 16}
    assert places([told(0, 97.9).facts, told(1, 97.9, **known).facts]) == [(0,), (1,)]
    assert places([told(0, 97.9, **known).facts, told(1, 97.9, **known).facts]) == [(0, 1)]


def test_a_launch_is_told_the_same_alone_as_among_all() -> None:
    every = [told(0, 97.9), told(1, 97.3, 97_000.0), told(2, 97.9), told(3, 97.8)]
    (alone,) = agreed(every[1:2], every)
    assert first_rules([alone]) == ["unexplained"]
    assert alone.diagnosis == agreed(every)[1].diagnosis


def test_those_asked_are_of_the_shapes_that_are_shown_and_spread_over_the_run() -> None:
    run = [launch(number, grid=(8 + number % 2, 1, 1)) for number in range(100)]
    chosen = [one.index for one in asked(run, run[7:8])]
    assert len(chosen) == MOST_ASKED
    assert all(number % 2 for number in chosen)
    assert (chosen[0], chosen[-1]) == (1, 95)
    assert chosen == [one.index for one in asked(run, [run[9], run[51]])]
    assert len(asked(run, run)) == 2 * MOST_ASKED


def test_kept_findings_ask_launches_that_are_not_kept() -> None:
    """The longest are the only ones on the other side of the threshold, and the only ones that are kept."""
    counted = [97.3] * 21 + [97.9] * 40
    launches = [launch(n, duration_ns=101_000.0 if n < 21 else 100_000.0) for n in range(len(counted))]
    tables = {n: told(n, mean).facts.combined.tables[0] for n, mean in enumerate(counted)}
    found = findings_of(make_run(launches=tuple(launches)), tables, None)
    kept = [one for one in found.judged if one.launch is not None]
    assert [one.launch for one in kept] == list(range(20))
    assert {one.findings[0].rule for one in kept} == {"unexplained"}
