from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path

import pytest
from cli.commandline import Run, measure_here, run
from fakes.fake_gpu import FakeGpu, gpus, hashed
from patience import CEILING_S, has_ended, soon
from pipeline.measured import Notes
from pipeline.shared_out import again, assert_whole, fake_ncu_first, make_jobs

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.backends import nvcc
from ncu_assist.environment import Gpu
from ncu_assist.errors import UsageProblem
from ncu_assist.executors import EXECUTORS
from ncu_assist.pipeline import gpu_workers
from ncu_assist.pipeline.gpu_workers import chosen_slots, workers_on
from ncu_assist.pipeline.measuring import measure_all
from ncu_assist.pipeline.work_units import in_groups
from ncu_assist.store import Store

ROOT = Path(__file__).parents[2]
__all__ = ["run"]
HERE = [Gpu(index, "NVIDIA H200", f"GPU-{index}aaa-bbb", 1, 1, 1, 1) for index in range(4)]
chosen = functools.partial(chosen_slots, gpus=HERE, visible=None)


@pytest.mark.parametrize(
    ("choice", "visible", "indices"),
    [
        ("all", None, [0, 1, 2, 3]),
        ("2", None, [0, 1]),
        ("1,3", None, [1, 3]),
        ("3,", None, [3]),
        ("GPU-2aaa", None, [2]),
        ("all", "3,1", [3, 1]),
        ("1", "GPU-2", [2]),
        ("0,0", None, [0]),
    ],
)
def test_gpus_are_chosen_by_number_list_or_uuid(choice: str, visible: str | None, indices: list[int]) -> None:
    assert [slot.index for slot in chosen(choice, visible=visible)] == indices


@pytest.mark.parametrize(("choice", "visible"), [("0", None), ("5", None), ("0,4", None), ("1", "")])
def test_gpus_that_are_not_there_are_refused(choice: str, visible: str | None) -> None:
    with pytest.raises(UsageProblem):
        chosen(choice, visible=visible)


def test_an_index_is_no_number_of_gpus() -> None:
    for choice, visible, can in (("0", None, 4), ("3", "3", 1)):
        with pytest.raises(UsageProblem, match=f"--gpus {choice} is a number of GPUs, and {can} can be") as caught:
            chosen(choice, visible=visible)
        assert caught.value.hint == f"CUDA_VISIBLE_DEVICES={choice} without --gpus, for GPU {choice} alone"
    with pytest.raises(UsageProblem) as caught:
        chosen("5")
    assert caught.value.hint == "--gpus all"


def test_builds_are_for_the_gpus_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = (Gpu(0, "NVIDIA A100", "GPU-0a", capability="80"), Gpu(1, "NVIDIA H100", "GPU-1a", capability="90"))
    for module in (gpu_workers, nvcc):
        monkeypatch.setattr(module, "query_gpus", lambda: ("1", mixed))
    monkeypatch.setattr(gpu_workers, "workers_on", nullcontext)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("NCU_ASSIST_ARCH", raising=False)
    compiler = nvcc.Nvcc(Path("nvcc"), "13.0.88", ())
    with gpu_workers.gpu_workers("1,"):
        assert nvcc.find_arch(compiler) == "sm_90a"
    assert nvcc.find_arch(compiler) == "sm_80"
    with pytest.raises(UsageProblem, match="GPU 0 is an NVIDIA A100") as caught, gpu_workers.gpu_workers("all"):
        pass
    assert caught.value.hint == "--gpus 0,"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_work_is_cut_as_far_as_it_pays() -> None:
    costs = {f"v{n}": 2.0 for n in range(20)}
    assert in_groups(costs, 9.4, 1, 1) == [tuple(costs)]
    assert [len(group) for group in in_groups(costs, 9.4, 2, 1)] == [10, 10]
    assert len(in_groups(costs, 9.4, 8, 1)) == 8
    assert len(in_groups(costs, 9.4, 2, 4)) == 1  # two kernels a GPU: more groups are more starts
    assert len(in_groups(costs, 9.4, 2, 3)) == 2  # else one GPU would be at two kernels, the other at one
    assert in_groups({"long": 60.0, "a": 1.0, "b": 1.0}, 1.0, 2, 1)[0] == ("long",)


@pytest.mark.slow
def test_two_gpus_share_kernels_and_no_verdict_compares_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu_first(tmp_path, monkeypatch)
    kernels = ["one", "two", "three"]
    did = tmp_path / "did"
    gpu = FakeGpu(dict.fromkeys(kernels, 1.5), dict.fromkeys(kernels, 0.5), did=did)
    jobs = make_jobs(tmp_path, kernels, gpu)
    notes = Notes()
    with workers_on(list(gpus(2))) as place:
        outcomes = measure_all(jobs, notes, place=place)
    assert [(one.kernel, one.exit_code) for one in outcomes] == [(name, 0) for name in kernels]
    assert_whole(tmp_path, jobs)
    rows = [line.split("\t") for line in did.read_text().splitlines()]
    by_gpu = defaultdict(list)
    for uuid, _, began, ended in rows:
        by_gpu[uuid].append((float(began), float(ended)))
    assert set(by_gpu) == {"GPU-fake-0", "GPU-fake-1"}
    for spans in by_gpu.values():  # one after another on each
        assert all(end <= begin for (_, end), (begin, _) in zip(sorted(spans), sorted(spans)[1:], strict=False))
    store = Store(tmp_path / "reports")
    for name in kernels:
        first, second = (store.runs(name, version)[0] for version in ("v0_naive", "v1_shared"))
        for workload in ("w0", "w1"):
            assert first.run.gpu_of(workload) == second.run.gpu_of(workload)
            assert first.run.gpu_of(workload) in {hashed("GPU-fake-0"), hashed("GPU-fake-1")}
            assert diff_runs(first, second, DiffOptions(workload)).verdict.verdict in ("faster", "slower", "same")
    assert any("GPU 0: " in line and "GPU 1: " in line for line in notes.lines)
    assert {note for note in notes.notes if "launched no kernel" not in note} == set()
    took = store.runs("one", "v0_naive")[0].run.took_s
    assert took["bench w0"] >= 3.0
    assert took.keys() == {"bench w0", "bench w1", "ncu"}


