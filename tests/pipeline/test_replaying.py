"""The recorded answer: only for sources as they are, said to be recorded, nothing stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import WORKLOAD, make_run, metrics_frame, samples_frame, save_run, times
from kernel_folder import PYTHON_VERSION, write_kernel
from measured import Notes
from nvml import pretend

from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.ncu import command
from ncu_assist.pipeline.planning import replay, why_not_measurable
from ncu_assist.sources import source_sha256
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import Store, StoredRun

WHY = EnvironmentProblem("there is no working NVIDIA driver: not found", "nvidia-smi")


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return read_kernel(write_kernel(tmp_path, dict.fromkeys(("v0_torch.py", "v1_torch.py"), PYTHON_VERSION)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "reports")


def recorded(store: Store, kernel: Kernel, version: str, **changes: object) -> StoredRun:
    """Save a recorded run of a version as its source is now."""
    source = source_sha256(kernel.version(version).path)
    run = make_run(version=version, source="recorded", machine=None, source_sha256=source)
    return save_run(store, replace(run, **changes), metrics_frame(), samples_frame(times(9e4, 1), version=version))  # type: ignore[arg-type]


def answer(store: Store, kernel: Kernel, notes: Notes, *versions: str, workload: str | None = None) -> KernelOutcome:
    chosen, workloads = kernel.select_versions(versions), kernel.select_workloads(workload)
    return replay(store, kernel, chosen, workloads, WHY, notes)


def test_runs_that_match_are_shown_and_said_to_be_recorded(store: Store, kernel: Kernel, notes: Notes) -> None:
    one = recorded(store, kernel, "v0_torch")
    outcome = answer(store, kernel, notes)
    assert outcome.source == "recorded"
    assert [(v.version, v.run and v.run.run.run_id, v.failure) for v in outcome.versions] == [
        ("v0_torch", one.run.run_id, ""),
        ("v1_torch", None, ""),
    ]
    assert (outcome.exit_code, outcome.versions[1].unmeasured) == (6, ("small",))
    assert notes.notes == [
        f"RECORDED: runs on NVIDIA H200, 2026-11-21. Nothing was measured here: {WHY.message}.",
        "NOT MEASURED: v1_torch on small. No run has that source on that workload; "
        "what this machine lacks: ncu-assist doctor",
    ]
    assert len(store.runs()) == 1
    assert answer(store, kernel, notes, "v0").exit_code == 0


def test_another_source_does_not_count(store: Store, kernel: Kernel, notes: Notes) -> None:
    recorded(store, kernel, "v0_torch")
    recorded(store, kernel, "v1_torch")
    kernel.version("v0").path.write_text(PYTHON_VERSION + "\nx = 1\n")
    assert [v.run is None for v in answer(store, kernel, notes).versions] == [True, False]
    with pytest.raises(EnvironmentProblem, match="no recorded run of add_one v0 matches its current source") as caught:
        answer(store, kernel, notes, "v0")
    assert caught.value.message.startswith(WHY.message)
    assert caught.value.hint == "ncu-assist doctor"


def test_a_workload_that_was_not_recorded(store: Store, kernel: Kernel, notes: Notes) -> None:
    recorded(store, kernel, "v0_torch")
    with pytest.raises(EnvironmentProblem, match=r"no recorded run of add_one matches .* on odd"):
        answer(store, kernel, notes, workload="odd")
    (both, _) = answer(store, kernel, notes, workload="all").versions
    assert (both.run is not None, both.unmeasured) == (True, ("odd",))


def test_a_run_that_holds_what_was_asked_for_goes_before_a_newer_one(
    store: Store, kernel: Kernel, notes: Notes
) -> None:
    recorded(store, kernel, "v0_torch")
    later = {"run_id": "20261122T074500Z-2b3c4d", "created": "2026-11-22T07:45:00Z"}
    recorded(store, kernel, "v0_torch", workloads=(replace(WORKLOAD, name="odd"),), **later)
    outcome = answer(store, kernel, notes, "v0", workload="small")
    assert (outcome.exit_code, outcome.versions[0].run == store.runs()[1]) == (0, True)
    assert answer(store, kernel, notes, "v0", workload="odd").versions[0].run == store.runs()[0]


def test_a_version_that_no_workload_is_for_lacks_nothing(store: Store, kernel: Kernel, notes: Notes) -> None:
    recorded(store, kernel, "v0_torch")
    workloads = tuple(replace(one, versions=("v0",)) for one in kernel.workloads)
    outcome = answer(store, replace(kernel, workloads=workloads), notes)
    assert (outcome.exit_code, outcome.versions[1].unserved, outcome.versions[1].unmeasured) == (0, ("small",), ())


def test_runs_of_several_days_and_gpus(store: Store, kernel: Kernel, notes: Notes) -> None:
    recorded(store, kernel, "v0_torch")
    other = make_run().device
    assert other is not None
    recorded(store, kernel, "v1_torch", created="2026-11-20T07:45:00Z", device=replace(other, name="NVIDIA L4"))
    answer(store, kernel, notes)
    assert "runs on NVIDIA H200 and NVIDIA L4, 2026-11-20 and 2026-11-21" in notes.notes[0]


def test_a_live_run_of_this_machine_answers_as_live(store: Store, kernel: Kernel, notes: Notes) -> None:
    recorded(store, kernel, "v0_torch", source="live", machine=make_run().machine)
    assert answer(store, kernel, notes).source == "live"
    assert notes.notes[0].startswith("STORED: runs on ")
    assert "Nothing was measured now: " in notes.notes[0]


def test_a_damaged_run_is_named_and_not_called_unmeasured(store: Store, kernel: Kernel, notes: Notes) -> None:
    recorded(store, kernel, "v0_torch")
    broken = recorded(store, kernel, "v1_torch")
    (broken.folder / "run.json").write_text("{")
    outcome = answer(store, kernel, notes)
    assert f"add_one/v1_torch/{broken.run.run_id} is damaged" in outcome.versions[1].failure
    assert outcome.exit_code == 7
    with pytest.raises(DamagedData, match=r"run\.json") as caught:
        answer(store, kernel, notes, "v1")
    assert caught.value.hint == "ncu-assist verify"


def test_what_keeps_this_machine_from_measuring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    ncu = tmp_path / "ncu"
    ncu.write_text("")
    ncu.chmod(0o755)
    monkeypatch.setattr(command.find_ncu, "__defaults__", ({"PATH": str(tmp_path)}, tmp_path / "no", tmp_path / "no"))
    pretend(monkeypatch)
    assert why_not_measurable() is None
    ncu.unlink()
    assert "ncu (Nsight Compute) is not installed" in str(why_not_measurable())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "names no GPU" in str(why_not_measurable())
    pretend(monkeypatch, init="no library")
    assert "there is no working NVIDIA driver" in str(why_not_measurable())
