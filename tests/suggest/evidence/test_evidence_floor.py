"""The floor of a small workload: what fits in L2 is said, and how much is written is of kernel.toml."""

from __future__ import annotations

from pathlib import Path

from factories import make_run
from kernel_folder import write_kernel

from ncu_assist.spec_file import read_kernel
from ncu_assist.suggest.evidence.task import floor_of


def test_what_fits_in_l2_is_said(tmp_path: Path) -> None:
    kernel = read_kernel(write_kernel(tmp_path))
    assert kernel.written_bytes(kernel.default_workload) == 4096
    assert floor_of(make_run(), kernel, "small", None, None).in_l2.startswith("all 8.19 kB fit in L2 (62.9 MB)")
    assert floor_of(make_run(device=None), kernel, "small", None, None).in_l2 == ""
