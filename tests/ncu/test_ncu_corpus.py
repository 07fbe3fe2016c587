"""Public reports of many chips and releases, which are not in this repository: how far they are read, in figures."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ncu_assist.ncu.report import Report, read_report

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"  # beside the repository, not part of it
FILES, CSV_FILES, LAUNCHES, INTERRUPTED = 76, 3, 780, 5
ODD = ("ended with the program", "twice in a launch, with different values")  # all that is to be told of any of them


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    if not CORPUS.is_dir():
        pytest.skip("the folder of public reports is not here")
    return {path.name.removesuffix(".xz"): read_report(path) for path in sorted((CORPUS / "reports").iterdir())}


@pytest.mark.slow
def test_every_public_report_is_read(reports: dict[str, Report]) -> None:
    own = {name: len(report.contents.launches) for name, report in reports.items() if not report.lossy}
    assert (len(reports), len(reports) - len(own)) == (FILES, CSV_FILES)
    with (CORPUS / "list.tsv").open() as listed:
        known = {row["file"]: int(row["launches"]) for row in csv.DictReader(listed, delimiter="\t")}
    assert own == {name: known[name] for name in own}
    assert sum(own.values()) == LAUNCHES


@pytest.mark.slow
def test_only_what_matters_is_told(reports: dict[str, Report]) -> None:
    told = [note for report in reports.values() for note in report.notes]
    assert [note for note in told if not any(words in note for words in ODD)] == []
    assert sum(one.interrupted for report in reports.values() for one in report.records) == INTERRUPTED


@pytest.mark.slow
def test_every_grid_is_in_blocks(reports: dict[str, Report]) -> None:
    for report in reports.values():
        if all(one.interrupted for one in report.records):
            continue
        sizes = report.launches["launch__grid_size"].tolist()
        for one, size in zip(report.records, sizes, strict=True):
            assert one.interrupted or one.grid[0] * one.grid[1] * one.grid[2] == size
