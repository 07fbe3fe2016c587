"""Tensor cores, ldmatrix and cp.async as the host emulates them: what they give, and what they refuse."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from emulation import TENSOR, compiled_for_host

SIDE, WIDE = 16, 24  # elements; a row of a tile is 48 bytes, a multiple of 16
CODE = f"""
#include "{TENSOR}"
constexpr int WIDE = {WIDE};
using bf16 = __nv_bfloat16;

// c = a * b, 16 x 16: b either as its columns [n][k], or as its rows [k][n], which ldmatrix transposes.
__global__ void product(const bf16* a, const bf16* b, float* c, bool by_rows) {{
    bf16* tiles = reinterpret_cast<bf16*>(dynamic_shared());
    const int lane = threadIdx.x;
    for (int i = lane; i < 64; i += 32) {{
        const int row = i / 2 % 16, col = i % 2 * 8;
        copy_async_16(tiles + i / 32 * 16 * WIDE + row * WIDE + col, (i < 32 ? a : b) + row * 16 + col);
    }}
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    const bf16* other = tiles + 16 * WIDE;
    unsigned x[4], y[4];
    ldmatrix_x4(x, tiles + lane % 16 * WIDE + lane / 16 * 8);
    if (by_rows) ldmatrix_x4_trans(y, other + lane % 16 * WIDE + lane / 16 * 8);
    else ldmatrix_x4(y, other + (lane % 8 + lane / 16 * 8) * WIDE + lane / 8 % 2 * 8);
    for (int half = 0; half < 2; ++half) {{
        float sums[4] = {{}};
        const unsigned pair[2] = {{y[2 * half], y[2 * half + 1]}};
        mma_m16n8k16(sums, x, pair);
        for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 16 + half * 8 + lane % 4 * 2 + i % 2] = sums[i];
    }}
}}

// Three groups of one copy each: what can be seen of them after waiting for all but two, before and after a barrier.
__global__ void copies(const unsigned* from, unsigned* seen) {{
    unsigned* shared = reinterpret_cast<unsigned*>(dynamic_shared());
    const int lane = threadIdx.x;
    for (int group = 0; group < 3; ++group) {{
        copy_async_16(shared + (group * 32 + lane) * 4, from + lane * 4, group != 1 || lane != 5);
        commit_copies();
    }}
    wait_for_copies<2>();
    seen[lane] = shared[lane * 4];
    __syncthreads();
    seen[32 + lane] = shared[(31 - lane) * 4];
    seen[64 + lane] = shared[(32 + lane) * 4];
    wait_for_copies<1>();
    __syncthreads();
    seen[96 + lane] = shared[(32 + lane) * 4];
    seen[128 + lane] = shared[(64 + lane) * 4];
}}

extern "C" int run_product(const bf16* a, const bf16* b, float* c, int by_rows, int bytes) {{
    emulated_with_memory(product, 1, 32, bytes)(a, b, c, by_rows);
    return cudaGetLastError();
}}
extern "C" int run_copies(const unsigned* from, unsigned* seen) {{
    emulated_with_memory(copies, 1, 32, 3 * 32 * 16)(from, seen);
    return cudaGetLastError();
}}
"""
BYTES = 2 * SIDE * WIDE * 2
NAN = 0xFFFFFFFF


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ctypes.CDLL(str(compiled_for_host(CODE, tmp_path_factory.mktemp("tensor") / "tensor", (TENSOR,))))


def _aligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that starts on 16 bytes, as copies of 16 bytes want it."""
    room = np.zeros(values.nbytes + 16, np.uint8)
    start = -room.ctypes.data % 16
    there: np.ndarray[Any, Any] = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    there[...] = values
    return there


def _bfloat16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bits of small integers, which bfloat16 has exactly."""
    return _aligned((values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))


@pytest.mark.slow
@pytest.mark.parametrize("by_rows", [False, True])
def test_a_product_through_fragments(library: Any, by_rows: bool) -> None:
    drawn = np.random.default_rng(1)
    a, b = drawn.integers(-99, 99, (2, SIDE, SIDE))
    c = np.zeros((SIDE, SIDE), np.float32)
    first, second = _bfloat16(a), _bfloat16(b if by_rows else np.ascontiguousarray(b.T))
    arguments = (first.ctypes.data, second.ctypes.data, c.ctypes.data)
    assert library.run_product(*(ctypes.c_void_p(x) for x in arguments), int(by_rows), BYTES) == 0
    assert np.array_equal(c, (a @ b).astype(np.float32))


def test_what_lies_behind_dynamic_shared_memory_is_an_error(library: Any) -> None:
    tiles = _bfloat16(np.ones((SIDE, SIDE)))
    c = np.zeros((SIDE, SIDE), np.float32)
    arguments = [ctypes.c_void_p(x) for x in (tiles.ctypes.data, tiles.ctypes.data, c.ctypes.data)]
    assert library.run_product(*arguments, 0, BYTES) == 0
    assert library.run_product(*arguments, 0, BYTES // 2) != 0
    assert library.run_product(*arguments, 0, 49 << 10) != 0, "without leave"


def test_a_copy_is_seen_behind_its_wait_and_a_barrier(library: Any) -> None:
    source = _aligned(np.arange(128, dtype=np.uint32))
    seen = np.zeros(160, np.uint32)
    assert library.run_copies(ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(seen.ctypes.data)) == 0
    before, others, early, second, third = seen.reshape(5, 32).tolist()
    firsts = list(range(0, 128, 4))
    assert before == [NAN] * 32, "waited for, no barrier yet"
    assert others == firsts[::-1], "other threads' copies"
    assert early == [NAN] * 32, "not waited for"
    assert second == [0 if lane == 5 else 4 * lane for lane in range(32)], "zeros where it is not inside"
    assert third == [NAN] * 32
