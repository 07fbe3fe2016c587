"""Time from saving an edited .cu to its bench verdict, as plain CUDA C and as a torch extension; needs a GPU.

python benchmarks/edit_to_verdict.py [--repeats N] [--out edit_to_verdict.json]

Works on a copy of kernels/lightning_decode. Each repeat appends a new comment to v7, so that its build is never reused,
and runs `ncu-assist bench lightning_decode v7 v8`. The torch extension holds the same kernel source.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from ncu_assist import process
from ncu_assist.harness.client import child_environment
from ncu_assist.project import find_project
from ncu_assist.spec_file import load_kernel

KERNEL = "lightning_decode"
EDITED, OTHER, EXTENSION = "v7", "v8", "v90_torch_extension"
LIMIT_S = 8.0
COMMAND = "import sys; from ncu_assist.cli import main; sys.exit(main())"
WRAPPER = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

static void call(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor slope, torch::Tensor state,
                 torch::Tensor out, torch::Tensor new_state) {
    auto half = [](const torch::Tensor& t) { return reinterpret_cast<__nv_bfloat16*>(t.data_ptr()); };
    auto status = lightning_decode(half(q), half(k), half(v), slope.data_ptr<float>(), state.data_ptr<float>(),
                                   half(out), new_state.data_ptr<float>(), q.size(0), q.size(1), q.size(3),
                                   c10::cuda::getCurrentCUDAStream());
    TORCH_CHECK(status == cudaSuccess, cudaGetErrorString(status));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("lightning_decode", &call); }
"""


def main() -> int:
    """Time both ways, print and write the figures; exit code 3 when plain CUDA C takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--extension-repeats", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("edit_to_verdict.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        edited = _copy_project(root)
        _bench(root, EDITED)  # builds v8 and the bench's device code, warms the disk cache
        cuda = [_edit_and_bench(root, edited, EDITED) for _ in range(arguments.repeats)]
        extension = _write_extension(edited)
        torch = [_edit_and_bench(root, extension, "v90") for _ in range(arguments.extension_repeats)]
    figures = {"cuda_s": cuda, "torch_extension_s": torch, "limit_s": LIMIT_S}
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n")
    sys.stdout.write(_table(cuda, torch))
    return 0 if statistics.median(cuda) <= LIMIT_S else 3


def _copy_project(root: Path) -> Path:
    source = load_kernel(find_project(Path(__file__).parent), KERNEL)
    shutil.copytree(source.folder, root / "kernels" / KERNEL, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    return root / "kernels" / KERNEL / source.version(EDITED).path.name


def _write_extension(edited: Path) -> Path:
    path = edited.with_name(f"{EXTENSION}.cu")
    path.write_text(edited.read_text() + WRAPPER)
    return path


def _edit_and_bench(root: Path, source: Path, version: str) -> float:
    source.write_text(source.read_text() + f"\n// edit {secrets.token_hex(8)}\n")
    return _bench(root, version)


def _bench(root: Path, version: str) -> float:
    argv = [sys.executable, "-c", COMMAND, "bench", KERNEL, version, OTHER]
    completed = process.run(argv, env=child_environment(), cwd=root, timeout_s=550.0)
    if completed.exit_code != 0:
        raise SystemExit(f"bench failed ({completed.exit_code}):\n{completed.stdout}{completed.stderr}")
    return completed.seconds


def _table(cuda: list[float], torch: list[float]) -> str:
    def row(name: str, seconds: list[float]) -> str:
        if not seconds:
            return ""
        return f"{name:18}{statistics.median(seconds):8.1f} s   ({', '.join(f'{s:.1f}' for s in seconds)})\n"

    return f"saved .cu to verdict, at most {LIMIT_S:.0f} s\n{row('plain CUDA C', cuda)}{row('torch extension', torch)}"


if __name__ == "__main__":
    sys.exit(main())
