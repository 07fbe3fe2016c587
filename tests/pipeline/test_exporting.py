"""Tables that leave the machine: whole, the same each time, and without who measured where."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from factories import launch, make_run, metrics_frame, save_run
from ncu.test_ncu_blanking import revealing
from recording import record

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.compressed import compress, read_plain
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.report_file import SessionTexts
from ncu_assist.pipeline import exporting
from ncu_assist.pipeline.exporting import OF_THE_REPORT, TABLES, export
from ncu_assist.pipeline.pages import readable
from ncu_assist.project import Project
from ncu_assist.render.export import FORMATS, Export
from ncu_assist.store import Store, StoredRun, metrics_parquet

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
REPORT = DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst"
TEXT = (
    "alice.smith@example.org on gpu17.corp.example.com (10.20.30.40, fe80::b39:551:8040:674%eno1) as alice: "
    r"/home/alice/secret-project/k.cu:12, C:\Users\Alice Smith\secret-project\k.cu, "
    r"\\fileserver\share\secret-project\k.cu"
)
COMMAND = (
    "USER=alice HF_TOKEN=swordfish HOSTNAME=gpu17 /opt/secret-project/ncu "
    "--export /home/alice/out.ncu-rep ./k --user alice"
)
SECRETS = re.compile(
    r"alice|smith|gpu17|corp\.example|example\.org|10\.20\.30\.40|b39:551|secret-project|fileserver|swordfish|/home|eno1",
    re.IGNORECASE,
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def planted(path: Path, **limits: Any) -> Report:
    """Read a report, and put what must not leave the machine wherever a report can hold it."""
    found = read_report(path, **limits)
    facts = found.contents
    launches = [
        replace(
            one,
            kernel="alice_gemm",
            signature=f"alice_gemm<main::{{lambda at /home/alice/secret-project/k{number}.cu:3:1}}>(int)",
            mangled="_Z10alice_gemmIiEvi",
            ranges=("step", TEXT, f"rank {number} at gpu17"),
            domain_ranges=(f"loader:{TEXT}",),
            start_end_ranges=("/home/alice",),
            rules=tuple(replace(rule, title=TEXT, message=f"@source:{TEXT}:3@") for rule in one.rules),
        )
        for number, one in enumerate(facts.launches)
    ]
    session = replace(facts.session, host="gpu17.corp.example.com", command=COMMAND)
    texts = tuple(TEXT if text == "No-CC" else text for text in facts.texts)
    report = replace(found, contents=replace(facts, launches=tuple(launches), session=session, texts=texts))
    lines = pd.DataFrame(
        {
            "launch": [0, 0],
            "file": pd.Categorical(["/home/alice/a/k.cu", "/home/alice/b/k.cu"]),
            "line": [3, 3],
            "source": [f"int x; // {TEXT}", "#include </home/alice/secret-project/k.h>"],
        }
    )
    report.__dict__["_source"] = type("Source", (), {"lines": lines, "sass": lines.assign(kernel="alice_gemm")})
    report.__dict__["instances"] = found.instances.head(50).assign(text=TEXT)
    return report


@pytest.fixture
def revealing_report(project: Project, monkeypatch: pytest.MonkeyPatch) -> str:
    (project.root / "alice.ncu-rep").write_bytes(read_plain(REPORT))
    monkeypatch.setattr(exporting, "read_report", planted)
    monkeypatch.setattr(readable, "session_texts", lambda _: SessionTexts(("gpu17.corp.example.com",), (COMMAND,)))
    return "alice.ncu-rep"


def written(one: Export, name: str) -> bytes:
    return b"".join(FORMATS[name].chunks(one))


def everything_in(data: bytes, name: str) -> Iterator[str]:
    """Yield all text in an exported file, what is compressed in it and what is escaped as well."""
    yield data.decode("utf-8", "replace")
    if name == "parquet":
        file = pq.ParquetFile(io.BytesIO(data))
        yield repr((file.metadata.metadata, file.read().to_pydict()))
    elif name == "json":
        yield repr(json.loads(data))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("table", [one for one in TABLES if one != "timeline"])  # numbers and ncu's names alone
def test_nothing_that_identifies_is_in_any_form(project: Project, revealing_report: str, table: str, name: str) -> None:
    found = export(project, revealing_report, table=table)
    for text in everything_in(written(found, name), name):
        assert SECRETS.findall(text) == []
    open_ = export(project, revealing_report, table=table, redact=False)
    assert len(open_.frame) == len(found.frame) > 0
    assert list(open_.frame.columns) == list(found.frame.columns)
    assert any(SECRETS.search(text) for text in everything_in(written(open_, name), name))
    assert (found.about["redacted"], open_.about["redacted"]) == (True, False)


def test_joins_hold_after_redaction(project: Project, revealing_report: str) -> None:
    tables = {name: export(project, revealing_report, table=name).frame for name in ("launches", "sass", "lines")}
    assert set(tables["launches"]["kernel"]) == set(tables["sass"]["kernel"]) == {"<user>_gemm"}
    assert list(tables["lines"]["file"]) == list(tables["sass"]["file"]) == ["<path>/k.cu", "<path 2>/k.cu"]
    assert tables["launches"]["signature"].nunique() == 3
    assert tables["launches"]["ranges"][1][2] == "rank 1 at <host>"
    assert tables["lines"]["source"][1] == "#include <<path>/k.h>"


def test_figures_are_not_touched(project: Project, revealing_report: str) -> None:
    for table in ("launches", "metrics", "rules"):
        open_, closed = (export(project, revealing_report, table=table, redact=r).frame for r in (False, True))
        kept = [name for name in open_ if pd.api.types.is_numeric_dtype(open_[name]) or name in ("metric", "unit")]
        pd.testing.assert_frame_equal(open_[kept], closed[kept])


def test_secrets_in_the_file_itself_are_found(project: Project) -> None:
    data = revealing(read_plain(REPORT))
    filler = b"x" * 300
    said = b"USER=malory ncu --export /scratch/malory/out -- env HF_TOKEN=swordfish ./k "
    data = data.replace(filler, said + b"y" * (300 - len(said)), 1)
    assert said in data
    (project.root / "r.ncu-rep").write_bytes(data)
    for table in ("session", "launches", "lines", "sass", "rules"):
        text = written(export(project, "r.ncu-rep", table=table), "csv").decode()
        assert not re.search(r"malory|swordfish|alice|secret-project", text), table
    assert "alice" in written(export(project, "r.ncu-rep", table="lines", redact=False), "csv").decode()


@pytest.mark.parametrize("table", TABLES)
def test_the_same_report_gives_the_same_bytes(project: Project, table: str) -> None:
    for folder in ("one", "two"):
        (project.root / folder).mkdir()
        (project.root / folder / f"{folder}.ncu-rep").write_bytes(read_plain(REPORT))
    one, two = (export(project, f"{folder}/{folder}.ncu-rep", table=table) for folder in ("one", "two"))
    for name in FORMATS:
        assert written(one, name) == written(two, name)
        assert str(project.root).encode() not in written(one, name)


def stored_run(project: Project, **changes: Any) -> StoredRun:
    """Save a run of three launches on two workloads, with its report."""
    report = read_report(REPORT)
    owners = {0: "w0", 1: "w1", 2: "w1"}
    launches = tuple(replace(one, workload=owners[one.index]) for one in report.records)
    run = make_run(kernel="transpose", version="v0_naive", launches=launches, device=report.device, **changes)
    files = {"metrics.parquet": metrics_parquet(report.metrics), "report.ncu-rep.zst": compress(read_plain(REPORT))}
    return save_run(Store(project.reports), run, **files)


def test_a_run_and_its_report_say_the_same(project: Project) -> None:
    stored = stored_run(project)
    (project.root / "r.ncu-rep").write_bytes(read_plain(REPORT))
    for table in TABLES:
        of_run, of_report = (export(project, ref, table=table) for ref in (stored.reference, "r.ncu-rep"))
        assert list(of_run.frame.columns) == list(of_report.frame.columns)
        # what the archive does not keep is absent; the workload is in no report
        lacking = ["mangled", "workload", "domain_ranges", "start_end_ranges", "process", "context", "stream", "device"]
        drop = lacking if table == "launches" else []
        csv, same = (written(replace(one, frame=one.frame.drop(columns=drop)), "csv") for one in (of_run, of_report))
        assert csv == same
    assert list(export(project, stored.reference).frame["workload"]) == ["w0", "w1", "w1"]


def test_a_recorded_run_keeps_its_numbers_and_says_what_its_report_lacks(project: Project, tmp_path: Path) -> None:
    live = stored_run(Project(tmp_path / "live"))
    shipped = record(live, Store(project.reports), "w1")
    assert len(export(project, shipped.reference).frame) == 3
    for table in set(OF_THE_REPORT) - {"session"}:
        part = export(project, shipped.reference, table=table)
        assert set(part.frame["launch"]) == {1, 2}
        assert any("has 2 of the 3 launches of the run" in note for note in part.notes)


def test_a_report_of_other_launches_is_damaged(project: Project) -> None:
    report = read_report(REPORT)
    files = {"metrics.parquet": metrics_parquet(report.metrics), "report.ncu-rep.zst": compress(read_plain(REPORT))}
    stored = save_run(Store(project.reports), make_run(), **files)
    with pytest.raises(DamagedData, match="other launches than the run"):
        export(project, stored.reference, table="rules")


def test_a_run_without_a_report(project: Project) -> None:
    stored = save_run(Store(project.reports), make_run(), metrics_frame({}))
    found = export(project, stored.reference, metrics=("duration", "sector_efficiency_load", "dram__bytes_*"))
    assert list(found.frame.columns)[-4:] == [
        *("duration", "sector_efficiency_load", "dram__bytes_read.sum", "dram__bytes_write.sum")
    ]
    assert found.units["duration"] == "ns"
    with pytest.raises(UsageProblem, match="keeps no report") as caught:
        export(project, stored.reference, table="lines")
    assert "--table metrics" in caught.value.hint


def test_a_run_without_counters_is_an_empty_table(project: Project) -> None:
    stored = save_run(Store(project.reports), make_run(launches=()))
    for table in ("launches", "metrics"):
        found = export(project, stored.reference, table=table)
        assert found.frame.empty
        assert list(found.frame.columns)
        assert found.notes == (f"the table {table} of this run has no rows",)
    with pytest.raises(UsageProblem, match="has no metrics"):
        export(project, stored.reference, metrics=("duration",))


def test_metrics_of_instances_are_chosen_too(project: Project) -> None:
    found = export(project, str(REPORT), "instances", ("sass__inst_executed_per_opcode",))
    assert set(found.frame["metric"]) == {"sass__inst_executed_per_opcode"}
    with pytest.raises(UsageProblem, match="the table rules has no metrics"):
        export(project, str(REPORT), table="rules", metrics=("duration",))


def test_what_a_run_says_of_itself_is_redacted_too(project: Project) -> None:
    profile = replace(make_run().profile, command="ncu ssh alice@gpu17")  # type: ignore[type-var]
    run = make_run(version="v1_alice", profile=profile, notes=("incomplete: /home/alice/x",), launches=(launch(),))
    stored = save_run(Store(project.reports), run, metrics_frame({}))
    text = written(export(project, stored.reference), "json").decode()
    assert "alice" not in text
    assert '"version": "v1_<user>"' in text


def test_a_csv_export_of_ncu_is_marked_lossy(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = DATA / "transpose_full_h200_2025.3.1.base.csv.zst"
    monkeypatch.setattr(exporting, "resolve_all", lambda *_: [path])
    found = export(project, path.name, metrics=("duration",))
    binary = exporting.read_report(REPORT).records
    assert found.frame["duration"].tolist() == [one.duration_ns for one in binary]
    assert any(note.startswith("lossy: a printed page lacks digits") for note in found.notes)
    with pytest.raises(UsageProblem, match="is a printed page"):
        export(project, path.name, table="sass")
