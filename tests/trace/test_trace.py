"""Traces of Nsight Systems and torch.profiler are read alike, whole or not at all."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from traced import ADD, GEMM, GPU, STEP, Copied, Ran, chrome_trace, write_nsys

from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError, UsageProblem
from ncu_assist.trace import Trace, find_nsys, is_trace, read_trace

DATA = Path(__file__).parents[1] / "data"


def _chrome(path: Path, trace: Any = None) -> Path:
    path.write_text(json.dumps(chrome_trace() if trace is None else trace))
    return path


def _both(tmp_path: Path) -> list[Trace]:
    return [read_trace(write_nsys(tmp_path / "a.sqlite")), read_trace(_chrome(tmp_path / "a.json"))]


def test_both_say_the_same(tmp_path: Path) -> None:
    nsys, chrome = _both(tmp_path)
    assert nsys.kernels.equals(chrome.kernels)
    assert nsys.copies.sort_values("start_ns", ignore_index=True).equals(chrome.copies)
    assert (nsys.recorder, chrome.recorder) == ("Nsight Systems", "torch.profiler")
    assert nsys.gpu == chrome.gpu == GPU


def test_what_they_say(tmp_path: Path) -> None:
    for trace in _both(tmp_path):
        assert list(trace.kernels["kernel"][:2]) == [GEMM, "vectorized_elementwise_kernel"]
        assert list(trace.kernels["signature"][:2]) == [GEMM, ADD]
        first = trace.kernels.iloc[0]
        assert (first["start_ns"], first["duration_ns"]) == (100_000, 90_000)
        assert [first[f"grid_{axis}"] for axis in "xyz"] == [16, 8, 1]
        copies = {one.way: one for one in trace.copies.itertuples()}
        assert {way: (one.memory, one.bytes) for way, one in copies.items()} == {
            "H2D": ("pageable", 65536), "D2H": ("pinned", 4), "memset": ("", 4096)
        }  # fmt: skip


def test_pages_of_managed_memory_that_move_are_copies(tmp_path: Path) -> None:
    copies = (Copied("UVM HtoD", 80, 10, 65536), Copied("HtoD", 100, 5, 4096, "Pinned"))
    found = read_trace(write_nsys(tmp_path / "a.sqlite", copies=copies)).copies
    assert list(zip(found["way"], found["memory"], strict=True)) == [("H2D", "managed"), ("H2D", "pinned")]


def test_a_real_trace_of_torch() -> None:
    """Six steps of a small training on an H100, recorded by torch 2.11 with ProfilerActivity.CUDA alone."""
    trace = read_trace(DATA / "train_h100_torch_2.11.trace.json.gz")
    assert trace.gpu == "NVIDIA H100 80GB HBM3"
    assert (len(trace.kernels), trace.kernels["duration_ns"].sum()) == (165, 9_444_934)
    assert trace.copies.groupby(["way", "memory"]).size().to_dict() == {
        ("D2H", "pinned"): 6, ("H2D", "pageable"): 12, ("H2D", "pinned"): 6, ("memset", ""): 12
    }  # fmt: skip
    assert {"Kernel2", "vectorized_elementwise_kernel", "multi_tensor_apply_kernel"} <= set(trace.kernels["kernel"])
    assert (trace.kernels[["grid_x", "block_x"]] > 0).all(axis=None)


def test_launches_stand_in_the_order_of_the_host(tmp_path: Path) -> None:
    """Streams may finish out of order; ncu counts launches as the host made them."""
    late = (Ran("a()", 50, 1, order=2), Ran("b()", 10, 1, order=3), Ran("c()", 90, 1, order=1))
    for path in (write_nsys(tmp_path / "a.sqlite", late), _chrome(tmp_path / "a.json", chrome_trace(late))):
        assert list(read_trace(path).kernels["kernel"]) == ["c", "a", "b"]


def test_gzipped_and_without_a_frame(tmp_path: Path) -> None:
    whole = read_trace(_chrome(tmp_path / "a.json"))
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(chrome_trace()).encode()))
    bare = _chrome(tmp_path / "b.json", chrome_trace()["traceEvents"])
    assert read_trace(packed).kernels.equals(whole.kernels)
    assert read_trace(bare).kernels.equals(whole.kernels)


def test_an_export_without_copies_or_kernels(tmp_path: Path) -> None:
    assert read_trace(write_nsys(tmp_path / "a.sqlite", copies=())).copies.empty
    nothing = read_trace(write_nsys(tmp_path / "b.sqlite", kernels=(), copies=()))
    assert nothing.kernels.empty
    assert nothing.copies.empty


def test_whole_graphs_are_rows_and_are_said(tmp_path: Path) -> None:
    path = write_nsys(tmp_path / "a.sqlite")
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, "
            "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, "
            "graphExecId INTEGER)"
        )
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5000000, 5100000, 0, 1, 7, 77, 9, 3, 4)")
    trace = read_trace(path)
    assert len(trace.kernels) == len(STEP) + 1
    assert trace.kernels.iloc[-1]["signature"] == "(CUDA graph 3)"
    assert "--cuda-graph-trace=node" in trace.notes[0]


def test_a_trace_before_sizes_were_said(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "Kernel", "name": "scale(int)", "ts": 1, "dur": 2, "args": {}}
    kernels = read_trace(_chrome(tmp_path / "a.json", {"traceEvents": [event]})).kernels
    assert list(kernels.iloc[0][["grid_x", "block_x"]]) == [0, 0]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", DamagedData, "empty"),
        (b"#!/bin/sh\n", UsageProblem, "no trace"),
        (b'{"traceEvents": [{"ph"', DamagedData, "no whole trace"),
        (b'{"a": 1}', UsageProblem, "no traceEvents"),
        (b"\x1f\x8b\x08\x00torn", DamagedData, "no whole trace"),
        (b'{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": "soon"}]}', DamagedData, "cannot be"),
        (b'{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1e300}]}', DamagedData, "cannot be"),
        (b"SQLite format 3\x00" + bytes(100), DamagedData, "cannot be read"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, data: bytes, error: type[NcuAssistError], words: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(error, match=words) as raised:
        read_trace(path)
    assert raised.value.hint


def test_another_database_and_a_torn_export(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.sqlite") as database:
        database.execute("CREATE TABLE runs (id INTEGER)")
    with pytest.raises(UsageProblem, match="no export of Nsight Systems"):
        read_trace(tmp_path / "other.sqlite")
    whole = write_nsys(tmp_path / "a.sqlite")
    whole.write_bytes(whole.read_bytes()[:9000])
    with pytest.raises(DamagedData, match="cannot be read"):
        read_trace(whole)


def test_a_report_of_ncu_is_sent_to_show(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(b"NVR\x00")
    with pytest.raises(UsageProblem) as raised:
        read_trace(path)
    assert raised.value.hint == f"ncu-assist show {path}"


def test_words_that_name_traces(tmp_path: Path) -> None:
    named = ("a.sqlite", "x/b.nsys-rep", "t.json", "t.pt.trace.json.gz", "r.ncu-rep")
    assert [word for word in named if not is_trace(word)] == []
    assert [word for word in ("train.py", "./a.out", "v.cu", "mod:fn", "python") if is_trace(word)] == []


def test_where_nsys_is_looked_for(tmp_path: Path) -> None:
    for version in ("2024.6.2", "2025.11.1", "2025.3.1"):
        path = tmp_path / "nsight-systems" / version / "bin" / "nsys"
        path.parent.mkdir(parents=True)
        path.write_text("")
        path.chmod(0o755)
    assert find_nsys({}, [tmp_path / "nsight-systems"]).parts[-3] == "2025.11.1"
    with pytest.raises(EnvironmentProblem, match="not installed"):
        find_nsys({}, [])
