"""Reports become records and frames, completely or not at all."""

from __future__ import annotations

import gzip
import lzma
import resource
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from ncu.conftest import Broken

from ncu_assist.errors import DamagedData, ReaderBug, UsageProblem
from ncu_assist.ncu import reader, report_file
from ncu_assist.ncu.compressed import compress, read_plain
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.tables import launch_records
from ncu_assist.quantity import number_of


@pytest.fixture(scope="module")
def report() -> Report:
    data = Path(__file__).parent.parent / "data"
    return read_report(data / "transpose_full_h200_2025.3.1.ncu-rep.zst", expected_launches=3)


def test_launches(report: Report) -> None:
    first, second, third = report.records
    assert (first.kernel, first.signature) == (
        "transpose_naive",
        "void transpose_naive<(int)32>(const float *, float *)",
    )
    assert first.ranges == ("ncu-assist", "v0_naive|w0")
    assert (second.grid, second.block, second.duration_ns) == ((32, 32, 1), (32, 8, 1), 7616.0)
    assert (third.index, third.ranges[1], third.workload) == (2, "v0_naive|w1", None)


def test_the_time_of_a_release_of_2019_has_neither_rollup_nor_unit(report: Report) -> None:
    then, now = "gpu__time_duration", "gpu__time_duration.sum"
    found = report.contents
    names = tuple(tuple(then if name == now else name for name in each) for each in found.name_lists)
    units = {name: unit for name, unit in found.units.items() if name != now} | {then: ""}
    old = launch_records(replace(found, name_lists=names, units=units))
    assert [one.duration_ns for one in old] == [one.duration_ns for one in report.records]


def test_device_and_version(report: Report) -> None:
    device = report.device
    assert device is not None
    assert (device.name, device.compute_capability, device.sm_count) == ("NVIDIA H200", "9.0", 132)
    assert (device.l2_bytes, device.memory_bytes, device.driver) == (62914560, 150109880320, None)
    assert report.ncu_version == "2025.3.1.0"


def test_metrics_are_tidy(report: Report) -> None:
    frame = report.metrics
    assert list(frame.columns) == ["launch", "metric", "value", "text", "unit"]
    assert [str(dtype) for dtype in frame.dtypes] == ["int32", "category", "float64", "object", "category"]
    assert len(frame) == 3 * 2243
    row = frame[(frame.launch == 1) & (frame.metric == "dram__bytes_read.sum")].iloc[0]
    assert (row.value, row.text, row.unit) == (4197376.0, None, "byte")
    row = frame[(frame.launch == 2) & (frame.metric == "device__attribute_display_name")].iloc[0]
    assert (row.text, row.value != row.value) == ("NVIDIA H200", True)


@pytest.mark.slow
def test_values_are_those_of_nvidias_reader(report: Report, full: bytes, tmp_path: Path) -> None:
    from ncu.nvidia_reader import everything

    plain = tmp_path / "r.ncu-rep"
    plain.write_bytes(full)
    for launch, facts in enumerate(everything(plain)):
        frame = report.metrics[report.metrics.launch == launch]
        known = facts["metrics"]
        assert isinstance(known, dict)
        assert set(known) == set(frame.metric)
        for row in frame.itertuples():
            value, unit = known[row.metric][:2]
            assert unit == row.unit
            if row.text is not None:
                assert value == repr(row.text)
            else:
                assert repr(float(value or "nan")) == repr(row.value)


def test_rules_are_nvidias_findings(report: Report) -> None:
    rules = report.rules
    stores = rules[(rules.launch == 0) & (rules.rule == "UncoalescedGlobalAccess")]
    assert len(stores) >= 1
    assert set(rules.kind.dropna()) <= {"ok", "optimization", "warning", "error"}
    assert set(rules.speedup_type.dropna()) == {"local", "global"}
    assert rules.speedup_pct.max() > 10


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("r.ncu-rep", bytes),
        ("r.ncu-repz", compress),
        ("r.ncu-rep.zst", compress),
        ("r.ncu-rep.xz", lzma.compress),
        ("r.ncu-rep.gz", gzip.compress),
        ("r.ncu-repz.xz", lambda data: lzma.compress(compress(data))),
    ],
)
def test_every_form_reads_the_same(basic_path: Path, tmp_path: Path, name: str, pack) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / name
    path.write_bytes(pack(read_plain(basic_path)))
    found = read_report(path)
    assert found.metrics.equals(read_report(basic_path).metrics)
    assert len(found.metrics) == 3 * 563


