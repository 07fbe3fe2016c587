"""The second blind part of the gallery, bound on the chip: written by who had seen no rule, and counted apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from gallery.table import FOLDER, KERNEL, cases, marked_lines, pairs
from patience import CEILING_S
from requirements import needs
from test_gallery import IDS

from ncu_assist import process

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CASES = cases("blind2")
BY_NAME = {case.name: case for case in CASES}
SOURCES = {f"blind2/{path.name}": path.read_text() for path in sorted((FOLDER / "blind2").glob("*.cu"))}
OTHERS = {case.name for part in ("main", "blind", "chip") for case in cases(part)}  # type: ignore[arg-type]
NOT_RECORDED = {"blind2/blind2_sequence.cu", "blind2/blind2_series.cu", "blind2/blind2_tensor.cu"}  # on an H100
WORST_MEDIAN = 0.20  # of |ln(estimated / achieved)|: 0.30 as it was found; 0.2 is the target
OF_THE_OTHERS = 0.21  # of what was profiled on an H100; 0.29 as it was found


@pytest.fixture(scope="module")
def benchmarks() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield


def test_the_table_holds_what_the_sources_hold_and_shares_no_name() -> None:
    found = {name: file for file, text in SOURCES.items() for name in re.findall(r"^CASE\((\w+),", text, re.M)}
    assert {case.name: case.source for case in CASES} == found
    assert set(BY_NAME) & OTHERS == set()
    assert [c.name for c in CASES for name in c.kernels if name not in KERNEL.findall(SOURCES[c.source])] == []


def test_twenty_faults_have_a_fix_and_a_marked_line() -> None:
    faults = {case.name for case in CASES if case.kind == "fault"}
    assert {fault for fault, _ in pairs("blind2")} == faults
    assert len(faults) == 20
    assert {one for case in CASES for one in (case.expect, *case.accept) if one} <= set(IDS)
    assert [name for name in faults if BY_NAME[name].line and not marked_lines(BY_NAME[name])] == []


@needs("nvcc")
def test_it_translates_and_every_fix_is_held_against_the_result_of_its_fault(benchmarks: Any, tmp_path: Path) -> None:
    import record_gallery

    program = record_gallery.build(tmp_path, CASES)
    listed = process.run([str(program), "--list"], timeout_s=CEILING_S).stdout.split("\n")
    partners = dict(line.split() for line in listed if line)
    assert sorted(partners) == sorted(BY_NAME)
    assert [fix for fault, fix in pairs("blind2") if partners[fix] not in (fault, partners[fault])] == []


def test_the_first_finding_is_right_and_estimates_are_as_near_as_they_were_found(benchmarks: Any) -> None:
    import gallery_scores
    import gallery_speedups

    judged = tuple(gallery_scores.judged(folder=gallery_scores.BLIND2_REPORTS, parts=("blind2",)))
    assert {one.case.name for one in judged} == {
        case.name for case in CASES if case.profile and case.source not in NOT_RECORDED
    }
    assert [one.case.name for one in judged if not one.first_is_right] == []
    assert [one.case.name for one in judged if one.cries_wolf] == []
    used, _ = gallery_speedups.speedups(judged, gallery_scores.BLIND2_REPORTS)
    assert len(used) == 10
    assert gallery_speedups.median_error(used, "estimated") <= WORST_MEDIAN


def test_the_other_half_was_recorded_on_another_gpu(benchmarks: Any) -> None:
    import gallery_scores
    import gallery_speedups

    folder = FOLDER / "reports_blind2_h100"
    judged = tuple(gallery_scores.judged(folder=folder, parts=("blind2",)))
    assert {one.case.name for one in judged} == {case.name for case in CASES if case.source in NOT_RECORDED}
    assert {one.facts.device.name for one in judged} == {"NVIDIA H100 80GB HBM3"}
    assert [one.case.name for one in judged if not one.first_is_right] == []
    assert [one.case.name for one in judged if one.cries_wolf] == []
    used, _ = gallery_speedups.speedups(judged, folder)
    assert len(used) == 10
    assert gallery_speedups.median_error(used, "estimated") <= OF_THE_OTHERS
