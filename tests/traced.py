"""Traces as Nsight Systems and torch.profiler write them, and programs that stand in for both."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VECTORIZED = "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>, std::array<char*, 3ul> >(int)"
ADD, MUL = VECTORIZED.format("CUDAFunctor_add"), VECTORIZED.format("MulFunctor")
GEMM = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32"
GPU = "NVIDIA H100 80GB HBM3"
# The tables of an export as far as they matter here; columns and types as Nsight Systems 2025 has them.
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
 contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
 globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
 launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
 gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
 blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
 localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
 sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
 contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
 globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER,
 dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER,
 migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
 contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
 globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
"""


@dataclass(frozen=True)
class Ran:
    """A kernel in microseconds; ``order`` is when the host launched it, its place unless given."""

    name: str
    at: float
    took: float
    grid: tuple[int, int, int] = (64, 1, 1)
    block: tuple[int, int, int] = (128, 1, 1)
    device: int = 0
    order: int | None = None


@dataclass(frozen=True)
class Copied:
    """A copy in microseconds; a memset where ``way`` is empty."""

    way: str
    at: float
    took: float
    bytes: int
    memory: str = ""


# Two steps of a training: a product, and an addition in two shapes; the first launch of each is slow, data comes late.
STEP = (
    Ran(GEMM, 100, 90, (16, 8, 1), (384, 1, 1)),
    Ran(ADD, 195, 20, (512, 1, 1)),
    Ran(ADD, 216, 4, (8, 1, 1)),
    Ran(GEMM, 1300, 60, (16, 8, 1), (384, 1, 1)),
    Ran(ADD, 1363, 10, (512, 1, 1)),
    Ran(GEMM, 1376, 62, (16, 8, 1), (384, 1, 1)),
)
COPIES = (Copied("HtoD", 80, 10, 65536, "Pageable"), Copied("DtoH", 1440, 2, 4, "Pinned"), Copied("", 1443, 1, 4096))
KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "UVM HtoD": 11}
MEMORY = {"": 7, "Pageable": 0, "Pinned": 1, "Device": 2}  # ENUM_CUDA_MEM_KIND of an export


def write_nsys(path: Path, kernels: tuple[Ran, ...] = STEP, copies: tuple[Copied, ...] = COPIES) -> Path:
    """Write an export of Nsight Systems. A table that would be empty is not there, as in a real one."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        database.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 0, ?, '0000:01:00.0')", (GPU,))
        names = {name: number for number, name in enumerate(dict.fromkeys(one.name for one in kernels), 1)}
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, name) for name, number in names.items()])
        for place, one in enumerate(kernels):
            start, name = round(one.at * 1000), names[one.name]
            order = place if one.order is None else one.order
            row = (start, start + round(one.took * 1000), one.device, 1, None, 7, order, 99, name, name, name, 1, 0, 32,
                   *one.grid, *one.block, 0, 0, 0, 0, place, 0, None, 0)  # fmt: skip
            database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * len(row))})", row)
        for copy in copies:
            start = round(copy.at * 1000)
            head = (start, start + round(copy.took * 1000), 0, 1, None, 7, 0, 99)
            if copy.way:
                host = MEMORY[copy.memory]
                kinds = (host, 2) if copy.way == "HtoD" else (2, host)
                row = (*head, copy.bytes, KINDS[copy.way], None, *kinds, *[None] * 8)
                database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({', '.join('?' * len(row))})", row)
            else:
                row = (*head, 0, copy.bytes, None, 2)
                database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES ({', '.join('?' * len(row))})", row)
        for table, rows in (("KERNEL", kernels), ("MEMCPY", copies), ("MEMSET", copies)):
            if not rows:
                database.execute(f"DROP TABLE CUPTI_ACTIVITY_KIND_{table}")
        database.commit()
    return path


def chrome_trace(kernels: tuple[Ran, ...] = STEP, copies: tuple[Copied, ...] = COPIES) -> dict[str, Any]:
    """Return a trace of torch.profiler, with events of the host and of Chrome's viewer between those of the GPU."""
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"name": "python"}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1.0, "dur": 5.0,
         "args": {"External id": 1, "cbid": 211, "correlation": 1}},
        {"ph": "s", "id": 1, "pid": 9, "tid": 9, "ts": 1.0, "cat": "ac2g", "name": "ac2g"},
    ]  # fmt: skip
    for place, one in enumerate(kernels):
        order = place if one.order is None else one.order
        args = {"queued": 0, "device": one.device, "context": 1, "stream": 7, "correlation": order,
                "registers per thread": 32, "shared memory": 0, "blocks per SM": 0.5, "warps per SM": 2.0,
                "grid": list(one.grid), "block": list(one.block), "est. achieved occupancy %": 3}  # fmt: skip
        events.append({"ph": "X", "cat": "kernel", "name": one.name, "pid": one.device, "tid": 7, "ts": one.at,
                       "dur": one.took, "args": args})  # fmt: skip
    for copy in copies:
        sides = {"HtoD": f"{copy.memory} -> Device", "DtoH": f"Device -> {copy.memory}"}.get(copy.way)
        name = f"Memcpy {copy.way}{f' ({sides})' if sides else ''}" if copy.way else "Memset (Device)"
        events.append({"ph": "X", "cat": "gpu_memcpy" if copy.way else "gpu_memset", "name": name, "pid": 0, "tid": 7,
                       "ts": copy.at, "dur": copy.took,
                       "args": {"device": 0, "stream": 7, "correlation": 0, "bytes": copy.bytes}})  # fmt: skip
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": GPU, "numSms": 132}], "traceEvents": events}


