"""``ncu-assist ceilings`` where nothing can be measured, and its answer in both forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from commandline import Run
from made_ceilings import MIB, ceilings, point

from ncu_assist.ceilings import encode, save
from ncu_assist.ceilings.storage import FILE


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    """An empty project as the current folder; nothing came with the tool."""
    (tmp_path / "kernels").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ncu_assist.ceilings.storage.SHIPPED", tmp_path / "data")
    monkeypatch.setattr("ncu_assist.ceilings.storage.shipped.__defaults__", (tmp_path / "data",))
    return tmp_path


def test_without_gpu_and_ceilings_there_is_nothing_to_say(run: Run, project: Path) -> None:
    answer = run("ceilings")
    assert answer.code == 6
    assert "no ceilings are stored here" in answer.err
    shown = run("ceilings", "--show")
    assert shown.code == 0
    assert "no ceilings are stored" in shown.out
    assert run("ceilings", "--show", "--json").json == {"schema": "ncu-assist.ceilings/1", "gpus": []}


def test_without_gpu_what_is_stored_is_shown_and_said_to_be(run: Run, project: Path) -> None:
    path = save(project / "reports", ceilings())
    answer = run("ceilings")
    assert answer.code == 0
    assert "Nothing was measured here" in answer.err
    assert "Made Up 9000 · live · 2030-01-01" in answer.out
    assert "1:1 copy" in answer.out
    assert ["128", "MiB", "2000", "4000"] in [line.split() for line in answer.out.splitlines()]
    assert max(map(len, answer.out.replace(str(path), "").splitlines())) <= 80
    gpu = run("ceilings", "--show", "--json").json["gpus"][0]
    assert gpu["source"] == "live"
    assert gpu["dram"][0]["bytes_per_second"] == 1e12
    assert "uuid_sha256" not in gpu["device"]
    assert gpu["path"].endswith(FILE)


def test_requests_of_a_sector_are_told_beside_their_bytes(run: Run, project: Path) -> None:
    links = (point("zero_copy_read", 1, 0, MIB, 50e9, "events"), point("zero_copy_sectors", 1, 0, MIB, 16e9, "events"))
    save(project / "reports", replace(ceilings(), link=links))
    lines = [line.split() for line in run("ceilings", "--show").out.splitlines()]
    assert ["zero", "copy", "read", "50.0", "events"] in lines
    assert ["zero", "copy", "sectors", "16.0", "events,", "500", "Mrequest/s"] in lines


def test_what_came_with_the_tool_is_called_recorded(run: Run, project: Path) -> None:
    (project / "data").mkdir()
    (project / "data" / "made-up-9000.json").write_bytes(encode(ceilings()))
    answer = run("ceilings", "--show")
    assert "Made Up 9000 · recorded · 2030-01-01" in answer.out
    assert "came with the tool" in answer.out


def test_a_damaged_file_ends_with_its_own_exit_code(run: Run, project: Path) -> None:
    path = save(project / "reports", ceilings())
    path.write_bytes(path.read_bytes().replace(b"1500", b"1501"))
    answer = run("ceilings", "--show")
    assert answer.code == 7
    assert "was changed after it was written" in answer.err
