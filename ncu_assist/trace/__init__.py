"""Read what a GPU did while a program ran, launch by launch, from a trace of Nsight Systems or torch.profiler."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import msgspec
import pandas as pd

from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.ncu.command import numbers_of
from ncu_assist.ncu.csv_page import function_name
from ncu_assist.record import gpu_name

Recorder = Literal["Nsight Systems", "torch.profiler", "ncu"]
CopyWay = Literal["H2D", "D2H", "D2D", "P2P", "H2H", "memset", "other"]
KERNEL_COLUMNS = {
    "start_ns": "int64", "duration_ns": "int64", "device": "int32", "order": "int64",
    "grid_x": "int64", "grid_y": "int64", "grid_z": "int64", "block_x": "int64", "block_y": "int64", "block_z": "int64",
}  # fmt: skip
COPY_COLUMNS = {"start_ns": "int64", "duration_ns": "int64", "device": "int32", "bytes": "float64"}
SQLITE, GZIP = b"SQLite format 3\x00", b"\x1f\x8b"
NSYS_REPORT = (".nsys-rep", ".qdrep")
OTHER_REPORTS = (".ncu-rep", ".ncu-rep.zst", ".ncu-repz")


@dataclass(frozen=True)
class Trace:
    """The activity of one process on its GPUs.

    ``kernels`` has one row per launch, in the order in which the host launched them: start_ns, duration_ns, device,
    order (of the launch; not unique if one call launches several), grid_x to block_z, kernel (the function's name, as
    in ncu) and signature. ``copies`` has start_ns, duration_ns, device, way (a CopyWay), memory (of the host: pageable,
    pinned, managed; empty for none) and bytes (NaN if unknown). ``has_times`` is false if only durations are known, and
    no gaps. ``gpu`` is empty if the trace does not name it.
    """

    recorder: Recorder
    kernels: pd.DataFrame
    copies: pd.DataFrame
    gpu: str = ""
    has_times: bool = True
    notes: tuple[str, ...] = ()


def make_trace(
    recorder: Recorder,
    kernels: pd.DataFrame,
    copies: pd.DataFrame,
    gpu: str = "",
    notes: tuple[str, ...] = (),
    has_times: bool = True,
) -> Trace:
    """Return a trace from frames that lack ``kernel``, with the launches in the order of the host."""
    launched = kernels[[*KERNEL_COLUMNS, "signature"]].astype(KERNEL_COLUMNS)
    names = {one: function_name(one) for one in launched["signature"].unique()}
    launched["kernel"] = launched["signature"].map(names).astype("object")
    launched = launched.sort_values(["order", "start_ns"], kind="stable").reset_index(drop=True)
    moved = copies[[*COPY_COLUMNS, "way", "memory"]].astype(COPY_COLUMNS)
    return Trace(recorder, launched, moved, gpu_name(gpu), has_times, notes)


def read_trace(path: Path) -> Trace:
    """Read a trace from a file: an SQLite export of Nsight Systems, or a trace of torch.profiler, gzipped or not.

    Raises UsageProblem for another kind of file, DamagedData for a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(SQLITE))
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}", f"ls -l {path}") from error
    if head == SQLITE:
        return read_sqlite(path)
    if head.lstrip()[:1] in (b"{", b"[") or head.startswith(GZIP):
        return read_chrome(path)
    if not head:
        raise DamagedData(f"{path} is empty", "record it again")
    if path.name.endswith(OTHER_REPORTS):
        raise UsageProblem(f"{path} is a report of Nsight Compute, of launches one by one", f"ncu-assist show {path}")
    raise UsageProblem(
        f"{path} is no trace: neither an SQLite export of Nsight Systems nor JSON of torch.profiler",
        f"nsys export --type sqlite {path.stem}.nsys-rep",
    )


def is_trace(word: str) -> bool:
    """Tell whether a word names a trace file, or was meant to, and not a program."""
    path = Path(word)
    endings = (".sqlite", ".db", *NSYS_REPORT, ".json", ".json.gz", *OTHER_REPORTS)
    return path.name.lower().endswith(endings) and not path.is_dir()


