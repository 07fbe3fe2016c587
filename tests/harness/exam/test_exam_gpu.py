"""Drafts that cheat on a GPU, for real: examined beside an honest version, profiled, judged."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from ncu_assist.backends import build_versions
from ncu_assist.ceilings import ceilings_of
from ncu_assist.executors.local import Local
from ncu_assist.frame import by_launch, combine_repeats
from ncu_assist.harness.client import TimeLimits, child_environment
from ncu_assist.harness.exam.client import EventSummary, Exam, Examined, command
from ncu_assist.harness.exam.plan import ExamPlan, new_exam_plan
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline import ncu_stage
from ncu_assist.pipeline.profiling import VersionCapture, split
from ncu_assist.record import WorkloadFacts
from ncu_assist.spec import Version
from ncu_assist.spec_file import read_kernel
from ncu_assist.suggest.proof.judging import CheatCase, MeasuredSide, judge

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent / "cheating"
FOLDER = Path(__file__).parents[3] / "benchmarks" / "kernel_folders" / "scale_shift"
PARENT = "v1_two_quads_a_thread"
LIMITS = TimeLimits(silence_s=60, total_s=300)
NAMED = {  # by the exam alone
    "v2_side_stream.cu": {"unfinished"},
    "v3_keeps_outputs.cu": {"kept"},
    "v4_keeps_inputs.cu": {"kept"},
    "v5_modifies_inputs.cu": {"modified"},
    "v6_patches_the_clock.py": {"patched"},
    "v7_asks_the_reference.py": {"reference"},
    "v8_one_seed.py": {"one-seed"},
    "v9_one_shape.cu": {"one-shape"},
}
JUDGED = {  # at least, once it was profiled
    "v10_library.py": {"library"},
    "v11_half_under_the_profiler.cu": {"bytes", "profiler"},
    "v12_skips_rounds.cu": {"peak", "time"},
    "v13_no_kernel.cu": {"no-kernel"},
}
TEN_SECONDS = 10.0  # from a reply on disk to its verdict by time, the limit


@dataclass(frozen=True)
class Held:
    """An exam that was held on a GPU, and what ncu counted of both versions where it was profiled."""

    plan: ExamPlan
    examined: Examined
    seconds: float
    profiled: Examined | None = None
    captures: dict[str, VersionCapture] | None = None


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a program that starts in another folder find this package."""
    monkeypatch.setenv("PYTHONPATH", child_environment()["PYTHONPATH"])


def _hold(root: Path, draft: Path, settings: HarnessSettings, profile: bool) -> Held:
    kernel = read_kernel(shutil.copytree(FOLDER, root / "kernels" / FOLDER.name))
    number = max(v.number for v in kernel.versions) + 1
    copy = root / "drafts" / f"v{number}_{draft.stem.partition('_')[2]}{draft.suffix}"
    copy.parent.mkdir()
    shutil.copyfile(draft, copy)
    started = time.monotonic()
    plan = new_exam_plan(
        kernel, (kernel.version(PARENT), Version(number, copy.stem, copy, ())), settings, root / "work"
    )
    with Exam.of(plan) as exam:
        build = partial(build_versions, plan.kernel, plan.kernel.versions, root / "work")
        examined = exam.measure(build, Local(root / "locks"), lambda event: None, LIMITS)
        seconds = time.monotonic() - started
        if not profile:
            return Held(plan, examined, seconds)
        exam_request, summary = exam.profile_request(), EventSummary(plan.draft)
        work = Path(os.path.relpath(plan.folders.writable / "ncu", plan.folders.readable))
        stage = ncu_stage.NcuStage(
            plan.folders.readable,
            work,
            Local(root / "locks"),
            ProfileOptions(),
            TimeLimits(300.0, 120.0),
        )
        capture = stage.run(command(exam_request), summary.line, lambda launch: False)
        return Held(plan, examined, seconds, exam.grade(exam_request, summary), split(capture))


def _judged(held: Held) -> set[str]:
    samples = held.examined.measured.samples
    assert samples is not None
    medians = samples.groupby("version").time_ns.median()
    kernel = held.plan.kernel
    work = kernel.default_workload
    facts = WorkloadFacts(work.name, work.dtype, work.integers, kernel.algorithmic_bytes(work), kernel.flops(work))
    draft, parent = (_side(held, name, medians[name]) for name in (held.plan.draft, held.plan.parent))
    found = judge(CheatCase(draft, parent, facts, ceilings_of(held.examined.measured.device)))
    assert held.profiled is not None
    return {id for id, _ in found} | {s.id for s in (*held.examined.suspicions, *held.profiled.suspicions)}


def _side(held: Held, version: str, bench_ns: float) -> MeasuredSide:
    assert held.captures is not None
    capture = held.captures.get(version)
    if capture is None:
        return MeasuredSide(bench_ns, combine_repeats(None, [], {}))
    return MeasuredSide(bench_ns, combine_repeats(None, [capture.launches], by_launch(capture.metrics)))


@pytest.mark.gpu
def test_an_honest_draft_gets_through_in_time(tmp_path: Path) -> None:
    held = _hold(tmp_path, FOLDER / f"{PARENT}.cu", HarnessSettings(stages=()), profile=True)
    assert held.examined.measured.failures == {}
    assert [c.reason for c in held.examined.measured.checks[held.plan.draft]] == [""] * 3
    assert _judged(held) == set()
    assert held.seconds < TEN_SECONDS


@pytest.mark.gpu
@pytest.mark.parametrize("file", NAMED)
def test_the_exam_names_a_cheat(file: str, tmp_path: Path) -> None:
    held = _hold(tmp_path, HERE / file, HarnessSettings(stages=(), rounds=20), profile=False)
    assert {s.id for s in held.examined.suspicions} == NAMED[file]


@pytest.mark.gpu
@pytest.mark.parametrize("file", JUDGED)
def test_counters_and_times_show_a_cheat(file: str, tmp_path: Path) -> None:
    rounds = 8 if "no_kernel" in file else 100
    held = _hold(tmp_path, HERE / file, HarnessSettings(stages=(), rounds=rounds), profile=True)
    assert _judged(held) >= JUDGED[file]


@pytest.mark.parametrize("file", ["v6_patches_the_clock.py", "v7_asks_the_reference.py", "v8_one_seed.py"])
def test_those_in_python_are_named_on_a_cpu_too(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    small = tmp_path / FOLDER.name
    shutil.copytree(FOLDER, small)
    toml = (small / "kernel.toml").read_text().replace("default = true\n", "")
    (small / "kernel.toml").write_text(toml.replace("blocks = 100\n", "blocks = 100\ndefault = true\n"))
    (small / f"{PARENT}.cu").unlink()
    (small / f"{PARENT}.py").write_text((small / "v0_torch.py").read_text())
    monkeypatch.setattr(f"{__name__}.FOLDER", small)
    held = _hold(tmp_path / "project", HERE / file, HarnessSettings(stages=(), rounds=6, device="cpu"), profile=False)
    assert {s.id for s in held.examined.suspicions} == NAMED[file]


def test_every_cheating_draft_is_tested() -> None:
    assert {file.name for file in HERE.iterdir() if file.suffix in (".cu", ".py")} == {*NAMED, *JUDGED}
