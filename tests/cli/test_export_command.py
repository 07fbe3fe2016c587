"""``ncu-assist export``."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commandline import SMALL_REPORT, Run, files

from ncu_assist.cli import export_command
from ncu_assist.pipeline.exporting import TABLES
from ncu_assist.render.export import FORMATS

FEW = ("--metrics", "duration,gpu__time*", "--metrics", "waves_per_sm")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.ncu-rep.zst").write_bytes(SMALL_REPORT.read_bytes())
    return tmp_path


def test_a_row_a_launch_unless_asked_for_another_table(run: Run, recorded: Path) -> None:
    answer = run("export", "v7", "--metrics", "duration", "--metrics", "dram_throughput, sector_efficiency_store")
    assert answer.code == 0
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert len(rows) == 10
    assert list(rows[0])[-4:] == ["duration_ns", "duration", "dram_throughput", "sector_efficiency_store"]
    assert len({row["workload"] for row in rows}) == 10
    assert all(0 < float(row["dram_throughput"]) <= 100 for row in rows)


def test_the_launches_of_one_workload(run: Run, recorded: Path) -> None:
    (row,) = csv.DictReader(io.StringIO(run("export", "v7", "--workload", "b16_d96").out))
    assert row["workload"] == "b16_d96"
    metrics = csv.DictReader(io.StringIO(run("export", "v7", "--table", "metrics", "--workload", "b16_d96").out))
    assert {one["launch"] for one in metrics} == {row["launch"]}
    wrong = run("export", "v7", "--workload", "b16_d9")
    assert wrong.code == 2
    assert "did you mean 'b16_d96'?\n  try: ncu-assist export v7 --workload b16_d96\n" in wrong.err


def test_json_is_a_format(run: Run, recorded: Path) -> None:
    answer = run("export", "v7", "--table", "metrics", "--metrics", "duration", "--json")
    assert answer.json == run("export", "v7", "--table", "metrics", "--metrics", "duration", "--format", "json").json
    assert answer.json["schema"] == "ncu-assist.export/1"
    assert answer.json["run"]["version"] == "v7_registers_128bit"
    assert {row["unit"] for row in answer.json["rows"]} == {"ns"}


def test_the_report_of_a_recorded_run_holds_one_workload_and_says_so(run: Run, recorded: Path) -> None:
    answer = run("export", "v7", "--table", "rules")
    assert answer.code == 0
    assert "has 1 of the 10 launches of the run" in answer.err


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_in_the_format_of_its_ending(run: Run, here: Path, name: str) -> None:
    answer = run("export", "mine.ncu-rep.zst", *FEW, "--output", f"out.{name}")
    assert (answer.code, answer.out) == (0, "")
    data = (here / f"out.{name}").read_bytes()
    if name == "parquet":
        assert pq.read_table(io.BytesIO(data)).num_rows == 3
    elif name == "json":
        assert len(json.loads(data)["rows"]) == 3
    else:
        assert data.startswith(b"launch,kernel,")
        assert data.count(b"\n") == 4
    assert files(here) == {"mine.ncu-rep.zst", f"out.{name}"}


def test_a_file_is_replaced_only_when_asked(run: Run, here: Path) -> None:
    (here / "out.csv").write_text("mine")
    answer = run("export", "mine.ncu-rep.zst", *FEW, "-o", "out.csv")
    assert (answer.code, answer.out) == (2, "")
    assert "out.csv already exists" in answer.err
    assert "try: --force" in answer.err
    assert (here / "out.csv").read_text() == "mine"
    assert run("export", "mine.ncu-rep.zst", *FEW, "-o", "out.csv", "--force").code == 0
    assert (here / "out.csv").read_text().startswith("launch,")


def test_a_stream_is_not_replaced(run: Run, here: Path) -> None:
    words = ("export", "mine.ncu-rep.zst", *FEW, "-o")
    to_stdout = run(*words, "-")
    assert (to_stdout.code, to_stdout.out.count("\n"), files(here)) == (0, 4, {"mine.ncu-rep.zst"})
    os.mkfifo(here / "fifo")
    reader = os.open(here / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run(*words, "fifo", "--format", "csv").code == 0
        assert os.read(reader, 1 << 16).decode().splitlines() == to_stdout.out.splitlines()
    finally:
        os.close(reader)


def test_a_wrong_metric_is_said_before_anything_is_written(run: Run, here: Path) -> None:
    answer = run("export", "mine.ncu-rep.zst", "--metrics", "duraton", "-o", "out.csv")
    assert (answer.code, answer.out) == (2, "")
    assert "use duration" in answer.err
    assert "try: ncu-assist export mine.ncu-rep.zst --metrics duration -o out.csv" in answer.err
    assert files(here) == {"mine.ncu-rep.zst"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "xlsx"], "'xlsx' is not one of 'csv', 'parquet', 'json'"),
        (["--table", "launch"], "'launch' is not one of"),
        (["--json", "--format", "csv"], "exclude each other"),
        (["--table", "session", "--metrics", "duration"], "has no metrics to choose"),
        (["-o", "nothere/out.csv"], "in a folder that does not exist"),
        (["-o", "."], "is a folder"),
        (["--metrics", "nothing*"], "no metric of this report matches 'nothing*'"),
    ],
)
def test_wrong_use(run: Run, here: Path, words: list[str], message: str) -> None:
    answer = run("export", "mine.ncu-rep.zst", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert files(here) == {"mine.ncu-rep.zst"}


def test_no_such_reference(run: Run, here: Path) -> None:
    answer = run("export", "min.ncu-rep.zst")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean 'mine.ncu-rep.zst'?" in answer.err


def test_a_damaged_report(run: Run, here: Path) -> None:
    (here / "cut.ncu-rep.zst").write_bytes(SMALL_REPORT.read_bytes()[:9_000])
    answer = run("export", "cut.ncu-rep.zst", "-o", "out.csv")
    assert (answer.code, answer.out) == (7, "")
    assert "get the file again" in answer.err
    assert not (here / "out.csv").exists()


def test_a_disk_that_refuses_leaves_nothing_behind(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    answer = run("export", "mine.ncu-rep.zst", *FEW, "-o", "out.csv")
    assert answer.code == 6
    assert "No space left" in answer.err
    assert files(here) == {"mine.ncu-rep.zst"}


def test_parquet_is_not_for_terminals(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncu_assist.cli.console.sys.stdout.isatty", lambda: True)
    answer = run("export", "mine.ncu-rep.zst", "--format", "parquet")
    assert answer.code == 2
    assert "try: ncu-assist export mine.ncu-rep.zst --format parquet --output FILE" in answer.err


@pytest.mark.slow
def test_parquet_into_a_pipe(repository: Path) -> None:
    argv = [sys.executable, "-m", "ncu_assist", "export", str(SMALL_REPORT), "--format", "parquet", *FEW]
    done = subprocess.run(argv, capture_output=True, cwd=repository, check=True)
    assert pq.read_table(io.BytesIO(done.stdout)).num_rows == 3


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--table", "instances"], ["--format", "parquet"]])
def test_a_reader_that_went_away_is_no_error(repository: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        argv = [sys.executable, "-m", "ncu_assist", "export", str(SMALL_REPORT), *words]
        done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, cwd=repository, check=False)
    finally:
        os.close(writer)
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == ["note: unverified: the original bytes of this report are not known"]


def test_the_choices_are_those_that_there_are() -> None:
    assert set(export_command.TABLES) == set(TABLES)
    assert set(export_command.FORMATS) == set(FORMATS)


@pytest.mark.parametrize("absent", ["stall_wait", "dram__bytes_op_read.sum", "smsp__inst_executed.sum"])
def test_a_metric_that_this_report_lacks_is_an_empty_column_and_said(run: Run, here: Path, absent: str) -> None:
    asked = f"duration,{absent},registers"
    answer = run("export", "mine.ncu-rep.zst", "--metrics", asked)
    assert answer.code == 0, answer.err
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert len(rows) == 3
    assert list(rows[0])[-3:] == ["duration", absent, "registers"]
    assert all(row[absent] == "" and float(row["duration"]) > 0 and float(row["registers"]) > 0 for row in rows)
    assert f"note: not in the report, so empty: {absent}" in answer.err
    tidy = run("export", "mine.ncu-rep.zst", "--table", "metrics", "--metrics", asked, "--json")
    assert {row["metric"] for row in tidy.json["rows"]} == {"duration", "registers"}
    assert f"note: not in the report, so without a row: {absent}" in tidy.err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("duration,duraton", "duraton is a name that no recorded chip has; use duration"),
        ("duration,sm__inst_executed.sun", "has no rollup"),
        ("duration,nothing*", "no metric of this report matches 'nothing*'"),
        ("stall_wait", "cannot be answered: stall_wait"),
        ("stall_wait,stall_barrier", "stall_barrier"),
    ],
)
def test_a_name_that_none_has_is_an_error_and_so_is_nothing_at_all(run: Run, here: Path, asked: str, said: str) -> None:
    answer = run("export", "mine.ncu-rep.zst", "--metrics", asked, "-o", "out.csv")
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert files(here) == {"mine.ncu-rep.zst"}