INSTALL_HINT = "install Nsight Systems (package nsight-systems) or put nsys on PATH"
ROOTS = (Path("/usr/local/cuda"), Path("/opt/nvidia/nsight-systems"), Path("/opt/nvidia/nsight-systems-cli"))
PLACES = ("bin/nsys", "*/bin/nsys", "*/target-linux-*/nsys", "nsight-systems-*/target-linux-*/nsys")
KERNELS, COPIES, SETS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS, STRINGS, GPUS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "StringIds", "TARGET_INFO_GPU"
# "CUDA Memcopy Kind" and "CUDA Memory Operations Memory Kind" in the guide's SQLite schema event values; an export has
# them in the tables ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND. The latter differ from CUPTI's, which begin at 1.
NSYS_WAYS: dict[int, CopyWay] = {
    1: "H2D", 2: "D2H", 3: "H2D", 4: "D2H", 5: "D2D", 6: "D2D", 7: "D2D", 8: "D2D", 9: "H2H", 10: "P2P", 11: "H2D",
    12: "D2H", 13: "D2D",
}  # fmt: skip
MIGRATIONS = (11, 12, 13)  # page migrations of managed memory
NSYS_MEMORY = {0: "pageable", 1: "pinned", 4: "managed", 6: "managed"}
WHOLE_GRAPHS = "CUDA graphs are one row each: record with --cuda-graph-trace=node to see the kernels in them"


def find_nsys(env: Mapping[str, str] = os.environ, roots: Iterable[Path] = ROOTS) -> Path:
    """Return the nsys on PATH, else the newest in the usual folders. Raises EnvironmentProblem if there is none."""
    on_path = shutil.which("nsys", path=env.get("PATH", ""))
    if on_path:
        return Path(on_path)
    home = (Path(env["CUDA_HOME"]),) if env.get("CUDA_HOME") else ()
    found: list[Path] = [path for root in (*home, *roots) for place in PLACES for path in root.glob(place)]
    usable = [path for path in found if os.access(path, os.X_OK)]
    if not usable:
        raise EnvironmentProblem("nsys (Nsight Systems) is not installed here", INSTALL_HINT)
    return sorted(usable, key=lambda path: numbers_of(re.sub(r"linux-\w+", "", str(path))))[-1]


def record_argv(nsys: Path, report: Path, command: Sequence[str], seconds: float | None) -> list[str]:
    """Return the command line that records a program's activity on the GPU, and nothing on the host."""
    argv = [str(nsys), "profile", "--trace", "cuda", "--sample", "none", "--cpuctxsw", "none"]
    argv += ["--cuda-graph-trace", "node", "--force-overwrite", "true", "--output", str(report)]
    argv += ["--duration", f"{max(1, round(seconds))}", "--kill", "sigterm"] if seconds else []
    return [*argv, *command]


def export_argv(nsys: Path, report: Path, target: Path) -> list[str]:
    """Return the command line that exports a report to SQLite."""
    return [str(nsys), "export", "--type", "sqlite", "--force-overwrite", "true", "--output", str(target), str(report)]


def read_sqlite(path: Path) -> Trace:
    """Read an SQLite export. Raises UsageProblem for another database, DamagedData for a damaged one."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as database:
            return _read(database, path)
    except (sqlite3.Error, pd.errors.DatabaseError, ValueError, OverflowError, UnicodeDecodeError) as error:
        raise DamagedData(f"{path} cannot be read: {error}", "export it again from its .nsys-rep") from error


def _read(database: sqlite3.Connection, path: Path) -> Trace:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if STRINGS not in tables:
        raise UsageProblem(f"{path} is a database, and no export of Nsight Systems", "nsys export --type sqlite FILE")
    launched = [read(database) for name, read in ((KERNELS, _launches), (GRAPHS, _graphs)) if name in tables]
    moved = [_moved(database, name) for name in (COPIES, SETS) if name in tables]
    gpu = _gpu(database) if GPUS in tables else ""
    notes = (WHOLE_GRAPHS,) if GRAPHS in tables else ()
    return make_trace("Nsight Systems", _together(launched), _together(moved), gpu, notes)


def _together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all parts. A table that an export lacks would have been empty."""
    if parts:
        return pd.concat(parts, ignore_index=True)
    return pd.DataFrame({name: [] for name in (*KERNEL_COLUMNS, *COPY_COLUMNS, "signature", "way", "memory")})


def _launches(database: sqlite3.Connection) -> pd.DataFrame:
    """Return the launches, with the demangled name of each kernel: old exports lack the other names."""
    sizes = ", ".join(f"k.grid{axis} AS grid_{axis.lower()}, k.block{axis} AS block_{axis.lower()}" for axis in "XYZ")
    rows = pd.read_sql_query(
        f"SELECT k.start AS start_ns, k.end - k.start AS duration_ns, k.deviceId AS device, "
        f"k.correlationId AS 'order', {sizes}, s.value AS signature "
        f"FROM {KERNELS} AS k LEFT JOIN {STRINGS} AS s ON s.id = k.demangledName",
        database,
    )
    rows["signature"] = rows["signature"].fillna("(unnamed)")
    return rows


