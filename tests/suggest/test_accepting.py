"""A draft becomes the next version: a new file with our comment at its top, whatever the model wrote there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from drafts_made import CLAIM, SOURCE, hostile, make_draft, save_draft
from kernel_folder import write_kernel

from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.sources import discover_versions, header_comment, source_sha256
from ncu_assist.store.drafts import DraftArchive, StoredDraft
from ncu_assist.suggest.accepting import accept, with_header


@pytest.fixture
def archive(tmp_path: Path) -> DraftArchive:
    return DraftArchive(tmp_path / "reports")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_kernel(tmp_path, {"v0_torch.py": "x = 0\n", "v9_nine.py": "x = 9\n", "v10_ten.cu": "int x;\n"})


def test_a_draft_becomes_the_version_after_the_highest(archive: DraftArchive, folder: Path) -> None:
    path, stored = accept(archive, save_draft(archive), folder)
    assert (path.name, stored.draft.version) == ("v11_registers.py", "v11_registers")
    assert archive.drafts() == [stored]
    assert [version.name for version in discover_versions(folder)][-1] == "v11_registers"
    assert header_comment(path.read_bytes(), ".py").splitlines() == [
        "Changes: Keep the state in registers.",
        "expected: Loads wait; DRAM throughput up to 1.5 of it; registers down; spills down; 1.8x faster",
        "parent: v1",
        "measured: 1.42x on small, 70.4 us against 100 us of its parent; 1 of 2 predictions came true; kept",
        "Drafted by the model some-model from add_one/v1_torch@20261121T074500Z-1a2b3c, as draft",
        "  20261121T080000Z-abcdef; no person wrote this version.",
    ]
    with pytest.raises(UsageProblem, match="is v11_registers already"):
        accept(archive, stored, folder)


def test_the_comment_changes_no_code(folder: Path) -> None:
    before, after = folder / "v20_a.py", folder / "v20_a.py"
    before.write_bytes(SOURCE)
    hashed = source_sha256(before)
    after.write_bytes(with_header(SOURCE, make_draft()))
    assert source_sha256(after) == hashed
    assert b"of the parent" not in after.read_bytes()


def test_lines_that_tools_read_stay_and_none_come_in(folder: Path) -> None:
    said = b"# coding: rot13\n# dtypes: float32\n# packages: json\n# draws: its own\n# Changes: old\n"
    source = b"#!/usr/bin/env python\n" + said + b"x = 1\n"
    change = f"dtypes: float64 {'x' * 95} dtypes: int32 packages: os draws: its own coding: utf-7\ncoding=x"
    draft = make_draft(claim=replace(CLAIM, change=change))
    made = with_header(source, draft)
    assert made.startswith(b"#!/usr/bin/env python\n# dtypes: float32\n# packages: json\n# Changes: dtypes - float64")
    assert b"coding:" not in made
    assert b"coding=" not in made
    (folder / "v21_b.py").write_bytes(made)
    kept = discover_versions(folder)[-1]
    assert (kept.dtypes, kept.packages, kept.draws_own) == (("float32",), ("json",), False)


@pytest.mark.parametrize("suffix", [".cu", ".py"])
@pytest.mark.parametrize(
    "text", ["a\nint b;", "a\r\nx = 1", "ends \\", "ends ??/", "a\u2028int b;", "x" * 150 + " \\", "\0\x1b[2J\u202e"]
)
def test_a_text_of_the_model_stays_in_the_comment(suffix: str, text: str) -> None:
    draft = make_draft(
        suffix=suffix, model=text, reason=text, fate="rejected", claim=replace(CLAIM, change=text, bottleneck=text)
    )
    made = with_header(b"code = 1\n", draft).decode()
    *comment, last = made.split("\n")[:-1]
    assert last == "code = 1"
    assert all(line.startswith("//" if suffix == ".cu" else "#") and line.isprintable() for line in comment)
    assert not any(line.endswith("\\") or "??/" in line for line in comment)


def test_hostile_texts_and_windows_ends(archive: DraftArchive) -> None:
    made = with_header(b"// old\r\nint a;\r\n", hostile(suffix=".cu"))
    assert made.count(b"\n") == made.count(b"\r\n") > 3
    assert b"\x1b" not in made
    assert "\u202e" not in made.decode()


def test_what_was_not_measured_says_so() -> None:
    text = with_header(SOURCE, make_draft(proof=None, fate="unproven", reason="no GPU", model="")).decode()
    assert "# measured: nothing; the draft was unproven (no GPU)" in text
    assert "# Drafted by a model from" in text
    text = with_header(SOURCE, make_draft(proof=None, fate="drafted", reason="")).decode()
    assert "# measured: nothing; the draft was not proved\n" in text


def test_never_over_a_file(archive: DraftArchive, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = save_draft(archive)
    monkeypatch.setattr("ncu_assist.suggest.accepting._highest", lambda _: 8)
    (folder / "v9_registers.py").write_text("mine")
    with pytest.raises(UsageProblem, match="nothing was written over it"):
        accept(archive, stored, folder)
    assert (folder / "v9_registers.py").read_text() == "mine"
    (folder / "v9_registers.py").unlink()
    (folder / "v9_registers.py").symlink_to(folder / "elsewhere")
    with pytest.raises(UsageProblem):
        accept(archive, stored, folder)
    assert not (folder / "elsewhere").exists()


def test_no_file_is_left_where_the_record_cannot_be_written(
    archive: DraftArchive, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, before = save_draft(archive), sorted(folder.iterdir())

    def refused(*_: object) -> StoredDraft:
        raise EnvironmentProblem("the disk is full")

    monkeypatch.setattr(DraftArchive, "update", refused)
    with pytest.raises(EnvironmentProblem):
        accept(archive, stored, folder)
    assert sorted(folder.iterdir()) == before


def test_a_draft_without_a_source_or_with_another_is_refused(archive: DraftArchive, folder: Path) -> None:
    without = archive.save(make_draft(id="a", claim=None, reason="it is empty"), {})
    with pytest.raises(UsageProblem, match="has no source: it is empty"):
        accept(archive, without, folder)
    changed = save_draft(archive)
    (changed.folder / "draft.py").write_bytes(SOURCE[::-1])
    with pytest.raises(DamagedData):
        accept(archive, changed, folder)
    odd = save_draft(archive, id="b", claim=replace(CLAIM, slug="../../x"))
    assert accept(archive, odd, folder)[0].name == "v11_draft.py"