@pytest.mark.alone
def test_eight_gpus_are_kept_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the units take in sleep alone, over eight times the span from the first to the last: at least 0.85.

    How long each takes is known from a run before, in which everything was ten times as fast.
    """
    fake_ncu_first(tmp_path, monkeypatch)
    kernels = [f"k{number}" for number in range(16)]
    bench_s = {name: 1.0 + number * 0.15 for number, name in enumerate(kernels)}
    ncu_s = {name: 6.5 - number * 0.3 for number, name in enumerate(kernels)}
    calls = 4  # two versions on two workloads
    did = tmp_path / "did"
    quick = FakeGpu({k: s / 10 for k, s in bench_s.items()}, {k: s / 10 for k, s in ncu_s.items()})
    jobs = make_jobs(tmp_path, kernels, quick)
    with workers_on(list(gpus(8))) as place:
        measure_all(jobs, Notes(), place=place)
        began = time.monotonic()
        outcomes = measure_all(again(jobs, FakeGpu(bench_s, ncu_s, did=did)), Notes(), place=place)
        whole = time.monotonic() - began
    assert {one.exit_code for one in outcomes} == {0}
    assert len(Store(tmp_path / "reports").runs()) == 2 * len(kernels) * 2
    rows = [line.split("\t") for line in did.read_text().splitlines()]
    span = max(float(row[3]) for row in rows) - min(float(row[2]) for row in rows)
    slept = calls * sum(bench_s.values()) + sum(ncu_s.values())
    efficiency = slept / 8 / span
    assert efficiency >= 0.85, f"slept {slept:.1f} s, span {span:.1f} s of {whole:.1f} s: efficiency {efficiency:.2f}"


STUCK = """
import sys
from pathlib import Path

import fakes.fake_gpu as fake
from fakes.fake_gpu import FakeGpu, gpus
from pipeline.measured import Notes
from pipeline.shared_out import make_jobs
from ncu_assist.pipeline import gpu_workers
from ncu_assist.pipeline.gpu_workers import workers_on
from ncu_assist.pipeline.measuring import measure_all

if __name__ == "__main__":
    root = Path(sys.argv[1])
    kernels = ["one", "two"]
    gpu = FakeGpu(dict.fromkeys(kernels, 0.1), program=(sys.executable, str(root / "child.py")))
    jobs = make_jobs(root, kernels, gpu)
    with workers_on(list(gpus(2))) as place:
        measure_all(jobs, Notes(), place=place)
"""
CHILD = """
import os, signal, time
from pathlib import Path

signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a program may
Path(__file__).with_name(f"pid-{os.getpid()}").touch()
time.sleep(1000)
"""


@pytest.mark.slow
def test_ctrl_c_ends_the_children_of_all_workers(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(STUCK)
    (tmp_path / "child.py").write_text(CHILD)
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    argv = [sys.executable, str(tmp_path / "main.py"), str(tmp_path)]
    main = subprocess.Popen(argv, env=env, start_new_session=True, stderr=subprocess.PIPE, text=True)
    assert soon(lambda: len(list(tmp_path.glob("pid-*"))) == 2)
    os.killpg(main.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    assert "KeyboardInterrupt" in main.communicate(timeout=CEILING_S)[1]
    assert all(has_ended(int(path.name.removeprefix("pid-"))) for path in tmp_path.glob("pid-*"))


@pytest.mark.slow
def test_spread_times_the_same_pair_on_every_gpu(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_jobs(tmp_path, ["one"], FakeGpu())
    measure_here(monkeypatch, tmp_path)
    monkeypatch.setitem(EXECUTORS, "local", FakeGpu())
    monkeypatch.setattr("ncu_assist.pipeline.gpu_workers.query_gpus", lambda: ("1", tuple(HERE[:2])))
    answer = run("bench", "one", "v0", "v1", "--workload", "w0", "--gpus", "all", "--spread", "--json").json
    assert answer["gpus"] == ["GPU 0", "GPU 1"]
    base, other = answer["rows"]
    assert base["medians_ns"][0] == base["medians_ns"][1]  # both replay the same run
    assert (base["apart"], base["verdicts"]) == (0.0, [None, None])
    assert [one["verdict"] for one in other["verdicts"]] == ["faster", "faster"]
    runs = Store(tmp_path / "reports").runs("one", "v0_naive")
    assert {one.run.gpu_of("w0") for one in runs} == {hashed(gpu.uuid) for gpu in HERE[:2]}
    shown = run("bench", "one", "v0", "v1", "--workload", "w0", "--gpus", "0,1", "--spread").out
    assert "apart" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert run("bench", "one", "v0", "--gpus", "all", "--spread").code == 2
    assert run("bench", "one", "v0", "v1", "--gpus", "1", "--spread").code == 2
