"""Reports become records and frames, completely or not at all."""

from __future__ import annotations

import gzip
import lzma
import sys
import time
from pathlib import Path

import pytest

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu import report_file
from ncu_assist.ncu.compressed import compress, read_plain
from ncu_assist.ncu.report import Report, read_report


@pytest.fixture(scope="module")
def report() -> Report:
    data = Path(__file__).parent.parent / "data"
    return read_report(data / "transpose_full_h200_2025.3.1.ncu-rep.zst", expected_launches=3)


def test_launches(report: Report) -> None:
    first, second, third = report.launches
    assert (first.kernel, first.signature) == (
        "transpose_naive",
        "void transpose_naive<(int)32>(const float *, float *)",
    )
    assert first.ranges == ("ncu-assist", "v0_naive|w0")
    assert (second.grid, second.block, second.duration_ns) == ((32, 32, 1), (32, 8, 1), 7616.0)
    assert (third.index, third.ranges[1], third.workload) == (2, "v0_naive|w1", None)


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


def test_a_launch_that_lost_its_metrics_is_damaged(full: bytes, tmp_path: Path) -> None:
    entry = list(report_file.results(full))[2]
    lost = bytearray(full)
    metrics = [f for f in report_file.wire.fields(full, entry.start, entry.end) if f.number == 13]
    for field in metrics[: len(metrics) // 2]:
        lost[field.start] = 14 << 3 | 2  # the same bytes under another number: the reader skips them
    path = tmp_path / "lost.ncu-rep"
    path.write_bytes(bytes(lost))
    with pytest.raises(DamagedData, match="launch 2 has"):
        read_report(path)


def test_what_the_reader_drops_is_noticed(full: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = report_file.metric_counts(full)
    monkeypatch.setattr(report_file, "metric_counts", lambda data: (counts[0] + 1, *counts[1:]))
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(full)
    with pytest.raises(DamagedData, match="only 3 with 6729 can be read"):
        read_report(path)


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        ("import os; os.abort()", "exit code -6"),
        ("raise TypeError('no such action')", "no such action"),
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import time; time.sleep(60)", "within 0.5 s"),
    ],
)
def test_a_reader_that_dies_or_hangs_is_damaged_data(
    full_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, words: str
) -> None:
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{reader}"\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(DamagedData, match=words):
        read_report(full_path, timeout_s=0.5)


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
    assert all(launch.duration_ns and launch.duration_ns > 1000 for launch in report.launches)
    if "nvtx" in old_report.name:
        assert report.launches[1].ranges == ("run_test", "daxpy")


def test_reading_is_quick(torch_path: Path) -> None:
    import pandas  # noqa: F401  its import is not part of reading

    started = time.monotonic()
    read_report(torch_path)
    assert (
        time.monotonic() - started < 5.0
    )  # 0.5 s on two slow cores; the bound only catches a name-by-name loop gone wild
