"""Figures over public reports, as people made them: they lie beside a clone, never in it; else these tests skip."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
sys.path.insert(0, str(ROOT / "benchmarks"))

from compatibility import PAGE, Answered, answered, answers, files_of, page  # noqa: E402

beside = pytest.mark.skipif(not CORPUS.is_dir(), reason="no public report lies beside this clone: ../shared/corpus")


def made(**changed: Any) -> Answered:
    known = {"chip": "T4", "capability": "7.5", "ncu": "2025.1", "collected": "full", "launches": 2, **changed}
    return Answered(**known)


@pytest.fixture(scope="module")
def every() -> list[Answered]:
    """What is answered of each file of the corpus, read once for all tests here."""
    return answers(CORPUS)


def test_files_of_one_chip_release_and_set_are_one_row() -> None:
    found = [
        made(diagnosis=2, memory_chart=1, lines=True, sass=True, ceilings="assumed"),
        made(diagnosis=1, throughput=1, sass=True, ceilings="assumed"),
        made(chip="H200", capability="10.0", ceilings="measured"),
        made(problem="the file is no report"),
    ]
    text = page(found)
    assert "3 files with 6 launches of 2 GPU models" in " ".join(text.split())
    first, second = [line for line in text.splitlines() if line.startswith(("| T4", "| H200"))]
    assert first == "| T4 | 7.5 | 2025.1 | full | 2 | 4 | 3 | 1 | 1 | all | - | 1 | assumed |"
    assert second == "| H200 | 10.0 | 2025.1 | full | 1 | 2 | - | - | - | - | - | - | measured |"
    assert text.endswith("Not read:\n\n- 1 x the file is no report\n")


def test_a_file_that_is_no_report_is_a_row_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "some.ncu-rep").write_bytes(b"hello")
    (path,) = files_of(tmp_path)
    found = answered(path)
    assert found.problem
    assert "some.ncu-rep" not in found.problem


@beside
@pytest.mark.slow
def test_the_page_says_what_is_answered_now(every: list[Answered]) -> None:
    """Where it does not: ``python benchmarks/compatibility.py ../shared/corpus`` writes it anew."""
    assert page(every).splitlines() == PAGE.read_text(encoding="utf-8").splitlines()


@beside
@pytest.mark.slow
def test_nearly_all_files_are_read_and_nearly_all_launches_answered(every: list[Answered]) -> None:
    read = [one for one in every if not one.problem]
    launches = sum(one.launches for one in read)
    assert len(read) >= 0.9 * len(every)
    assert sum(one.diagnosis + one.throughput for one in read) >= 0.9 * launches
    assert all(one.ceilings in ("measured", "assumed") for one in read)


@beside
@pytest.mark.slow
def test_no_ceiling_of_another_model_is_taken_as_measured(every: list[Answered]) -> None:
    """None of these GPUs is one that the ceilings which come with the tool were measured on."""
    assert {one.ceilings for one in every if not one.problem} == {"assumed"}
