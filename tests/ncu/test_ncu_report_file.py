"""The blocks of a report: every cut is found, and a selection reads as the original does."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from ncu.nvidia_reader import everything

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file
from ncu_assist.ncu.compressed import read_plain


def block_ends(data: bytes) -> set[int]:
    found = report_file.blocks(data)
    return {start.header_start - 4 for start in found[1:]} | {len(data)}


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_results_and_their_metrics_are_counted(full: bytes, basic_path: Path, torch_path: Path) -> None:
    assert len(list(report_file.results(full))) == 3
    assert report_file.metric_counts(full) == (2243, 2243, 2243)
    assert report_file.metric_counts(read_plain(basic_path)) == (563, 563, 563)
    assert report_file.metric_counts(read_plain(torch_path)) == (2243, 2243)


def test_reports_of_2022_are_walked_too(old_report: Path) -> None:
    data = read_plain(old_report)
    assert len(list(report_file.results(data))) in (1, 3)


def test_a_report_cut_anywhere_inside_a_block_is_damaged(full: bytes) -> None:
    whole = block_ends(full)
    random_ends = random.Random(1).sample(range(len(full)), 40)
    near_ends = [end + step for end in whole for step in (-1, 1, 3) if end + step < len(full)]
    for end in [*range(40), *random_ends, *near_ends]:
        if end not in whole:
            with pytest.raises(DamagedData):
                report_file.blocks(full[:end])


@pytest.mark.parametrize("data", [b"", b"NVR", b"NVR\0", b"NVR\0\0\0\0\0", b"\0" * 100, b"hello, this is no report"])
def test_what_is_no_report_is_damaged(data: bytes) -> None:
    with pytest.raises(DamagedData):
        report_file.blocks(data)


def test_bytes_behind_the_last_block_are_damaged(full: bytes) -> None:
    with pytest.raises(DamagedData):
        report_file.blocks(full + b"\1\2\3\4\5")


def test_a_block_that_holds_less_than_it_counts_is_damaged(basic_path: Path) -> None:
    """Case 385 of ``size`` in test_ncu_fuzz: a launch is taken for the source that the header counts since."""
    data = bytearray(read_plain(basic_path))
    at = report_file.blocks(data)[-1].header_start
    assert data[at : at + 2] == b"\x08\x00", "it counts no source"
    data[at + 1] = 1
    with pytest.raises(DamagedData, match="holds 1 of the 2 entries"):
        report_file.blocks(bytes(data))


def test_random_changes_give_damaged_data_or_an_answer_and_nothing_else(basic_path: Path) -> None:
    data, rng, refused = read_plain(basic_path), random.Random(2), 0
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(20):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        try:
            report_file.metric_counts(bytes(changed))
        except DamagedData:
            refused += 1
    assert refused > 10


def test_selecting_everything_changes_nothing(full: bytes) -> None:
    assert report_file.select(full, {0, 1, 2}) == full


@pytest.mark.slow
def test_a_selection_keeps_each_launch_whole(full: bytes, tmp_path: Path) -> None:
    original = everything(write(tmp_path, "all.ncu-rep", full))
    assert len(original) == 3
    assert any(line[2] == ["transpose.cu", 14] for line in original[0]["lines"])  # type: ignore[index, attr-defined]
    for keep in ({1}, {0, 2}):
        selected = report_file.select(full, keep)
        assert everything(write(tmp_path, "some.ncu-rep", selected)) == [original[i] for i in sorted(keep)]
        assert len(selected) < len(full)


@pytest.mark.slow
def test_a_selection_drops_the_cubins_that_it_does_not_need(torch_path: Path, tmp_path: Path) -> None:
    data = read_plain(torch_path)
    original = everything(write(tmp_path, "all.ncu-rep", data))
    for keep in (0, 1):
        selected = report_file.select(data, {keep})
        sources = [e for b in report_file.blocks(selected) for e in b.entries if e.kind == report_file.SOURCES]
        assert len(selected) < 0.65 * len(data)
        assert len({next(report_file.fields(selected, e.start, e.end)).value for e in sources}) == 1
        assert everything(write(tmp_path, "one.ncu-rep", selected)) == [original[keep]]


def test_an_empty_selection_is_still_a_report(full: bytes, tmp_path: Path) -> None:
    selected = report_file.select(full, set())
    assert len(list(report_file.results(selected))) == 0
    assert everything(write(tmp_path, "none.ncu-rep", selected)) == []
