"""Calling an ``extern "C"`` launcher: order and width of arguments, errors; with a C function in place of a GPU's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kernel_folder import write_kernel
from requirements import needs

from ncu_assist import process
from ncu_assist.backends.cuda import load_launcher, unfit_launcher
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import read_kernel

SOURCE = """
extern "C" int add_one(const float* x, float* y, long long n, void* stream) {
    if (stream) return 1;
    for (long long i = 0; i < n; ++i) y[i] = x[i] + 1;
    return n == 3 ? 700 : 0;
}
"""


def _library(folder: Path, source: str = SOURCE) -> tuple[Path, Kernel]:
    (folder / "add.cpp").write_text(source)
    library = folder / "add.so"
    completed = process.run(["g++", "-shared", "-fPIC", "-o", str(library), str(folder / "add.cpp")])
    assert completed.exit_code == 0, completed.stderr
    return library, read_kernel(write_kernel(folder))


@needs("g++", "torch")
def test_pointers_and_integers_in_the_order_of_arguments(tmp_path: Path) -> None:
    import torch

    library, kernel = _library(tmp_path)
    call, x, y = load_launcher(library, kernel), torch.arange(5.0), torch.zeros(5)
    call((x,), (y,), {"n": 4})
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0, 0.0]


@needs("g++", "torch")
def test_an_input_that_is_a_number_goes_as_an_integer(tmp_path: Path) -> None:
    import torch

    sums = 'extern "C" int add_one(long long x, long long* y, long long n, void*) { return *y = x + n, 0; }'
    library, kernel = _library(tmp_path, sums)
    call, y = load_launcher(library, replace(kernel, numbers=("x",))), torch.zeros(1, dtype=torch.int64)
    for seed in (-3, (1 << 62) + 5):
        call((seed,), (y,), {"n": 4})
        assert y.tolist() == [seed + 4]


@needs("g++", "torch")
def test_a_returned_error_is_raised(tmp_path: Path) -> None:
    import torch

    library, kernel = _library(tmp_path)
    call, x = load_launcher(library, kernel), torch.zeros(3)
    with pytest.raises(RuntimeError, match=r"add_one returned .*700"):
        call((x,), (x,), {"n": 3})


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        ("const float* x, float* y, long long n", ""),
        ("const float *__restrict__ x, float *y, int n /* elements, at most 2^31 */", ""),
        ("Vector x, Vector y, Count n", ""),
        ("const float* x, float* y, double n", "takes double n, and gets a 64-bit integer there"),
        ("const float* x, float* y", "takes 3 arguments, but kernel.toml has x, y, n and the stream"),
        ("const float* x, long long n, float* y", "takes long long n where kernel.toml has the pointer y"),
        ("const float* x, float* y, long long* n", "takes long long* n where kernel.toml has the integer n"),
    ],
)
def test_a_launcher_that_takes_something_else_is_told(tmp_path: Path, taken: str, words: str) -> None:
    text = f'extern "C" cudaError_t add_one({taken},\n    cudaStream_t stream) {{ return cudaGetLastError(); }}'
    said = unfit_launcher(text, read_kernel(write_kernel(tmp_path)))
    assert words in said
    assert bool(said) == bool(words)
