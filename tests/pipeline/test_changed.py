"""What changed since a commit, and what it is held against."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from changing import CODE, Developed
from factories import DEVICE

from ncu_assist.analysis.gate import Gate, GateSet, NotMeasured
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.changed import gate_since, since_of
from ncu_assist.pipeline.gating import GateRequest
from ncu_assist.pipeline.gating import gate as gate_of
from ncu_assist.record import Check
from ncu_assist.render.junit import junit
from ncu_assist.render.terminal.diff import gates_text
from ncu_assist.sources import source_sha256
from ncu_assist.store import machine_hash
from ncu_assist.store.baselines import set_baseline


@pytest.fixture
def developed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Developed:
    monkeypatch.chdir(tmp_path)
    return Developed(tmp_path)


def judged(developed: Developed, window: int | None = None) -> GateSet:
    return gate_since(developed.archive.project, GateRequest("", fail_on=("time:2%",)), "main", window)


def test_nothing_changed(developed: Developed) -> None:
    assert since_of(developed.archive.project, "main").versions() == ()
    assert judged(developed).exit_code == 0
    (developed.root / "README.md").write_text("about\n")
    assert judged(developed).gates == ()


@pytest.mark.parametrize(("time", "code"), [(9e4, 0), (9.5e4, 3)])
def test_an_edited_version_is_held_against_its_run_of_before(developed: Developed, time: float, code: int) -> None:
    before = developed.archive.store.runs("add_one", "v1_own")[0]
    developed.edit("v1_own", CODE.format("1 + 0"))
    developed.measure({"v1_own": time})
    developed.repository.commit()
    found = judged(developed)
    assert found.exit_code in ((code, 4) if code == 0 else (code,))
    (gate,) = found.gates
    assert isinstance(gate, Gate)
    assert gate.baseline.reference == before.reference


def test_a_new_version_is_held_against_the_baseline_that_the_commit_has(developed: Developed) -> None:
    developed.edit("v2_new", CODE.format("1.0"))
    v1, _ = developed.measure({"v1_own": 9e4, "v2_new": 9.7e4})
    set_baseline(developed.archive.store, v1)  # on this branch only: it does not choose what it is held against
    (gate,) = [one for one in judged(developed).gates if one.candidate.run.version == "v2_new"]  # type: ignore[union-attr]
    assert isinstance(gate, Gate)
    assert gate.baseline.run.version == "v0_torch"


def test_an_edited_version_without_a_run_is_not_measured(developed: Developed) -> None:
    developed.edit("v1_own", CODE.format("1 + 0"))
    found = judged(developed)
    assert isinstance(found.gates[0], NotMeasured)
    assert found.exit_code == 4


def test_a_first_version_is_green_once_it_is_measured_and_right(developed: Developed) -> None:
    for name in ("kernel.toml", "reference.py", "v0_torch.py"):
        target = developed.root / "kernels" / "add_two" / name
        target.parent.mkdir(exist_ok=True)
        target.write_text((developed.kernel / name).read_text().replace("add_one", "add_two"))
    found = judged(developed)
    assert (found.exit_code, found.first) == (4, ())
    developed.archive.save("v0_torch", {"small": 1e5}, kernel="add_two", source_sha256=source_sha256(target))
    found = judged(developed)
    assert (found.exit_code, found.first) == (0, ("add_two/v0",))


def test_runs_of_another_gpu_are_not_compared(developed: Developed) -> None:
    developed.edit("v1_own", CODE.format("1 + 0"))
    developed.measure({"v1_own": 9e4}, device=replace(DEVICE, name="NVIDIA H100"))
    found = judged(developed)
    assert found.exit_code == 4
    assert isinstance(found.gates[0], Gate)
    assert found.gates[0].checks[0].reason == "other-device"


def test_small_steps_add_up_in_the_window(developed: Developed) -> None:
    codes = []
    for step in range(1, 11):
        developed.edit("v1_own", CODE.format(f"1 + {step} - {step}"))
        developed.measure({"v1_own": 9e4 * 1.015**step})
        codes.append(judged(developed, 10).exit_code)
        developed.repository.commit(message=f"step {step}")
        developed.repository.git("branch", "--force", "main", "HEAD")  # merged
    assert codes[-1] == 3
    assert codes[:2] != [3, 3]  # a step alone is within the limit


def test_a_branch_that_git_does_not_know(developed: Developed) -> None:
    with pytest.raises(UsageProblem, match="'origin/main' is no commit") as error:
        since_of(developed.archive.project, "origin/main")
    assert error.value.hint == "git fetch origin main"


def test_a_folder_without_any_kernel_is_not_green(developed: Developed, tmp_path: Path) -> None:
    shutil.move(tmp_path / "kernels", tmp_path / "gpu" / "kernels")
    developed.repository.commit()
    developed.repository.git("branch", "--force", "main", "HEAD")
    with pytest.raises(UsageProblem, match="nothing was checked") as error:
        judged(developed)
    assert error.value.hint == "cd gpu"


@pytest.mark.parametrize("name", ["fast.cu", "v9.cu"])
def test_a_new_file_that_is_not_called_as_a_version_is_not_measured(developed: Developed, name: str) -> None:
    (developed.kernel / name).write_text('extern "C" void add_one() {}\n')
    found = judged(developed)
    assert found.exit_code == 4
    (gate,) = found.gates
    assert isinstance(gate, NotMeasured)
    assert gate.next.startswith(f"mv kernels/add_one/{name} kernels/add_one/v")
    said = " ".join(gates_text(found).split())
    assert f"{name} is not a version" in said
    assert gate.next in said
    assert "since main: 1 not measured" in said
    developed.repository.commit()
    developed.repository.git("branch", "--force", "main", "HEAD")
    assert judged(developed).gates == ()  # it was there before


def test_what_was_removed_is_named(developed: Developed) -> None:
    (developed.kernel / "v1_own.py").unlink()
    found = judged(developed)
    assert (found.removed, found.exit_code) == (("add_one/v1_own",), 0)
    assert gates_text(found).split("\n") == ["add_one/v1_own: removed", "", "since main: 1 removed", ""]
    shutil.rmtree(developed.root / "kernels")
    assert judged(developed).removed == ("add_one/v0_torch", "add_one/v1_own")


def test_a_comment_in_what_all_versions_share_is_no_change(developed: Developed) -> None:
    for name in ("kernel.toml", "reference.py"):
        file = developed.kernel / name
        file.write_text(f"# said once more\n{file.read_text()}")
    assert judged(developed).gates == ()


def test_a_reference_that_changed_asks_for_new_runs(developed: Developed) -> None:
    file = developed.kernel / "reference.py"
    file.write_text(f"{file.read_text()}\nONE = 1\n")
    found = judged(developed)
    assert found.exit_code == 4
    assert [type(one) for one in found.gates] == [NotMeasured, NotMeasured]
    said = " ".join(gates_text(found).split())
    assert "add_one/v1: reference.py has changed, and it has no run since" in said
    assert "try: ncu-assist profile add_one v1 --workload all --again" in said
    assert "baseline itself" not in said
    developed.measure({"v0_torch": 1e5, "v1_own": 9e4})
    assert all(isinstance(one, Gate) for one in judged(developed).gates)


def test_a_version_against_itself_is_not_told_to_be_benched_with_itself(developed: Developed) -> None:
    developed.edit("v1_own", CODE.format("1 + 0"))
    developed.measure({"v1_own": 9e4 * 1.015}, device=replace(DEVICE, name="NVIDIA H100"))
    (gate,) = judged(developed).gates
    assert isinstance(gate, Gate)
    assert gate.checks[0].next == "ncu-assist profile --since main --workload small"
    before = developed.archive.store.runs("add_one", "v1_own")[-1].reference
    alone = gate_of(developed.archive.project, GateRequest("add_one/v1", before, fail_on=("time:2%",)))
    assert isinstance(alone, Gate)
    assert alone.checks[0].next == "ncu-assist profile add_one v1 --again --workload small"


def unknown_before(developed: Developed, *versions: str) -> None:
    """Take the runs of versions out of main, as of such as nobody has measured yet."""
    for version in versions:
        shutil.rmtree(developed.root / "reports" / "add_one" / version)
    developed.repository.commit()
    developed.repository.git("branch", "--force", "main", "HEAD")


def failed(name: str = "small") -> tuple[Check, ...]:
    return (Check(name, False, "element 3 differs", (0,), None, None),)


@pytest.mark.parametrize("lost", [("v1_own",), ("v0_torch", "v1_own")])
def test_a_failed_check_is_a_regression_also_without_a_baseline(developed: Developed, lost: tuple[str, ...]) -> None:
    unknown_before(developed, *lost)
    developed.edit("v1_own", CODE.format("2"))
    developed.measure({"v1_own": 9e4}, checks=failed())
    found = judged(developed)
    assert (found.exit_code, found.first) == (3, ())
    said = " ".join(gates_text(found).split())
    assert "element 3 differs" in said
    assert junit(found).count("<failure") == 1


def test_an_edited_version_that_nobody_ever_measured_is_not_measured(developed: Developed) -> None:
    unknown_before(developed, "v0_torch", "v1_own")
    developed.edit("v1_own", CODE.format("1 + 0"))
    found = judged(developed)
    assert (found.exit_code, found.first) == (4, ())
    (gate,) = found.gates
    assert isinstance(gate, NotMeasured)
    assert [one.version for one in gate.missing] == ["v1_own", "v0_torch"]
    assert gate.next == "ncu-assist profile add_one v0 v1"


def test_what_was_never_measured_before_is_held_against_the_baseline(developed: Developed) -> None:
    unknown_before(developed, "v1_own")
    developed.edit("v1_own", CODE.format("1 + 0"))
    developed.measure({"v1_own": 1.2e5})
    found = judged(developed)
    assert found.exit_code == 3
    assert isinstance(found.gates[0], Gate)
    assert found.gates[0].baseline.run.version == "v0_torch"


def test_measured_and_right_and_no_baseline_yet_is_green(developed: Developed) -> None:
    unknown_before(developed, "v0_torch", "v1_own")
    developed.edit("v1_own", CODE.format("1 + 0"))
    developed.measure({"v1_own": 9e4})
    found = judged(developed)
    assert (found.exit_code, found.first, found.gates) == (0, ("add_one/v1",), ())
    assert 'name="measured and right"' in junit(found)
    spills = gate_since(developed.archive.project, GateRequest("", fail_on=("local_spilling_requests:=0",)), "main")
    assert spills.exit_code == 4  # a limit on what the version itself is needs no baseline, and was not counted


@pytest.mark.parametrize("measured", [True, False])
def test_live_runs_are_required_also_where_there_is_nothing_before(developed: Developed, measured: bool) -> None:
    developed.edit("v1_own", CODE.format("1 + 0"))
    live = {"source": "live", "machine": machine_hash()} if measured else {}
    developed.measure({"v1_own": 9e4}, **live)
    asked = GateRequest("", fail_on=("time:2%",), require_live=True)
    found = gate_since(developed.archive.project, asked, "main")
    assert (found.exit_code, found.first) == (4, ())
    (gate,) = found.gates
    assert isinstance(gate, NotMeasured)
    assert len(gate.missing) == (1 if measured else 2)
    said = " ".join(gates_text(found).split())
    assert "as main has it, it was not measured on this machine" in said
    assert "try: ncu-assist profile --since main --workload all" in said


def test_what_was_measured_written_into_the_comment_at_the_top_is_no_change(developed: Developed) -> None:
    source = developed.kernel / "v1_own.py"
    source.write_text(f"# measured: 41.3 us\n{source.read_text()}")
    assert judged(developed).exit_code == 0
    assert judged(developed).gates == ()


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_a_branch_that_damages_runs_of_before_is_not_green(developed: Developed, how: str) -> None:
    """As a branch is merged that changes nothing else, and the archive fails from then on."""
    run = developed.archive.store.runs("add_one", "v1_own")[0]
    samples = run.folder / next(name for name in run.run.files if name.startswith("samples"))
    if how == "changed":
        samples.write_bytes(samples.read_bytes()[:-1] + b"\0")
    else:
        samples.unlink()
    developed.repository.commit()
    found = judged(developed)
    assert found.exit_code == 4
    assert f"gone or changed here: {run.run.run_id}" in " ".join(gates_text(found).split())


@pytest.mark.parametrize("how", ["gone", "rewritten"])
def test_a_branch_that_changes_the_runs_of_before_is_not_green(developed: Developed, how: str) -> None:
    before = developed.archive.store.runs("add_one", "v1_own")[0]
    developed.edit("v1_own", CODE.format("1 + 0"))
    developed.measure({"v1_own": 9e4})
    if how == "gone":
        shutil.rmtree(before.folder)
    else:
        file = before.folder / "run.json"
        file.write_text(file.read_text() + "\n")
    found = judged(developed)
    assert found.exit_code == 4
    said = " ".join(gates_text(found).split())
    assert f"main has runs of it that are gone or changed here: {before.run.run_id}" in said
    assert f"-- reports/add_one/{before.run.version}" in said
    developed.repository.git("checkout", "main", "--", "reports/add_one/v1_own")
    assert "gone or changed" not in gates_text(judged(developed))


def test_runs_that_are_gone_of_a_version_that_was_not_edited_are_named(developed: Developed) -> None:
    developed.measure({"v1_own": 9e4})
    developed.repository.commit()
    developed.repository.git("branch", "--force", "main", "HEAD")
    shutil.rmtree(developed.archive.store.runs("add_one", "v1_own")[-1].folder)
    found = judged(developed)
    assert found.exit_code == 4
    (gate,) = found.gates
    assert isinstance(gate, NotMeasured)
    assert gate.missing[0].gone


def test_what_nothing_is_there_for_has_cases_in_junit(developed: Developed) -> None:
    assert 'name="no version has changed"' in junit(judged(developed))


def test_a_command_for_one_version_keeps_its_options(developed: Developed) -> None:
    alone = gate_of(developed.archive.project, GateRequest("add_one/v1", "v1", fail_on=("time:2%",)))
    assert isinstance(alone, Gate)
    assert alone.checks[0].next == "ncu-assist gate add_one/v1 --against @last:10 --workload small"


@pytest.mark.parametrize(("time", "code"), [(9e4, 0), (9.5e4, 3)])
def test_another_run_of_a_version_that_was_not_edited_is_judged(developed: Developed, time: float, code: int) -> None:
    """Also where it was only timed, and the run of before was profiled."""
    before = developed.archive.store.runs("add_one", "v1_own")[0]
    (added,) = developed.measure({"v1_own": time})
    developed.repository.commit()
    found = judged(developed)
    (gate,) = found.gates
    assert isinstance(gate, Gate)
    assert (gate.baseline.reference, gate.candidate.reference) == (before.reference, added.reference)
    assert found.exit_code == code
