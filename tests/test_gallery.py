"""The fault gallery: its table agrees with its sources, both halves hold every id, and all of it translates."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from gallery.table import FOLDER, KERNEL, Case, cases, half, marked_lines, pairs
from patience import CEILING_S
from requirements import needs

from ncu_assist import process
from ncu_assist.rules import RULES

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CASES = cases()
BY_NAME = {case.name: case for case in CASES}
SOURCES = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.cu"))}
IDS = list(RULES)
ROOFLINES = ("at-dram-roofline", "at-compute-roofline")
# debug-build is told by code alone, and every program of the gallery is built with optimisation (docs/sources.md).
NO_FAULT = (*ROOFLINES, "near-ceiling", "debug-build")
MOST_LAUNCHES = 120  # under ncu: about 1.8 s each


def registered() -> dict[str, str]:
    """Return the source file of every CASE."""
    found = [(name, file) for file, text in SOURCES.items() for name in re.findall(r"^CASE\((\w+),", text, re.M)]
    assert len({name for name, _ in found}) == len(found)
    return dict(found)


def of_kind(*kinds: str) -> list[Case]:
    return [case for case in CASES if case.kind in kinds]


@pytest.fixture
def record_gallery(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import record_gallery

    return record_gallery


def test_the_table_holds_what_the_sources_hold() -> None:
    assert {case.name: case.source for case in CASES} == registered()


def test_every_case_has_its_kernels_and_their_names_are_unique() -> None:
    kernels = [name for text in SOURCES.values() for name in KERNEL.findall(text)]
    assert len(set(kernels)) == len(kernels)
    assert [name for case in CASES for name in case.kernels if name not in KERNEL.findall(SOURCES[case.source])] == []


def test_ids_are_known_and_a_case_says_what_its_kind_needs() -> None:
    for case in CASES:
        assert (case.expect is None) == (case.kind == "fix"), case.name
        assert {case.expect or IDS[0], *case.accept} <= set(IDS), case.name
        assert case.expect not in case.accept, case.name
        if case.kind == "near-miss":
            assert case.of in IDS, case.name
            assert case.of not in (case.expect, *case.accept), case.name
        if case.expect == "at-dram-roofline":
            assert case.bytes, case.name


def test_faults_and_fixes_are_cases_of_the_table() -> None:
    assert len(pairs()) >= 12
    for fault, fix in pairs():
        assert BY_NAME[fault].kind == "fault"
        assert BY_NAME[fix].kind in ("fix", "healthy", "fault")


def test_every_id_has_two_faults_in_different_halves_and_a_near_miss() -> None:
    for identity in set(IDS) - set(NO_FAULT):
        halves = [case.half for case in of_kind("fault") if case.expect == identity]
        assert len(halves) >= 2, identity
        assert set(halves) == {"tuned", "held-out"}, identity
    missed = {case.of for case in of_kind("near-miss")}
    assert set(IDS) - set(NO_FAULT) - missed == {"no-tensor-core", "tensor-underfed", "unexplained"}
    assert {case.expect for case in of_kind("healthy")} == set(ROOFLINES)
    assert len(of_kind("healthy")) >= 6


def test_the_half_is_the_lowest_bit_of_the_hash() -> None:
    assert half("a") == "held-out"  # its sha256 ends in bb
    assert {case.half for case in of_kind("near-miss")} == {"tuned", "held-out"}
    assert {case.half for case in of_kind("healthy")} == {"tuned", "held-out"}


def test_the_marked_lines_are_where_the_table_promises_them() -> None:
    faulty = of_kind("fault", "compound")
    assert {case.name: bool(marked_lines(case)) for case in faulty} == {case.name: case.line for case in faulty}
    lines = SOURCES["memory.cu"].splitlines()
    assert [lines[n - 1].strip() for n in marked_lines(BY_NAME["load_struct_member"])] == [
        "out[i] = 0.5f * particles[i * 8 + 3];  // FAULT"
    ]
    assert len(marked_lines(BY_NAME["divergence_kind_by_lane"])) > 4  # in a function that the kernel calls


def test_every_case_is_explained() -> None:
    readme = (FOLDER / "README.md").read_text()
    assert [case.name for case in of_kind("fault", "near-miss", "healthy", "compound")
            if f"| `{case.name}` |" not in readme] == []  # fmt: skip


def test_the_launches_to_profile_are_few_and_every_case_is_in_one_report(record_gallery: Any) -> None:
    parts = list(record_gallery.parts(CASES))
    assert sum(len(case.kernels) for _, part in parts for case in part) <= MOST_LAUNCHES
    assert sorted(case.name for _, part in parts for case in part) == sorted(c.name for c in CASES if c.profile)
    assert len({name for name, _ in parts}) == len(parts) <= 7
    assert all(case.profile for case in CASES if case.kind != "fix")


def test_one_file_is_recorded_alone(record_gallery: Any) -> None:
    own = [case for case in cases() if case.source == "worklog.cu"]
    assert [case.name for case in own] == [name for name, file in registered().items() if file == "worklog.cu"]
    assert [name for name, _ in record_gallery.parts(own)] == ["worklog1"]


def test_times_of_one_file_are_put_among_those_that_are_there(record_gallery: Any) -> None:
    times = (FOLDER / "reports" / "times.json").read_text()
    row = {"name": "load_struct_member", "median_us": 1.5, "sound": True, "agrees": None, "sum": "1/1"}
    new = f"[\n{json.dumps(row)},\n{json.dumps(row | {'name': 'one_more'})}\n]\n"
    both = {one["name"]: one for one in json.loads(record_gallery.merged(times, new))}
    assert both["load_struct_member"]["median_us"] == both["one_more"]["median_us"] == 1.5
    before = {one["name"]: one for one in json.loads(times)}
    assert {**before, **both} == both
    assert {name for name in both if both[name] != before.get(name)} == {"load_struct_member", "one_more"}
    assert record_gallery.merged("", new) == record_gallery.merged(new, new) == new


@needs("nvcc")
def test_everything_translates_and_the_program_lists_its_cases(record_gallery: Any, tmp_path: Path) -> None:
    program = record_gallery.build(tmp_path, CASES)
    listed = process.run([str(program), "--list"], timeout_s=CEILING_S).stdout.split("\n")
    partners = dict(line.split() for line in listed if line)
    assert sorted(partners) == sorted(BY_NAME)
    for fault, fix in pairs():
        assert fault in (partners[fix], partners.get(partners[fix])) or partners[fault] == fix or BY_NAME[fix].fixes
