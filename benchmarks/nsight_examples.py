"""nsight-python's examples as Python functions measured by ncu-assist, and a kernel folder, on a GPU.

python benchmarks/nsight_examples.py FOLDER [KERNEL VERSION VERSION]

Writes into FOLDER what each says (examples.md, which docs/guide/functions.md quotes), its times as CSV, and plots.
"""

from __future__ import annotations

import operator
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import torch
import triton
import triton.language as tl

import ncu_assist

ROOT = Path(__file__).resolve().parents[1]


def squares(n):
    return torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")


def vectors(n):
    return torch.randn(n, device="cuda"), torch.randn(n, device="cuda")


def three_products(a, b):
    a @ b
    a @ b
    return a @ b


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def triton_add(x, y, block):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), block),)](x, y, out, x.numel(), BLOCK=block)
    return out


PRODUCTS = {
    "operator": operator.matmul,
    "matmul": torch.matmul,
    "einsum": partial(torch.einsum, "ij,jk->ik"),
}
BLOCKS = {f"block{size}": partial(triton_add, block=size) for size in (256, 512, 1024, 2048)}
SIZES = {"n": [2048, 4096, 8192]}
EXAMPLES = {
    "00_minimal": (operator.matmul, {"inputs": squares, "workloads": {"n": 1024}}),
    "01_compare_throughput": (PRODUCTS, {"inputs": squares, "workloads": {"n": 2048}}),
    "03_custom_metrics": (operator.matmul, {"inputs": squares, "workloads": SIZES, "flops": lambda n: 2 * n**3}),
    "07_triton_minimal": (
        {"torch": torch.add, **BLOCKS},
        {"inputs": vectors, "workloads": {"n": [2**20, 2**24]}, "name": "vector_add"},
    ),
    "10_combine_kernel_metrics": (three_products, {"inputs": squares, "workloads": {"n": [1024, 2048]}}),
}


def main() -> int:
    out, project = Path(sys.argv[1]), Path(tempfile.mkdtemp())
    said = (out / "examples.md").open("w", encoding="utf-8")

    def tell(title: str, call: str, found: ncu_assist.MeasuredKernel, seconds: float) -> None:
        times = found.timings.assign(
            tflops=lambda t: t["flops"] / t["median_ns"] / 1e3,
            intensity=lambda t: t["flops"] / t["algorithmic_bytes"],
        )
        times.to_csv(out / f"{title}.csv", index=False)
        if times["flops"].notna().all():
            for rate in ("tflops", "intensity"):
                times.plot.line("workload", rate).figure.savefig(out / f"{title}_{rate}.png", dpi=80)
        picture = found.plot()
        picture.figure.savefig(out / f"{title}.png", dpi=80)
        text = "\n\n".join([repr(found), found.to_text(), *(f"{one!r}\n{one.diagnosis}" for one in found)])
        said.write(f"## {title}\n\n{call}: {seconds:.0f} s\n\n```text\n{text}\n```\n\n")
        said.flush()

    def timed(title, what, *args, **options):
        started = time.monotonic()
        try:
            found = what(*args, **options)
        except ncu_assist.NcuAssistError as error:
            said.write(f"## {title}\n\n{what.__name__} failed: {error}\n\n")
            return None
        tell(title, what.__name__, found, time.monotonic() - started)
        return found

    for title, (functions, options) in EXAMPLES.items():
        timed(title, ncu_assist.profile, functions, project=project, **options)
    products = timed("01_bench", ncu_assist.bench, PRODUCTS, inputs=squares, workloads={"n": 2048}, project=project)
    if products:
        both = ncu_assist.diff(products["operator"], products["einsum"], project=project)
        said.write(f"```text\n{both.to_text()}\n```\n\n")
    adds = ncu_assist.show("vector_add/v4", project=project)
    said.write(f"```text\n{adds.to_text()}\n```\n\n")
    adds.plot("stalls").figure.savefig(out / "07_stalls.png", dpi=80)
    kernel, *versions = sys.argv[2:] or ["softmax", "v1", "v7"]
    timed(f"bench_{kernel}", ncu_assist.bench, kernel, versions, project=ROOT)
    timed(f"profile_{kernel}", ncu_assist.profile, kernel, versions, project=ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
