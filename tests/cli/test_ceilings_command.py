"""``ncu-assist ceilings`` where nothing can be measured, and its answer in both forms."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from commandline import REPORT, Run
from made_ceilings import MADE_UP, MIB, ceilings, point

from ncu_assist.ceilings import Ceilings, ceilings_of, encode, save
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
    assert "NVIDIA Made Up 9000 · live · 2030-01-01" in answer.out
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
    assert "NVIDIA Made Up 9000 · recorded · 2030-01-01" in answer.out
    assert "came with the tool" in answer.out


def test_a_damaged_file_ends_with_its_own_exit_code(run: Run, project: Path) -> None:
    path = save(project / "reports", ceilings())
    path.write_bytes(path.read_bytes().replace(b"1500", b"1501"))
    answer = run("ceilings", "--show")
    assert answer.code == 7
    assert "was changed after it was written" in answer.err


def test_what_is_exported_is_imported_elsewhere_and_answers_for_that_model(run: Run, project: Path) -> None:
    save(project / "reports", replace(possible(), notes=("left in /home/somebody/x.log",)))
    assert run("ceilings", "--export", "sent.json").code == 0
    text = (project / "sent.json").read_text()
    assert "somebody" not in text
    shutil.rmtree(project / "reports")
    answer = run("ceilings", "--import", "sent.json")
    assert answer.code == 0
    assert "NVIDIA Made Up 9000, 2030-01-01: stored, for reports of this model" in answer.out
    assert "4 points of DRAM, 0 of L2, 0 of the link, 1 rates" in answer.out
    assert "NVIDIA Made Up 9000 · imported · 2030-01-01" in run("ceilings", "--show").out
    found = ceilings_of(replace(MADE_UP, uuid_sha256=""), project / "reports")
    assert found is not None
    assert found.where == "another NVIDIA Made Up 9000"
    assert "already stored" in run("ceilings", "--import", "sent.json").out


def test_others_of_this_gpu_are_replaced_only_where_asked(run: Run, project: Path) -> None:
    (project / "sent.json").write_bytes(encode(possible()))
    save(project / "reports", replace(possible(), created="2031-01-01T00:00:00+00:00"))
    refused = run("ceilings", "--import", "sent.json")
    assert refused.code == 2
    assert "stored already, of 2031-01-01; sent.json has those of 2030-01-01" in refused.err
    assert run("ceilings", "--import", "sent.json", "--force", "--json").json["gpus"][0]["created"][:4] == "2030"
    assert run("ceilings", "--export", "sent.json").code == 2


def test_of_several_gpus_one_has_to_be_named(run: Run, project: Path) -> None:
    assert run("ceilings", "--export", "-").code == 2
    save(project / "reports", possible())
    save(
        project / "reports",
        replace(possible(), device=replace(MADE_UP, name="NVIDIA Made Up 8000", uuid_sha256="ef" * 32)),
    )
    refused = run("ceilings", "--export", "-")
    assert "ceilings of several GPUs are known: NVIDIA Made Up 8000, NVIDIA Made Up 9000" in refused.err
    assert '"name": "NVIDIA Made Up 8000"' in run("ceilings", "--export", "-", "--gpu", "8000").out
    assert "no ceilings are known for 'T4'" in run("ceilings", "--export", "-", "--gpu", "T4").err


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"NVR\0rest", 2, "x.json is a report of Nsight Compute, not ceilings"),
        (b"\x28\xb5\x2f\xfdrest", 2, "x.json is a compressed file, not ceilings"),
        (b"hello", 2, "x.json is not JSON, so it has no ceilings"),
        (b"[1]", 2, "x.json is JSON without a schema, not ceilings"),
        (b'{"schema": "ncu-assist.run/1"}', 2, "x.json is JSON of the schema 'ncu-assist.run/1', not ceilings"),
        (b'{"schema": "ncu-assist.ceilings/1", "gpus": []}', 2, "the output of `ncu-assist ceilings --json`"),
        (b'{"schema": "ncu-assist.ceilings/2"}', 6, "written by a newer ncu-assist"),
        (b'{"schema": "ncu-assist.ceilings/1"}', 7, "x.json cannot be read: Object missing required field"),
    ],
)
def test_another_file_is_called_what_it_is(run: Run, project: Path, content: bytes, code: int, words: str) -> None:
    (project / "x.json").write_bytes(content)
    answer = run("ceilings", "--import", "x.json")
    assert (answer.code, words in answer.err) == (code, True), answer.err


def test_what_was_changed_or_cannot_be_is_refused_and_not_stored(run: Run, project: Path) -> None:
    (project / "changed.json").write_bytes(encode(possible()).replace(b"2030", b"2029"))
    (project / "fast.json").write_bytes(encode(replace(possible(), dram=(replace(POINT, bytes_per_second=1.0),))))
    answers = [run("ceilings", "--import", name) for name in ("changed.json", "fast.json", "nowhere.json")]
    assert [one.code for one in answers] == [7, 7, 2]
    assert "changed.json was changed after it was written" in answers[0].err
    assert "fast.json has impossible values: dram copy, 33.6 MB" in answers[1].err
    assert not (project / "reports").exists()


def test_two_answers_at_once_are_refused(run: Run, project: Path) -> None:
    for words in (("--export", "a", "--import", "b"), ("--quick", "--import", "b"), ("--show", "--export", "a")):
        assert "exclude each other" in run("ceilings", *words).err
    assert run("ceilings", "--gpu", "T4").code == 2


def test_of_a_report_every_number_is_there_with_its_source(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ncu_assist.ceilings.storage.ceilings_of.__defaults__", (None, project / "data"))
    shutil.copyfile(REPORT, project / "mine.ncu-rep.zst")
    text = run("ceilings", "mine.ncu-rep.zst").out
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "NVIDIA H200"
    assert "no ceilings of such a GPU are stored" in text
    at = next(place for place, line in enumerate(lines) if line.startswith("DRAM peak"))
    assert lines[at].endswith("4.81 TB/s")
    assert lines[at + 1] == "memory clock x bus width x 2, from the report's device attributes"
    assert "4.28 TB/s to 4.57 TB/s, assumed" in text
    known = {one["what"]: one for one in run("ceilings", "mine.ncu-rep.zst", "--json").json["known"]}
    assert known["DRAM, streams"]["assumed"] is True
    assert known["L2 reads"]["value"] is None


POINT = ceilings().dram[0]


def possible() -> Ceilings:
    """Return made-up ceilings in which nothing contradicts itself."""
    made = ceilings()
    return replace(made, rates=(replace(made.rates[0], per_second=5.85e11),))
