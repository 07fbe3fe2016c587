"""Saving, listing and reading runs: whole or not at all, nothing believed unread."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from factories import make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.store import Store, StoredRun, writing


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "reports")


def saved(store: Store) -> StoredRun:
    return save_run(store, make_run(), metrics_frame(), samples_frame(times(1e5, 1)))


def everything(store: Store) -> list[str]:
    return sorted(str(p.relative_to(store.reports)) for p in store.reports.rglob("*")) if store.reports.exists() else []


def test_a_run_reads_back_as_it_was_saved(store: Store) -> None:
    stored = store.save(make_run(), {"source/v1_torch.cu": b"// a\n", "source/a.cuh": b"b", "ncu.log": b"c"})
    assert stored.folder == store.reports / "add_one" / "v1_torch" / "20261121T074500Z-1a2b3c"
    assert stored.run == store.runs()[0].run
    assert set(stored.run.files) == {"source/v1_torch.cu", "source/a.cuh", "ncu.log"}
    assert list(stored.source_texts().items()) == [("v1_torch.cu", "// a\n"), ("a.cuh", "b")]
    assert store.damaged() == store.verify() == []


def test_a_file_is_copied_from_a_path(store: Store, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 3_000_000)
    stored = store.save(make_run(), {"report.ncu-rep": tmp_path / "big"})
    assert stored.report_bytes() == b"x" * 3_000_000


def test_a_compressed_report_comes_back_whole(store: Store) -> None:
    import zstandard

    packed = zstandard.ZstdCompressor().compress(b"report" * 1000)
    assert store.save(make_run(), {"report.ncu-rep.zst": packed}).report_bytes() == b"report" * 1000


def test_a_run_without_tables_has_empty_ones(store: Store) -> None:
    stored = store.save(make_run(), {})
    assert list(stored.metrics().columns) == ["launch", "metric", "value", "text", "unit"]
    assert stored.samples().empty
    assert stored.report_bytes() is None


def test_a_run_is_never_overwritten(store: Store) -> None:
    store.save(make_run(), {"ncu.log": b"first"})
    with pytest.raises(UsageProblem, match="already exists"):
        store.save(make_run(), {"ncu.log": b"second"})
    assert store.runs()[0].read("ncu.log") == b"first"


def test_a_run_that_appears_while_writing_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill = writing._fill

    def filled_by_two(temporary: Path, *rest: object) -> None:
        fill(temporary, *rest)  # type: ignore[arg-type]
        (store.reports / "add_one" / "v1_torch" / "20261121T074500Z-1a2b3c").mkdir()
        (store.reports / "add_one" / "v1_torch" / "20261121T074500Z-1a2b3c" / "theirs").touch()

    monkeypatch.setattr(writing, "_fill", filled_by_two)
    with pytest.raises(UsageProblem, match="already exists"):
        store.save(make_run(), {})
    assert everything(store)[-1].endswith("theirs")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_nothing_half_written_is_left(store: Store, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    synced = os.fsync

    def third_write_fails(descriptor: int, count: list[int] = []) -> None:  # noqa: B006
        count.append(1)
        if len(count) == 3:
            raise OSError(number, os.strerror(number))
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", third_write_fails)
    with pytest.raises(EnvironmentProblem, match="nothing was kept") as problem:
        store.save(make_run(), {"a": b"1", "b": b"2", "source/c": b"3"})
    assert problem.value.hint
    assert everything(store) == []


def test_a_failed_save_keeps_the_runs_beside_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(store)
    before = everything(store)
    monkeypatch.setattr(writing, "write_file", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(EnvironmentProblem):
        store.save(make_run(run_id="20261121T074501Z-ffffff"), {"a": b""})
    assert everything(store) == before


def test_reports_that_is_a_file_is_an_environment_problem(store: Store) -> None:
    store.reports.write_text("")
    with pytest.raises(EnvironmentProblem):
        store.save(make_run(), {})


def test_ctrl_c_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "_rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save(make_run(), {"a": b""})
    assert everything(store) == []


@pytest.mark.parametrize("change", [{"kernel": "../x"}, {"version": ".."}, {"run_id": "a/b"}])
def test_a_name_that_leaves_the_archive_is_refused(store: Store, change: dict[str, str]) -> None:
    with pytest.raises(UsageProblem, match="cannot be the name"):
        store.save(make_run(**change), {})
    with pytest.raises(UsageProblem, match="cannot be the name"):
        store.save(make_run(), {"../run.json": b""})


def test_runs_come_newest_first_and_by_version(store: Store) -> None:
    for second, version in ((1, "v9_a"), (2, "v10_b"), (2, "v9_a")):
        run = make_run(version=version, created=f"2026-11-21T07:45:0{second}Z", run_id=f"r{second}")
        store.save(run, {})
    assert [r.reference for r in store.runs()] == ["add_one/v10_b@r2", "add_one/v9_a@r2", "add_one/v9_a@r1"]
    assert [r.run.run_id for r in store.runs("add_one", "v9_a")] == ["r2", "r1"]
    assert store.versions("add_one") == ("v9_a", "v10_b")
    assert store.kernels() == ("add_one",)


@pytest.mark.parametrize("name", ["..", "../..", "", "[a-z]*", "nothing"])
def test_an_untrusted_name_finds_nothing(store: Store, name: str) -> None:
    saved(store)
    assert store.runs(name or "..", name) == store.runs("add_one", name or "..") == []


def test_a_changed_file_is_named_and_not_read(store: Store) -> None:
    stored = saved(store)
    path = stored.folder / "metrics.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedData, match=r"metrics\.parquet was changed"):
        stored.metrics()
    assert not stored.samples().empty
    assert store.runs()  # its record is whole: only what was changed is refused


@pytest.mark.parametrize("name", ["metrics.parquet", "samples.parquet"])
def test_a_truncated_or_missing_file_takes_the_run_out(store: Store, name: str) -> None:
    stored = saved(store)
    path = stored.folder / name
    path.write_bytes(path.read_bytes()[:-1])
    assert store.runs() == []
    assert store.damaged()[0].path == "add_one/v1_torch/20261121T074500Z-1a2b3c"
    assert name in store.damaged()[0].problem
    path.unlink()
    assert "missing" in store.damaged()[0].problem
    with pytest.raises(DamagedData, match="missing"):
        stored.read(name)


def test_a_link_in_place_of_a_file_is_damage(store: Store, tmp_path: Path) -> None:
    stored = saved(store)
    path = stored.folder / "metrics.parquet"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert "link" in store.damaged()[0].problem


def test_a_run_in_another_place_is_damage(store: Store) -> None:
    stored = saved(store)
    stored.folder.rename(stored.folder.with_name("other"))
    assert "belongs to" in store.damaged()[0].problem


def test_a_record_with_a_path_outside_is_damage(store: Store) -> None:
    stored = saved(store)
    from ncu_assist.record import FileFact, encode

    evil = replace(stored.run, files={"../../secret": FileFact(1, "00")})
    (stored.folder / "run.json").write_bytes(encode(evil))
    assert "cannot be the name" in store.damaged()[0].problem


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"schema": 1}', b"\xff\xfe"])
def test_a_broken_record_is_damage(store: Store, content: bytes) -> None:
    stored = saved(store)
    (stored.folder / "run.json").write_bytes(content)
    assert len(store.damaged()) == 1
    assert store.runs() == []


def test_a_rename_that_a_network_file_system_sent_twice_has_worked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to the first was late; the second finds nothing to rename. Where nothing was renamed, it is told."""
    real = Path.rename

    def twice(path: Path, target: Path) -> Path:
        if path.is_dir():
            real(path, target)
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", twice)
        stored = store.save(make_run(), {"a": b"1"})
    assert stored.read("a") == b"1"
    assert store.verify() == []

    def removed(path: Path, target: Path) -> Path:
        shutil.rmtree(path)
        return real(path, target)

    monkeypatch.setattr(Path, "rename", removed)
    with pytest.raises(EnvironmentProblem, match="could not be stored"):
        store.save(make_run(run_id="20261121T074501Z-ffffff"), {"a": b""})


