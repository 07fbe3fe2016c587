"""Proofs of drafts of add_one on the CPU, in the sandbox that there is; without ncu they end after the bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from patience import CEILING_S
from pipeline.measured import Notes
from suggest.recorded import made_project

from ncu_assist.project import Project, Settings
from ncu_assist.store.drafts import StoredDraft
from ncu_assist.suggest.drafting import source_of_saved
from ncu_assist.suggest.proof.prover import ProofOptions, SandboxProver
from ncu_assist.suggest.session import SuggestRequest, SuggestSession

PARENT = "import time\n\nimport torch\n\n\ndef add_one(x, y):\n    time.sleep(0.2)\n    torch.add(x, 1.0, out=y)\n"
# Long enough that no other process of a busy machine delays one sleep by as much as they differ.
FASTER = PARENT.replace("0.2", "0.025")


def project_of(root: Path) -> Project:
    """A project with a parent that sleeps, which any draft that does not is faster than."""
    made = made_project(root, PARENT)
    return Project(made.root, Settings(rounds=12, check_trials=2, version_timeout_s=CEILING_S))


def reply_of(source: str, **changes: Any) -> str:
    """A saved reply with a whole file."""
    said = {"bottleneck": "it sleeps", "change": "it does not sleep", "slug": "awake", "source": source}
    return json.dumps({"evidence": [], "predictions": [], "expected_speedup": 5.0, "edits": None, **said, **changes})


def proved(
    project: Project, source: str, sandboxed: bool = True, sanitize_s: float = 0.0, **changes: Any
) -> StoredDraft:
    """Make a draft of a source and prove it."""
    notes = Notes()
    request = SuggestRequest("add_one/v1", proving=ProofOptions(sandboxed, device="cpu", sanitize_s=sanitize_s))
    assert request.proving is not None
    prover = SandboxProver(project, request.proving, notes)
    (stored,) = (
        SuggestSession(project, request, source_of_saved(reply_of(source, **changes)), notes, prover).run().drafts
    )
    return stored
