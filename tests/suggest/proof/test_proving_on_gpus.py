"""Drafts proved by the workers of two GPUs, which here are a CPU each."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.fake_gpu import gpus
from pipeline.measured import Notes
from requirements import require
from suggest.proof.on_cpu import FASTER, project_of, reply_of

from ncu_assist.pipeline.gpu_workers import workers_on
from ncu_assist.store.drafts import DraftArchive, ModelCost
from ncu_assist.suggest.drafting import ReplySource
from ncu_assist.suggest.model import ModelAnswer
from ncu_assist.suggest.proof.prover import GpuProver, ProofOptions
from ncu_assist.suggest.session import SuggestRequest, SuggestSession


@pytest.mark.slow
def test_candidates_are_proved_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_ncu: None) -> None:
    require("torch")
    monkeypatch.chdir(tmp_path)
    project, notes = project_of(tmp_path), Notes()
    replies = iter([reply_of(FASTER), reply_of(FASTER.replace("1.0", "1.001"))])
    author = ReplySource("a model", lambda _: ModelAnswer(next(replies), ModelCost(), "fences"))
    options = ProofOptions(device="cpu", sanitize_s=0.0)
    request = SuggestRequest("add_one/v1", candidates=2, proving=options, force=True)
    with workers_on(list(gpus(2))) as place:
        prover = GpuProver(project, options, place, notes)
        found = SuggestSession(project, request, author, notes, prover).run()
    assert [one.draft.fate for one in found.drafts] == ["unproven", "rejected"]
    assert "wrong on small" in found.drafts[1].draft.reason
    assert {one.draft.fate for one in DraftArchive(project.reports).drafts()} == {"unproven", "rejected"}
    assert any("GPU 0: " in line and "GPU 1: " in line for line in notes.lines)
