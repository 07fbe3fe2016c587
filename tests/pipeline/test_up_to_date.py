"""Only what changed is measured, beside what verdicts hold it against; what makes a run hold no longer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from factories import DEVICE
from kernel_folder import write_kernel
from measured import RIGHT, VERSIONS, Notes, make_job
from requirements import needs

from ncu_assist.pipeline import measuring
from ncu_assist.pipeline.archiving import Tools, need_of, setup_here
from ncu_assist.pipeline.measuring import MeasureJob
from ncu_assist.pipeline.up_to_date import known_runs, measure_changed, spans
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import Store, StoredRun

NAMES = [f"v{number}_step" for number in range(2, 11)]
ELEVEN = {**VERSIONS, **{f"{name}.py": RIGHT for name in NAMES}}
EDITED = RIGHT.replace("out=y)", "out=y)  # another way")


@pytest.fixture
def work(job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> MeasureJob:
    """Eleven versions on one workload, each measured once. v0 is a library's."""
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    made = make_job(job.project.root, {**ELEVEN, "v0_naive.py": f"# Baseline: torch.\n{RIGHT}"})
    made = replace(made, workloads=made.workloads[:1])
    outcome, known = measure_changed([made], notes)[0]
    assert (outcome.exit_code, known.kept) == (0, {})
    return made


def runs(job: MeasureJob) -> list[StoredRun]:
    return Store(job.project.reports).runs()


def edit(job: MeasureJob, version: str, text: str = EDITED) -> None:
    job.kernel.version(version).path.write_text(text)


def measured_again(job: MeasureJob, before: list[StoredRun]) -> dict[str, bool]:
    """Return the versions that have new runs, short, each with whether it has counters."""
    known = {one.run.run_id for one in before}
    return {
        one.run.version.partition("_")[0]: one.run.profile is not None
        for one in runs(job)
        if one.run.run_id not in known
    }


