"""The closed loop: its twelve tasks are right on the host, its arms differ in evidence alone, its report adds up."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks" / "closed_loop"), str(ROOT / "tests" / "kernels")]

from emulation import load_for_host, module_of  # noqa: E402

from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.harness.problem import Problem  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

TASKS = sorted((ROOT / "benchmarks" / "closed_loop" / "kernels").iterdir())
MOST = 1 << 20  # bytes of a workload that a host does in a moment
