"""What people take for a report is called by its name."""

from __future__ import annotations

import io
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.report import read_report

Write = Callable[[Path], object]


def database(*tables: str) -> Write:
    def write(path: Path) -> None:
        with sqlite3.connect(path) as base:
            for name in tables:
                base.execute(f"CREATE TABLE {name} (id INTEGER)")
        base.close()

    return write


def archive(*names: str) -> Write:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as packed:
            for name in names:
                packed.writestr(name, "x")

    return write


def tar(path: Path) -> None:
    with tarfile.open(path, "w") as packed:
        packed.addfile(tarfile.TarInfo("r.ncu-rep"), io.BytesIO())


def text(words: str) -> Write:
    return lambda path: path.write_text(words)


@pytest.mark.parametrize(
    ("name", "write", "words", "hint"),
    [
        ("a.nsys-rep", text("QDSTRM\x01\x02"), "this is a Nsight Systems report", "ncu-assist triage FILE"),
        ("a.qdrep", text("\x01\x02"), "this is a Nsight Systems report", "ncu --set full"),
        (
            "r.ncu-rep",
            text("\x01\x00QuadDCommon.StringStorage\x12"),
            "this is a Nsight Systems report",
            "ncu --set full",
        ),
        ("r.ncu-rep", database("StringIds"), "a Nsight Systems report, exported to SQLite", "ncu --set full"),
        ("r.ncu-rep", text("\x01\x02\x03"), "it does not start with NVR, .*; one of Nsight Systems does not", "name"),
        ("a.sqlite", database("StringIds", "CUPTI_ACTIVITY_KIND_KERNEL"), "a Nsight Systems report, exported", "ncu"),
        ("a.nvvp", database("StringTable"), "this is a profile of nvprof", "ncu --set full"),
        ("a.db", database("people"), "this is an SQLite database", "ncu"),
        ("r.ncu-rep", archive("out/r.ncu-rep", "a"), "a zip archive with out/r.ncu-rep in it", "unpack it"),
        ("r.zip", archive("a.ncu-rep", "b.ncu-rep"), "with 2 reports in it, a.ncu-rep among them", "unpack it"),
        ("r.ncu-rep", archive("xl/workbook.xml"), "this is an Excel workbook", "--csv --page raw"),
        ("r.ncu-rep", tar, "this is a tar archive", "unpack it"),
        ("r.ncu-rep", text("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "pointer of Git LFS", "pull"),
        ("r.ncu-rep", text("\n\n<!DOCTYPE html>\n<html>"), "this is a web page", "Download raw file"),
        ("r.json", text('{\n "traceEvents": [1, 2]}'), "this is a JSON file", "ncu-assist triage FILE"),
        ("r.ncu-proj", text('<?xml version="1.0"?>'), "this is an XML file", "give the report itself"),
        ("r.csv", text("hello, I am text"), "this is a text, not an Nsight Compute report", "ncu-assist list"),
        ("r.ncu-rep", text("a text\nof lines"), "this is a text, not an Nsight Compute report", "ncu-assist list"),
        (
            "k.cu",
            text("__global__ void k(int n, float* x) {}"),
            "this is a source file",
            "ncu-assist new k --from FILE",
        ),
        ("9k.cu", text("__global__ void k(float* x) {}"), "this is a source file", "ncu-assist new KERNEL --from FILE"),
        ("k.cu", text("int main () { k<<<1, 1>>>(); }"), "this is a source file", "ncu-assist profile FILE"),
        ("r.csv", text("launch,kernel,signature\n0,k,k()"), "a table that `ncu-assist export` wrote", "exported from"),
        ("r.json", text('{\n "schema": "ncu-assist.show/1"}'), "an answer in JSON, not a report", "exported from"),
        ("r.parquet", text("PAR1"), "this is a Parquet file", "the report that it was exported from"),
        ("k.ptx", text("//\n// by NVVM\n.version 8.4\n.target sm_90"), "this is PTX code", "give the report itself"),
        (
            "r.txt",
            text("==PROF== Connected\n  k (1, 1, 1)x(2, 1, 1)\n    Section: GPU Speed Of Light Throughput\n    -----"),
            "this is like what ncu prints, but its tables",
            "as ncu printed it",
        ),
    ],
)
def test_it_is_called_by_its_name(tmp_path: Path, name: str, write: Write, words: str, hint: str) -> None:
    path = tmp_path / name
    write(path)
    with pytest.raises(DamagedData, match=words) as raised:
        read_report(path)
    assert hint.replace(" FILE", f" {name}") in raised.value.hint


def test_a_report_is_read_whatever_it_is_called(basic_path: Path, tmp_path: Path) -> None:
    for name in ("old.nsight-cuprof-report", "odd.nsys-rep", "report"):
        (tmp_path / name).symlink_to(basic_path)
        assert len(read_report(tmp_path / name).launches) == 3
