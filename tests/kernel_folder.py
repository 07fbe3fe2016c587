"""A small kernel folder for tests: y = x + 1 on n floats."""

from __future__ import annotations

from pathlib import Path

TOML = """\
summary = "adds one"
inputs = ["x"]
arguments = ["x", "y", "n"]
bytes = "8 * n"
flops = "n"

[outputs]
y = { dtype = "float32", shape = ["n"] }

[tolerance.float32]
norm = 1e-6
rtol = 1e-6
atol = 1e-6

[workloads.small]
n = 1024
dtype = "float32"
default = true

[workloads.odd]
n = 1000
dtype = "float32"
"""

REFERENCE = """\
import torch


def make_inputs(workload, seed, device):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(workload["n"], device=device, generator=generator),)


def reference(x):
    return (x.double() + 1,)
"""

PYTHON_VERSION = """\
# adds one with torch
import torch


def add_one(x, y):
    torch.add(x, 1.0, out=y)
"""


def write_kernel(root: Path, versions: dict[str, str] | None = None, toml: str = TOML) -> Path:
    """Write kernels/add_one below ``root`` and return its folder; ``versions`` maps file names to sources."""
    folder = root / "kernels" / "add_one"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.toml").write_text(toml)
    (folder / "reference.py").write_text(REFERENCE)
    for name, source in (versions or {"v0_torch.py": PYTHON_VERSION}).items():
        (folder / name).write_text(source)
    return folder
