"""Templates of one's own: they replace the package's by name, and a mistake in one is told with file and line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncu_assist.errors import UsageProblem
from ncu_assist.suggest.evidence.records import Evidence, SourceText
from ncu_assist.suggest.prompting import DEFAULTS, build_prompt

ROOT = Path(__file__).parents[3]


def test_the_templates_to_edit_are_those_that_are_installed() -> None:
    copies = {path.name: path.read_bytes() for path in (ROOT / "prompts").iterdir()}
    assert copies == {path.name: path.read_bytes() for path in DEFAULTS.glob("*.j2")}


def _problem(folder: Path, name: str, text: str, v6: Evidence) -> str:
    (folder / name).write_text(text)
    with pytest.raises(UsageProblem) as caught:
        build_prompt(v6, folder)
    return caught.value.message


def test_a_file_replaces_the_default_of_its_name_alone(tmp_path: Path, v6: Evidence) -> None:
    (tmp_path / "hardware.md.j2").write_text("## GPU\n{{ hardware.name }}, {{ floor.bytes | quantity('byte') }}\n")
    text = build_prompt(v6, tmp_path).text
    assert "## GPU\nNVIDIA H200, 305 MB\n" in text
    assert "## Hardware and floor" not in text
    assert "## Diagnosis" in text


def test_data_that_lies_in_l2_is_said_beside_the_floor(v6: Evidence) -> None:
    assert "L2 (" not in build_prompt(v6).text
    said = replace(v6.floor, in_l2="all 12 MB fit in L2 (62.9 MB)")
    text = build_prompt(replace(v6, floor=said)).text
    assert "\n- all 12 MB fit in L2 (62.9 MB); a kernel may seem to beat that floor\n- a device copy" in text
    assert v6.floor.least is not None
    of_operations = replace(said, least=replace(v6.floor.least, kind="fma"))
    text = build_prompt(replace(v6, floor=of_operations)).text
    assert "\n- all 12 MB fit in L2 (62.9 MB)\n- a device copy" in text  # no cache makes multiply-adds faster


def test_no_folder_means_the_defaults(tmp_path: Path, v6: Evidence) -> None:
    assert build_prompt(v6, tmp_path / "absent") == build_prompt(v6)


def test_an_unknown_variable(tmp_path: Path, v6: Evidence) -> None:
    said = _problem(tmp_path, "task.md.j2", "## Task\n\n{{ kernal }}\n", v6)
    assert said == "prompts/task.md.j2, line 3: there is no variable 'kernal'; did you mean 'kernel'?"


def test_an_unknown_variable_in_a_branch_that_is_not_taken(tmp_path: Path, v6: Evidence) -> None:
    said = _problem(tmp_path, "task.md.j2", "{% if false %}\n{{ kernal }}\n{% endif %}", v6)
    assert "prompts/task.md.j2, line 2: there is no variable 'kernal'" in said


def test_an_unknown_part_of_a_variable(tmp_path: Path, v6: Evidence) -> None:
    said = _problem(tmp_path, "hardware.md.j2", "\n{{ floor.copy_nss }}", v6)
    assert "prompts/hardware.md.j2, line 2: " in said
    assert "has no attribute 'copy_nss'; did you mean 'copy_ns'?" in said


def test_what_is_no_jinja(tmp_path: Path, v6: Evidence) -> None:
    assert "prompts/story.md.j2, line 2: " in _problem(tmp_path, "story.md.j2", "x\n{% if story %}", v6)


def test_a_missing_include(tmp_path: Path, v6: Evidence) -> None:
    said = _problem(tmp_path, "prompt.md.j2", '{% include "taks.md.j2" %}', v6)
    assert "'taks.md.j2', which does not exist; did you mean 'task.md.j2'?" in said


def test_a_filter_on_the_wrong_thing(tmp_path: Path, v6: Evidence) -> None:
    assert "prompts/task.md.j2, line 1: " in _problem(tmp_path, "task.md.j2", "{{ story | quantity('ns') }}", v6)


def test_an_unknown_filter(tmp_path: Path, v6: Evidence) -> None:
    assert "quantityy" in _problem(tmp_path, "task.md.j2", "{{ floor.bytes | quantityy }}", v6)


def test_a_variable_of_its_own_may_be_set_in_a_branch(tmp_path: Path, v6: Evidence) -> None:
    (tmp_path / "task.md.j2").write_text("{% if story %}{% set mine %}own{% endset %}{{ mine }}{% endif %}")
    assert "own" in build_prompt(v6, tmp_path).text


@pytest.mark.parametrize(
    "attack",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ floor.__init__.__globals__ }}",
        "{{ evidence_of }}",
        "{% for x in range(10000000) %}{% endfor %}",
    ],
)
def test_a_template_cannot_reach_beyond_its_values(tmp_path: Path, v6: Evidence, attack: str) -> None:
    _problem(tmp_path, "task.md.j2", attack, v6)


def test_a_file_that_is_no_text(tmp_path: Path, v6: Evidence) -> None:
    (tmp_path / "task.md.j2").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageProblem, match=r"prompts/task\.md\.j2 is not text"):
        build_prompt(v6, tmp_path)


def test_hot_lines_of_a_header_have_notes(v6: Evidence) -> None:
    """A kernel often lives in a header that its version includes."""
    note = replace(v6.source.margins[0], line=2)
    header = SourceText("tile.cuh", ("#pragma once", "float work(float x);"), (note,))
    said = build_prompt(replace(v6, source=replace(v6.source, includes=(header,)))).text
    assert "It includes tile.cuh" in said
    part = said[said.index("It includes tile.cuh") :]
    assert "2 | float work(float x);\n  ^ " in part


def test_the_floor_of_every_workload_and_the_work_of_pipes_are_told(v6: Evidence) -> None:
    said = build_prompt(v6).text
    assert "| floor | floor / parent |" in said
    assert all(one.floor_ns for one in v6.task.workloads)
    assert "Busy while SMs are active: LSU pipe 18 %" in said
    assert "Executed instructions: IMAD" in said


@pytest.mark.parametrize(("gain", "says"), [(1.05, True), (2.5, False)])
def test_a_floor_that_is_farther_away_than_the_gain_is_said(v6: Evidence, gain: float, says: bool) -> None:
    assert v6.diagnosis is not None
    assert v6.floor.least is not None
    far = replace(v6.floor, median_ns=2.9 * v6.floor.least.ns)
    text = build_prompt(replace(v6, floor=far, diagnosis=replace(v6.diagnosis, gain=gain))).text
    assert ("the floor is 2.90x away, so a change" in text) == says
