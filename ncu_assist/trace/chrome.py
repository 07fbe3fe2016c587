"""The trace of torch.profiler (Kineto, output_json.cpp): JSON of Chrome's trace viewer, times in microseconds."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.trace import GZIP, CopyWay, Trace, make_trace

KERNEL, COPY, SET = "kernel", "memcpy", "memset"
CATEGORIES = {"kernel": KERNEL, "gpu_memcpy": COPY, "memcpy": COPY, "gpu_memset": SET, "memset": SET}
WAYS: dict[str, CopyWay] = {"HtoD": "H2D", "DtoH": "D2H", "DtoD": "D2D", "PtoP": "P2P", "HtoH": "H2H"}
NAMED_WAY = re.compile(r"Memcpy (\w+)(?: \((\w+) -> (\w+)\))?")  # Memcpy HtoD (Pageable -> Device)
HOST_MEMORY = {"Pageable": "pageable", "Pinned": "pinned", "Managed": "managed"}
AGAIN = "record it again, and let the program end by itself"


TIMES = ("start_ns", "duration_ns", "device")
SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


class _Facts(msgspec.Struct):
    """What of the arguments of an event is used."""

    device: Any = 0
    correlation: Any = 0
    grid: Any = None
    block: Any = None
    bytes: Any = None


class _Event(msgspec.Struct):
    ph: Any = ""
    cat: Any = ""
    name: Any = ""
    ts: Any = 0.0
    dur: Any = 0.0
    args: _Facts | None = None


class _Gpu(msgspec.Struct):
    name: Any = ""


class _Document(msgspec.Struct):
    traceEvents: list[_Event] | None = None
    deviceProperties: list[_Gpu] | None = None


def read_chrome(path: Path) -> Trace:
    """Return what a trace holds of the GPU. Raises UsageProblem for other JSON, DamagedData for what is torn."""
    try:
        data = path.read_bytes()
        if data.startswith(GZIP):
            data = gzip.decompress(data)
        if data.lstrip()[:1] == b"[":  # the older form, without a frame
            document = _Document(msgspec.json.decode(data, type=list[_Event]))
        else:
            document = msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedData(f"{path} is no whole trace of torch.profiler: {error}", AGAIN) from error
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}", f"ls -l {path}") from error
    if document.traceEvents is None:
        raise UsageProblem(f"{path} is JSON, and no trace: it has no traceEvents", "prof.export_chrome_trace(FILE)")
    try:
        return _trace(document)
    except (TypeError, ValueError, OverflowError) as error:
        raise DamagedData(f"{path} holds an event that cannot be: {error}", AGAIN) from error


def _trace(document: _Document) -> Trace:
    launched: dict[str, list[Any]] = {name: [] for name in (*TIMES, "order", *SIZES, "signature")}
    moved: dict[str, list[Any]] = {name: [] for name in (*TIMES, "way", "memory", "bytes")}
    for event in document.traceEvents or ():
        kind = CATEGORIES.get(event.cat.lower() if isinstance(event.cat, str) else "", "")
        if event.ph != "X" or not kind:
            continue
        facts = event.args or _Facts()
        start, duration = round(float(event.ts) * 1000), round(float(event.dur or 0) * 1000)
        of = launched if kind == KERNEL else moved
        for name, value in zip(TIMES, (start, duration, _whole(facts.device)), strict=True):
            of[name].append(value)
        if kind == KERNEL:
            launched["order"].append(_whole(facts.correlation))
            for name, value in zip(SIZES, (*_sizes(facts.grid), *_sizes(facts.block)), strict=True):
                launched[name].append(value)
            launched["signature"].append(str(event.name) or "(unnamed)")
        else:
            way, memory = _way(str(event.name)) if kind == COPY else ("memset", "")
            moved["way"].append(way)
            moved["memory"].append(memory)
            moved["bytes"].append(float("nan") if facts.bytes is None else float(facts.bytes))
    gpu = next((str(one.name) for one in document.deviceProperties or () if one.name), "")
    return make_trace("torch.profiler", pd.DataFrame(launched), pd.DataFrame(moved), gpu)


def _whole(value: Any) -> int:
    return int(value or 0)


def _sizes(value: Any) -> tuple[int, int, int]:
    """Return three sizes; zeros where they are not said."""
    if not isinstance(value, list) or len(value) != 3:
        return 0, 0, 0
    x, y, z = map(int, value)
    return x, y, z


def _way(name: str) -> tuple[CopyWay, str]:
    """Return which way a copy went, and where its bytes lie on the host."""
    found = NAMED_WAY.match(name)
    if found is None:
        return "other", ""
    way = WAYS.get(found[1], "other")
    side = found[2] if way == "H2D" else found[3] if way == "D2H" else None
    return way, HOST_MEMORY.get(side or "", "")
