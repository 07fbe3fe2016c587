"""The blind part of the gallery: its table agrees with its sources, covers every id, and translates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from gallery.table import FOLDER, KERNEL, cases, marked_lines, pairs
from patience import CEILING_S
from requirements import needs
from test_gallery import IDS, NO_FAULT, ROOFLINES

from ncu_assist import process

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CASES = cases("blind")
BY_NAME = {case.name: case for case in CASES}
SOURCES = {f"blind/{path.name}": path.read_text() for path in sorted((FOLDER / "blind").glob("*.cu"))}
MAIN = {case.name for case in cases()}


@pytest.fixture
def record_gallery(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import record_gallery

    return record_gallery


def test_the_table_holds_what_the_sources_hold_and_shares_no_name() -> None:
    found = [(name, file) for file, text in SOURCES.items() for name in re.findall(r"^CASE\((\w+),", text, re.M)]
    assert {case.name: case.source for case in CASES} == dict(found)
    assert len(dict(found)) == len(found)
    assert set(BY_NAME) & MAIN == set()
    assert {case.half for case in CASES} == {"blind"}


def test_every_case_has_its_kernels() -> None:
    held = {file: KERNEL.findall(text) for file, text in SOURCES.items()}
    assert [name for case in CASES for name in case.kernels if name not in held[case.source]] == []


def test_every_id_has_a_fault_and_there_are_limits_near_misses_and_pairs() -> None:
    kinds = {kind: [case for case in CASES if case.kind == kind] for kind in ("fault", "healthy", "near-miss")}
    assert {case.expect for case in kinds["fault"]} == set(IDS) - set(NO_FAULT)
    assert {case.expect for case in kinds["healthy"]} == set(ROOFLINES)
    assert len(kinds["healthy"]) >= 6
    assert len(kinds["near-miss"]) >= 4
    assert len(pairs("blind")) >= 10
    assert all(BY_NAME[fault].kind == "fault" for fault, _ in pairs("blind"))
    assert [case.name for case in CASES if case.expect == "at-dram-roofline" and not case.bytes] == []


def test_the_marked_lines_are_where_the_table_promises_them() -> None:
    faulty = [case for case in CASES if case.kind == "fault"]
    assert {case.name: bool(marked_lines(case)) for case in faulty} == {case.name: case.line for case in faulty}


def test_every_case_is_explained() -> None:
    readme = (FOLDER / "README.md").read_text()
    assert [case.name for case in CASES if f"| `{case.name}` |" not in readme] == []


def test_its_reports_have_names_of_their_own(record_gallery: Any) -> None:
    main, blind = (list(record_gallery.parts(table)) for table in (cases(), CASES))
    assert sorted(case.name for _, part in blind for case in part) == sorted(c.name for c in CASES if c.profile)
    assert all(name.startswith("blind_") for name, _ in blind)
    assert {name for name, _ in main} & {name for name, _ in blind} == set()


@needs("nvcc")
def test_it_translates_and_the_program_lists_its_cases(record_gallery: Any, tmp_path: Path) -> None:
    program = record_gallery.build(tmp_path, CASES)
    listed = process.run([str(program), "--list"], timeout_s=CEILING_S).stdout.split("\n")
    partners = dict(line.split() for line in listed if line)
    assert sorted(partners) == sorted(BY_NAME)
    assert [fix for fault, fix in pairs("blind") if partners[fix] != fault] == []
