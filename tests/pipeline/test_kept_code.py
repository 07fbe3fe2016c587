"""A run that keeps its code is shown without NVIDIA's reader, and as it would be with it."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import make_run
from fakes.fake_ncu import REPORT
from ladder import WORKLOAD, launches, step

from ncu_assist.analysis.launches import narrowed
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.launch_selection import LaunchSelection
from ncu_assist.ncu import report as reports
from ncu_assist.ncu.compressed import compress
from ncu_assist.ncu.report import read_report
from ncu_assist.ncu.source.kept import KeptCode
from ncu_assist.ncu.source.reading import SourceTables
from ncu_assist.pipeline import derived
from ncu_assist.pipeline.derived import judged_now, save_judged
from ncu_assist.pipeline.importing import RunNames, import_report
from ncu_assist.pipeline.pages.run import run_page
from ncu_assist.pipeline.querying import finding_rows, query
from ncu_assist.pipeline.reading import side_lines
from ncu_assist.pipeline.showing import gather, look_closer
from ncu_assist.project import Project
from ncu_assist.record import FileFact, Run, Source, encode
from ncu_assist.rules import debug_build
from ncu_assist.rules.model.of_run import OPTIMISE_FIRST, sass_of
from ncu_assist.store import Store, StoredRun, metrics_parquet
from ncu_assist.store.findings import FINDINGS
from ncu_assist.store.reading import CODE

pytestmark = pytest.mark.slow

LADDER = range(11)


@pytest.mark.parametrize("number", LADDER)
def test_the_page_is_the_same_either_way(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = step(number)
    with monkeypatch.context() as patched:
        patched.setattr(reports, "read_source", lambda *_, **__: pytest.fail("the report was read for its code"))
        kept = run_page(stored)
    monkeypatch.setattr(StoredRun, "code", lambda self: None)
    assert run_page(stored) == kept


@pytest.mark.parametrize("number", [0, 1, 7])
def test_lines_of_a_diff_are_the_same_either_way(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(reports, "read_source", lambda *_, **__: pytest.fail("the report was read for its lines"))
        kept = side_lines(step(number), launches(number))
    monkeypatch.setattr(StoredRun, "code", lambda self: None)
    assert side_lines(step(number), launches(number)) == kept


def changed(tmp_path: Path, **files: bytes) -> StoredRun:
    """A recorded run with other files, their hashes right."""
    stored = step(6)
    folder = tmp_path / Path(*stored.folder.parts[-3:])
    shutil.copytree(stored.folder, folder)
    facts = {}
    for name, data in files.items():
        (folder / name).write_bytes(data)
        facts[name] = FileFact(len(data), hashlib.sha256(data).hexdigest())
    run = replace(stored.run, files=stored.run.files | facts, digest="")
    (folder / "run.json").write_bytes(encode(run))
    return StoredRun(run, folder)


def problems(stored: StoredRun) -> list[str]:
    return [damage.problem for damage in Store(stored.folder.parents[2]).verify()]


def test_the_code_of_another_report_is_damage(tmp_path: Path) -> None:
    stored = changed(tmp_path, **{CODE: step(7).read(CODE)})
    with pytest.raises(DamagedData, match=r"code\.json\.zst belongs to another report than the run"):
        look_closer(stored, WORKLOAD)
    assert problems(stored) == [f"{CODE} belongs to another report than the run"]


def test_code_that_names_another_kernel_is_damage(tmp_path: Path) -> None:
    from zstandard import ZstdDecompressor

    plain = ZstdDecompressor().decompress(step(6).read(CODE))
    stored = changed(tmp_path, **{CODE: compress(plain.replace(b'"kernel":"decode', b'"kernel":"encode'))})
    with pytest.raises(DamagedData, match="has other launches than the report next to it"):
        look_closer(stored, WORKLOAD)
    assert problems(stored) == [f"{CODE} names kernels that run.json does not list"]


def test_changed_code_is_damage(tmp_path: Path) -> None:
    stored = changed(tmp_path)
    data = bytearray(stored.read(CODE))
    data[100] ^= 1
    (stored.folder / CODE).write_bytes(data)
    with pytest.raises(DamagedData, match="its hash differs"):
        look_closer(stored, WORKLOAD)
    assert problems(stored) == [f"{CODE} was changed after it was written (its hash differs)"]


def test_code_of_a_later_schema_is_read_from_the_report(tmp_path: Path) -> None:
    stored = changed(tmp_path, **{CODE: compress(b'{"schema":"ncu-assist.code/2"}')})
    assert stored.code() is None
    assert look_closer(stored, WORKLOAD, rules=False).code is not None
    assert problems(stored) == []


def test_other_launches_than_the_kept_ones_are_read_from_the_report() -> None:
    stored = step(0)
    code = stored.code()
    assert code
    with_all = derived.with_code(read_report(stored.folder / "report.ncu-rep.zst"), stored)
    assert len(code.launches) < len(with_all.records)
    assert with_all.source().sass["launch"].nunique() == len(with_all.records)


def live(workloads: dict[int, str]) -> tuple[Run, dict[str, bytes]]:
    report = read_report(REPORT)
    launches = tuple(replace(one, workload=workloads[one.index]) for one in report.records)
    files = {"metrics.parquet": metrics_parquet(report.metrics), "report.ncu-rep.zst": REPORT.read_bytes()}
    return make_run(launches=launches, profile=None), files


def test_kept_are_the_launches_that_the_page_shows(tmp_path: Path) -> None:
    run, files = live({0: "small", 1: "odd", 2: "odd"})
    stored = save_judged(Store(tmp_path), run, files)
    code = stored.code()
    assert code
    shown = {"small": [0], "odd": [1, 2]}[run.workloads[0].name]
    assert {one.launch for one in code.launches} <= set(shown)
    assert Store(tmp_path).verify() == []


@pytest.mark.parametrize(
    "error",
    [
        DamagedData("the code in x cannot be read: NVIDIA's reader failed (exit code -6)"),
        EnvironmentProblem("the folder for temporary files is full"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_code_that_cannot_be_read_costs_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(derived, "read_source", broken)
    run, files = live(dict.fromkeys(range(3), "small"))
    stored = save_judged(Store(tmp_path), run, files)
    assert set(stored.run.files) == {*files, "findings.json"}
    assert stored.code() is None


def test_a_run_without_a_report_keeps_none() -> None:
    assert derived.code_files(make_run(), {"build.log": b"fine"}) == {}


@pytest.mark.parametrize(
    ("source", "options", "is_told"),
    [
        ("recorded", "-O3 -lineinfo", False),
        ("recorded", None, False),
        ("recorded", "-G -O3", True),
        ("recorded", "-arch=sm_90a --device-debug", True),
        ("recorded", "-Xptxas=-O0", True),
        ("recorded", "-Xptxas -O03 -GX", False),
        ("imported", None, True),
    ],
)
def test_a_build_without_optimisation_is_told_of_kept_code(
    source: Source, options: str | None, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of code that this tool built without -G, or that no nvcc built, the question is not asked."""
    read = StoredRun.code

    def with_self_moves(self: StoredRun) -> KeptCode | None:
        code = read(self)
        assert code is not None
        moved = ["MOV R4, R4" if not place % 4 else text for place, text in enumerate(code.functions[0].sass)]
        return replace(code, functions=(replace(code.functions[0], sass=tuple(moved)), *code.functions[1:]))

    stored = step(6)
    run = replace(stored.run, source=source, toolchain=replace(stored.run.toolchain, nvcc_options=options))
    assert debug_build.ID not in found_in(replace(stored, run=run))  # as it is
    monkeypatch.setattr(StoredRun, "code", with_self_moves)
    assert (debug_build.ID in found_in(replace(stored, run=run))) is is_told
    results = gather(replace(stored, run=run), WORKLOAD).results
    assert results
    assert results.diagnosis.first
    assert results.diagnosis.first.finding.assumed is is_told
    assert results.diagnosis.first.finding.advice.startswith(OPTIMISE_FIRST) is is_told


