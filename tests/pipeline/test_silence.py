"""Versions that launch no kernel: checked and timed, and told apart from an ncu that sees nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from measured import RIGHT, VERSIONS, Notes, make_job
from recording import record

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.errors import UsageProblem
from ncu_assist.harness import client
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.ncu.failures import NothingProfiled, profiling_error
from ncu_assist.pipeline.exporting import export
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.pages.writing import PageRequest, report
from ncu_assist.pipeline.showing import gather
from ncu_assist.pipeline.up_to_date import known_runs
from ncu_assist.render.json.run import show_json
from ncu_assist.render.json.versions import outcome_json
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.versions import outcome_text
from ncu_assist.store import Store, StoredRun

pytestmark = pytest.mark.slow

SILENT = "launched no kernel: nothing to count"


@pytest.fixture
def with_copies(tmp_path: Path, job: MeasureJob, monkeypatch: pytest.MonkeyPatch) -> MeasureJob:
    """The fake ncu runs what it is given; its report knows of v0 and v1, not of the third version."""
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    return make_job(tmp_path, {**VERSIONS, "v2_copies.py": RIGHT})


def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_if: str) -> MeasureJob:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    monkeypatch.setenv("FAKE_NCU_MODE", "no-kernels")
    monkeypatch.setenv("FAKE_NCU_FAIL_IF", fails_if)
    return make_job(tmp_path / "alone", {"v0_copies.py": RIGHT})


def run_of(outcome: KernelOutcome, number: int) -> StoredRun:
    stored = outcome.versions[number].run
    assert stored is not None
    return stored


def test_it_is_checked_and_timed_and_no_failure(with_copies: MeasureJob, notes: Notes) -> None:
    outcome = measure(with_copies, notes)
    assert outcome.exit_code == 0
    assert [version.failure for version in outcome.versions] == ["", "", ""]
    stored = run_of(outcome, 2)
    run = stored.run
    assert run.launched_nothing
    assert (run.launches, run.notes) == ((), (SILENT,))
    assert all(check.passed for check in run.checks)
    assert run.bench is not None
    assert {timing.workload for timing in run.bench.timings} == {"w0", "w1"}
    assert run.profile is not None
    assert (run.profile.launches_logged, run.profile.section_set) == (0, "full")
    assert run.toolchain.ncu == run_of(outcome, 0).run.toolchain.ncu != ""
    assert set(run.files) == {"ncu.log", "samples.parquet", *(n for n in run.files if n.startswith("source/"))}
    assert Store(with_copies.project.reports).verify() == []
    assert f"v2_copies: {SILENT}" in notes.notes


def test_silence_on_one_workload_is_told(with_copies: MeasureJob, notes: Notes) -> None:
    outcome = measure(with_copies, notes)
    assert run_of(outcome, 0).run.notes == ()
    shared = run_of(outcome, 1).run
    assert {launch.workload for launch in shared.launches} == {"w0"}
    assert (shared.notes, shared.silent) == (("launched no kernel on w1: nothing to count",), ("w1",))
    assert known_runs(with_copies).changed == {}  # it is no reason to measure again
    assert not shared.launched_nothing


def test_alone_it_is_believed_where_ncu_sees_another_program(
    tmp_path: Path, job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = measure(alone(tmp_path, monkeypatch, "request.json"), notes)
    assert outcome.exit_code == 0
    assert run_of(outcome, 0).run.notes == (SILENT,)
    assert run_of(outcome, 0).run.launched_nothing
    assert "No kernels were profiled" in run_of(outcome, 0).read("ncu.log").decode()


def test_an_ncu_that_sees_nothing_of_anything_is_a_failure(
    tmp_path: Path, job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = measure(alone(tmp_path, monkeypatch, ""), notes)
    assert outcome.exit_code == 5
    assert "no launch matched" in outcome.versions[0].failure
    run = run_of(outcome, 0).run
    assert (run.profile, run.notes) == (None, ())


def test_without_the_word_of_the_program_nothing_is_believed(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake does not run what it is given: no call of a version came to its end."""
    monkeypatch.setenv("FAKE_NCU_MODE", "no-kernels")
    monkeypatch.setenv("FAKE_NCU_FAIL_IF", "request.json")
    outcome = measure(job, notes)
    assert outcome.exit_code == 5
    assert all("no launch matched" in version.failure for version in outcome.versions)


