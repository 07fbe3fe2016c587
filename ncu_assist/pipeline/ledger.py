"""The ledger of an archive's drafts, of one kernel or of all."""

from __future__ import annotations

from pathlib import Path

from ncu_assist.analysis.ledger import Ledger, ledger_of
from ncu_assist.project import Project
from ncu_assist.store import Store
from ncu_assist.store.choosing import Context, known_kernels, unknown
from ncu_assist.store.drafts import DraftArchive


def ledger(project: Project, kernel: str | None = None) -> Ledger:
    """Return what came of the drafts of a kernel, None: of all; damaged ones are named in it and count nowhere.

    Raises UsageProblem for a kernel that does not exist.
    """
    known = known_kernels(Store(project.reports), Context(project, Path.cwd()))
    found, damaged = DraftArchive(project.reports).everything(kernel)
    if kernel is not None and kernel not in known and not found and not damaged:
        raise unknown(f"there is no kernel '{kernel}'", kernel, known)
    return ledger_of((stored.draft for stored in found), kernel, damaged)
