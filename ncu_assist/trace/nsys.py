"""Nsight Systems: where it is, how it records a program, and its export (SQLite Schema Reference of its guide)."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.ncu.command import numbers_of
from ncu_assist.trace import COPY_COLUMNS, KERNEL_COLUMNS, CopyWay, Trace, make_trace

INSTALL_HINT = "install Nsight Systems (package nsight-systems) or put nsys on PATH"
ROOTS = (Path("/usr/local/cuda"), Path("/opt/nvidia/nsight-systems"), Path("/opt/nvidia/nsight-systems-cli"))
PLACES = ("bin/nsys", "*/bin/nsys", "*/target-linux-*/nsys", "nsight-systems-*/target-linux-*/nsys")
KERNELS, COPIES, SETS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS, STRINGS, GPUS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "StringIds", "TARGET_INFO_GPU"
# "CUDA Memcopy Kind" and "CUDA Memory Operations Memory Kind" of the guide's SQLite schema event values, as the tables
# ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND of an export have them. The latter are not CUPTI's, which begin at 1.
WAYS: dict[int, CopyWay] = {1: "H2D", 2: "D2H", 3: "H2D", 4: "D2H", 5: "D2D", 6: "D2D", 7: "D2D", 8: "D2D", 9: "H2H",
                            10: "P2P", 11: "H2D", 12: "D2H", 13: "D2D"}  # fmt: skip
MIGRATIONS = (11, 12, 13)  # pages of managed memory
HOST_MEMORY = {0: "pageable", 1: "pinned", 4: "managed", 6: "managed"}
WHOLE_GRAPHS = "CUDA graphs are one row each: record with --cuda-graph-trace=node to see the kernels in them"


def find_nsys(env: Mapping[str, str] = os.environ, roots: Iterable[Path] = ROOTS) -> Path:
    """Return the nsys on PATH, else the newest in the usual places. Raises EnvironmentProblem when there is none."""
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
    """Return the command line that records what a program does on the GPU, and nothing of what the host does."""
    argv = [str(nsys), "profile", "--trace", "cuda", "--sample", "none", "--cpuctxsw", "none"]
    argv += ["--cuda-graph-trace", "node", "--force-overwrite", "true", "--output", str(report)]
    argv += ["--duration", f"{max(1, round(seconds))}", "--kill", "sigterm"] if seconds else []
    return [*argv, *command]


def export_argv(nsys: Path, report: Path, target: Path) -> list[str]:
    """Return the command line that exports a report to SQLite."""
    return [str(nsys), "export", "--type", "sqlite", "--force-overwrite", "true", "--output", str(target), str(report)]


def read_sqlite(path: Path) -> Trace:
    """Return what an export holds. Raises UsageProblem for another database, DamagedData for one that is torn."""
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
    """Return the rows of all parts; a table that an export lacks had nothing to hold."""
    if parts:
        return pd.concat(parts, ignore_index=True)
    return pd.DataFrame({name: [] for name in (*KERNEL_COLUMNS, *COPY_COLUMNS, "signature", "way", "memory")})


def _launches(database: sqlite3.Connection) -> pd.DataFrame:
    """Return the launches; of the names of a kernel the demangled one, for old exports lack the others."""
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
    rows["way"] = rows["copyKind"].map(WAYS).fillna("other") if "copyKind" in rows else "memset"
    host = pd.Series("", index=rows.index)
    for way, side in (("H2D", "srcKind"), ("D2H", "dstKind")):
        if side in rows:
            host = host.where(rows["way"] != way, rows[side].map(HOST_MEMORY).fillna(""))
    if "copyKind" in rows:
        host = host.where(~rows["copyKind"].isin(MIGRATIONS), "managed")
    rows["memory"] = host
    return rows.drop(columns=kinds)


def _gpu(database: sqlite3.Connection) -> str:
    found = database.execute(f"SELECT name FROM {GPUS} LIMIT 1").fetchone()
    return str(found[0] or "") if found else ""
