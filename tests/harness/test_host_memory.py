"""Inputs in memory of the host: placed, guarded, inspected and timed, on a CPU; the real thing needs a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kernel_folder import PYTHON_VERSION, TOML, write_kernel
from requirements import needs

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS, build_versions  # noqa: E402
from ncu_assist.backends.python import import_file  # noqa: E402
from ncu_assist.executors.local import Local  # noqa: E402
from ncu_assist.harness import bench, facts, results  # noqa: E402
from ncu_assist.harness.check import allocate, check, guarded, same_bits  # noqa: E402
from ncu_assist.harness.client import Measured, measure  # noqa: E402
from ncu_assist.harness.facts import Placement  # noqa: E402
from ncu_assist.harness.problem import Problem, ReferenceProblem  # noqa: E402
from ncu_assist.harness.request import HarnessSettings, new_request  # noqa: E402
from ncu_assist.harness.stopwatch import HostStopwatch  # noqa: E402
from ncu_assist.pipeline.archiving import samples_of, timings_of  # noqa: E402
from ncu_assist.record import HostMemory, Toolchain  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

HOST = '[host]\ninputs = ["x"]\nbytes = "4 * n"\n\n'
HOSTED = TOML.replace("[outputs]", HOST + "[outputs]")
MODIFIES = "def add_one(x, y):\n    y.copy_(x + 1)\n    x.data[3] = 7.0\n"
PAST_THE_END = (
    "import torch\n\ndef add_one(x, y):\n    y.copy_(x + 1)\n    whole = torch.empty(0).set_(x.untyped_storage())\n"
    "    whole[x.storage_offset() + x.numel()] = 1.0\n"
)
CUDA_VERSION = """\
// adds one, reading pinned memory across the link
#include <cuda_runtime.h>
__global__ void add(const float* x, float* y, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}
extern "C" cudaError_t add_one(const float* x, float* y, long long n, cudaStream_t stream) {
    cudaPointerAttributes at;
    const cudaError_t status = cudaPointerGetAttributes(&at, x);
    if (status != cudaSuccess) return status;
    if (at.type != cudaMemoryTypeHost || at.devicePointer != x) return cudaErrorInvalidHostPointer;
    add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
"""
PINNED_PYTHON = """\
# adds one on the device to what is copied there
def add_one(x, y):
    assert x.is_pinned() and not x.is_cuda
    y.copy_(x, non_blocking=True)
    y.add_(1.0)
"""
CUDA_MODIFIES = CUDA_VERSION.replace("const float* x", "float* x").replace("y[i] = x[i] + 1", "y[i] = ++x[i]")
CUDA_PAST_THE_END = CUDA_VERSION.replace("const float* x", "float* x").replace("if (i < n)", "x[n] = 1; if (i < n)")


def _problem(root: Path, sources: dict[str, str] | None = None) -> Problem:
    kernel = read_kernel(write_kernel(root, sources, HOSTED))
    return Problem(kernel, kernel.select_workloads("odd")[0], import_file(kernel.reference), "cpu")


def _measured(root: Path, sources: dict[str, str], settings: HarnessSettings) -> Measured:
    kernel = read_kernel(write_kernel(root, sources, HOSTED))
    outcomes = build_versions(kernel, kernel.versions, root / "work")
    assert {v: o.log for v, o in outcomes.items() if o.artifact is None} == {}
    request = new_request(kernel, outcomes, kernel.select_workloads("all"), settings, root / "work")
    return measure(request, Local(root / "locks"), lambda event: None, 60.0)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (PYTHON_VERSION, ""),
        (MODIFIES, "input 'x' was modified: 1 elements, first at [3]"),
        (PAST_THE_END, "wrote 4 bytes past the end of 'x', first at byte 0 behind it"),
    ],
)
def test_a_host_input_is_checked_like_any_other(source: str, reason: str, tmp_path: Path) -> None:
    problem = _problem(tmp_path, {"v0_torch.py": source})
    call = BACKENDS["python"].load(problem.kernel.versions[0].path, problem.kernel)
    assert check(call, problem, (1, 2, 3), 1).reason == reason


def test_it_is_placed_in_pinned_memory_where_there_is_a_gpu(tmp_path: Path) -> None:
    problem = _problem(tmp_path)
    asked: list[Any] = []

    def empty(like: Any) -> Any:
        asked.append(tuple(like.shape))
        return torch.full_like(like, float("nan"))

    placement = Placement(empty)
    source = torch.arange(10.0)[::2]
    placed = placement.place("x", source, "cuda")
    assert torch.equal(placed, source)
    assert placed.is_contiguous()
    assert asked == [(5,)]
    noted = placement.noted(HostMemory((), False, gpu_node=1, pcie_generation=5, pcie_lanes=16))
    assert noted is not None
    assert (noted.inputs, noted.pinned, noted.gpu_node, noted.pcie_lanes) == (("x",), True, 1, 16)
    placed = replace(problem, placement=placement).inputs(1)
    assert asked == [(5,)], "on a CPU nothing is pinned"
    assert placement.noted(noted).pinned is False


def test_nothing_is_noted_where_nothing_was_placed() -> None:
    assert Placement().noted(HostMemory((), False, gpu_node=1)) is None


def test_guard_zones_are_pinned_with_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pinned(torch.Tensor):
        def is_pinned(self) -> bool:  # type: ignore[override]
            return True

    asked: list[bool] = []
    real = torch.empty

    def empty(*size: Any, pin_memory: bool = False, **how: Any) -> Any:
        asked.append(pin_memory)
        return real(*size, **how)

    monkeypatch.setattr(torch, "empty", empty)
    for like in (torch.zeros(5).as_subclass(Pinned), torch.zeros(5)):
        assert guarded("x", like, 0xFF).guard_fault() == ""
    assert asked == [True, False]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.int64])
@pytest.mark.parametrize("size", [0, 1, 3, 8, 1000])
def test_bits_are_compared_in_the_widest_integers(dtype: Any, size: int) -> None:
    whole = torch.arange(size + 1).to(dtype)
    for start in (0, 1):
        one = whole[start : start + size]
        assert same_bits(one, one.clone())
        for place in range(0, size, 7):
            other = one.clone()
            other[place] += 1
            assert not same_bits(one, other)
    nan = torch.full((size,), float("nan"))
    assert same_bits(nan, nan.clone())


def test_a_host_input_that_is_no_tensor_is_the_references_fault(tmp_path: Path) -> None:
    problem = _problem(tmp_path)
    problem.kernel.reference.write_text("def make_inputs(w, s, d):\n    return (7,)\n")
    with pytest.raises(ReferenceProblem, match="host input 'x' is not a tensor"):
        replace(problem, module=import_file(problem.kernel.reference)).inputs(1)


def test_the_copy_engine_is_timed_beside_and_no_device_copy(tmp_path: Path) -> None:
    problem = _problem(tmp_path)
    inputs = problem.inputs(1)
    runs = bench.round_calls_on({}, problem, inputs, allocate(problem, inputs).results, HostStopwatch())
    assert set(runs) == {"(empty)", "(link)"}
    runs["(link)"]()


@pytest.mark.slow
@needs("torch")
def test_a_whole_measurement_notes_where_inputs_lay(tmp_path: Path) -> None:
    settings = HarnessSettings(stages=("check", "bench"), rounds=4, device="cpu")
    measured = _measured(tmp_path, {"v0_torch.py": PYTHON_VERSION}, settings)
    assert measured.failures == {}
    assert measured.host_memory is not None
    assert (measured.host_memory.inputs, measured.host_memory.pinned) == (("x",), False)
    assert measured.samples is not None
    assert set(measured.samples.version) == {"v0_torch", "(empty)", "(link)"}
    for timing in timings_of(samples_of(measured.samples, "v0_torch"), "v0_torch"):
        assert timing.copy_ns is None
        assert timing.link_ns is not None
        assert timing.link_ns > 0


def test_what_an_earlier_child_noted_stays(tmp_path: Path) -> None:
    memory = HostMemory(("x",), True, (1,), 0, 1, 5, 16)
    results.write_facts(tmp_path, results.MeasurementFacts(Toolchain(), host_memory=memory))
    results.write_facts(tmp_path, results.MeasurementFacts(Toolchain()))
    found = results.read_facts(tmp_path)
    assert found is not None
    assert found.host_memory == memory


def _nodes(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).mkdir(parents=True)
    return folder


def test_pages_of_a_machine_with_one_node_lie_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "NODES", _nodes(tmp_path, "node3", "power"))
    assert facts.nodes_of_pages(0, 0) == (3,)
    assert facts.node_of_cpu() is not None


def test_of_several_nodes_linux_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = {int(path.name[4:]) for path in facts.NODES.glob("node[0-9]*")} or {0}
    monkeypatch.setattr(facts, "NODES", _nodes(tmp_path, "node0", "node1"))
    tensor = torch.ones(1 << 20, dtype=torch.uint8)
    assert set(facts.nodes_of_pages(tensor.data_ptr(), tensor.numel())) <= real
    assert facts.nodes_of_pages(tensor.data_ptr(), 0) == ()
    monkeypatch.setattr(facts, "MOVE_PAGES", {})
    assert facts.nodes_of_pages(tensor.data_ptr(), tensor.numel()) == ()


@pytest.mark.parametrize(("written", "node"), [("1\n", 1), ("-1\n", None), ("", None)])
def test_the_node_of_a_device(written: str, node: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "PCI", tmp_path)
    address = "0000:17:00.0"
    (tmp_path / address).mkdir()
    (tmp_path / address / "numa_node").write_text(written)
    assert facts.node_of_device(address) == node
    assert facts.node_of_device("0000:18:00.0") is None
    assert facts.node_of_device(None) is None


@pytest.mark.gpu
def test_versions_read_pinned_memory_and_spoil_it_unseen_no_more(tmp_path: Path) -> None:
    sources = {
        "v0_pinned.py": PINNED_PYTHON,
        "v1_reads.cu": CUDA_VERSION,
        "v2_modifies.cu": CUDA_MODIFIES,
        "v3_past_the_end.cu": CUDA_PAST_THE_END,
    }
    measured = _measured(tmp_path, sources, HarnessSettings(stages=("check", "bench"), rounds=10))
    assert measured.failures == {}
    reasons = {version: checks[0].reason for version, checks in measured.checks.items()}
    assert reasons["v0_pinned"] == reasons["v1_reads"] == ""
    assert reasons["v2_modifies"].startswith("input 'x' was modified")
    assert reasons["v3_past_the_end"] == "wrote 4 bytes past the end of 'x', first at byte 0 behind it"
    assert measured.host_memory is not None
    assert measured.host_memory.pinned
    assert measured.samples is not None
    assert set(measured.samples.version) == {"v0_pinned", "v1_reads", "(empty)", "(link)"}
    assert measured.samples.groupby("version").late.mean().max() <= 0.2  # a busy host may be late now and then
