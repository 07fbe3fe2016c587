"""Forms of reports that this project did not record: of older releases, of interrupted programs, with names late."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ncu.rewriting import interrupt, sized, with_header, with_launch

from ncu_assist.errors import DamagedData
from ncu_assist.frame import combine
from ncu_assist.ncu import reader, report_file
from ncu_assist.ncu.messages import Messages
from ncu_assist.ncu.report import Report
from ncu_assist.pipeline.importing import RunNames, foreign_run

Read = Callable[[bytes], Report]


def in_threads(result: Any) -> None:
    """Write the grid as ncu 2019 and 2020 do."""
    for axis in "xyz":
        setattr(result.grid, axis, getattr(result.grid, axis) * getattr(result.block, axis))


def without_axes(data: bytes, result: Any) -> None:
    """Take away what only newer releases say: ncu 2019 has the number of blocks alone."""
    names = [name for block in report_file.blocks(data) for name in Messages().header(data, block).strings.strings]
    kept = [one for one in result.metrics if "_dim_" not in names[one.name]]
    del result.metrics[:]
    result.metrics.extend(kept)


@pytest.mark.parametrize("older", [False, True])
def test_a_grid_in_threads_is_given_in_blocks(plain: bytes, read: Read, older: bool) -> None:
    def change(result: Any) -> None:
        in_threads(result)
        if older:
            without_axes(plain, result)

    report, known = read(with_launch(plain, 1, change)), read(plain)
    assert report.records[1].grid == known.records[1].grid
    assert report.launches.grid_x[1] == known.launches.grid_x[1]


def test_a_grid_that_is_neither_blocks_nor_threads_is_damage(plain: bytes, read: Read) -> None:
    def change(result: Any) -> None:
        without_axes(plain, result)
        result.grid.x += 1

    with pytest.raises(DamagedData, match="its launch__grid_size is"):
        read(with_launch(plain, 1, change))


def test_an_interrupted_launch_is_listed_and_the_others_are_kept(plain: bytes, read: Read) -> None:
    known = read(plain)
    report = read(with_launch(plain, 2, interrupt(plain)))
    assert report.notes == (
        "1 of 3 launches ended with the program, without sizes and with hardly a value: 2 (transpose_naive); "
        "the other 2 are whole",
    )
    assert report.records[:2] == known.records[:2]
    assert report.records[2].interrupted
    assert report.records[2].duration_ns is None
    assert report.launches.loc[:1, known.launches.columns].equals(known.launches.loc[:1])


def test_an_interrupted_launch_takes_no_sum_away(plain: bytes, read: Read) -> None:
    report = read(with_launch(plain, 2, interrupt(plain)))
    run = foreign_run(RunNames("imported", "form"), report, "imported")
    combined = combine(run, report.metrics, None)
    times = [one.duration_ns for one in report.records[:2]]
    assert combined.duration_ns == sum(time for time in times if time is not None)


def test_a_report_of_interrupted_launches_only_is_read(plain: bytes, read: Read) -> None:
    data = plain
    for number in range(3):
        data = with_launch(data, number, interrupt(plain))
    report = read(data)
    assert len(report.launches) == 3
    assert report.notes[0].endswith("none is whole")


def test_a_launch_of_no_size_that_says_how_many_blocks_it_has_is_damage(plain: bytes, read: Read) -> None:
    def change(result: Any) -> None:
        for size in (result.grid, result.block):
            size.x = size.y = size.z = 0

    with pytest.raises(DamagedData, match="launch 1"):
        read(with_launch(plain, 1, change))


def with_names_last(data: bytes) -> bytes:
    """Return the report with the names of its metrics in a block behind the last launch."""
    number, names = next(
        (number, list(header.strings.strings))
        for number, block in enumerate(report_file.blocks(data))
        if (header := Messages().header(data, block)).strings.strings
    )
    late = with_header(data, number, lambda header: header.ClearField("strings"))
    last = len(report_file.blocks(late)) - 1
    assert last > number
    return with_header(late, last, lambda header: header.strings.strings.extend(names))


def test_names_may_stand_behind_the_launches_that_use_them(plain: bytes, read: Read, tmp_path: Path) -> None:
    late = with_names_last(plain)
    report, known = read(late), read(plain)
    assert report.metrics.equals(known.metrics)
    assert report.instances.equals(known.instances)
    assert reader.count_launches(report.path) == 3


def test_what_is_refused_says_what_nvidias_reader_finds(plain: bytes, read: Read) -> None:
    def change(result: Any) -> None:
        result.grid.x = 0

    with pytest.raises(
        DamagedData, match="NVIDIA's reader finds 3 launches in it, and does not say that it is damaged"
    ):
        read(with_launch(plain, 1, change))
    with pytest.raises(DamagedData, match="NVIDIA's reader finds 2 launches in it"):
        read(plain[: list(report_file.results(plain))[1].end - 10])


def test_a_command_that_is_not_said_is_no_note(plain: bytes, read: Read) -> None:
    for number, block in enumerate(report_file.blocks(plain)):
        if Messages().header(plain, block).session.command:
            report = read(with_header(plain, number, lambda header: header.session.ClearField("command")))
            assert report.notes == ()
            assert report.contents.session.command is None


def test_a_name_of_another_release_is_no_note(plain: bytes, read: Read) -> None:
    name = b"sm__throughput.avg.pct_of_peak_sustained_elapsed"
    other = b"sm__newer_unit.avg.pct_of_peak_sustained_elapsed"
    report = read(plain.replace(name, other))
    assert report.notes == ()
    assert other.decode() in report.launches.columns


def test_the_version_of_cuda_is_known_without_a_frame(plain: bytes, read: Read) -> None:
    report = read(plain)
    assert report.cuda_version == report.session["cuda"].iloc[0]
    assert read(plain).cuda_version is not None


def of_release(data: bytes, release: str) -> bytes:
    """Return the report as another release of ncu would say it is of."""

    def change(header: Any) -> None:
        for one in header.session.versions:
            if one.program == "Nsight Compute Target":
                one.version = release

    for number in range(len(report_file.blocks(data))):
        data = with_header(data, number, change)
    return data


def unknown_value(result: Any) -> None:
    result.metrics[5].value.Clear()
    result.metrics[5].value.MergeFromString(report_file.write_varint(9 << 3 | 2) + b"\x01x")


def test_a_value_of_a_newer_kind_is_named_where_the_ncu_is_newer(plain: bytes, read: Read) -> None:
    odd = with_launch(plain, 0, unknown_value)
    with pytest.raises(DamagedData, match="a value has a type that is not known here"):
        read(odd)
    report = read(of_release(odd, "2027.1.0.0 (build 1)"))
    name = report.contents.names(0)
    assert len(report.launches) == 3
    assert any("ncu 2027.1 is newer than this program: the values of " in note for note in report.notes)
    assert len(name) == len(read(plain).contents.names(0))


def with_unknown_result(data: bytes) -> bytes:
    """Return the report with one entry more in its last block with launches, which a field 10 of the header counts."""
    number, block = [(i, one) for i, one in enumerate(report_file.blocks(data)) if one.results][-1]
    end = block.entries[-1].end
    longer = data[:end] + sized(b"\x08\x01") + data[end:]

    def count(header: Any) -> None:
        header.payload += len(sized(b"\x08\x01"))

    return with_header(longer, number, count, more=b"\x50\x01")


def test_a_result_of_a_newer_kind_is_counted_where_the_ncu_is_newer(plain: bytes, read: Read) -> None:
    odd = with_unknown_result(plain)
    with pytest.raises(DamagedData, match="an entry is of a kind that is not known here"):
        read(odd)
    report = read(with_unknown_result(of_release(plain, "2027.1.0.0 (build 1)")))
    assert len(report.launches) == 3
    assert any("1 of its results are of a kind that is not known here" in note for note in report.notes)
    assert len(report_file.blocks(report_file.select(odd, {1}))) == len(report_file.blocks(odd))