def _graphs(database: sqlite3.Connection) -> pd.DataFrame:
    rows = pd.read_sql_query(
        f"SELECT start AS start_ns, end - start AS duration_ns, deviceId AS device, correlationId AS 'order', "
        f"graphId AS graph FROM {GRAPHS}",
        database,
    )
    rows["signature"] = "(CUDA graph " + rows.pop("graph").astype(str) + ")"
    for side in ("grid", "block"):
        for axis in "xyz":
            rows[f"{side}_{axis}"] = 0
    return rows


def _moved(database: sqlite3.Connection, table: str) -> pd.DataFrame:
    is_copy = table == COPIES
    known = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
    kinds = [name for name in ("copyKind", "srcKind", "dstKind") if is_copy and name in known]
    asked = ", ".join(["start AS start_ns", "end - start AS duration_ns", "deviceId AS device", "bytes", *kinds])
    rows = pd.read_sql_query(f"SELECT {asked} FROM {table}", database)
    rows["way"] = rows["copyKind"].map(NSYS_WAYS).fillna("other") if "copyKind" in rows else "memset"
    host = pd.Series("", index=rows.index)
    for way, side in (("H2D", "srcKind"), ("D2H", "dstKind")):
        if side in rows:
            host = host.where(rows["way"] != way, rows[side].map(NSYS_MEMORY).fillna(""))
    if "copyKind" in rows:
        host = host.where(~rows["copyKind"].isin(MIGRATIONS), "managed")
    rows["memory"] = host
    return rows.drop(columns=kinds)


def _gpu(database: sqlite3.Connection) -> str:
    found = database.execute(f"SELECT name FROM {GPUS} LIMIT 1").fetchone()
    return str(found[0] or "") if found else ""


KERNEL_EVENT, COPY_EVENT, SET_EVENT = "kernel", "memcpy", "memset"
CATEGORIES = {
    "kernel": KERNEL_EVENT,
    "gpu_memcpy": COPY_EVENT,
    "memcpy": COPY_EVENT,
    "gpu_memset": SET_EVENT,
    "memset": SET_EVENT,
}
TORCH_WAYS: dict[str, CopyWay] = {"HtoD": "H2D", "DtoH": "D2H", "DtoD": "D2D", "PtoP": "P2P", "HtoH": "H2H"}
NAMED_WAY = re.compile(r"Memcpy (\w+)(?: \((\w+) -> (\w+)\))?")  # Memcpy HtoD (Pageable -> Device)
TORCH_MEMORY = {"Pageable": "pageable", "Pinned": "pinned", "Managed": "managed"}
AGAIN = "record it again, and let the program end by itself"


TIMES = ("start_ns", "duration_ns", "device")
SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


class _Facts(msgspec.Struct):
    """The arguments of an event that are used."""

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
    """Read the GPU's activity from a JSON trace. Raises UsageProblem for other JSON, DamagedData for a damaged file."""
    try:
        data = path.read_bytes()
        if data.startswith(GZIP):
            data = gzip.decompress(data)
        if data.lstrip()[:1] == b"[":  # the older form, a bare list of events
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
        of = launched if kind == KERNEL_EVENT else moved
        for name, value in zip(TIMES, (start, duration, _whole(facts.device)), strict=True):
            of[name].append(value)
        if kind == KERNEL_EVENT:
            launched["order"].append(_whole(facts.correlation))
            for name, value in zip(SIZES, (*_sizes(facts.grid), *_sizes(facts.block)), strict=True):
                launched[name].append(value)
            launched["signature"].append(str(event.name) or "(unnamed)")
        else:
            way, memory = _way(str(event.name)) if kind == COPY_EVENT else ("memset", "")
            moved["way"].append(way)
            moved["memory"].append(memory)
            moved["bytes"].append(float("nan") if facts.bytes is None else float(facts.bytes))
    gpu = next((str(one.name) for one in document.deviceProperties or () if one.name), "")
    return make_trace("torch.profiler", pd.DataFrame(launched), pd.DataFrame(moved), gpu)


def _whole(value: Any) -> int:
    return int(value or 0)


def _sizes(value: Any) -> tuple[int, int, int]:
    """Return three sizes, or zeros if the trace has none."""
    if not isinstance(value, list) or len(value) != 3:
        return 0, 0, 0
    x, y, z = map(int, value)
    return x, y, z


def _way(name: str) -> tuple[CopyWay, str]:
    """Return the direction of a copy, and the kind of its memory on the host."""
    found = NAMED_WAY.match(name)
    if found is None:
        return "other", ""
    way = TORCH_WAYS.get(found[1], "other")
    side = found[2] if way == "H2D" else found[3] if way == "D2H" else None
    return way, TORCH_MEMORY.get(side or "", "")