@pytest.fixture
def of_debug_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are read as those of a program that was built with -G, as the one shipped is not."""
    read = derived.read_source

    def with_self_moves(*given: Any, **more: Any) -> SourceTables:
        tables = read(*given, **more)
        found = []
        for one in tables.found:
            moved = [replace(own, sass=tuple("MOV R4, R4" for _ in own.sass)) for own in one.functions]
            found.append(replace(one, functions=tuple(moved)))
        return replace(tables, found=found)

    for module in (derived, reports):  # of a report that is opened for it, and of one that was imported
        monkeypatch.setattr(module, "read_source", with_self_moves)


def rules_by_launch(rows: Iterable[dict[str, Any]]) -> dict[int | None, list[str]]:
    found: dict[int | None, list[str]] = {}
    for row in rows:
        found.setdefault(row["launch"], []).append(row["rule"])
    return found


@pytest.mark.usefixtures("of_debug_build")
def test_what_is_kept_and_queried_says_how_code_was_built_as_show_does(tmp_path: Path) -> None:
    store = Store(tmp_path / "reports")
    stored = import_report(Project(tmp_path), REPORT, RunNames("transpose", "v1"))
    rows = {row.launch.index: row.results for row in gather(stored, store=store, every=True).launches}
    shown = {n: [one.finding.rule for one in told.diagnosis.findings] for n, told in rows.items() if told}
    assert len(shown) == 3
    assert all(debug_build.ID in rules for rules in shown.values())
    for is_anew in (False, True):
        told = rules_by_launch(finding_rows(stored, store.reports, is_anew))
        whole = told.pop(None)
        assert debug_build.ID in whole
        assert told == shown
    bare = replace(stored, run=replace(stored.run, files={n: f for n, f in stored.run.files.items() if n != FINDINGS}))
    now = judged_now(bare, None, store.reports)
    assert now is not None
    assert [one.rule for one in now.findings] == whole
    sql = "select distinct launch from findings where rule = 'debug-build' order by launch nulls first"
    assert [launch for (launch,) in query(store, sql).rows] == [None, 0, 1, 2]
    assert store.verify() == []


@pytest.mark.usefixtures("of_debug_build")
def test_of_one_launch_it_is_said_as_of_all(tmp_path: Path) -> None:
    stored = import_report(Project(tmp_path), REPORT, RunNames("transpose", "v1"))
    some = gather(narrowed(stored, LaunchSelection((1, 1)))).results
    assert some is not None
    assert debug_build.ID in {one.finding.rule for one in some.diagnosis.findings}


@pytest.mark.usefixtures("of_debug_build")
def test_of_a_program_that_was_profiled_here_it_is_said_too(tmp_path: Path) -> None:
    """Whoever profiles a program built it, with options that are not known here."""
    imported = import_report(Project(tmp_path), REPORT, RunNames("transpose", "v1"))
    files = {name: imported.read(name) for name in imported.run.files}
    run = replace(imported.run, source="live", run_id=f"{imported.run.run_id}x", files={}, digest="")
    stored = save_judged(Store(tmp_path / "reports"), run, files)
    assert stored.read(FINDINGS) == imported.read(FINDINGS)
    assert debug_build.ID in found_in(stored, None)


def found_in(stored: StoredRun, workload: str | None = WORKLOAD) -> set[str]:
    shown = gather(stored, workload)
    every = (shown.results, *(row.results for row in shown.launches))
    return {one.finding.rule for results in every if results for one in results.diagnosis.findings}


@pytest.mark.slow
def test_kept_code_tells_as_much_of_how_it_was_built_as_the_report(tmp_path: Path) -> None:
    path = Path(__file__).parent.parent / "data" / "transpose_full_h200_2025.3.1.ncu-rep.zst"
    stored = import_report(Project(tmp_path), path, RunNames("imported", "it"))
    kept = derived.kept_sass(stored.run, stored.code)
    read = sass_of(read_report(path).sass, stored.run.launches)
    assert kept.read.keys() == read.read.keys()
    for launch, (sass, counts, files) in kept.read.items():
        assert (sass, counts) == read.read[launch][:2]
        assert files == [name if name != "nan" else "" for name in read.read[launch][2]]
    assert any(any(files) for *_, files in kept.read.values())
