"""Made-up drafts for tests: one that was proved and kept, to be changed at will, and texts that nobody should trust."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from ncu_assist.store.drafts import (
    Claim,
    Draft,
    DraftArchive,
    MetricPrediction,
    ModelCost,
    Proof,
    ProofStage,
    QuotedEvidence,
    Score,
    StoredDraft,
    reply_name,
    source_name,
)

SOURCE = b"# Changes: of the parent\nimport torch\n\n\ndef add_one(x, y):\n    y.copy_(x + 1)\n"
HOSTILE = "<script>alert(1)</script> \u202ereversed \x1b[31m"
PREDICTIONS = (
    MetricPrediction("DRAM throughput", "up", 1.5),
    MetricPrediction("registers", "down"),
    MetricPrediction("spills", "down"),
)
CLAIM = Claim(
    "Loads wait.", "Keep the state in registers.", "registers", (QuotedEvidence("E1", 3.0),), PREDICTIONS, 1.8
)
SCORES = (
    Score(PREDICTIONS[0], 40.0, 62.0, True),
    Score(PREDICTIONS[1], 32.0, 40.0, False),
    Score(PREDICTIONS[2], None, None, None),
)
PROOF = Proof(
    (ProofStage("build", True, 1.5), ProofStage("bench", True, 2.0, "faster")),
    "bwrap", "small", "faster", 1.42, 1.40, 1.44, 100_000.0, 70_423.0, SCORES,
)  # fmt: skip


def make_draft(**changes: Any) -> Draft:
    """A draft of add_one that was proved and kept."""
    made = Draft(
        id="20261121T080000Z-abcdef",
        kernel="add_one",
        parent="add_one/v1_torch@20261121T074500Z-1a2b3c",
        created="2026-11-21T08:00:00Z",
        model="some-model",
        origin="model",
        round=1,
        candidate=1,
        diagnosis="at-dram-roofline",
        claim=CLAIM,
        suffix=".py",
        prompt_sha256="ef" * 32,
        source_sha256=hashlib.sha256(SOURCE).hexdigest(),
        fate="kept",
        reason="",
        cost=ModelCost(1, 4_000, 1_000, 12.0, False),
        proof=PROOF,
    )
    return replace(made, **changes)


def save_draft(archive: DraftArchive, **changes: Any) -> StoredDraft:
    """Save a draft with its source and one raw reply."""
    draft = make_draft(**changes)
    files = {reply_name(1): b"{}", "prompt.md": b"# task\n", source_name(draft.suffix): SOURCE}
    return archive.save(draft, files)


def several(archive: DraftArchive) -> None:
    """Save drafts of every fate, by two models, on two kernels."""
    save_draft(archive)
    slow = replace(PROOF, verdict="slower", speedup=0.8, scores=SCORES[:2])
    later = {"created": "2026-11-21T08:01:00Z", "round": 2}
    refused = {"fate": "rejected", "reason": "slower than its parent: 0.80x on small", "proof": slow}
    save_draft(archive, id="20261121T080100Z-000002", **later, **refused, flaws=("it cites E9",))
    nothing = {"reason": "its reply could not be used: it is empty", "claim": None, "proof": None}
    save_draft(archive, id="20261121T080200Z-000003", **later, fate="rejected", **nothing, model="other-model")
    told = {"fate": "unproven", "reason": "not proved", "proof": None, "cost": ModelCost(1, 10, 10, 0.0, True)}
    save_draft(archive, id="20261121T080300Z-000004", kernel="scale", model="", origin="file", **told)


def hostile(**changes: Any) -> Draft:
    """A draft with hostile texts wherever a model, or who runs it, may put one."""
    predictions = (MetricPrediction(HOSTILE, "up", 2.0),)
    claim = Claim(HOSTILE, HOSTILE, "slug", (QuotedEvidence(HOSTILE, 1.0),), predictions, 2.0)
    proof = replace(PROOF, workload=HOSTILE, scores=(Score(predictions[0], 1.0, 2.0, True),))
    texts = {"model": HOSTILE, "parent": f"add_one/{HOSTILE}@x", "diagnosis": HOSTILE, "reason": f"{HOSTILE}: b"}
    return make_draft(claim=claim, proof=proof, version=HOSTILE, flaws=(HOSTILE,) * 2, **{**texts, **changes})
