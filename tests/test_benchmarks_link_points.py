"""Points that shipped ceilings lack: put beside what is there, with a note of when and where they were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_ceilings import MADE_UP, MIB, ceilings, point

from ncu_assist.ceilings import Ceilings, decode, encode

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COPY, SECTORS = (point(name, 1, 0, MIB, 5e10, "events") for name in ("host_to_device", "zero_copy_sectors"))
BASE = replace(ceilings(), link=(COPY,), notes=("it was hot",))


@pytest.fixture
def link_points(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import link_points

    return link_points


def files(folder: Path, measured: Ceilings) -> tuple[Path, Path]:
    paths = folder / "link.json", folder / "shipped.json"
    for path, one in zip(paths, (measured, BASE), strict=True):
        path.write_bytes(encode(one))
    return paths


def test_a_point_is_added_and_all_else_stays(link_points: Any, tmp_path: Path) -> None:
    other = replace(MADE_UP, uuid_sha256="cd" * 32)
    faster = replace(COPY, bytes_per_second=9e10)
    new = replace(BASE, device=other, created="2031-02-03T00:00:00+00:00", dram=(), link=(faster, SECTORS))
    measured, shipped = files(tmp_path, new)
    assert link_points.add(measured, shipped) == 0
    note = "zero_copy_sectors was measured on another NVIDIA Made Up 9000, 2031-02-03"
    found = decode(shipped.read_bytes())
    assert replace(found, digest="") == replace(BASE, link=(COPY, SECTORS), notes=(*BASE.notes, note))
    assert link_points.add(measured, shipped) == 0
    assert decode(shipped.read_bytes()) == found


def test_points_of_another_model_are_refused(link_points: Any, tmp_path: Path) -> None:
    measured, shipped = files(tmp_path, replace(BASE, device=replace(MADE_UP, name="Other"), link=(SECTORS,)))
    assert link_points.add(measured, shipped) == 1
    assert replace(decode(shipped.read_bytes()), digest="") == BASE
