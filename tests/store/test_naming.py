"""Names: run ids sort by time; nothing that could leave the archive is a name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ncu_assist.store.folders import is_file_name, is_folder_name, new_run_id
from ncu_assist.versions import is_called, version_order

NOW = datetime(2026, 11, 21, 7, 45, tzinfo=UTC)


def test_a_run_id_shows_its_time_and_sorts_by_it() -> None:
    ids = [new_run_id(NOW + timedelta(seconds=s), "v1") for s in (0, 1, 60)]
    assert ids == sorted(ids)
    assert ids[0].startswith("20261121T074500Z-")
    assert is_folder_name(ids[0])


def test_runs_of_one_moment_differ_by_their_source() -> None:
    assert new_run_id(NOW, "v1") != new_run_id(NOW, "v2")
    assert new_run_id(NOW, "v1") != new_run_id(NOW + timedelta(microseconds=1), "v1")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\\b", ".hidden", "-x", "a\n", "ü", "x" * 129, "a\0"])
def test_no_folder_may_be_called(name: str) -> None:
    assert not is_folder_name(name)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "source/../x", "source//x", "run.json", "", "a/", "./a"])
def test_no_file_may_be_called(name: str) -> None:
    assert not is_file_name(name)


def test_files_and_folders_of_a_run() -> None:
    assert is_file_name("source/v3_global_memory.cu")
    assert is_folder_name("v3_global_memory")


def test_short_names_stop_at_the_number() -> None:
    assert is_called("v1_torch", "v1")
    assert is_called("v1_torch", "v1_torch")
    assert not is_called("v10_torch", "v1")
    assert not is_called("my_program", "my")


def test_versions_sort_as_numbers() -> None:
    assert sorted(["v10_a", "v9_b", "main"], key=version_order) == ["main", "v9_b", "v10_a"]
