"""Worklogs: each opens with three sentences and a picture, which has the times of the table below."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "kernels").glob("*/README.md"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_worklog_opens_with_three_sentences_and_a_picture(folder: Path) -> None:
    _, text, picture, *_ = (folder / "README.md").read_text().split("\n\n")
    assert len(re.findall(r"\.(?=\s|$)", text)) == 3
    assert re.fullmatch(r"!\[.+\]\(times\.svg\)", picture)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_picture_has_the_times_of_the_table(folder: Path) -> None:
    drawing = (folder / "times.svg").read_text()
    rows = {cells[1].strip(): cells[2:] for line in (folder / "README.md").read_text().splitlines()
            if re.match(r"\| v\d+_", line) and len(cells := line.split("|")) > 3}  # fmt: skip
    shown = re.findall(r'text-anchor="end">(v\d+_\w+)</text>.*?>([\d.]+) µs<', drawing)
    assert shown
    assert [name for name, us in shown if not any(cell.split()[:1] == [us] for cell in rows[name])] == []


# The others say that their steps are told by a first recording.
OF_THE_RECORDED_RUNS = [folder for folder in FOLDERS if "a first recording" not in (folder / "README.md").read_text()]


@pytest.mark.parametrize("folder", OF_THE_RECORDED_RUNS, ids=lambda folder: folder.name)
def test_a_time_measured_is_that_of_the_table(folder: Path) -> None:
    """Of three digits: rounding is off by half a per cent at most."""
    text = (folder / "README.md").read_text()
    rows = {found[1]: line.split("|")[2:-1] for line in text.splitlines() if (found := re.match(r"\| (v\d+)_", line))}
    told = re.findall(r"\*\*(v\d+) [^*]*\*\*(?:(?!\n\n).)*?Measured: ([\d.]+) (µs|ms)", text, re.DOTALL)
    wrong = []
    for version, number, unit in told:
        us = float(number) * (1000 if unit == "ms" else 1)
        cells = [float(cell.split()[0]) for cell in rows[version] if re.match(r"\s*[\d.]+ ", cell)]
        if not any(abs(us / cell - 1) < 0.005 for cell in cells):
            wrong.append((version, number, cells))
    assert wrong == []
