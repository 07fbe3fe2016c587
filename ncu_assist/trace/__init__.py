"""What a GPU did while a program ran, launch by launch, as Nsight Systems or torch.profiler recorded it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.csv_page import function_name

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
    """What one process did on its GPUs.

    ``kernels`` has a row a launch, in the order in which the host launched them: start_ns, duration_ns, device, order
    (of the launch; not unique where one call launches several), grid_x to block_z, kernel (the function's name, as ncu
    has it) and signature. ``copies`` has start_ns, duration_ns, device, way (a CopyWay), memory (where it lies on the
    host: pageable, pinned, managed; empty for none) and bytes (NaN where that is not said). ``has_times`` is false
    where only durations are known, and no gaps. ``gpu`` is empty where the trace does not name it.
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
    """Return a trace of frames that lack ``kernel``, launches in the order of the host."""
    launched = kernels[[*KERNEL_COLUMNS, "signature"]].astype(KERNEL_COLUMNS)
    names = {one: function_name(one) for one in launched["signature"].unique()}
    launched["kernel"] = launched["signature"].map(names).astype("object")
    launched = launched.sort_values(["order", "start_ns"], kind="stable").reset_index(drop=True)
    moved = copies[[*COPY_COLUMNS, "way", "memory"]].astype(COPY_COLUMNS)
    return Trace(recorder, launched, moved, gpu, has_times, notes)


def read_trace(path: Path) -> Trace:
    """Return what a file recorded: an SQLite export of Nsight Systems, or a trace of torch.profiler, gzipped or not.

    Raises UsageProblem for what is neither, DamagedData for what cannot be read.
    """
    from ncu_assist.trace import chrome, nsys

    try:
        with path.open("rb") as file:
            head = file.read(len(SQLITE))
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}", f"ls -l {path}") from error
    if head == SQLITE:
        return nsys.read_sqlite(path)
    if head.lstrip()[:1] in (b"{", b"[") or head.startswith(GZIP):
        return chrome.read_chrome(path)
    if not head:
        raise DamagedData(f"{path} is empty", "record it again")
    if path.name.endswith(OTHER_REPORTS):
        raise UsageProblem(f"{path} is a report of Nsight Compute, of launches one by one", f"ncu-assist show {path}")
    raise UsageProblem(
        f"{path} is no trace: neither an SQLite export of Nsight Systems nor JSON of torch.profiler",
        f"nsys export --type sqlite {path.stem}.nsys-rep",
    )


def is_trace(word: str) -> bool:
    """Tell whether a word names a file that is a trace, or was meant as one, and no program."""
    path = Path(word)
    endings = (".sqlite", ".db", *NSYS_REPORT, ".json", ".json.gz", *OTHER_REPORTS)
    return path.name.lower().endswith(endings) and not path.is_dir()
