"""Archives as released versions wrote them, and as a newer one might: the old are read for ever, the newer named."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from commandline import Run
from factories import make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist import record
from ncu_assist.ceilings import storage
from ncu_assist.errors import NewerData
from ncu_assist.ncu.source import kept
from ncu_assist.store import Store, baselines, drafts, findings

SCHEMAS = Path(__file__).parents[1] / "data" / "schemas"
ARCHIVES = {  # each with the reference of its run
    "first_runs": "lightning_decode/v6",
    "code": "lightning_decode/v2",
    "drafts": "lightning_decode/v6",
    "host_memory": "fast_h2d/v6",
    "trimmed": "lightning_decode/v7",
}
NEWER = "was written by a newer ncu-assist"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_released_archive_is_here() -> None:
    assert {path.name for path in SCHEMAS.iterdir() if path.is_dir()} == set(ARCHIVES)


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_released_archive_is_whole_and_every_command_reads_it(run: Run, project: Path, name: str) -> None:
    shutil.copytree(SCHEMAS / name / "reports", project / "reports")
    verified = run("verify")
    assert verified.code == 0, verified.out
    assert "1 run" in verified.out
    reference = ARCHIVES[name]
    shown = run("show", reference, "--json").json
    assert shown["source"] == "recorded"
    assert shown["metrics"]
    assert shown["diagnosis"]["findings"]
    assert shown["workloads"][0]["timing"]["median_ns"] > 0
    rows = run("history", reference.partition("/")[0], "--json").json["rows"]
    assert rows[0]["cells"][0]["median_ns"] == shown["workloads"][0]["timing"]["median_ns"]
    assert run("export", reference, "--format", "json").code == 0
    assert run("list").code == 0


def test_what_was_stored_with_a_run_is_what_is_read(project: Path) -> None:
    for name in ("drafts", "host_memory"):
        (run,) = Store(SCHEMAS / name / "reports").runs()
        found, written = run.findings(), json.loads(run.read(findings.FINDINGS))
        assert found is not None
        assert found.tool == written["tool"]
        estimates = [one.estimated_speedup for each in found.judged for one in each.findings]
        assert estimates == [one["estimated_speedup"] for each in written["judged"] for one in each["findings"]]


def test_drafts_baselines_ceilings_and_code_of_released_versions(run: Run, project: Path) -> None:
    shutil.copytree(SCHEMAS / "drafts" / "reports", project / "reports")
    ledger = run("ledger", "--json").json
    assert (len(ledger["drafts"]), ledger["damaged"]) == (1, [])
    first = Store(SCHEMAS / "first_runs" / "reports")
    chosen = baselines.get_baseline(first, "lightning_decode")
    assert chosen is not None
    assert (chosen.version, chosen.since) == ("v6_coalesced_store", None)
    (measured,) = storage.stored(first.reports)
    assert measured.device.name == "NVIDIA H200"
    code = kept.unpacked((SCHEMAS / "code_1.json.zst").read_bytes(), "code")
    assert code is not None
    assert code.launches


@pytest.mark.parametrize("module", [record, findings, drafts, baselines, storage, kept])
def test_each_file_has_a_reader_for_every_number_up_to_the_one_that_is_written(module: Any) -> None:
    assert list(module.READERS) == list(range(1, int(module.SCHEMA.rpartition("/")[2]) + 1))


def saved(project: Path, **files: bytes) -> Path:
    frame = samples_frame(times(1e5, 1))
    return save_run(Store(project / "reports"), make_run(), metrics_frame({}), frame, **files).folder


def test_a_run_of_a_newer_version_is_named_and_is_no_damage(run: Run, project: Path) -> None:
    record_file = saved(project) / "run.json"
    record_file.write_bytes(record_file.read_bytes().replace(b"ncu-assist.run/1", b"ncu-assist.run/2"))
    saved_too = save_run(Store(project / "reports"), make_run(version="v2_next"), metrics_frame({}))
    told = run("verify")
    assert told.code == NewerData.exit_code == 6
    assert NEWER in told.out.replace("\n", " ")
    assert "damaged" not in told.out
    assert "1 from a newer ncu-assist; 1 other run can be read" in told.out
    (newer,) = run("verify", "--json").json["damaged"]
    assert newer["is_newer"] is True
    (record_file.parent / "report.html").write_text("a page of the newer version")
    assert run("report", "--all").code == 6
    assert (record_file.parent / "report.html").read_text() == "a page of the newer version"
    index = (project / "reports" / "index.html").read_text()
    assert "1 run of a newer ncu-assist left out" in index
    assert "damaged" not in re.sub(r"<[^>]+>", " ", index.partition("<body")[2]).lower()
    assert run("show", saved_too.reference).code == 0


def test_damage_beside_it_is_still_damage(run: Run, project: Path) -> None:
    newer = saved(project) / "run.json"
    newer.write_bytes(newer.read_bytes().replace(b"ncu-assist.run/1", b"ncu-assist.run/2"))
    other = save_run(Store(project / "reports"), make_run(version="v2_next"), metrics_frame({}))
    (other.folder / "metrics.parquet").unlink()
    told = run("verify")
    assert told.code == 7
    assert "1 damaged; 1 from a newer ncu-assist; 0 other runs can be read" in told.out


def test_findings_of_a_newer_version_are_judged_anew(run: Run, project: Path) -> None:
    said = b'{"schema": "ncu-assist.findings/2", "more": 1}'
    folder = saved(project, **{"findings.json": said})
    shown = run("show", "add_one/v1", "--json")
    assert shown.code == 0, shown.err
    assert run("history", "add_one").code == 0
    told = run("verify")
    assert told.code == 6
    assert f"findings.json {NEWER}" in told.out.replace("\n", " ")
    assert (folder / "findings.json").read_bytes() == said  # what was stored is kept
    assert hashlib.sha256(said).hexdigest() in (folder / "run.json").read_text()


def test_a_baseline_of_a_newer_version(run: Run, project: Path) -> None:
    saved(project)
    (project / "reports" / "add_one" / "baseline.json").write_text('{"schema": "ncu-assist.baseline/7"}')
    answer = run("show", "add_one/@baseline")
    assert answer.code == 6
    assert NEWER in answer.err.replace("\n", " ")