FAKE_PROFILER = """import json, os
class ProfilerActivity:
    CUDA = "cuda"
def supported_activities():
    return [ProfilerActivity.CUDA]
class profile:
    def __init__(self, activities):
        assert activities == [ProfilerActivity.CUDA]
    def start(self):
        self.started = True
    def stop(self):
        self.stopped = self.started
    def export_chrome_trace(self, path):
        assert self.stopped
        open(path, "w").write(open(os.environ["FAKE_TRACE"]).read())
"""


# Whatever else a program asks of it is there, can be called and calculated with, and does nothing.
FAKE_TORCH = """from torch import profiler
class Anything:
    def __getattr__(self, name):
        return self
    def __call__(self, *args, **named):
        return self
class cuda:
    is_initialized = staticmethod(lambda: False)
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
"""


def fake_torch(folder: Path, trace: dict[str, Any]) -> dict[str, str]:
    """Put a torch into a folder whose profiler exports this trace; return the environment that a program needs."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(FAKE_TORCH)
    (folder / "torch" / "profiler.py").write_text(FAKE_PROFILER)
    (folder / "trace.json").write_text(json.dumps(trace))
    return {"PYTHONPATH": str(folder), "FAKE_TRACE": str(folder / "trace.json")}


FAKE_NSYS = """import pathlib, shutil, subprocess, sys
words = sys.argv[1:]
target = pathlib.Path(words[words.index("--output") + 1])
if words[0] == "export":
    if "torn" in pathlib.Path(words[-1]).read_text():
        sys.exit("Failed to open the report")
    shutil.copy({database!r}, target)
else:
    command = words[words.index("true") + 3:]
    command = command[4:] if command[:1] == ["--duration"] else command
    target.write_text("report")
    sys.exit(subprocess.call(command))
"""


def fake_nsys(folder: Path, database: Path) -> Path:
    """Put an nsys into a folder that runs the program and exports this database."""
    folder.mkdir(exist_ok=True)
    script = folder / "nsys.py"
    script.write_text(FAKE_NSYS.replace("{database!r}", repr(str(database))))
    nsys = folder / "nsys"
    nsys.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    nsys.chmod(0o755)
    return nsys
