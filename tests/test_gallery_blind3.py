"""The third blind part of the gallery: programs of their own, by eyes that had seen no rule, and counted apart."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gallery.table import FOLDER, Case, cases, pairs
from patience import CEILING_S
from requirements import needs
from test_gallery import IDS

from ncu_assist import process
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.ncu.code import read_code
from ncu_assist.rules.model.places import own_lines

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CASES = cases("blind3")
BY_NAME = {case.name: case for case in CASES}
SOURCES = {f"blind3/{path.name}": path.read_text() for path in sorted((FOLDER / "blind3").glob("*.cu"))}
OTHERS = {case.name for part in ("main", "blind", "blind2", "chip") for case in cases(part)}  # type: ignore[arg-type]
MEASURED = re.compile(r"__launch_bounds__\([^)]*\)\s+(\w+)\(")  # what fills arrays has no bounds
RIGHT = 19  # of 20; 18 at first look
STILL_WRONG: set[str] = set()  # healthy kernels with advice: one, philox_healthy, at first look
WORST_MEDIAN = 0.22  # of |ln(estimated / achieved)| over all 20 pairs: 0.31 at first look


@pytest.fixture(scope="module")
def judged() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import gallery_scores

        yield tuple(gallery_scores.judged(folder=gallery_scores.BLIND3_REPORTS, parts=("blind3",)))


def test_the_table_holds_what_the_sources_hold_and_shares_no_name() -> None:
    found = {name: file for file, text in SOURCES.items() for name in MEASURED.findall(text)}
    assert {case.name: case.source for case in CASES} == found
    assert set(BY_NAME) & OTHERS == set()


def test_twenty_faults_have_a_fix_and_four_kernels_are_healthy() -> None:
    faults = {case.name for case in CASES if case.kind == "fault"}
    assert {fault for fault, _ in pairs("blind3")} == faults
    assert len(faults) == 20
    assert sum(case.kind == "healthy" for case in CASES) == 4
    assert {one for case in CASES for one in (case.expect, *case.accept) if one} <= set(IDS)


@needs("nvcc")
def test_its_programs_translate(tmp_path: Path) -> None:
    nvcc = find_nvcc()

    def translated(name: str) -> process.Completed:
        argv = [str(nvcc.path), "-O3", "-arch=sm_90a", "-std=c++17", "-c", str(FOLDER / name)]
        return process.run([*argv, "-o", str(tmp_path / f"{Path(name).stem}.o")], timeout_s=CEILING_S)

    with ThreadPoolExecutor(max_workers=2) as workers:
        done = dict(zip(SOURCES, workers.map(translated, SOURCES), strict=True))
    assert {name: one.stderr for name, one in done.items() if one.exit_code} == {}


def test_the_first_finding_is_as_often_right_as_at_first_look(judged: Any) -> None:
    assert {one.case.name for one in judged} == {case.name for case in CASES if case.profile}
    faults = [one for one in judged if one.case.kind == "fault"]
    wrong = [(one.case.name, one.ids) for one in faults if not one.first_is_right]
    assert len(faults) - len(wrong) >= RIGHT, wrong


def test_healthy_kernels_are_left_alone_but_for_those_that_are_known(judged: Any) -> None:
    assert {one.case.name for one in judged if one.cries_wolf} == STILL_WRONG


def test_estimates_are_as_near_as_at_first_look(judged: Any) -> None:
    import gallery_scores
    import gallery_speedups

    used, out = gallery_speedups.speedups(judged, gallery_scores.BLIND3_REPORTS)
    assert (len(used), out) == (20, ())
    assert gallery_speedups.median_error(used, "estimated") <= WORST_MEDIAN


def test_its_reports_have_the_lines_of_the_sources(judged: Any) -> None:
    import gallery_scores

    lacking = []
    for report in gallery_scores.reports(gallery_scores.BLIND3_REPORTS):
        for launch in report.records:
            case: Case = BY_NAME[launch.kernel]
            code = read_code(report, [launch.index])
            assert code is not None
            lines = own_lines(code)
            if Path(case.source).name not in {Path(file).name for file in lines["file"]} or lines["is_guess"].any():
                lacking.append(case.name)
    assert lacking == []
