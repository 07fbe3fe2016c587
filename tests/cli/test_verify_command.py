"""``ncu-assist verify``."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from commandline import Run, deny, deny_reading, files
from drafts_made import save_draft
from factories import make_run, metrics_frame, save_run
from kernel_folder import write_kernel

from ncu_assist.store import Store
from ncu_assist.store.drafts import DraftArchive

RUN = "add_one/v1_torch/20261121T074500Z-1a2b3c"


@pytest.mark.slow
def test_a_clean_archive(run: Run, recorded: Path) -> None:
    answer = run("verify")
    assert answer.code == 0
    assert "nothing damaged" in answer.out
    as_json = run("verify", "--json").json
    assert as_json["schema"] == "ncu-assist.verify/1"
    assert as_json["damaged"] == []
    assert as_json["runs"] >= 10


def test_no_archive_at_all(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("verify")
    assert (answer.code, answer.out) == (0, "✓ 0 runs, nothing damaged\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["metrics.parquet", "samples.parquet", "report.ncu-rep.zst", "run.json", "ncu.log"])
def test_one_flipped_byte(run: Run, recorded: Path, name: str) -> None:
    path = next(recorded.glob(f"reports/lightning_decode/v7_*/*/{name}"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    before = files(recorded)
    answer = run("verify")
    assert answer.code == 7
    assert f"lightning_decode/{path.parts[-3]}/{path.parts[-2]}" in answer.out.replace("\n", "")
    assert name in answer.out
    damaged = run("verify", "--json")
    assert damaged.code == 7
    assert [d["path"] for d in damaged.json["damaged"]] == ["/".join(path.parts[-4:-1])]
    assert files(recorded) == before


def test_a_missing_file_and_a_foreign_one(run: Run, recorded: Path) -> None:
    folder = next(recorded.glob("reports/lightning_decode/v3_*/*"))
    (folder / "samples.parquet").unlink()
    other = next(recorded.glob("reports/lightning_decode/v4_*/*"))
    (other / "notes.txt").write_text("mine")
    problems = {d["path"].split("/")[1]: d["problem"] for d in run("verify", "--json").json["damaged"]}
    assert problems == {
        folder.parts[-2]: "samples.parquet is missing",
        other.parts[-2]: "notes.txt is not a file of this run",
    }


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of one kernel, one of another, and a draft: the archive, in the current folder."""
    store = Store(tmp_path / "reports")
    for changes in ({}, {"version": "v2_other"}, {"kernel": "add_two"}):
        save_run(store, make_run(**changes), metrics_frame(), None)
    save_draft(DraftArchive(store.reports))
    monkeypatch.chdir(tmp_path)
    return store.reports


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
@pytest.mark.parametrize("place", [".", "add_one", "add_one/v1_torch", RUN, "add_one/suggest"])
def test_a_folder_that_cannot_be_read_is_damage(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch, place: str, number: int
) -> None:
    deny(monkeypatch, archive / place, number)
    answer = run("verify", "--json")
    assert answer.code == 7
    (damage,) = answer.json["damaged"]
    assert damage["path"] == place
    assert "cannot be read" in damage["problem"]
    shown = "reports" if place == "." else f"reports/{place}"
    said = f"{shown}: {'run.json ' * (place == RUN)}cannot be read"
    assert said in run("verify").out.replace("\n", " ")


