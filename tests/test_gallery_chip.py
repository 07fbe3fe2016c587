"""The part of the gallery that is bound on the chip: its table agrees with its sources, and all of it translates."""

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
CASES = cases("chip")
BY_NAME = {case.name: case for case in CASES}
SOURCES = {f"chip/{path.name}": path.read_text() for path in sorted((FOLDER / "chip").glob("*.cu"))}
OTHERS = {case.name for part in ("main", "blind") for case in cases(part)}  # type: ignore[arg-type]
LADDER = ["product_naive", "product_tile_16", "product_tile_32", "product_register_4", "product_register_8"]


def registered() -> dict[str, str]:
    return {name: file for file, text in SOURCES.items() for name in re.findall(r"^CASE\((\w+),", text, re.M)}


@pytest.fixture
def record_gallery(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import record_gallery

    return record_gallery


def test_the_table_holds_what_the_sources_hold_and_shares_no_name() -> None:
    assert {case.name: case.source for case in CASES} == registered()
    assert set(BY_NAME) & OTHERS == set()
    assert [
        case.name for case in CASES for name in case.kernels if name not in KERNEL.findall(SOURCES[case.source])
    ] == []


def test_every_fault_has_a_fix_and_both_halves_hold_many() -> None:
    faults = {case.name for case in CASES if case.kind == "fault"}
    assert {fault for fault, _ in pairs("chip")} == faults
    assert len(faults) >= 40
    assert all(sum(BY_NAME[name].half == half for name in faults) >= 20 for half in ("chip-tuned", "chip-held-out"))
    assert {one for case in CASES for one in (case.expect, *case.accept) if one} <= set(IDS)
    assert sum(case.kind == "healthy" for case in CASES) >= 4


def test_the_marked_lines_are_where_the_table_promises_them() -> None:
    faulty = [case for case in CASES if case.kind == "fault"]
    assert {case.name: bool(marked_lines(case)) for case in faulty} == {case.name: case.line for case in faulty}


def test_every_case_is_explained_and_the_ladder_is_told_in_order() -> None:
    readme = (FOLDER / "README.md").read_text()
    assert [case.name for case in CASES if f"| `{case.name}` |" not in readme] == []
    places = [readme.index(f"| `{name}` |") for name in LADDER]
    assert places == sorted(places)


def test_its_reports_have_names_of_their_own(record_gallery: Any) -> None:
    parts = list(record_gallery.parts(CASES))
    assert sorted(case.name for _, part in parts for case in part) == sorted(c.name for c in CASES if c.profile)
    assert all(name.startswith("chip_") for name, _ in parts)


@needs("nvcc")
def test_it_translates_and_every_fix_is_held_against_the_result_of_its_fault(
    record_gallery: Any, tmp_path: Path
) -> None:
    program = record_gallery.build(tmp_path, CASES)
    listed = process.run([str(program), "--list"], timeout_s=CEILING_S).stdout.split("\n")
    partners = dict(line.split() for line in listed if line)
    assert sorted(partners) == sorted(BY_NAME)
    of_all = {name: name if other == "-" else other for name, other in partners.items()}
    assert [fix for fault, fix in pairs("chip") if of_all[fix] != of_all[fault]] == []