def test_a_version_that_is_always_late_says_so(job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has samples and no time."""
    whole = client.collect

    def late_on_w1(request: HarnessRequest) -> client.Measured:
        measured = whole(request)
        assert measured.samples is not None
        of_v1 = measured.samples["version"] == "v1_shared"
        return replace(measured, samples=measured.samples.assign(late=of_v1 & (measured.samples["workload"] == "w1")))

    monkeypatch.setattr(client, "collect", late_on_w1)
    outcome = measure(job, notes)
    assert outcome.exit_code == 0
    assert run_of(outcome, 0).run.notes == ()
    run = run_of(outcome, 1).run
    assert run.bench is not None
    assert [timing.workload for timing in run.bench.timings] == ["w0"]
    assert run.notes[0].startswith("no time on w1: every sample was late, because its calls take longer to enqueue")
    assert run.untimed == {"w1": run.notes[0]}
    assert any("v1_shared: no time on w1" in note for note in notes.notes)
    assert Store(job.project.reports).verify() == []
    found = diff_runs(run_of(outcome, 0), run_of(outcome, 1), DiffOptions("w1"))
    assert found.verdict.reason == "only-late-samples"


def test_only_a_whole_run_without_a_launch_is_nothing_profiled() -> None:
    words = "==WARNING== No kernels were profiled.\n"
    assert isinstance(profiling_error(words, 0), NothingProfiled)
    assert not isinstance(profiling_error(words, 1), NothingProfiled)
    both = f"{words}==WARNING== Note that specified NVTX include expressions match only start/end ranges.\n"
    assert not isinstance(profiling_error(both, 0), NothingProfiled)


def test_it_is_shown_compared_and_recorded(with_copies: MeasureJob, notes: Notes, tmp_path: Path) -> None:
    outcome = measure(with_copies, notes)
    naive, stored = run_of(outcome, 0), run_of(outcome, 2)
    store = Store(with_copies.project.reports)
    shown = gather(stored, store=store)
    assert f"note: {SILENT}" in show_text(shown)
    assert show_json(shown)["notes"] == [SILENT]
    assert "v2_copies" in outcome_text(outcome)
    assert outcome_json(outcome, "profile")["versions"][2]["notes"] == [SILENT]
    for sides in ((naive, stored), (stored, naive)):
        assert diff_runs(*sides, DiffOptions("w0")).verdict.reason != "nothing-in-common"
    with pytest.raises(UsageProblem, match="it launched no kernel"):
        export(with_copies.project, stored.reference, metrics=("duration",))
    shipped = record(stored, Store(tmp_path / "shipped"), "w0")
    assert (shipped.run.source, shipped.run.launched_nothing, shipped.run.notes) == ("recorded", True, (SILENT,))
    assert Store(tmp_path / "shipped").verify() == []


def test_pages_of_it_have_no_section_on_launches(
    with_copies: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = measure(with_copies, notes)
    monkeypatch.chdir(with_copies.project.root)
    written = report(with_copies.project, PageRequest(every=True), notes)
    assert (written.problems, written.exit_code) == ((), 0)
    page = (run_of(outcome, 2).folder / "report.html").read_text()
    assert "It launches no kernel, so there is nothing to count" in page
    assert SILENT in page
    assert "none: it launched no kernel" in page
    assert 'id="timing"' in page
    assert 'id="stalls"' not in page
    assert "#stalls" not in page
    assert "To collect it" not in page
    other = (run_of(outcome, 0).folder / "report.html").read_text()
    assert 'id="stalls"' in other
    diff = (with_copies.project.reports / "add_one" / "v2_copies" / "diff-v1_shared.html").read_text()
    assert f"Counters of {run_of(outcome, 2).reference}, which launched no kernel" in diff
    assert "ncu-assist profile add_one v2_copies" not in diff
    assert "v2_copies" in (with_copies.project.reports / "add_one" / "index.html").read_text()
