"""Drafts in the archive: written whole, never over one, held against their hashes, and no version's runs."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from drafts_made import SOURCE, make_draft, save_draft
from factories import make_run, save_run

from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.store import Store
from ncu_assist.store.drafts import BUILD_LOG, DraftArchive, new_draft_id


@pytest.fixture
def archive(tmp_path: Path) -> DraftArchive:
    return DraftArchive(tmp_path / "reports")


def files(archive: DraftArchive) -> list[str]:
    return sorted(path.relative_to(archive.reports).as_posix() for path in archive.reports.rglob("*") if path.is_file())


def test_a_draft_reads_back_as_it_was_written(archive: DraftArchive) -> None:
    stored = save_draft(archive)
    assert stored.draft == make_draft()
    assert (stored.reference, stored.read("draft.py")) == ("add_one/suggest/20261121T080000Z-abcdef", SOURCE)
    assert archive.drafts() == archive.drafts("add_one") == [stored]
    assert archive.drafts("scale") == archive.drafts("..") == DraftArchive(Path("nowhere")).drafts() == []
    assert archive.find("add_one", "20261121T08") == stored
    assert archive.verify() == []


def test_ids_sort_by_time() -> None:
    now = datetime(2026, 11, 21, 8, tzinfo=UTC)
    ids = [new_draft_id("a", now), new_draft_id("b", now), new_draft_id("a", now + timedelta(seconds=1))]
    assert len(set(ids)) == 3
    assert max(ids) == ids[2]


def test_a_draft_is_never_overwritten(archive: DraftArchive) -> None:
    stored = save_draft(archive)
    with pytest.raises(UsageProblem, match="already exists; a draft is never overwritten"):
        save_draft(archive, fate="rejected")
    with pytest.raises(UsageProblem, match="has a file prompt"):
        archive.update(stored, stored.draft, {"prompt.md": b"other"})
    with pytest.raises(UsageProblem, match="is another draft"):
        archive.update(stored, replace(stored.draft, id="b"))
    assert archive.drafts() == [stored]


@pytest.mark.parametrize("name", ["../x", "draft.json", "a/../../b", "/etc/x", ".hidden"])
def test_names_that_lead_elsewhere_are_refused(archive: DraftArchive, name: str) -> None:
    with pytest.raises(UsageProblem, match="cannot be the name"):
        archive.save(make_draft(), {name: b""})
    with pytest.raises(UsageProblem, match="cannot be the name"):
        archive.save(make_draft(id=name if "/" in name else "../y"), {})
    assert files(archive) == []


def test_a_fate_and_files_come_after_the_proof(archive: DraftArchive) -> None:
    stored = save_draft(archive, fate="drafted", proof=None)
    told = replace(stored.draft, fate="rejected", reason="does not build")
    updated = archive.update(stored, told, {BUILD_LOG: b"error: no"})
    assert archive.drafts() == [updated]
    assert (updated.draft.fate, updated.read(BUILD_LOG), updated.read("draft.py")) == ("rejected", b"error: no", SOURCE)
    assert archive.verify() == []


def test_an_update_that_fails_leaves_what_was(archive: DraftArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = save_draft(archive, fate="drafted")
    before, calls = files(archive), []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(EnvironmentProblem, match="the draft could not be stored: No space left"):
            archive.update(stored, replace(stored.draft, fate="kept"), {BUILD_LOG: b"x"})
    assert files(archive) == before
    assert archive.drafts() == [stored]


def test_a_draft_that_would_not_read_back_is_a_bug(archive: DraftArchive) -> None:
    with pytest.raises(ValueError, match="would not read back"):
        archive.save(make_draft(fate="perfect"), {})
    assert files(archive) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "draft.json").unlink(), "draft.json is missing"),
        (lambda folder: (folder / "draft.json").write_text("{"), "draft.json cannot be read"),
        (lambda folder: (folder / "draft.py").write_text("x"), "has 1 bytes instead of"),
        (lambda folder: (folder / "draft.py").unlink(), "draft.py is missing"),
        (lambda folder: rewrite(folder / "draft.json", b'"kept"', b'"rejected"'), "changed after it was written"),
        (lambda folder: rewrite(folder / "draft.json", b"draft/1", b"draft/9"), "written by a newer ncu-assist"),
        (lambda folder: folder.rename(folder.with_name("other")), "belongs to add_one/suggest/2026"),
    ],
)
def test_damage_is_named_and_left_out(archive: DraftArchive, damage: object, said: str) -> None:
    stored = save_draft(archive)
    damage(stored.folder)  # type: ignore[operator]
    found, damaged = archive.everything()
    assert found == []
    assert said in damaged[0].problem
    assert [one.path for one in archive.verify()] == [damaged[0].path]


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))


def test_what_only_hashes_tell(archive: DraftArchive) -> None:
    stored = save_draft(archive)
    rewrite(stored.folder / "draft.py", b"x + 1", b"x + 2")
    (stored.folder / "more.py").touch()
    (stored.folder / "link").symlink_to("/etc/passwd")
    assert [one.problem for one in archive.verify(deep=False)] == [
        "link is not a file of this draft",
        "more.py is not a file of this draft",
    ]
    assert archive.verify()[-1].problem == "draft.py was changed after it was written (its hash differs)"
    with pytest.raises(DamagedData, match="was changed"):
        stored.read("draft.py")
    with pytest.raises(DamagedData, match="has no file"):
        stored.read("../../x")


def test_an_id_must_name_one_draft(archive: DraftArchive) -> None:
    save_draft(archive)
    save_draft(archive, id="20261121T080100Z-000002")
    for id, said in (("2026", "begins 2 drafts"), ("x", "is no draft 'x'"), ("", "is no draft"), ("..", "no draft")):
        for kernel in ("add_one", None):
            with pytest.raises(UsageProblem, match=said):
                archive.find(kernel, id)


def test_a_damaged_draft_that_is_named_says_so(archive: DraftArchive) -> None:
    stored = save_draft(archive)
    (stored.folder / "draft.json").write_text("{}")
    with pytest.raises(DamagedData, match="cannot be read"):
        archive.find(None, stored.draft.id)


def test_drafts_are_no_runs(archive: DraftArchive) -> None:
    store = Store(archive.reports)
    save_run(store, make_run())
    stored = save_draft(archive)
    assert (store.kernels(), store.versions("add_one")) == (("add_one",), ("v1_torch",))
    assert (len(store.runs()), store.damaged(), store.verify()) == (1, [], [])
    assert store.runs("add_one", "suggest") == []
    (stored.folder / "draft.json").unlink()
    assert store.verify() == store.damaged() == []
    with pytest.raises(UsageProblem, match="a version cannot be called 'suggest'"):
        save_run(store, make_run(version="suggest"))


def test_a_link_is_followed_nowhere(archive: DraftArchive, tmp_path: Path) -> None:
    elsewhere = save_draft(DraftArchive(tmp_path / "other"))
    (archive.reports / "add_one").mkdir(parents=True)
    (archive.reports / "add_one" / "suggest").symlink_to(elsewhere.folder.parent)
    drafts, damaged = archive.everything()
    assert drafts == []
    assert [(one.path, one.problem.split(",")[0]) for one in damaged] == [("add_one/suggest", "is a link")]
    assert archive.verify() == damaged
