"""A run whose report was dropped says what it said with it, from open formats, and nothing calls that damage."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import recording
from recording import kept_files

from ncu_assist import process
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu import kept_report
from ncu_assist.ncu.tables import SAMPLED
from ncu_assist.pipeline.exporting import OF_THE_REPORT, export
from ncu_assist.pipeline.importing import RunNames, import_report
from ncu_assist.pipeline.opened_reports import OpenedRun, with_report
from ncu_assist.pipeline.opened_reports import kept_report as report_of
from ncu_assist.pipeline.pages.readable import identities_of
from ncu_assist.pipeline.pages.run import run_page
from ncu_assist.pipeline.reading import side_lines
from ncu_assist.pipeline.showing import look_closer
from ncu_assist.project import Project
from ncu_assist.render.html.curves import timeline_charts
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.reading import CODE, FACTS, INSTANCES, METRICS, REPORTS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "tests" / "data" / "streams_full_h200_2025.3.1.ncu-rep.zst"
NAMES = RunNames("imported", "streams")


def dropped(stored: StoredRun, files: dict[str, bytes], reports: Path) -> StoredRun:
    """The run with these files in the place of its report, in an archive of its own."""
    run = stored.run
    left = {name: stored.read(name) for name in run.files if name not in (*REPORTS, CODE)}
    gone = {name: run.files[name] for name in run.files if name in REPORTS}
    return Store(reports).save(replace(run, files={}, dropped=gone, digest=""), {**left, **files})


@pytest.fixture(scope="module")
def with_it(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    return import_report(Project(tmp_path_factory.mktemp("with")), REPORT, NAMES)


@pytest.fixture(scope="module")
def files(with_it: StoredRun) -> dict[str, bytes]:
    return kept_files(with_it, most_moments=10**9)


@pytest.fixture
def without(with_it: StoredRun, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    """The run without its report; whoever starts a reader fails."""
    stored = dropped(with_it, files, tmp_path / "reports")
    monkeypatch.chdir(tmp_path)
    return stored


@pytest.fixture
def no_reader(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(process, "run", lambda *_, **__: pytest.fail("a reader was started"))


def without_files(page: str, stored: StoredRun) -> str:
    """A page without hashes and the list of its files."""
    rows = "|".join(map(re.escape, stored.run.files))
    bare = re.sub(r"[0-9a-f]{64}", "", page)
    return re.sub(rf"<tr>(?:(?!</tr>).)*>(?:{rows})</th>.*?</tr>\s*", "", bare, flags=re.DOTALL)


def test_the_page_is_the_same_but_for_the_list_of_files(
    with_it: StoredRun, without: StoredRun, no_reader: Callable[[], None]
) -> None:
    page = run_page(with_it, linked=False)
    no_reader()
    assert without_files(run_page(without, linked=False), without) == without_files(page, with_it)


def test_lines_and_findings_of_nvidia_are_the_same(with_it: StoredRun, without: StoredRun) -> None:
    close, other = (look_closer(one, None) for one in (with_it, without))
    assert other.spots == close.spots
    assert other.nvidia == close.nvidia
    assert other.nvidia
    launches = [one.index for one in with_it.run.launches]
    lines, others = (side_lines(one, launches) for one in (with_it, without))
    assert others == lines
    assert lines.lines


@pytest.mark.parametrize("table", ["launches", "metrics", *OF_THE_REPORT])
def test_every_table_is_the_same(with_it: StoredRun, without: StoredRun, table: str) -> None:
    projects = Project(with_it.folder.parents[3]), Project(without.folder.parents[3])
    made, other = (export(one, with_it.reference, table=table, redact=False) for one in projects)
    assert other.frame.equals(made.frame)
    assert (other.units, other.notes) == (made.units, made.notes)


def test_names_of_machine_and_user_are_known_without_the_report(with_it: StoredRun, without: StoredRun) -> None:
    assert identities_of([without]) == identities_of([with_it])


def test_the_run_remembers_the_report_and_is_not_damaged(with_it: StoredRun, without: StoredRun) -> None:
    assert Store(without.folder.parents[2]).verify() == []
    assert {*without.run.dropped} == {REPORTS[0]}
    assert without.run.dropped[REPORTS[0]] == with_it.run.files[REPORTS[0]]
    assert without.keeps_report
    assert without.report_bytes() is None


def test_it_can_be_opened_beside_its_run(without: StoredRun, tmp_path: Path) -> None:
    opened = with_report(without, tmp_path, 250)
    assert isinstance(opened, OpenedRun)
    assert opened.reference == without.reference


def test_of_long_kernels_the_samples_that_pages_chart_are_kept_and_that_is_said(
    with_it: StoredRun, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    stored = dropped(with_it, kept_files(with_it, most_moments=1), project.reports)
    sides = (Project(with_it.folder.parents[3]), with_it), (project, stored)
    whole, part = (export(at, one.reference, table="timeline", redact=False) for at, one in sides)
    kept = {*part.frame["metric"]}
    assert len(kept) < whole.frame["metric"].nunique()
    text = {"metric": str}
    same = whole.frame[whole.frame["metric"].isin(kept)].reset_index(drop=True)
    assert part.frame.astype(text).equals(same.astype(text))
    assert any(re.match(r"of the samples over time of \d+ launch", note) for note in part.notes)
    whole, part = (export(at, one.reference, table="instances") for at, one in sides)
    others, left = (
        one.frame[~one.frame["metric"].astype(str).str.match(SAMPLED)].reset_index(drop=True) for one in (whole, part)
    )
    assert left.astype(text).equals(others.astype(text))
    assert Store(project.reports).verify() == []


def test_what_the_page_charts_of_a_long_kernel_is_the_same(with_it: StoredRun, tmp_path: Path) -> None:
    stored = dropped(with_it, kept_files(with_it, most_moments=1), tmp_path / "reports")
    sampled, others = (
        look_closer(one, None, timeline=range(len(one.run.launches))).timeline for one in (with_it, stored)
    )
    for launch in with_it.run.launches:
        assert timeline_charts(others, launch) == timeline_charts(sampled, launch) != ()


def test_every_kernel_that_was_recorded_keeps_the_samples_that_its_page_charts() -> None:
    """But for one family: its reports were dropped before samples of long launches were kept, and are in no history."""
    lacking = {
        one.run.kernel
        for one in Store(ROOT / "reports").runs()
        if (facts := one.report_facts()) and facts.without_samples
    }
    assert lacking <= {"gemm_bias_gelu"}


def test_files_of_another_report_are_damage(with_it: StoredRun, files: dict[str, bytes], tmp_path: Path) -> None:
    facts = kept_report.unpacked(files[FACTS], FACTS)
    assert facts
    other = {**files, FACTS: kept_report.packed(replace(facts, report_sha256="0" * 64))}
    stored = dropped(with_it, other, tmp_path / "reports")
    with pytest.raises(DamagedData, match=r"report\.json\.zst belongs to another report than the run"):
        report_of(stored)
    assert len(Store(tmp_path / "reports").verify()) == 1


def test_facts_of_other_launches_are_damage(with_it: StoredRun, files: dict[str, bytes], tmp_path: Path) -> None:
    facts = kept_report.unpacked(files[FACTS], FACTS)
    assert facts
    wrong = replace(facts, numbers=tuple(number + 1 for number in facts.numbers))
    dropped(with_it, {**files, FACTS: kept_report.packed(wrong)}, tmp_path / "reports")
    (damage,) = Store(tmp_path / "reports").verify()
    assert damage.problem == f"{FACTS} names launches that run.json does not list"


def test_instances_of_other_launches_are_damage(with_it: StoredRun, files: dict[str, bytes], tmp_path: Path) -> None:
    facts = kept_report.unpacked(files[FACTS], FACTS)
    assert facts
    fewer = replace(facts, numbers=facts.numbers[:1], launches=facts.launches[:1])
    dropped(with_it, {**files, FACTS: kept_report.packed(fewer)}, tmp_path / "reports")
    (damage,) = Store(tmp_path / "reports").verify()
    assert damage.problem == f"{INSTANCES} names launches that {FACTS} does not list"


def test_a_report_that_says_more_than_the_tables_stays(with_it: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = with_it.kept_metrics()
    fewer = replace(
        whole, launch=whole.launch[:-1], metric=whole.metric[:-1], value=whole.value[:-1], unit=whole.unit[:-1]
    )
    monkeypatch.setattr(StoredRun, "kept_metrics", lambda self: fewer)
    with pytest.raises(UsageProblem, match=r"its tables have other .*metrics.*"):
        kept_files(with_it)


def test_a_report_whose_code_cannot_be_kept_stays(with_it: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording.kept, "packed", lambda *_: None)
    with pytest.raises(UsageProblem, match="its code cannot be kept without the report"):
        kept_files(with_it)


def test_a_run_without_a_report_has_none_to_drop(without: StoredRun) -> None:
    with pytest.raises(UsageProblem, match="has no report to drop"):
        kept_files(without)
    assert METRICS in without.run.files
