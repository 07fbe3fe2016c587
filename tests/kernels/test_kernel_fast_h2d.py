"""fast_h2d: the reference, the versions in torch, and the CUDA versions' own code run on the host."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from emulation import KERNELS, compiled_for_host, load_for_host, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS, build_versions  # noqa: E402
from ncu_assist.backends.base import Call  # noqa: E402
from ncu_assist.backends.cuda import load_launcher  # noqa: E402
from ncu_assist.executors.local import Local  # noqa: E402
from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.harness.client import Measured, measure  # noqa: E402
from ncu_assist.harness.request import HarnessSettings, new_request  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "fast_h2d")
NAMES = ("tokens", "rows", "token_bytes", "grid", "block")
SEEDS = (1, 2, 3)
USUAL = (100, 137, 656, 3, 64)
SHAPES = (
    USUAL,
    (0, 5, 656, 3, 64),
    (1, 1, 656, 3, 64),
    (33, 40, 656, 1, 32),
    (50, 50, 16, 2, 96),
    (41, 60, 1040, 2, 64),  # more than 64 packs of 16 bytes
    (19, 30, 1648, 2, 64),
)
BULK_STUBS = """
static unsigned char room[256 * 1024];
#define cudaGetDevice(device) cudaSuccess
#define cudaDeviceGetAttribute(value, name, device) (*(value) = 9, cudaSuccess)
#define cudaFuncSetAttribute(...) cudaSuccess
"""
# A copy arrives at once. What breaks the rules of real ones spoils the output: a slot overwritten before its store has
# read it, a wait for a fetch that never comes, an address that no bulk copy takes, a slot outside of the room.
BULK_COPY = """
#define HAS_BULK_COPY 1
static bool unread, broken;
inline void expect(bool right) { broken = broken || !right; }
inline void make_barrier(unsigned long long* barrier) { *barrier = 0; unread = broken = false; }
inline void fetch(void* shared, const void* global, unsigned bytes, unsigned long long* barrier) {
    expect(!unread);
    expect((reinterpret_cast<size_t>(shared) | reinterpret_cast<size_t>(global) | bytes) % 16 == 0);
    expect(static_cast<unsigned char*>(shared) + bytes <= room + ROOM);
    std::memcpy(shared, global, bytes);
    ++*barrier;
}
inline void await(unsigned long long* barrier, unsigned parity) {
    expect(*barrier > 0 && (*barrier - 1) % 2 == parity);
}
inline void store(void* global, const void* shared, unsigned bytes) {
    std::memcpy(global, shared, bytes);
    if (broken) *static_cast<unsigned char*>(global) ^= 255;
    unread = true;
}
inline void await_stores_read() { unread = false; }
inline void await_stores() { unread = false; }
"""
# A driver that does at once what it is asked for, and refuses what the real one refuses.
DRIVER = """
#include <cstdlib>
static void* allocated(size_t size) { return std::malloc(size); }
#define cudaHostAlloc(pointer, size, flags) (*(pointer) = allocated(size), cudaSuccess)
#define cudaFreeHost(pointer) (std::free(pointer), cudaSuccess)
#define cudaStreamSynchronize(stream) cudaSuccess
#define cudaLaunchHostFunc(stream, function, data) (function(data), cudaSuccess)
#define cudaMemcpyAsync(to, from, size, kind, stream) (std::memcpy(to, from, size), cudaSuccess)
#define cudaStreamCreateWithFlags(stream, flags) (*(stream) = reinterpret_cast<cudaStream_t>(16), cudaSuccess)
#define cudaEventCreateWithFlags(event, flags) cudaSuccess
#define cudaEventRecord(event, stream) cudaSuccess
#define cudaStreamWaitEvent(stream, event, flags) cudaSuccess
#define cudaMemcpyBatchAsync copy_batch
inline cudaError_t copy_batch(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                              cudaMemcpyAttributes* how, size_t* first, size_t kinds, cudaStream_t stream) {
    const bool ordered = kinds == 1 && *first == 0 && how->srcAccessOrder == cudaMemcpySrcAccessOrderStream;
    if (stream == nullptr || !ordered) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) std::memcpy(to[i], from[i], sizes[i]);
    return cudaSuccess;
}
"""
WITHOUT_LAUNCH = ("v7", "v8")
FAULTS = {
    "await_stores_read();": "",
    "parity ^= 1;": "",
    "dst[mine]": "dst[i]",
    "src[next]": "src[mine]",
    "table + source * width": "table + source * width + 8",
    "(blockIdx.x + 1) / BLOCKS": "(blockIdx.x + 1) / BLOCKS - 1",
}


def _problem(shape: tuple[int, ...]) -> Any:
    return problem(KERNEL, "uint8", **dict(zip(NAMES, shape, strict=True)))


def _named(version: Version) -> str:
    return version.short


def _load(version: Version, folder: Path, fault: str = "", **constants: int) -> Call:
    if version.short != "v10":
        return load_for_host(KERNEL, version, folder, **constants)
    code = version.path.read_text(encoding="utf-8")
    code = code.replace('#include "bulk_copy.cuh"\n', "").replace(
        "extern __shared__ __align__(128) unsigned char room[];", ""
    )
    code = code.replace(fault, FAULTS[fault]) if fault else code
    code = code.replace(", ROOM, stream>>>", ", 0, stream>>>")
    code = re.sub(r"(constexpr long long ROOM = .*\n)", lambda found: found[1] + BULK_STUBS + BULK_COPY, code)
    written = folder / version.path.name
    written.write_text(code, encoding="utf-8")
    return load_for_host(KERNEL, replace(version, path=written), folder, **constants)


def _load_copies(short: str, folder: Path, **constants: int) -> Call:
    """Return a version that launches no kernel, on a driver made up here."""
    version = KERNEL.version(short)
    code = version.path.read_text(encoding="utf-8").replace("#include <cuda_runtime.h>", "")
    code = code.replace("std::thread::hardware_concurrency()", "16u")  # more than there are here
    for name, value in constants.items():
        code = re.sub(rf"(constexpr [\w ]+? {name} = )\d+", rf"\g<1>{value}", code)
    assert "<<<" not in code
    includes = "".join(f"{line}\n" for line in code.splitlines() if line.startswith("#include"))
    return load_launcher(compiled_for_host(includes + DRIVER + code, folder / version.name, (version.path,)), KERNEL)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_reference_places_every_token(shape: tuple[int, ...]) -> None:
    one = _problem(shape)
    table, src, dst, src_host, dst_host = inputs = one.inputs(5)
    (expected,) = one.expected(inputs)
    tokens = shape[0]
    assert torch.equal(src, src_host)
    assert torch.equal(dst, dst_host)
    assert len(set(src.tolist())) == tokens
    assert sorted(dst.tolist()) == list(range(tokens))
    for i in range(tokens):
        assert torch.equal(expected[dst[i]], table[src[i]])


def test_sources_and_destinations_change_with_the_seed() -> None:
    first, second = _problem(USUAL).inputs(1), _problem(USUAL).inputs(2)
    assert all(not torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_what_crosses_the_link_is_what_is_gathered() -> None:
    workload = KERNEL.default_workload
    assert KERNEL.host_bytes(workload) == 262_144 * 656
    assert KERNEL.algorithmic_bytes(workload) == 2 * 262_144 * 656 + 16 * 262_144
    assert KERNEL.host_inputs[0] == "table"


def test_a_single_wrong_byte_is_found() -> None:
    def call(inputs: tuple[Any, ...], outputs: tuple[Any, ...], integers: Any) -> None:
        table, src, dst = inputs[:3]
        outputs[0][dst] = table[src]
        outputs[0][57, 655] ^= 1

    assert "1 of 65600 elements are wrong, first at [57, 655]" in check(call, _problem(USUAL), SEEDS, 1).reason


def test_torch_indexing() -> None:
    call = BACKENDS["python"].load(KERNEL.version("v0").path, KERNEL)
    for shape in SHAPES:
        assert check(call, _problem(shape), SEEDS, 1).reason == "", shape


@pytest.mark.slow
@pytest.mark.parametrize("version", versions("fast_h2d"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    call = _load(version, tmp_path)
    for shape in SHAPES:
        assert check(call, _problem(shape), SEEDS, 1).reason == "", shape


@pytest.mark.slow
@pytest.mark.parametrize("version", WITHOUT_LAUNCH)
def test_a_version_of_copies_alone(version: str, tmp_path: Path) -> None:
    call = _load_copies(version, tmp_path)
    for shape in SHAPES:
        assert check(call, _problem(shape), SEEDS, 1).reason == "", shape
    one = _problem(USUAL)
    inputs, outputs = one.inputs(1), one.outputs()
    for changed in ({"tokens": -1}, {"token_bytes": -16}):
        with pytest.raises(RuntimeError, match="returned"):
            call(inputs, outputs, {**one.workload.integers, **changed})


@pytest.mark.parametrize("tokens", [1, 2, 3, 15, 16, 17, 100, 1000])
def test_every_token_has_a_thread_that_gathers_it(tokens: int, tmp_path: Path) -> None:
    call = _load_copies("v7", tmp_path, FEW=2)
    assert check(call, _problem((tokens, 1000, 16, 1, 32)), SEEDS, 0).reason == ""


def test_bytes_of_any_width(tmp_path: Path) -> None:
    calls = [_load(KERNEL.version("v1"), tmp_path), *(_load_copies(one, tmp_path) for one in WITHOUT_LAUNCH)]
    for width in (1, 7, 655):
        for call in calls:
            assert check(call, _problem((9, 20, width, 1, 32)), SEEDS, 1).reason == "", width


@pytest.mark.parametrize("tokens", [1, 7, 8, 9, 1279, 1280, 1281, 2560, 2561, 5123])
def test_slots_turn_until_the_tokens_end(tokens: int, tmp_path: Path) -> None:
    """Eight blocks of 160 threads have 1280 first slots and as many second ones."""
    call = _load(KERNEL.version("v10"), tmp_path)
    assert check(call, _problem((tokens, 6000, 32, 1, 32)), (1, 2), 0).reason == ""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_among_the_slots_is_found(fault: str, tmp_path: Path) -> None:
    version = KERNEL.version("v10")
    assert fault in version.path.read_text(encoding="utf-8")
    call = _load(version, tmp_path, fault, BLOCKS=2)
    assert "elements are wrong" in check(call, _problem((1500, 2000, 32, 1, 32)), (1,), 0).reason


@pytest.mark.parametrize(("blocks", "slots"), [(1, 2), (3, 2), (1, 1), (2, 3), (16, 2)])
def test_bulk_copies_on_other_sms_and_slots(blocks: int, slots: int, tmp_path: Path) -> None:
    call = _load(KERNEL.version("v10"), tmp_path, BLOCKS=blocks, SLOTS=slots)
    assert check(call, _problem((1000, 1000, 656, 1, 32)), (1, 2), 0).reason == ""


@pytest.mark.parametrize("tokens", [1, 63, 64, 65, 191, 192, 193, 400])
@pytest.mark.parametrize(("blocks", "at_once"), [(2, 3), (1, 1), (3, 2)])
def test_warps_turn_until_the_tokens_end(tokens: int, blocks: int, at_once: int, tmp_path: Path) -> None:
    """Two blocks of 32 warps have 192 tokens under way, three each."""
    call = _load(KERNEL.version("v11"), tmp_path, BLOCKS=blocks, TOKENS=at_once)
    assert check(call, _problem((tokens, 500, 144, 1, 32)), (1, 2), 0).reason == ""


@pytest.mark.parametrize("version", ["v6", "v11"])
def test_lanes_stand_on_lines_wherever_the_table_starts(version: str, tmp_path: Path) -> None:
    call = _load(KERNEL.version(version), tmp_path)
    one = _problem(USUAL)
    table, *indices = one.inputs(1)
    for shift in range(0, 128, 16):
        moved = torch.cat((torch.zeros(shift, dtype=torch.uint8), table.flatten()))[shift:].view(table.shape)
        out = torch.zeros(USUAL[0], USUAL[2], dtype=torch.uint8)
        call((moved, *indices), (out,), one.workload.integers)
        assert torch.equal(out, one.expected((table, *indices))[0]), shift


@pytest.mark.parametrize("version", versions("fast_h2d"), ids=_named)
def test_what_a_version_cannot_serve_is_refused(version: Version, tmp_path: Path) -> None:
    call = _load(version, tmp_path)
    one = _problem(USUAL)
    inputs, outputs = one.inputs(1), one.outputs()
    bad = [{"tokens": -1}]
    if version.short != "v1":
        bad.append({"token_bytes": 655})
    if version.short in ("v5", "v6"):
        bad += [{"grid": 0}, {"block": 0}, {"block": 48}, {"block": 2048}]
    if version.short == "v10":
        bad.append({"token_bytes": 3520})
    if version.short == "v11":
        bad += [{"tokens": 1 << 31}, {"rows": 1 << 31}]
    for changed in bad:
        with pytest.raises(RuntimeError, match="returned"):
            call(inputs, outputs, {**one.workload.integers, **changed})
    if version.short != "v1":
        with pytest.raises(RuntimeError, match=r"misaligned|716"):
            call((inputs[0].flatten()[1:], *inputs[1:]), outputs, one.workload.integers)


def _on_gpu(root: Path, shapes: list[tuple[int, ...]], versions: tuple[str, ...] = ()) -> Measured:
    """Check versions on workloads that kernel.toml does not have."""
    folder = shutil.copytree(KERNEL.folder, root / "kernels" / "fast_h2d")
    with (folder / "kernel.toml").open("a") as file:
        for number, shape in enumerate(shapes):
            file.write(f'\n[workloads.made{number}]\ndtype = "uint8"\n')
            file.writelines(f"{name} = {value}\n" for name, value in zip(NAMES, shape, strict=True))
    kernel = read_kernel(folder)
    outcomes = build_versions(kernel, kernel.select_versions(versions), root)
    assert {v: o.log for v, o in outcomes.items() if o.artifact is None} == {}
    made = tuple(w for w in kernel.workloads if w.name.startswith("made"))
    request = new_request(kernel, outcomes, made, HarnessSettings(stages=("check",), trials=3), root)
    measured = measure(request, Local(), lambda event: None, 300.0)
    assert measured.failures == {}
    wrong = {(v, c.workload): c.reason for v, checks in measured.checks.items() for c in checks if not c.passed}
    assert wrong == {}
    assert all(len(checks) == len(made) for checks in measured.checks.values())
    assert len(measured.checks) == len(outcomes)
    return measured


@pytest.mark.gpu
@pytest.mark.timeout(1200)
def test_sizes_that_no_tile_divides_on_a_gpu(tmp_path: Path) -> None:
    tokens = [(n, 12_000, 656, 32, 256) for n in (1, 31, 321, 10_007)]
    widths = [(1000, 1000, size, 7, 96) for size in (16, 1040, 1648)]
    measured = _on_gpu(tmp_path, [*tokens, *widths])
    assert measured.host_memory is not None
    assert measured.host_memory.pinned


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_any_limited_grid_on_a_gpu(tmp_path: Path) -> None:
    grids = [(1, 32), (1, 1024), (2, 1024), (4, 1024), (16, 256), (132, 512), (4096, 256)]
    _on_gpu(tmp_path, [(20_000, 30_000, 656, *grid) for grid in grids], ("v5", "v6"))


@pytest.mark.gpu
@pytest.mark.timeout(1200)
def test_a_table_beyond_two_gigabytes_on_a_gpu(tmp_path: Path) -> None:
    shape = (5000, 3_400_000, 656, 32, 256)
    assert shape[1] * shape[2] > 1 << 31
    _on_gpu(tmp_path, [shape], ("v4", "v6", "v9", "v10", "v11"))
