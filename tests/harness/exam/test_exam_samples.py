"""Samples that leave the sandbox: as they were collected, and none that a bench cannot have given."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from ncu_assist.harness.bench import SCHEMA
from ncu_assist.harness.events import COPY, EMPTY
from ncu_assist.harness.exam.plan import SAMPLE_COLUMNS, SAMPLES, frame_of, most_bytes, read_samples, write_samples

VERSIONS = ("v0_right", "v1_draft")
TIMED = (*VERSIONS, COPY, EMPTY)
ROWS = [(name, number, place, 1.5, None, False) for number in range(3) for place, name in enumerate(TIMED)]


def written(rows: list[tuple[object, ...]], folder: Path) -> Path:
    (folder / SAMPLES).write_bytes(msgspec.json.encode(rows))
    return folder / SAMPLES


def test_they_come_as_they_were_taken(tmp_path: Path) -> None:
    columns = {name: list(values) for name, values in zip(SAMPLE_COLUMNS, zip(*ROWS, strict=True), strict=True)}
    columns["sm_clock_mhz"] = [math.nan] * len(ROWS)  # unknown, on a CPU
    write_samples({"bench_id": ["b"] * len(ROWS), "workload": ["small"] * len(ROWS), **columns}, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [SAMPLES]
    assert (tmp_path / SAMPLES).stat().st_size <= most_bytes(VERSIONS, 3)
    frame = frame_of(read_samples(tmp_path / SAMPLES, VERSIONS, 3), "b", "small")
    assert list(frame) == SCHEMA.names
    assert (
        frame.dtypes.astype(str).to_dict().items()
        >= {
            "round": "int32",
            "position": "int32",
            "time_ns": "float64",
            "sm_clock_mhz": "float64",
            "late": "bool",
        }.items()
    )
    assert frame.sm_clock_mhz.isna().all()
    assert list(frame["version"]) == [row[0] for row in ROWS]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        ROWS[:-1],
        [*ROWS, ROWS[0]],
        [row for row in ROWS if row[0] != "v1_draft"],
        [*ROWS[:-1], ("other", *ROWS[-1][1:])],
        [*ROWS[:-1], (ROWS[-1][0], 7, *ROWS[-1][2:])],
        [*ROWS[:-1], (*ROWS[-1][:2], 1 << 40, *ROWS[-1][3:])],
        [*ROWS[:-1], (*ROWS[-1][:3], -1.0, *ROWS[-1][4:])],
        [*ROWS[:-1], (*ROWS[-1][:3], None, *ROWS[-1][4:])],
        [*ROWS[:-1], (*ROWS[-1][:4], -1.0, False)],
    ],
)
def test_what_no_bench_gives_is_refused(rows: list[tuple[object, ...]], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"samples|times|Expected|of length"):
        read_samples(written(rows, tmp_path), VERSIONS, 3)
