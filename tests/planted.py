"""A kernel folder with planted faults, in Python for a CPU and in CUDA C for a GPU: y = x + 1."""

from __future__ import annotations

from pathlib import Path

from kernel_folder import write_kernel

HEAD = "import torch\n"
PYTHON = {
    "v0_right.py": "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n",
    "v1_wrong_tail.py": (
        "def add_one(x, y):\n    n = x.numel()\n    torch.add(x, 1.0, out=y)\n    y[n - n % 32 :] = 7.0\n"
    ),
    "v2_unwritten.py": "def add_one(x, y):\n    torch.add(x[:-3], 1.0, out=y[:-3])\n",
    "v3_modified_input.py": "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n    x[5] += 1e-3\n",
    "v4_race.py": (
        "CALLS = [0]\n\n\ndef add_one(x, y):\n    CALLS[0] += 1\n    torch.add(x, 1.0, out=y)\n"
        "    if CALLS[0] % 3 == 0:\n        y[17] = x[18]\n"
    ),
    "v5_past_end.py": (
        "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n"
        "    longer = y.as_strided((y.numel() + 2,), (1,))\n    longer[-2:] = 3.0\n"
    ),
    "v6_cached.py": (
        "KEPT = {}\n\n\ndef add_one(x, y):\n    key = (x.data_ptr(), x._version)\n"
        "    if key not in KEPT:\n        KEPT[key] = x + 1.0\n    y.copy_(KEPT[key])\n"
    ),
    "v7_nan.py": "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n    y[3] = float('nan')\n",
    "v8_before_start.py": (
        "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n"
        "    y.as_strided((1,), (1,), y.storage_offset() - 1)[0] = 3.0\n"
    ),
    "v9_raises.py": "def add_one(x, y):\n    raise ValueError('no luck')\n",
    "v10_kept_output.py": (
        "DONE = set()\n\n\ndef add_one(x, y):\n    if y.data_ptr() not in DONE:\n"
        "        torch.add(x, 1.0, out=y)\n    DONE.add(y.data_ptr())\n"
    ),
    "v11_accumulates.py": "def add_one(x, y):\n    y += x + 1.0\n",
    "v12_last_bits.py": (
        "CALLS = [0]\n\n\ndef add_one(x, y):\n    CALLS[0] += 1\n    torch.add(x, 1.0, out=y)\n"
        "    y *= 1.0 + (CALLS[0] % 2) * 1.2e-7\n"
    ),
    "v13_reads_past.py": (
        "def add_one(x, y):\n    torch.add(x, 1.0, out=y)\n"
        "    y[-1] += 0.0 * x.as_strided((x.numel() + 1,), (1,))[-1]\n"
    ),
}
EXPECTED = {
    "v0_right": "",
    "v1_wrong_tail": "elements are wrong, first at [992]: 7, expected",
    "v2_unwritten": "3 of 1000 elements were never written (or were read before they were written), first at [997]",
    "v3_modified_input": "input 'x' was modified: 1 elements, first at [5]",
    "v4_race": "results differ between identical calls",
    "v5_past_end": "wrote 8 bytes past the end of 'y', first at byte 0 behind it",
    "v6_cached": "a result of an earlier call came back",
    "v7_nan": "first at [3]: nan, expected",
    "v8_before_start": "wrote 4 bytes before the start of 'y'",
    "v10_kept_output": "were never written",
    "v11_accumulates": "1000 of 1000 elements",
    "v12_last_bits": "",
    "v13_reads_past": "first at [999]: nan",
}

LAUNCHER = """
#include <cuda_runtime.h>
{body}
extern "C" cudaError_t add_one(const float* x, float* y, long long n, cudaStream_t stream) {{
    {launch}
    return cudaGetLastError();
}}
"""
RIGHT = (
    "__global__ void add(const float* x, float* y, long long n) { long long i = blockIdx.x * 256 + threadIdx.x; %s }"
)
LAUNCH = "add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);"


def cuda(statement: str, launch: str = LAUNCH) -> str:
    """Return a version whose kernel does ``statement`` in each thread ``i``."""
    return LAUNCHER.format(body=RIGHT % statement, launch=launch)


CUDA = {
    "v0_right.cu": cuda("if (i < n) y[i] = x[i] + 1;"),
    "v1_wrong_tail.cu": cuda("if (i < n) y[i] = i < n / 32 * 32 ? x[i] + 1 : 7;"),
    "v2_unwritten.cu": cuda("if (i < n - 3) y[i] = x[i] + 1;"),
    "v3_modified_input.cu": cuda("if (i < n) { y[i] = x[i] + 1; if (i == 5) const_cast<float*>(x)[i] += 1e-3f; }"),
    # every thread adds to one slot without an atomic, and the sum, which is 1 when all arrive, is what is added
    "v4_race.cu": LAUNCHER.format(
        body=(
            "__device__ float shared_sum;\n"
            "__global__ void reset() { shared_sum = 0; }\n"
            "__global__ void gather(long long n) { volatile float* s = &shared_sum; *s = *s + 1.0f / n; }\n"
            "__global__ void add(const float* x, float* y, long long n) {"
            " long long i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = x[i] + shared_sum; }"
        ),
        launch=f"reset<<<1, 1, 0, stream>>>(); gather<<<(n + 31) / 32, 32, 0, stream>>>(n); {LAUNCH}",
    ),
    "v5_past_end.cu": cuda("if (i < n + 2) y[i] = i < n ? x[i] + 1 : 3;"),
    "v6_cached.cu": LAUNCHER.format(
        body=(
            "#include <map>\nstatic std::map<const float*, float*> kept;\n"
            "__global__ void add(const float* x, float* y, long long n) {"
            " long long i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = x[i] + 1; }"
        ),
        launch=(
            "float*& copy = kept[x]; if (!copy) { cudaMalloc(&copy, n * 4);"
            " add<<<(n + 255) / 256, 256, 0, stream>>>(x, copy, n); }"
            " cudaMemcpyAsync(y, copy, n * 4, cudaMemcpyDeviceToDevice, stream);"
        ),
    ),
    "v7_illegal_address.cu": cuda("if (i < n) reinterpret_cast<float*>(8)[i] = x[i];"),
    "v8_hangs.cu": cuda("volatile float* spin = y; if (i == 0) { *spin = 0; while (*spin == 0) {} }"),
    "v9_returns_error.cu": cuda("if (i < n) y[i] = x[i];", "add<<<1, 4096, 0, stream>>>(x, y, n);"),
}


def write_planted(root: Path, sources: dict[str, str]) -> Path:
    """Write the kernel add_one below ``root`` with the versions in ``sources`` and return its folder."""
    texts = {name: HEAD + text if name.endswith(".py") else text for name, text in sources.items()}
    return write_kernel(root, texts)
