"""The source line of the expected finding against the lines that the gallery marks as at fault."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gallery.table import marked_lines

from ncu_assist import read_report
from ncu_assist.ncu.code import Code, read_code
from ncu_assist.rules.places import places

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
# The multiply-adds of halves stand in a header of CUDA's; the own line next to them is the one that loads.
MISSED = ["matrix_pairs_of_halves"]
LEAST_HELD_OUT, LEAST_BLIND = 18, 21


@cache
def whole(path: Path) -> Code | None:
    report = read_report(path)
    return read_code(report, range(len(report.records)))


def first_is_marked(one: Any, reports: Any) -> bool:
    report = next(some for some in reports if any(one.case.name in launch.ranges for launch in some.records))
    launches = [place for place, launch in enumerate(report.records) if one.case.name in launch.ranges]
    finding = next((r.finding for r in one.diagnosis.findings if r.finding.rule in one.wanted), None)
    code = whole(report.path)
    found = places(finding, code.of(launches)) if finding and code else ()
    is_there = bool(found) and found[0].line in marked_lines(one.case)
    return is_there and Path(found[0].file or "").name == Path(one.case.source).name


@pytest.fixture(scope="module")
def marked() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import gallery_scores

        faulty = [one for one in gallery_scores.judged() if one.case.line]
        yield {one.case.name: (one.case.half, first_is_marked(one, gallery_scores.reports())) for one in faulty}


def test_the_line_at_fault_comes_first_in_the_tuned_half(marked: Any) -> None:
    tuned = {name: right for name, (half, right) in marked.items() if half == "tuned"}
    assert len(tuned) == 20
    assert [name for name, right in tuned.items() if not right] == MISSED


@pytest.mark.parametrize(("half", "count", "least"), [("held-out", 21, LEAST_HELD_OUT), ("blind", 22, LEAST_BLIND)])
def test_the_other_parts_are_counted(marked: Any, half: str, count: int, least: int) -> None:
    found = [right for own, right in marked.values() if own == half]
    assert len(found) == count
    assert sum(found) >= least
