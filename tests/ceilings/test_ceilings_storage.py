"""Ceilings on disk, and which of them answer for a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_ceilings import MADE_UP, ceilings

from ncu_assist.ceilings import ceilings_of, decode, encode, path_of, save, shipped, stored
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.store import Store

OTHER = replace(MADE_UP, uuid_sha256="cd" * 32)


def test_what_is_saved_reads_back(tmp_path: Path) -> None:
    path = save(tmp_path, ceilings())
    assert path == tmp_path / "ceilings" / f"nvidia-made-up-9000-{'ab' * 6}" / "ceilings.json"
    (found,) = stored(tmp_path)
    assert replace(found, digest="") == ceilings()
    assert [p.name for p in path.parent.iterdir()] == ["ceilings.json"]


def test_where_the_disk_refuses_nothing_is_left(tmp_path: Path) -> None:
    path = path_of(tmp_path, ceilings().device)
    path.mkdir(parents=True)  # in the way of the file
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        save(tmp_path, ceilings())
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_the_archive_takes_no_notice_of_it(tmp_path: Path) -> None:
    save(tmp_path, ceilings())
    assert Store(tmp_path).runs() == []
    assert Store(tmp_path).verify() == []


def test_measuring_again_replaces(tmp_path: Path) -> None:
    save(tmp_path, ceilings())
    save(tmp_path, ceilings(created="2031-01-01T00:00:00+00:00"))
    assert [c.created[:4] for c in stored(tmp_path)] == ["2031"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"2000000000000", b"3000000000000", "was changed after it was written"),
        (b"ceilings/1", b"other/1", "has schema 'ncu-assist.other/1'"),
        (b'"bytes"', b'"bites"', "cannot be read"),
        (b"}", b"", "cannot be read"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, old: bytes, new: bytes, words: str) -> None:
    data = encode(ceilings())
    assert old in data
    with pytest.raises(DamagedData, match=words) as caught:
        decode(data.replace(old, new))
    assert caught.value.hint == "ncu-assist ceilings"
    path = save(tmp_path, ceilings())
    path.write_bytes(data.replace(old, new))
    with pytest.raises(DamagedData, match="nvidia-made-up-9000"):
        ceilings_of(MADE_UP, tmp_path)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "ceilings").write_text("in the way")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        save(tmp_path, ceilings())


def test_a_gpu_gets_its_own_ceilings_first(tmp_path: Path) -> None:
    archive, data = tmp_path / "reports", tmp_path / "data"
    data.mkdir()
    (data / "made-up-9000.json").write_bytes(encode(ceilings(created="2020-01-01T00:00:00+00:00")))
    assert ceilings_of(MADE_UP, archive, tmp_path / "nowhere") is None
    assert ceilings_of(replace(MADE_UP, name="Unknown"), archive, data) is None
    recorded = ceilings_of(MADE_UP, archive, data)
    assert recorded is not None
    assert (recorded.origin, recorded.created[:4]) == ("recorded", "2020")
    save(archive, ceilings(device=OTHER, created="2031-01-01T00:00:00+00:00"))
    save(archive, ceilings())
    live = ceilings_of(MADE_UP, archive, data)
    assert live is not None
    assert (live.origin, live.created[:4]) == ("live", "2030")


def test_a_report_that_does_not_say_which_gpu_gets_those_of_its_model(tmp_path: Path) -> None:
    save(tmp_path, ceilings())
    found = ceilings_of(replace(MADE_UP, uuid_sha256="", sm_count=None), tmp_path)
    assert found is not None
    assert found.origin == "recorded"
    assert ceilings_of(replace(MADE_UP, uuid_sha256="", sm_count=99), tmp_path) is None


def test_a_gpu_without_a_known_uuid_has_a_folder_too(tmp_path: Path) -> None:
    assert path_of(tmp_path, replace(MADE_UP, uuid_sha256="")).parent.name == "nvidia-made-up-9000-unknown"


def test_what_is_shipped_can_be_read_and_is_called_recorded() -> None:
    for one in shipped():
        assert one.origin == "recorded"
        assert one.dram
