"""The whole way on a GPU: real ncu, real reports, real failures."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from kernel_folder import write_kernel
from measured import RIGHT, Notes
from planted import LAUNCH, cuda
from recording import record

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.executors.local import Local
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.importing import RunNames, default_names, import_report
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.programs import profile_program
from ncu_assist.pipeline.reading import compare
from ncu_assist.project import Project
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import Store

pytestmark = pytest.mark.gpu

ADD = cuda("if (i < n) y[i] = x[i] + 1;", LAUNCH)
UNDER_NCU = "if 'measure' in os.environ.get('TMPDIR', ''):\n        "
CRASH_UNDER_NCU = (
    "import os, signal\nimport torch\n\n\ndef add_one(x, y):\n    torch.add(x, 1.0, out=y)\n    "
    f"{UNDER_NCU}os.kill(os.getpid(), signal.SIGSEGV)\n"
)
WAIT_UNDER_NCU = (
    "import os, time\nimport torch\n\n\ndef add_one(x, y):\n    torch.add(x, 1.0, out=y)\n    "
    f"{UNDER_NCU}time.sleep(600)\n"
)
PROGRAM = "import torch; x = torch.ones(1 << 20, device='cuda'); y = x + 1; z = torch.relu(y); torch.cuda.synchronize()"


def job(root: Path, versions: dict[str, str], section_set: str = "basic") -> MeasureJob:
    kernel = read_kernel(write_kernel(root, versions))
    settings = HarnessSettings(stages=("check", "bench"), trials=1, rounds=20)
    options = ProfileOptions(section_set)
    return MeasureJob(Project(root), kernel, kernel.versions, kernel.workloads, settings, options, Local())


def test_two_versions_in_one_process(tmp_path: Path, notes: Notes) -> None:
    outcome = measure(job(tmp_path, {"v0_torch.py": RIGHT, "v1_cuda.cu": ADD}, "full"), notes)
    assert [v.failure for v in outcome.versions] == ["", ""]
    store = Store(tmp_path / "reports")
    assert store.verify() == []
    run = store.runs("add_one", "v1_cuda")[0]
    assert [(one.workload, one.kernel) for one in run.run.launches] == [("small", "add"), ("odd", "add")]
    assert run.metrics().groupby("launch").size().min() > 2000
    assert b"y[i] = x[i] + 1" in (run.report_bytes() or b""), "the source was imported"
    assert run.run.bench is not None
    assert run.run.bench.temperature_c is not None
    assert any("ncu: 4 of 4" in line for line in notes.lines)


def test_a_recorded_run_names_no_machine_and_reads_the_same(tmp_path: Path, notes: Notes) -> None:
    outcome = measure(job(tmp_path, {"v1_cuda.cu": ADD}, "full"), notes)
    live = outcome.versions[0].run
    assert live is not None
    recorded = record(live, Store(tmp_path / "recorded"), "small")
    assert recorded.metrics().equals(live.metrics())
    assert str(tmp_path).encode() not in b"".join(recorded.read(name) for name in recorded.run.files)
    assert str(tmp_path).encode() not in (recorded.report_bytes() or b"")


@pytest.mark.parametrize("versions", [("v0_copies.py",), ("v0_copies.py", "v1_cuda.cu")])
def test_a_version_that_launches_no_kernel_is_no_failure(
    versions: tuple[str, ...], tmp_path: Path, notes: Notes
) -> None:
    sources = {"v0_copies.py": "def add_one(x, y):\n    y.copy_(x)\n", "v1_cuda.cu": ADD.replace("x[i] + 1", "x[i]")}
    one = job(tmp_path, {name: sources[name] for name in versions})
    reference = one.kernel.reference
    reference.write_text(reference.read_text().replace("x.double() + 1", "x.double()"))
    outcome = measure(one, notes)
    assert [v.failure for v in outcome.versions] == [""] * len(versions)
    stored = outcome.versions[0].run
    assert stored is not None
    assert stored.run.launched_nothing
    assert stored.run.notes == ("launched no kernel: nothing to count",)
    assert stored.run.toolchain.ncu
    assert stored.run.bench is not None
    assert Store(tmp_path / "reports").verify() == []


def test_the_version_that_kills_ncu_is_named_and_the_other_profiled(tmp_path: Path, notes: Notes) -> None:
    outcome = measure(job(tmp_path, {"v0_torch.py": RIGHT, "v1_crash.py": CRASH_UNDER_NCU}), notes)
    first, second = outcome.versions
    assert first.failure == ""
    assert "profile:" in second.failure
    assert first.run is not None
    assert len(first.run.run.launches) == 2
    assert second.run is not None
    assert second.run.run.bench is not None


def test_ctrl_c_keeps_the_version_that_was_finished(
    tmp_path: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status(text: str) -> None:
        if "v1 small" in text:
            signal.setitimer(signal.ITIMER_REAL, 3.0)

    monkeypatch.setattr(notes, "status", status)
    old = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    one = job(tmp_path, {"v0_torch.py": RIGHT, "v1_wait.py": WAIT_UNDER_NCU})
    small = replace(one, workloads=one.kernel.workloads[:1])
    try:
        with pytest.raises(KeyboardInterrupt):
            measure(small, notes)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    store = Store(tmp_path / "reports")
    assert store.verify() == []
    assert len(store.runs("add_one", "v0_torch")[0].run.launches) == 1
    assert store.runs("add_one", "v1_wait")[0].run.launches == ()


def test_any_program_and_its_report(tmp_path: Path, notes: Notes) -> None:
    project = Project(tmp_path)
    options = ProfileOptions("basic", nvtx_include=None, kernel_filter="regex:elementwise", max_launches=2)
    stored = profile_program(project, RunNames("program", "v0"), [sys.executable, "-c", PROGRAM], options, notes)
    assert len(stored.run.launches) == 2
    assert any("stopped after 2 launches" in note for note in notes.notes)
    path = tmp_path / "other.ncu-rep"
    path.write_bytes(stored.report_bytes() or b"")
    imported = import_report(project, path, default_names(path, "program", "v1"))
    assert imported.run.verified is False
    diff = compare(project, ("program/v0", "program/v1"), None, DiffOptions())
    assert diff.verdict.verdict == "unclear"
