"""What ncu counted nothing of: versions that launch no kernel, or an ncu that sees no launch here."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ncu_assist.errors import NcuAssistError
from ncu_assist.ncu.report import Report
from ncu_assist.pipeline.ncu_stage import NcuStage

FOLDER = Path("control")  # below that of the capture which holds nothing
QUICK = "basic"
PROGRAM = """import torch
from ncu_assist.harness.session import ranges
with ranges("(control)|", {device!r}):
    torch.ones(8, device={device!r}).add_(1).tolist()
"""


def control(stage: NcuStage, device: str) -> Report | None:
    """Return the report of a program that surely launches a kernel, profiled under the same filter.

    None where ncu sees nothing of that either, so that what it did not see of others says nothing of them.
    """
    other = replace(stage, work=stage.work / FOLDER, options=replace(stage.options, section_set=QUICK))
    try:
        report = other.run([sys.executable, "-c", PROGRAM.format(device=device)], _unheard, _unlimited).report
    except NcuAssistError:
        return None
    return report if report.records else None


def _unheard(_: str) -> None:
    return


def _unlimited(_: object) -> bool:
    return False