@pytest.mark.parametrize("pack", [compress, lzma.compress, gzip.compress])
def test_a_cut_compressed_file_is_damaged(basic_path: Path, tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    packed = pack(read_plain(basic_path))
    for end in (10, len(packed) // 2, len(packed) - 1):
        path = tmp_path / "r"
        path.write_bytes(packed[:end])
        with pytest.raises(DamagedData):
            read_report(path)


def test_a_missing_file_is_a_usage_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem):
        read_report(tmp_path / "nothing.ncu-rep")


def test_fewer_launches_than_ncu_logged_is_damaged(full_path: Path, full: bytes, tmp_path: Path) -> None:
    with pytest.raises(DamagedData, match="holds 3 launches, but ncu's log says it profiled 4"):
        read_report(full_path, expected_launches=4)
    last = report_file.blocks(full)[-1]
    path = tmp_path / "cut_between_blocks.ncu-rep"
    path.write_bytes(full[: last.header_start - 4])
    with pytest.raises(DamagedData):
        read_report(path, expected_launches=3)


@pytest.mark.parametrize(("written", "lacking"), [(1, 1), (1120, 1114)])
def test_a_launch_that_lacks_metrics_is_told(full: bytes, tmp_path: Path, written: int, lacking: int) -> None:
    report = read_report(without_metrics(full, 1, written, tmp_path))
    (note,) = report.notes
    assert note.startswith(f"1 of 3 launches lack {number_of(lacking, 'metric')} that others have: ")


def without_metrics(data: bytes, launch: int, count: int, folder: Path) -> Path:
    """Write the report without the first ``count`` metrics of a launch, its sizes as a writer would have them."""
    entry = list(report_file.results(data))[launch]
    metrics = [f for f in report_file.fields(data, entry.start, entry.end) if f.number == 13][:count]
    cut = metrics[-1].end - metrics[0].start
    block = next(b for b in report_file.blocks(data) if entry in b.entries)
    header = b"".join(
        report_file.write_varint(5 << 3) + report_file.write_varint(f.value - cut)
        if f.number == 5
        else data[f.start : f.end]
        for f in report_file.fields(data, block.header_start, block.header_end)
    )
    size = (entry.end - entry.start - cut).to_bytes(4, "little")
    path = folder / "fewer.ncu-rep"
    path.write_bytes(
        data[: block.header_start - 4]
        + len(header).to_bytes(4, "little")
        + header
        + data[block.header_end : entry.start - 4]
        + size
        + data[entry.start : metrics[0].start]
        + data[metrics[-1].end :]
    )
    return path


def test_a_field_that_changed_its_number_is_damaged(full: bytes, tmp_path: Path) -> None:
    entry = next(report_file.results(full))
    field = [f for f in report_file.fields(full, entry.start, entry.end) if f.number == 13][7]
    flipped = bytearray(full)
    flipped[field.start] ^= 1 << 3  # 12: a comment, which the parser takes without a word
    path = tmp_path / "flipped.ncu-rep"
    path.write_bytes(bytes(flipped))
    with pytest.raises(DamagedData, match="not in order"):
        read_report(path)


def test_nvidias_reader_has_to_agree(
    basic_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, true_opinion = tmp_path / "r.ncu-rep", reader.nvidias_metrics
    plain.write_bytes(read_plain(basic_path))

    def other(report: bytes, folder: Path) -> dict[str, tuple[str, float]]:
        return {name: (unit, value + 1) for name, (unit, value) in true_opinion(report, folder).items()}

    monkeypatch.setattr(reader, "nvidias_metrics", other)
    monkeypatch.setattr(reader, "recorded_units", dict)  # it is asked where a name is new
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    assert reader.main(["scalars", str(plain), "r", str(tmp_path), "0"]) == DamagedData.exit_code
    assert "disagree on launch 0" in capsys.readouterr().err


@pytest.mark.parametrize(("fails", "is_ours"), [("{}.__getitem__", True), ("open", False)])
def test_an_exception_of_our_own_code_is_not_blamed_on_the_file(
    full_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str, is_ours: bool
) -> None:
    """A KeyError in a module of ours is a bug. An OSError is not: the disk may be full."""
    failing = tmp_path / "failing.py"
    failing.write_text(
        f"import sys\nfrom ncu_assist.ncu import reader\nreader.int = {fails}\nreader.main(sys.argv[4:])"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{failing}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(DamagedData) as told:
        read_report(full_path)
    assert isinstance(told.value, ReaderBug) == is_ours
    if is_ours:
        assert "because of a bug in ncu-assist (KeyError" in str(told.value)
        assert (told.value.exit_code, told.value.hint) == (1, "ncu-assist bug-report")


def test_a_reader_that_dies_or_hangs_is_damaged_data(full_path: Path, broken_reader: Broken) -> None:
    with pytest.raises(DamagedData, match=broken_reader.words):
        read_report(full_path, timeout_s=broken_reader.limit_s)


def test_the_reader_stays_within_its_memory(full_path: Path) -> None:
    with pytest.raises(DamagedData):
        read_report(full_path, memory_bytes=30_000_000)


def test_reports_of_2022(old_report: Path) -> None:
    report = read_report(old_report)
    assert report.ncu_version == "2022.3.0.0"
    assert report.device is not None
    assert report.device.name == "NVIDIA GeForce RTX 3070"
    assert report.device.driver is not None
    assert report.rules.speedup_pct.isna().all()
    assert all(launch.duration_ns and launch.duration_ns > 1000 for launch in report.records)
    if "nvtx" in old_report.name:
        assert report.records[1].ranges == ("run_test", "daxpy")


def test_a_csv_export_reads_as_its_report_does(full_path: Path) -> None:
    report, export = read_report(full_path), read_report(full_path.parent / "transpose_full_h200_2025.3.1.base.csv.zst")
    assert export.lossy
    assert not report.lossy
    assert list(export.launches.block_x) == list(report.launches.block_x)
    name = "gpu__time_duration.sum"
    assert list(export.launches[name]) == list(report.launches[name])
    assert [one.duration_ns for one in export.records] == [one.duration_ns for one in report.records]
    with pytest.raises(UsageProblem, match="is a printed page and has no instances"):
        _ = export.instances


@pytest.mark.slow
def test_lines_and_instructions_of_a_report(report: Report) -> None:
    assert set(report.lines.launch) == set(report.sass.launch) == {0, 1, 2}
    assert report.lines.instructions.sum() == report.sass.instructions.sum()
    assert set(report.source({1}).lines.launch) == {1}
