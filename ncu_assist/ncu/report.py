"""Reading a report into a Report: completely, or not at all.

NVIDIA's reader accepts damaged files and returns less without a word, so its answer is held against the file's own
blocks: as many launches, and for every launch as many metrics, as the wire format holds.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist import process
from ncu_assist.errors import DamagedData
from ncu_assist.ncu import compressed, report_file
from ncu_assist.ncu.reader import LAUNCHES, VALUES
from ncu_assist.ncu.tables import Raw, device_record, launch_record, metrics_frame, numbers_by_name, rules_frame
from ncu_assist.record import Device, Launch

if TYPE_CHECKING:
    import pandas as pd

MIN_SHARE_OF_METRICS = 0.9  # launches of one report carry the same metrics, give or take a handful of their names
WORDS_LIMIT = 300  # characters of a failed reader's output in a message


@dataclass(frozen=True)
class Report:
    """A report as it was captured.

    ``metrics`` has one row for each metric of each launch: launch int32, metric category, value float64 (NaN where the
    metric is a text or has no value), text (None where it is a number), unit category.
    ``rules`` has NVIDIA's own findings: launch, rule, section, title, message, kind, speedup_type ('local', 'global' or
    None), speedup_pct, focus_metrics (a list of names).
    """

    launches: tuple[Launch, ...]
    metrics: pd.DataFrame
    rules: pd.DataFrame
    device: Device | None
    ncu_version: str | None


def read_report(
    path: Path, *, expected_launches: int | None = None, timeout_s: float = 120.0, memory_bytes: int = 4 << 30
) -> Report:
    """Return the report in a .ncu-rep or .ncu-repz file, which may be compressed with zstd, xz or gzip.

    ``expected_launches`` is what ncu's log counts. Raises DamagedData when the file is cut or inconsistent, when the
    reader crashes, needs more than ``timeout_s`` or ``memory_bytes``, or returns less than the file holds.
    """
    data = compressed.read_plain(path)
    counts = report_file.metric_counts(data)
    _check_counts(path, counts, expected_launches)
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        plain = Path(folder) / "report.ncu-rep"
        plain.write_bytes(data)
        raw = _read_in_child(path, plain, timeout_s, memory_bytes)
    returned = tuple(len(raw.names(i)) for i in range(len(raw.launches)))
    if returned != counts:
        raise DamagedData(
            f"{path.name} is damaged: it holds {len(counts)} launches with {sum(counts)} metrics, "
            f"but only {len(returned)} with {sum(returned)} can be read",
            "profile again",
        )
    return _report(raw, report_file.session(data))


def _check_counts(path: Path, counts: tuple[int, ...], expected_launches: int | None) -> None:
    if expected_launches is not None and len(counts) != expected_launches:
        raise DamagedData(
            f"{path.name} holds {len(counts)} launches, but ncu's log says it profiled {expected_launches}",
            "profile again",
        )
    for number, count in enumerate(counts):
        if count < MIN_SHARE_OF_METRICS * max(counts):
            raise DamagedData(
                f"{path.name} is damaged: launch {number} has {count} metrics, others {max(counts)}", "profile again"
            )


def _read_in_child(path: Path, plain: Path, timeout_s: float, memory_bytes: int) -> Raw:
    import numpy as np

    argv = [sys.executable, "-m", "ncu_assist.ncu.reader", str(plain), str(plain.parent), str(memory_bytes)]
    done = process.run(argv, timeout_s=timeout_s)
    if done.timed_out:
        raise DamagedData(f"{path.name} could not be read within {timeout_s:g} s", "profile again")
    if done.exit_code != 0:
        words = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.exit_code}"]
        raise DamagedData(
            f"{path.name} cannot be read: NVIDIA's reader failed ({words[0][:WORDS_LIMIT]})", "profile again"
        )
    document = json.loads((plain.parent / LAUNCHES).read_text(encoding="utf-8"))
    values = np.fromfile(plain.parent / VALUES, dtype=np.float64)
    return Raw(values=values, **document)


def _report(raw: Raw, session: report_file.SessionFacts) -> Report:
    tables = numbers_by_name(raw)
    launches = tuple(launch_record(i, raw, table) for i, table in enumerate(tables))
    device = device_record(raw, tables[0], session.driver) if tables else None
    return Report(launches, metrics_frame(raw), rules_frame(raw), device, session.ncu_version)
