"""Which kernels can be examined at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_folder import TOML, write_kernel

from ncu_assist.errors import UsageProblem
from ncu_assist.harness.exam.plan import new_exam_plan
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.spec_file import read_kernel


def test_a_kernel_with_inputs_in_memory_of_the_host_is_refused(tmp_path: Path) -> None:
    toml = TOML.replace("[outputs]", '[host]\ninputs = ["x"]\nbytes = "4 * n"\n\n[outputs]')
    kernel = read_kernel(write_kernel(tmp_path, toml=toml))
    version = kernel.versions[0]
    with pytest.raises(UsageProblem, match="drafts of add_one cannot be examined: x lies in memory of the host"):
        new_exam_plan(kernel, (version, version), HarnessSettings((), device="cpu"), tmp_path / "work")
    assert not (tmp_path / "work").exists()