@pytest.mark.parametrize("place", [".", "add_one"])
def test_a_kernels_folder_that_cannot_be_read_is_damage(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    write_kernel(archive.parent)
    assert run("verify").code == 0
    deny(monkeypatch, archive.parent / "kernels" / place)
    answer = run("verify", "--json")
    (damage,) = answer.json["damaged"]
    assert (answer.code, damage["folder"], damage["path"]) == (7, "kernels", place)
    assert damage["problem"] == "cannot be read (Permission denied)"
    assert f"kernels{'' if place == '.' else '/add_one'}: cannot be read" in run("verify").out


@pytest.mark.parametrize("name", ["kernel.toml", "reference.py", "v0_torch.py", "tile.cuh"])
def test_a_file_of_a_kernel_that_cannot_be_read_is_damage(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = write_kernel(archive.parent) / name
    path.touch()
    deny_reading(monkeypatch, path)
    answer = run("verify")
    assert (answer.code, f"kernels/add_one/{name}: cannot be read (Permission denied)" in answer.out) == (7, True)


def test_a_run_with_a_file_that_cannot_be_read_is_not_counted_as_one_that_can(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny_reading(monkeypatch, archive / RUN / "metrics.parquet")
    answer = run("verify", "--json")
    assert (answer.code, answer.json["runs"], len(answer.json["damaged"])) == (7, 2, 1)
    assert "1 damaged; 2 other runs can be read" in run("verify").out


def test_a_folder_within_a_run_that_cannot_be_read_is_damage(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (archive / RUN / "source").mkdir()
    deny(monkeypatch, archive / RUN / "source")
    answer = run("verify", "--json")
    assert answer.code == 7
    assert [one["problem"] for one in answer.json["damaged"]] == ["source cannot be read (Permission denied)"]


@pytest.mark.parametrize("place", ["add_one", "add_one/v1_torch", RUN])
@pytest.mark.parametrize("stands", ["a link to nothing", "a link to a folder", "a file"])
def test_what_stands_in_the_place_of_a_folder_is_damage(
    run: Run, archive: Path, tmp_path: Path, place: str, stands: str
) -> None:
    path = archive / place
    path.rename(tmp_path / "aside")
    if stands == "a file":
        path.touch()
    else:
        path.symlink_to(tmp_path / ("aside" if stands.endswith("folder") else "nothing"))
    answer = run("verify", "--json")
    assert answer.code == 7
    assert [one["path"] for one in answer.json["damaged"]] == [place]


@pytest.mark.parametrize("place", ["add_one", "add_one/baseline.json"])
def test_a_baseline_that_may_not_be_looked_for_is_not_made_up_as_damaged(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    write_kernel(archive.parent, {"v1_torch.py": ""})
    if place == "add_one":
        deny(monkeypatch, archive / place)
    else:
        assert run("baseline", "set", "add_one/v1@2026").code == 0
    deny_reading(monkeypatch, archive / "add_one/baseline.json")
    verified, shown, every = run("verify", "--json"), run("baseline", "show", "add_one"), run("baseline", "show")
    assert [one["path"] for one in verified.json["damaged"]] == [place]
    assert (verified.code, shown.code, every.code) == (7, 7, 7)
    for said in (verified.out, shown.err, every.err + every.out):
        assert "cannot be read (Permission denied)" in " ".join(said.split())
        assert not any(word in said for word in ("Errno", str(archive), "baseline clear"))
    assert f"try: chmod u+r{'x' * (place == 'add_one')} reports/{place}\n" in shown.err


def test_a_link_to_nothing_is_no_empty_archive(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reports").symlink_to("nothing")
    monkeypatch.chdir(tmp_path)
    answer = run("verify")
    assert answer.code == 7
    assert "is a link to nothing" in answer.out


def test_pages_and_baselines_are_no_damage_and_a_baseline_that_cannot_be_read_is(run: Run, archive: Path) -> None:
    for page in ("index.html", "add_one/index.html", "add_one/v1_torch/diff-v0_torch.html"):
        (archive / page).touch()
    assert run("baseline", "set", "add_one/v1@2026").code == 0
    assert run("verify").code == 0
    (archive / "add_one/baseline.json").write_text("{")
    answer = run("verify", "--json")
    assert answer.code == 7
    assert [one["path"] for one in answer.json["damaged"]] == ["add_one/baseline.json"]


@pytest.mark.parametrize("place", ["add_one", "add_one/v1_torch", RUN])
def test_other_readers_do_not_skip_it_without_a_word(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    write_kernel(archive.parent, {"v1_torch.py": ""})
    deny(monkeypatch, archive / place)
    (listed,) = run("list", "add_one", "--json").json["kernels"]
    assert {one["version"]: one["status"] for one in listed["versions"]} == {"v1_torch": "cannot be read"}
    assert "not measured" not in run("list", "add_one").out
    said = f"reports/{place}: cannot be read" if place != RUN else f"reports/{RUN}: run.json cannot be read"
    for words in (("list",), ("list", "add_one"), ("history", "add_one")):
        answer = run(*words)
        assert answer.code == 0
        assert answer.err.count(said) == 1
        assert "try: ncu-assist verify" in answer.err
    assert [one["path"] for one in run("list", "--json").json["damaged"]] == [place]
    for reference in ("add_one/v1", "add_one/v1_torch", "add_one/v1@2026"):
        answer = run("show", reference)
        assert (answer.code, answer.out) == (7, "")
        assert place in answer.err


def test_of_an_archive_that_cannot_be_read_no_version_is_called_not_measured(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(archive.parent, {"v1_torch.py": ""})
    deny(monkeypatch, archive)
    answer = run("list")
    assert (answer.code, "v1_torch cannot be read" in " ".join(answer.out.split())) == (0, True)
    assert "left out: reports: cannot be read (Permission denied)" in answer.err


def test_a_run_that_is_left_out_is_named_beside_the_one_that_is_shown(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = save_run(Store(archive), make_run(run_id="20261122T000000Z-ffffff"), metrics_frame(), None)
    deny(monkeypatch, later.folder)
    answer = run("show", "add_one/v1")
    assert answer.code == 0
    assert "left out: reports/add_one/v1_torch/20261122T000000Z-ffffff" in answer.err
    assert run("show", "add_one/v2").err == ""


def test_a_kernel_that_only_the_archive_knows_and_nobody_can_read(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(monkeypatch, archive / "add_two")
    for words in (
        ("show", "add_two/v1"),
        ("history", "add_two"),
        ("list", "add_two"),
        ("show", "v1_torch", "--kernel", "add_two"),
    ):
        answer = run(*words)
        assert (answer.code, answer.out) == (7, "")
        assert "reports/add_two is damaged: cannot be read" in answer.err