def test_an_archive_that_is_seen_once_answers_as_one_that_is_looked_at_each_time(store: Store) -> None:
    for version in ("v0_torch", "v1_torch"):
        for kernel in ("add_one", "add_two"):
            store.save(make_run(kernel=kernel, version=version), {"ncu.log": b"c"})
    (store.reports / "add_one" / "v1_torch" / make_run().run_id / "ncu.log").unlink()
    (store.reports / "add_one" / "v3_link").symlink_to(store.reports)
    (store.reports / "add_two" / "v0_torch" / "not-a-run").write_text("")
    (store.reports / "no_kernel").write_text("")
    once = store.seen_once()
    for _ in range(2):
        for kernel in (None, "add_one", "add_two", "no_kernel", "other", ".."):
            for version in (None, "v0_torch", "v1_torch", "v3_link", "v9"):
                assert once.listed(kernel, version) == store.listed(kernel, version), (kernel, version)
            whole, seen = store.without_changed(kernel), once.without_changed(kernel)
            assert (seen.left_out, seen.listed(kernel)) == (whole.left_out, whole.listed(kernel))
    assert once.kernels() == store.kernels() == ("add_one", "add_two")
    shutil.rmtree(store.reports / "add_two")
    assert once.heads("add_one") == store.heads("add_one")
    assert once.kernels() == ("add_one",)


def test_a_kernel_has_runs_where_a_folder_of_one_is_there_and_not_with_drafts_alone(store: Store) -> None:
    (store.reports / "drafted" / "suggest" / "draft-1").mkdir(parents=True)
    (store.reports / "empty" / "v0_torch").mkdir(parents=True)
    (store.reports / "broken" / "v0_torch").mkdir(parents=True)
    (store.reports / "broken" / "v1_torch" / "20261121T074500Z-1a2b3c").mkdir(parents=True)
    assert store.kernels() == ("broken",)
