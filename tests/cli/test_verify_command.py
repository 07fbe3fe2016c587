"""``ncu-assist verify``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Run, files


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
