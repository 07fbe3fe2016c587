"""The pages that a command writes of what it measured, after its result was said: none of that can be lost by them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.cli.console import progress

if TYPE_CHECKING:
    from ncu_assist.project import Project
    from ncu_assist.store import StoredRun


def write_pages(project: Project, runs: Sequence[StoredRun]) -> None:
    """Write the pages of runs, of their kernels, and the index; nothing for no runs."""
    from ncu_assist.pipeline.pages.writing import pages_of
    from ncu_assist.render.terminal.archive import report_note

    with progress() as reporter:
        written = pages_of(project, runs, reporter)
        if written is not None:
            reporter.note(report_note(written, Path.cwd()))