@pytest.mark.slow
class TestElevenVersions:
    def test_one_edit_measures_that_version_and_times_its_partners(
        self, work: MeasureJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, fastest = runs(work), known_runs(work)
        edit(work, "v4")
        argv = tmp_path / "argv"
        monkeypatch.setenv("FAKE_NCU_ARGV", str(argv))
        notes = Notes()
        outcome, known = measure_changed([work], notes)[0]
        own = [one.run for one in before if one.run.version not in ("v0_naive", "v4_step")]
        shorts = {run.version.partition("_")[0]: run.timings[0].median_ns for run in own}
        best = min(shorts, key=lambda short: (shorts[short], int(short[1:])))  # of two that took as long, the first
        partners = {"v3", "v5", "v0", best}
        assert outcome.exit_code == 0
        assert measured_again(work, before) == {"v4": True, **dict.fromkeys(partners - {"v4"}, False)}
        assert f"building {len(partners) + 1} versions" in notes.lines
        checked = {line.split()[1].partition("_")[0] for line in notes.lines if line.startswith("check: ")}
        assert checked == {"v4", *partners}
        (command,) = [json.loads(line)["argv"] for line in argv.read_text().splitlines() if "--nvtx" in line]
        assert Path(command[-1]).parent.name == "v4"
        assert fastest.changed == {}
        kept = {row.version for row in outcome.versions if row.kept}
        assert kept == {row.version for row in outcome.versions} - {
            work.kernel.version(name).name for name in {"v4", *partners}
        }
        assert known.changed == {"v4_step": "its source has changed"}
        assert "add_one v4: its source has changed" in notes.notes
        assert any("measured on 20" in line and "and unchanged" in line for line in notes.notes)
        assert any(
            line.endswith("timed again with it, because a verdict needs times of one bench") for line in notes.notes
        )

    def test_what_is_timed_again_keeps_its_counters(self, work: MeasureJob, notes: Notes) -> None:
        edit(work, "v1")
        outcome, _ = measure_changed([work], notes)[0]
        v0 = outcome.versions[0]
        assert v0.run is not None
        assert v0.run.run.profile is None
        assert v0.counted is not None
        assert outcome.cells(v0)[0].dram_percent is not None

    def test_nothing_changed(self, work: MeasureJob) -> None:
        before, notes = runs(work), Notes()
        outcome, known = measure_changed([work], notes)[0]
        assert all(row.kept for row in outcome.versions)
        assert (known.changed, known.beside) == ({}, frozenset())
        assert measured_again(work, before) == {}
        assert (len(notes.notes), notes.lines) == (1, [])
        assert notes.notes[0].startswith("add_one v0 … v10: measured on 20")

    def test_a_pair_that_was_never_timed_together_is(self, work: MeasureJob, notes: Notes) -> None:
        edit(work, "v4")
        before = runs(work)
        measure_changed([replace(work, versions=work.kernel.select_versions(("v4",)))], notes)
        alone = measured_again(work, before)
        assert alone == {"v4": True}
        before = runs(work)
        measure_changed([work], notes)
        again = measured_again(work, before)
        assert {"v3", "v4", "v5"} <= set(again)
        assert not any(again.values())

    def test_verdicts_against_the_first_need_its_bench(self, work: MeasureJob, notes: Notes) -> None:
        three = replace(work, versions=work.kernel.select_versions(("v2", "v6", "v9")), options=None)
        assert known_runs(three, against="v2_step").beside == frozenset()
        edit(work, "v9")
        found = known_runs(three, against="v2_step")
        assert (set(found.changed), found.beside) == ({"v9_step"}, {"v2_step"})
        edit(work, "v2")
        found = known_runs(three, against="v2_step")
        assert (set(found.changed), found.beside) == ({"v2_step", "v9_step"}, {"v6_step"})

    def test_a_partner_that_fails_now_is_told(self, work: MeasureJob, notes: Notes) -> None:
        edit(work, "v4")
        (work.kernel.folder / "v3_step.py").write_text(RIGHT + "\nraise RuntimeError('gone')\n")
        outcome, _ = measure_changed([work], notes)[0]
        assert outcome.exit_code == 5
        assert "gone" in outcome.versions[3].failure


def toml(old: str, new: str) -> Callable[[MeasureJob], None]:
    def change(job: MeasureJob) -> None:
        path = job.kernel.folder / "kernel.toml"
        path.write_text(path.read_text().replace(old, new))

    return change


def comment(text: str) -> Callable[[MeasureJob], None]:
    return lambda job: edit(job, "v1", f"# {text}\n{RIGHT}")


def with_reference(text: str) -> Callable[[MeasureJob], None]:
    return lambda job: job.kernel.reference.write_text(job.kernel.reference.read_text() + text)


def flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


# What is done after two versions were measured, and why v1 has to be measured again; empty where it has not.
CHANGES: list[tuple[Callable[[MeasureJob], None], str]] = [
    (comment("what was measured, written down afterwards"), ""),
    (comment("draws: its own"), "its first comment now says something else about its draws"),
    (toml('summary = "adds one"', 'summary = "adds 1"'), ""),
    (toml("n = 1000\n", "n = 1001\n"), ""),  # of a workload that is not asked for
    (toml("n = 1024\n", "n = 2048\n"), "kernel.toml has changed"),
    (toml("rtol = 1e-6", "rtol = 1e-5"), "kernel.toml has changed"),
    (toml('bytes = "8 * n"', 'bytes = "8 * n + 8"'), "kernel.toml has changed"),
    (with_reference("# a word\n"), "reference.py has changed"),
    (
        lambda job: flip_a_byte(next(job.project.reports.glob("*/v1_*/*/samples.parquet"))),
        "samples.parquet was changed",
    ),
    (lambda job: edit(job, "v1"), "its source has changed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "why"), CHANGES)
def test_what_of_a_kernel_makes_a_run_hold_no_longer(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch, change: Callable[[MeasureJob], None], why: str
) -> None:
    two = _measured(job, notes, monkeypatch)
    change(two)
    found = known_runs(make_like(two))
    assert why in found.changed.get("v1_shared", "")
    assert ("v1_shared" in found.kept) is (why == "")


def _measured(job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> MeasureJob:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    two = replace(job, workloads=job.workloads[:1])
    measure_changed([two], notes)
    assert set(known_runs(two).kept) == {"v0_naive", "v1_shared"}
    return two


def make_like(job: MeasureJob) -> MeasureJob:
    """Return the job of the same folder read again."""
    kernel = read_kernel(job.kernel.folder)
    return replace(job, kernel=kernel, versions=kernel.versions, workloads=kernel.workloads[:1])


@pytest.mark.slow
def test_what_beside_the_kernel_makes_a_run_hold_no_longer(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = _measured(job, notes, monkeypatch)

    def why(other: MeasureJob) -> str:
        return known_runs(other).changed.get("v1_shared", "")

    settings = two.settings
    assert why(replace(two, settings=replace(settings, rounds=6))) == ""  # more rounds say what fewer would
    assert "12 rounds, not 24" in why(replace(two, settings=replace(settings, rounds=24)))
    assert "timed with --flush read" in why(replace(two, settings=replace(settings, flush="none")))
    assert "seeds" in why(replace(two, settings=replace(settings, trials=4)))
    assert "profiled 1 times, not 2" in why(replace(two, settings=replace(settings, profile_repeats=2)))
    assert two.options is not None
    assert "set full, not basic" in why(replace(two, options=replace(two.options, section_set="basic")))
    assert why(replace(two, options=None)) == ""
    assert "not yet checked as right on w1" in why(replace(two, workloads=job.workloads))
    with monkeypatch.context() as patch:
        patch.setattr(Tools, "_torch", "9.9")
        assert why(two).endswith("is 9.9 now")
    with monkeypatch.context() as patch:
        patch.setattr("ncu_assist.pipeline.archiving.version_of", lambda ncu: "2099.1")
        assert why(two) == "ncu 2025.3.1.0 is 2099.1 now"
    with monkeypatch.context() as patch:
        patch.setattr("ncu_assist.pipeline.up_to_date.__version__", "9.0")
        assert "is 9.0 now" in why(two)
    with monkeypatch.context() as patch:
        patch.setattr("ncu_assist.store.choosing.machine_hash", lambda: "another")
        patch.setattr("ncu_assist.pipeline.up_to_date.machine_hash", lambda: "another")
        assert why(two) == "no run of this machine"
    here = setup_here({need_of(version) for version in two.versions}, has_gpu=False, has_ncu=True)
    monkeypatch.setattr(
        "ncu_assist.pipeline.work_units.setup_here", lambda *_: replace(here, gpu=DEVICE.name, driver="550.1")
    )
    assert why(two) == f"measured on None, here is {DEVICE.name}"


@pytest.mark.slow
@needs("nvcc")
def test_what_a_version_is_built_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kernel(tmp_path, {"v0_a.py": f"# packages: pytest\n{RIGHT}", "v1_b.cu": 'extern "C" int add_one();\n'})
    kernel = read_kernel(tmp_path / "kernels" / "add_one")
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    python, cuda = (Tools().of(version) for version in kernel.versions)
    assert (python.nvcc, python.nvcc_options, python.packages) == (None, None, {"pytest": pytest.__version__})
    assert cuda.nvcc is not None
    assert cuda.nvcc_options is not None
    assert "-lineinfo" in cuda.nvcc_options
    assert cuda.nvcc_options.endswith(" sm_90")
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_80")
    assert Tools().of(kernel.versions[1]).nvcc_options != cuda.nvcc_options


def test_versions_are_named_by_their_spans() -> None:
    order = [f"v{number}_x" for number in range(11)]
    assert spans(order, order) == "v0 … v10"
    assert spans([order[9], *order[:4], order[5], order[6]], order) == "v0 … v3, v5, v6, v9"


def test_the_planned_work_is_told_in_the_singular_where_it_is_one(
    notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "cost_words", lambda *_: "ncu takes a minute")
    job = make_job(tmp_path, {"v0_naive.py": RIGHT})
    one = replace(job, workloads=job.workloads[:1], settings=replace(job.settings, rounds=1))
    for planned in (one, job):
        measuring._tell_cost(planned, notes)
    assert notes.notes[0].startswith("1 version on 1 workload: checks, 1 round, ")
    assert notes.notes[1].startswith("1 version on 2 workloads: checks, 12 rounds, ")
