"""``ncu-assist ledger``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commandline import Run
from drafts_made import hostile, save_draft, several
from factories import make_run, save_run

from ncu_assist.store import Store
from ncu_assist.store.drafts import DraftArchive


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DraftArchive:
    monkeypatch.chdir(tmp_path)
    return DraftArchive(tmp_path / "reports")


def test_without_drafts_it_says_how_to_get_some(run: Run, recorded: Path) -> None:
    shutil.rmtree(recorded / "reports" / "lightning_decode" / "suggest")
    for words, command in (((), "suggest KERNEL --model"), (("lightning_decode",), "suggest lightning_decode --model")):
        answer = run("ledger", *words)
        assert answer.code == 0
        assert "no drafts yet" in answer.out
        assert command in answer.out
    assert run("ledger", "--json").json["drafts"] == []


def test_the_ledger_of_all_kernels(run: Run, archive: DraftArchive) -> None:
    several(archive)
    answer = run("ledger")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert lines[:2] == ["ledger of all kernels", "4 drafts: 1 kept, 2 rejected, 1 unproven"]
    assert "some-model 2 1 2 of 4 1.80x 1.066x 10 k 24 s" in lines
    assert "add_one 1 1 1 1.42x draft 20261121T080000Z-abcdef" in lines
    assert "1 rejected: slower than its parent" in lines
    assert "add_one 20261121T080000Z-abcdef v1, round 1 ▲ kept" in lines
    assert "1.80x → 1.42x" in answer.out
    assert "add_one 20261121T080100Z-000002 v1, round 2 ✕ rejected" in lines
    assert "\x1b" not in answer.out


def test_the_ledger_of_one_kernel(run: Run, archive: DraftArchive) -> None:
    several(archive)
    answer = run("ledger", "scale").out
    assert answer.startswith("ledger of scale\n1 draft: 1 unproven\n")
    assert "add_one" not in answer.partition("drafts, the oldest first")[2].partition("v1")[0]


def test_a_draft_that_nobody_proved_has_a_reason(run: Run, archive: DraftArchive) -> None:
    save_draft(archive, fate="drafted", reason="", proof=None)
    assert "\n  1 drafted: not proved yet\n" in run("ledger").out
    assert run("ledger", "--json").json["reasons"] == [{"fate": "drafted", "text": "not proved yet", "count": 1}]


def test_the_json_that_others_read(run: Run, archive: DraftArchive) -> None:
    several(archive)
    answer = run("ledger", "--json").json
    assert (answer["schema"], answer["kernel"], len(answer["drafts"])) == ("ncu-assist.ledger/1", None, 4)
    first = answer["models"][0]
    assert first["predictions"] == {"true": 2, "told": 4, "untold": 1, "rate": 0.5}
    assert answer["rounds"][0]["best"]["speedup"] == 1.42
    assert answer["rounds"][1]["best"] is None
    draft = answer["drafts"][0]
    assert (draft["claim"]["slug"], draft["proof"]["scores"][0]["came_true"]) == ("registers", True)


def test_a_damaged_draft_is_named_and_stops_nothing(run: Run, archive: DraftArchive) -> None:
    several(archive)
    (archive.find("add_one", "20261121T0800").folder / "draft.json").write_text("{}")
    answer = run("ledger")
    assert answer.code == 7
    assert "3 drafts: 2 rejected, 1 unproven" in answer.out
    assert "1 damaged draft left out" in answer.out
    assert "add_one/suggest/20261121T080000Z-abcdef: draft.json cannot be read" in " ".join(answer.out.split())
    listed = run("ledger", "--json")
    assert (listed.code, len(listed.json["damaged"])) == (7, 1)
    verified = run("verify")
    assert verified.code == 7
    assert "add_one/suggest/20261121T080000Z-abcdef" in verified.out


def test_a_whole_archive_with_drafts_verifies(run: Run, archive: DraftArchive) -> None:
    save_run(Store(archive.reports), make_run())
    several(archive)
    assert run("verify").code == 0
    listed = run("list").out
    assert "suggest" not in listed
    assert run("show", "add_one/suggest").code == 2


def test_an_unknown_kernel(run: Run, recorded: Path) -> None:
    answer = run("ledger", "lightning_decod")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean 'lightning_decode'?" in answer.err


def test_hostile_texts_are_inert(run: Run, archive: DraftArchive) -> None:
    archive.save(hostile(), {})
    save_draft(archive, id="b", model="[red]markup[/red] " + "x" * 300)
    out = run("ledger").out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[red]markup[/red]" in out
    assert max(map(len, out.splitlines())) <= 80
    assert run("ledger", "--json").code == 0
