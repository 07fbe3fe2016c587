"""A version whose package is not installed is skipped with a reason, wherever versions are shown, and fails nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from measured import RIGHT, VERSIONS, Notes, make_job

from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.pipeline.history import history
from ncu_assist.pipeline.listing import listing
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.pages.index import kernel_ladder
from ncu_assist.pipeline.planning import replay
from ncu_assist.render.html.ladder import ladder_html
from ncu_assist.render.json.archive import list_json
from ncu_assist.render.json.history import history_json
from ncu_assist.render.json.versions import outcome_json
from ncu_assist.render.terminal.archive import list_text
from ncu_assist.render.terminal.history import history_text
from ncu_assist.render.terminal.versions import outcome_text
from ncu_assist.store import Store

WHY = "package nowhere_to_be_found is not installed"
PEER = f"# Baseline of another package.\n# packages: torch, nowhere_to_be_found\nimport nowhere_to_be_found\n{RIGHT}"


@pytest.fixture
def with_peer(tmp_path: Path, job: MeasureJob) -> MeasureJob:
    """Two versions and one that needs what is not there; checks only."""
    made = make_job(tmp_path, {**VERSIONS, "v2_peer.py": PEER})
    return replace(made, settings=replace(made.settings, stages=("check",)), options=None)


def test_it_is_skipped_and_the_others_are_measured(with_peer: MeasureJob, notes: Notes) -> None:
    outcome = measure(with_peer, notes)
    assert [(v.version, v.run is not None, v.failure, v.skipped) for v in outcome.versions] == [
        ("v0_naive", True, "", ""),
        ("v1_shared", True, "", ""),
        ("v2_peer", False, "", WHY),
    ]
    assert outcome.exit_code == 0
    assert notes.notes == [f"v2_peer is skipped: {WHY}"]
    text = outcome_text(outcome)
    assert f"v2_peer: skipped: {WHY}" in text
    assert "failed" not in text
    assert [row["status"] for row in outcome_json(outcome, "check")["versions"]] == ["measured", "measured", "skipped"]
    assert outcome_json(outcome, "check")["versions"][2]["skipped"] == WHY


def test_nothing_but_skipped_versions_is_no_measurement(with_peer: MeasureJob, notes: Notes) -> None:
    with pytest.raises(EnvironmentProblem, match=WHY):
        measure(replace(with_peer, versions=with_peer.versions[2:]), notes)


def test_every_answer_from_the_archive_says_so(with_peer: MeasureJob, notes: Notes) -> None:
    measure(with_peer, notes)
    project = with_peer.project
    (found,) = listing(project, "add_one")
    assert [v.skipped for v in found.versions] == ["", "", WHY]
    assert f"skipped: {WHY}" in list_text([found])
    row = list_json([found])["kernels"][0]["versions"][2]
    assert (row["status"], row["skipped"]) == ("skipped", WHY)
    past = history(project, "add_one")
    assert past.rows[2].missing == f"skipped: {WHY}"
    assert f"v2_peer: skipped: {WHY}" in history_text(past)
    assert history_json(past)["rows"][2]["missing"] == f"skipped: {WHY}"
    page = ladder_html(kernel_ladder(project, "add_one"))
    assert f"skipped: {WHY}" in page
    recorded = _replayed(with_peer, notes)
    assert ([v.skipped for v in recorded.versions], recorded.exit_code) == (["", "", WHY], 0)


def _replayed(job: MeasureJob, notes: Notes) -> KernelOutcome:
    why = EnvironmentProblem("no GPU", "nvidia-smi")
    return replay(Store(job.project.reports), job.kernel, job.versions, job.workloads, why, notes)
