"""Saved files and what comes of them: real measurements on the CPU, the fake ncu for the counters."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli.commandline import Here, measure_here
from kernel_folder import write_kernel
from measured import RIGHT, VERSIONS, WORKLOADS, WRONG, Notes
from requirements import require

from ncu_assist.analysis.ladder import Attempt
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.executors.local import Stoppable
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.pipeline.measuring import MeasureJob
from ncu_assist.pipeline.watching import FolderWatch
from ncu_assist.project import find_project
from ncu_assist.render.terminal.versions import attempt_lines
from ncu_assist.spec import Version
from ncu_assist.store import Store

pytestmark = pytest.mark.slow
SLOWER = RIGHT + "    for _ in range(300):\n        torch.add(x, 1.0, out=y)\n"


def never() -> bool:
    return False


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require("torch")
    made = write_kernel(
        tmp_path, {**VERSIONS, "v0_naive.py": f"# Baseline: torch.\n{RIGHT}", "v2_own.py": RIGHT}, WORKLOADS
    )
    measure_here(monkeypatch, tmp_path)
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    return made


@pytest.fixture
def watch(folder: Path) -> Iterator[FolderWatch]:
    with FolderWatch(find_project(Path.cwd()), "add_one", Notes()) as made:
        yield made


def saved(watch: FolderWatch, name: str, text: str) -> Version:
    (watch.folder / name).write_text(text)
    assert watch.is_changed()
    version = watch.take()
    assert version is not None
    assert not watch.is_changed()
    return version


def test_an_edit_gets_its_verdict_and_then_its_counters(watch: FolderWatch) -> None:
    steps: list[Attempt] = []
    version = saved(watch, "v1_shared.py", SLOWER)
    done = watch.measure(version, never, steps.append)
    assert [one.state for one in steps] == ["measuring", "timed", "profiling", "done"]
    assert [(one.baseline.version, one.candidate.version) for one in done.diffs] == [("v0_naive", "v1_shared")]
    assert (done.diffs[0].verdict.speedup or 1.0) < 0.5  # a busy machine may leave the interval wide
    assert steps[1].run is not None
    assert steps[1].run.run.profile is None
    assert done.run is not None
    assert done.run.run.launches
    assert Store(watch.project.reports).runs() == []  # edits on the way are in no archive
    stored = watch.archive()
    assert stored is not None
    assert stored.run.launches
    assert {one.run.version for one in Store(watch.project.reports).runs()} == {"v0_naive", "v1_shared"}
    assert Store(watch.project.reports).verify() == []


def test_the_fastest_version_is_compared_with_too(watch: FolderWatch) -> None:
    watch.measure(saved(watch, "v1_shared.py", RIGHT + "# a\n"), never, lambda step: None)
    watch.archive()
    done = watch.measure(saved(watch, "v2_own.py", SLOWER), never, lambda step: None)
    assert [one.baseline.version for one in done.diffs] == ["v1_shared"]  # the parent and the fastest
    (watch.folder / "v3_more.py").write_text(RIGHT)
    third = watch.take()
    assert third is not None
    assert {one.baseline.version for one in watch.measure(third, never, lambda step: None).diffs} == {
        "v2_own",
        "v1_shared",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (WRONG, "elements are wrong"),
        ("def add_one(x, y:\n", "build"),
        (RIGHT + "\nraise RuntimeError('gone')\n", "gone"),
    ],
)
def test_a_faulty_edit_fails_and_the_next_one_does_not(watch: FolderWatch, text: str, why: str) -> None:
    failed = watch.measure(saved(watch, "v1_shared.py", text), never, lambda step: None)
    assert failed.state == "failed"
    assert why in failed.failure
    assert failed.diffs == ()
    mended = watch.measure(saved(watch, "v1_shared.py", SLOWER), never, lambda step: None)
    assert (mended.state, mended.failure) == ("done", "")
    assert (mended.diffs[0].verdict.speedup or 1.0) < 0.5


def test_what_is_typed_meanwhile_is_in_no_measurement(watch: FolderWatch) -> None:
    version = saved(watch, "v1_shared.py", SLOWER)

    def type_on(step: Attempt) -> None:
        if step.state == "measuring":
            (watch.folder / "v1_shared.py").write_text("nonsense(")

    done = watch.measure(version, never, type_on)
    assert (done.state, done.failure) == ("done", "")
    assert done.run is not None
    assert done.run.source_texts()["v1_shared.py"] == SLOWER
    assert watch.archive() is None  # it is not what the folder holds
    assert watch.is_changed()


def test_a_later_save_ends_what_runs(watch: FolderWatch) -> None:
    version = saved(watch, "v1_shared.py", SLOWER)
    over: list[bool] = []

    def step(attempt: Attempt) -> None:
        if attempt.state == "profiling":
            over.append(True)

    ended = watch.measure(version, lambda: bool(over), step)
    assert ended.state in ("timed", "done")  # done where the fake was faster than the look
    assert ended.seconds is not None
    assert ended.diffs


def test_what_is_no_edit(watch: FolderWatch) -> None:
    path = watch.folder / "v1_shared.py"
    path.write_text("# measured: 3 us\n" + path.read_text())
    assert watch.is_changed()
    assert watch.take() is None
    (watch.folder / "README.md").write_text("worklog\n")
    assert watch.take() is None


def seen_twice(look: Callable[[], bool]) -> bool:
    """Look at a folder as often as it takes to know that no file is being written."""
    look()
    return look()


def by_vim(folder: Path) -> None:
    (folder / ".v1_shared.py.swp").write_text("typing")
    (folder / "4913").write_text("")


def by_emacs(folder: Path) -> None:
    (folder / ".#v1_shared.py").symlink_to("someone@here.1234:5678")
    (folder / "#v1_shared.py#").write_text("typing")


def by_a_comment(folder: Path) -> None:
    path = folder / "v1_shared.py"
    path.write_text("# a note\n" + path.read_text())


def by_prose(folder: Path) -> None:
    (folder / "README.md").write_text("worklog\n")


def by_half_a_description(folder: Path) -> None:
    (folder / "kernel.toml").write_text("[[[")


@pytest.mark.parametrize("touched", [by_vim, by_emacs, by_a_comment, by_prose, by_half_a_description])
def test_what_is_no_edit_ends_nothing(watch: FolderWatch, touched: Callable[[Path], None]) -> None:
    version = saved(watch, "v1_shared.py", SLOWER)
    touched(watch.folder)
    done = watch.measure(version, watch.is_edited, lambda step: None)
    assert done.state == "done"
    assert done.diffs
    assert not watch.is_edited()


@pytest.mark.parametrize("touched", [by_vim, by_emacs])
def test_what_editors_leave_is_no_save(watch: FolderWatch, touched: Callable[[Path], None]) -> None:
    touched(watch.folder)
    assert not watch.is_changed()


def test_what_is_ended_is_measured_again(watch: FolderWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(job: MeasureJob, *_: object) -> None:
        assert isinstance(job.executor, Stoppable)
        assert job.executor.is_over()
        raise KeyboardInterrupt

    monkeypatch.setattr("ncu_assist.pipeline.watching.measure", stopped)
    version = saved(watch, "v1_shared.py", SLOWER)
    (watch.folder / "v1_shared.py").write_text(RIGHT + "# b\n")
    assert seen_twice(watch.is_edited)
    ended = watch.measure(version, watch.is_edited, lambda step: None)
    assert ended.state == "superseded"
    (watch.folder / "v1_shared.py").write_text(SLOWER)  # undone meanwhile
    again = watch.take()
    assert again is not None
    assert again.name == "v1_shared"
    assert watch.take() is None


def test_locks_and_links_to_nothing_stop_neither_the_start_nor_an_edit(folder: Path) -> None:
    by_emacs(folder)
    (folder / "notes").symlink_to("nowhere")
    with FolderWatch(find_project(Path.cwd()), "add_one", Notes()) as watch:
        assert saved(watch, "v1_shared.py", SLOWER).name == "v1_shared"
        copied = {path.name for path in (watch.copy.kernels / "add_one").iterdir()}
    assert {"v1_shared.py", "kernel.toml"} <= copied
    assert not {".#v1_shared.py", "#v1_shared.py#", "notes"} & copied


def test_a_file_that_cannot_be_copied_is_half_an_edit(watch: FolderWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise shutil.Error([("a", "b", "No such file")])

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copytree", gone)
        (watch.folder / "v1_shared.py").write_text(SLOWER)
        with pytest.raises(UsageProblem, match="add_one cannot be copied: No such file"):
            watch.take()
    version = watch.take()
    assert version is not None
    assert version.name == "v1_shared"


def test_an_edit_beside_half_a_description_is_measured_once_it_is_whole(watch: FolderWatch) -> None:
    description = watch.folder / "kernel.toml"
    whole = description.read_text()
    (watch.folder / "v1_shared.py").write_text(SLOWER)
    description.write_text("[[[")
    with pytest.raises(UsageProblem):
        watch.take()
    description.write_text(whole + "\n# mended\n")
    version = watch.take()
    assert version is not None
    assert version.name == "v1_shared"  # not v2, the newest


def test_a_profile_that_fails_leaves_the_verdict(watch: FolderWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise StageFailed("counters are not allowed", "")

    monkeypatch.setattr("ncu_assist.pipeline.ncu_stage.NcuStage.run", fails)
    done = watch.measure(saved(watch, "v1_shared.py", SLOWER), never, lambda step: None)
    assert done.state == "timed"
    assert done.diffs
    assert "counters are not allowed" in done.failure
    first, second, third = attempt_lines(done)
    assert ": timed, " in first
    assert "v1" in second
    assert third.startswith("  not profiled: ")


def test_without_ncu_p_leaves_the_verdict(watch: FolderWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    done = watch.measure(saved(watch, "v1_shared.py", SLOWER), never, lambda step: None, profiles=False)

    def missing() -> Path:
        raise EnvironmentProblem("ncu is not installed")

    monkeypatch.setattr("ncu_assist.pipeline.watching.find_ncu", missing)
    with pytest.raises(EnvironmentProblem):
        watch.again(never, lambda step: None)
    assert watch.attempts == [done]


def test_what_failed_is_not_kept(watch: FolderWatch) -> None:
    failed = watch.measure(saved(watch, "v1_shared.py", WRONG), never, lambda step: None)
    assert failed.run is not None
    with pytest.raises(UsageProblem, match=r"not kept, as it failed: .*wrong"):
        watch.keep(failed)
    assert not list(watch.folder.glob("v3*"))


def test_names_are_looked_at_before_the_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_gpu() -> None:
        raise EnvironmentProblem("no driver")

    monkeypatch.setattr("ncu_assist.pipeline.watching.gpu_here", no_gpu)
    monkeypatch.setattr("ncu_assist.pipeline.watching.Local", Here)  # whatever measures, it is here
    monkeypatch.setattr("ncu_assist.pipeline.planning.HarnessSettings", HarnessSettings)  # on a GPU
    project = find_project(Path.cwd())
    with pytest.raises(UsageProblem, match="v99"):
        FolderWatch(project, "add_one", Notes(), against="v99")
    with pytest.raises(UsageProblem, match="no section set 'nope'"):
        FolderWatch(project, "add_one", Notes(), section_set="nope")


def test_of_what_all_versions_share_it_is_the_one_edited_last(watch: FolderWatch) -> None:
    watch.measure(saved(watch, "v1_shared.py", SLOWER), never, lambda step: None)
    reference = watch.folder / "reference.py"
    reference.write_text(reference.read_text() + "\nONE = 1\n")
    version = watch.take()
    assert version is not None
    assert version.name == "v1_shared"


def test_keep(watch: FolderWatch) -> None:
    done = watch.measure(saved(watch, "v1_shared.py", "# An idea.\n" + SLOWER), never, lambda step: None)
    path = watch.keep(done)
    assert path.name == "v3_shared.py"
    assert path.read_text() == "# An idea.\n# parent: v1\n" + SLOWER
    assert not watch.is_changed()


def test_without_ncu_there_are_verdicts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Notes()

    def missing() -> Path:
        raise EnvironmentProblem("ncu is not installed")

    monkeypatch.setattr("ncu_assist.pipeline.watching.find_ncu", missing)
    with FolderWatch(find_project(Path.cwd()), "add_one", notes, against="v0") as watch:
        done = watch.measure(saved(watch, "v2_own.py", SLOWER), never, lambda step: None)
    assert "verdicts only" in notes.notes[0]
    assert done.state == "timed"
    assert [one.baseline.version for one in done.diffs] == ["v0_naive"]


def test_a_header_is_told_from_another_of_its_name(watch: FolderWatch) -> None:
    for name in ("a", "b"):
        (watch.folder / name).mkdir()
        (watch.folder / name / "tile.cuh").write_text("")
    (watch.folder / "v3_tiled.cu").write_text('#include "a/tile.cuh"\n#include "b/tile.cuh"\n')
    watch.take()
    (watch.folder / "a" / "tile.cuh").write_text("#define TILE 32\n")
    version = watch.take()
    assert version is not None
    assert version.name == "v3_tiled"


def test_a_start_that_fails_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ncu_assist.pipeline.watching.build_versions", interrupted)
    watch = FolderWatch(find_project(Path.cwd()), "add_one", Notes())
    with pytest.raises(KeyboardInterrupt):
        watch.__enter__()
    assert not watch.copy.root.exists()
