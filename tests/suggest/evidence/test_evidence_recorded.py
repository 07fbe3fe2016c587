"""Each part of the evidence on recorded versions, held against the stored run itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_family import ROOT
from suggest.recorded import evidence_of

from ncu_assist.frame import combine_tables
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES
from ncu_assist.project import Project
from ncu_assist.render.redact import NOBODY
from ncu_assist.spec_file import load_kernel
from ncu_assist.store import Store
from ncu_assist.store.drafts import DraftArchive
from ncu_assist.suggest.evidence.gathering import evidence, name_of, removed_before
from ncu_assist.suggest.evidence.records import Evidence
from ncu_assist.suggest.evidence.task import Cleaner

pytestmark = pytest.mark.slow

VERSIONS = ("v0", "v1", "v2", "v3", "v6", "v10")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_items_are_the_counters_of_the_stored_run(recorded_project: Project, version: str) -> None:
    found = evidence_of(recorded_project, version)
    (stored,) = Store(recorded_project.reports).runs("lightning_decode", found.version)
    combined = combine_tables(stored.run, stored.by_launch(), "b64_d96")
    keys = {name_of(key): key for key in OVER_LAUNCHES}
    scales = {"": 1, "%": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "k": 1e3, "M": 1e6, "MB": 1e6, "GB": 1e9, "TB/s": 1e12}
    scales |= {"kB": 1e3, "kB/block": 1e3, "GB/s": 1e9}
    for item in found.items:
        of = combined.representative if "alone" in item.metric else combined
        if item.name.startswith("stall_"):
            value = of.stalls[item.name.removeprefix("stall_")]
        else:
            value = of.values[keys[item.name]]
        assert value is not None, item
        scale = scales.get(item.unit, scales.get(item.unit.split()[0] if " " in item.unit else "", 1))
        assert value / scale == pytest.approx(item.value, rel=6e-3, abs=0.06), item


@pytest.mark.parametrize("version", VERSIONS)
def test_ids_count_from_one_and_findings_cite_what_is_there(recorded_project: Project, version: str) -> None:
    found = evidence_of(recorded_project, version)
    ids = [item.id for item in found.items]
    assert ids == [f"E{number}" for number in range(1, len(ids) + 1)]
    assert len({item.name for item in found.items}) == len(ids)
    assert found.diagnosis is not None
    cited = [*found.diagnosis.evidence, *(one for finding in found.further for one in finding.evidence)]
    assert cited
    assert set(cited) <= set(ids)


def test_v6_has_its_diagnosis_with_the_line(v6: Evidence) -> None:
    assert v6.diagnosis_id == "uncoalesced-global-load"
    assert v6.diagnosis is not None
    assert v6.diagnosis.where == ("v6_coalesced_store.cu:42 (100 %)",)
    assert v6.diagnosis.gain == pytest.approx(2.85, abs=0.05)
    assert "neighbouring" in v6.diagnosis.explanation
    assert "How the saving" not in v6.diagnosis.explanation
    assert [one.id for one in v6.further] == ["tail-effect", "barrier-stall"]


def test_v6_has_the_change_since_v5(v6: Evidence) -> None:
    assert v6.before == "v5_shared_padded"
    items = {item.name: item for item in v6.items}
    assert (items["gpu__time_duration.sum"].before, items["gpu__time_duration.sum"].unit) == (611, "µs")
    assert items["sectors_per_request_load"].value == items["sectors_per_request_load"].before == 31.0


def test_the_hot_lines_have_margins(v6: Evidence) -> None:
    margins = {one.line: one for one in v6.source.margins}
    assert "s[tid * D + col]" in v6.source.lines[42 - 1]
    assert margins[42].share == pytest.approx(0.577, abs=0.005)
    assert margins[42].sectors_excessive == 33_030_144
    assert margins[42].sectors_ratio == pytest.approx(8.0, abs=0.1)
    assert margins[42].stalls[0][0] == "long_scoreboard"
    assert margins[46].stalls[0] == ("barrier", pytest.approx(1.0, abs=0.01))
    assert len(margins) < 12


@pytest.mark.slow
def test_bank_conflicts_stand_at_their_line(recorded_project: Project) -> None:
    margins = {one.line: one for one in evidence_of(recorded_project, "v4").source.margins}
    assert margins[45].wavefronts_ratio == pytest.approx(32.0, rel=0.05)


def test_the_source_is_that_of_the_run(recorded_project: Project, v6: Evidence) -> None:
    (stored,) = Store(recorded_project.reports).runs("lightning_decode", v6.version)
    assert "\n".join(v6.source.lines) + "\n" == next(iter(stored.source_texts().values()))
    assert v6.source.redacted == 0


def test_the_task_is_that_of_kernel_toml(recorded_project: Project, v6: Evidence) -> None:
    kernel = load_kernel(recorded_project, "lightning_decode")
    assert tuple(one.name for one in v6.task.arguments) == kernel.arguments
    assert [(one.name, one.integers) for one in v6.task.workloads] == [(w.name, w.integers) for w in kernel.workloads]
    assert v6.task.language == "cuda"
    outputs = {one.name: (one.dtype, one.shape) for one in v6.task.arguments if one.kind == "output"}
    assert outputs["out"] == ("bfloat16", "[batch, heads, 1, dim] = 64x64x1x96")
    assert "def make_inputs" in v6.task.reference


def test_python_gets_tensors_alone(recorded_project: Project) -> None:
    task = evidence_of(recorded_project, "v2").task
    assert [one.name for one in task.arguments] == ["q", "k", "v", "slope", "state", "out", "new_state"]
    assert task.language == "python"


def test_the_floor_is_the_bytes_at_the_measured_ceiling(v6: Evidence) -> None:
    floor = v6.floor
    assert floor.bytes == 305_135_872
    assert floor.copy_ns == pytest.approx(75_360, abs=1)
    assert floor.least is not None
    assert (floor.least.bound, floor.least.amount) == ("DRAM", floor.bytes)
    assert 65_000 < floor.least.ns < floor.copy_ns
    assert floor.cold


def test_the_story_is_told_up_to_the_parent(v6: Evidence) -> None:
    assert [one.version.partition("_")[0] for one in v6.story] == ["v0", "v1", "v2", "v3", "v4", "v5", "v6"]
    assert v6.story[5].idea.startswith("row stride D + 1")
    assert v6.story[5].outcome == "610 µs, 1.049x faster than v4"
    assert "gone: barrier-stall" in v6.story[5].moved  # conflicts were behind a busier L2, so no finding of their own
    assert "fewer L1 wavefronts" in v6.story[6].moved


@pytest.mark.slow
def test_faster_later_versions_are_not_told_slower_ones_are(recorded_project: Project) -> None:
    later = [one.version for one in evidence_of(recorded_project, "v7").story if one.later]
    assert later == ["v8_loads_first", "v9_streaming_hints", "v10_row_groups"]
    assert not [one for one in evidence_of(recorded_project, "v6").story if one.later]


def test_a_chain_has_its_launches_and_no_registers(recorded_project: Project) -> None:
    found = evidence_of(recorded_project, "v0")
    assert found.shape.count == 10
    assert len(found.shape.launches) == 8
    assert found.before is None
    assert all(item.before is None for item in found.items)
    assert "launch__registers_per_thread" not in {item.name for item in found.items}
    assert found.source.margins == ()
    assert "no line of this file" in found.source.about_margins


@pytest.mark.slow
def test_hot_lines_of_headers_are_told_of_and_the_busiest_unit_has_a_name(repository: Path) -> None:
    found = evidence(Project(repository), "flash_attention/v4_row_a_thread", identity=NOBODY)
    assert found.source.margins == ()
    assert [one.file for one in found.source.includes if one.margins] == ["row_a_thread.cuh"]
    assert "in the files that it includes" in found.source.about_margins
    assert "the busiest, shared memory, for 47 %" in found.shape.bound
    assert "bytes_in_flight" in {one.name for one in found.items}
    assert found.diagnosis is not None
    assert found.diagnosis.id == "no-tensor-core"
    assert "ADU" not in found.diagnosis.advice  # which a product on tensor cores keeps as little busy as any other pipe


def test_a_finished_kernel_is_said_to_be_done(recorded_project: Project) -> None:
    found = evidence_of(recorded_project, "v10")
    assert found.diagnosis is not None
    assert found.diagnosis.is_done
    assert found.diagnosis.gain is None


def test_what_answered_the_same_diagnosis_is_of_other_kernels_and_of_kept_drafts() -> None:
    project = Project(ROOT)
    drafts = [one.draft for one in DraftArchive(project.reports).drafts()]
    found = evidence(project, "lightning_decode/v6", drafts=drafts, identity=NOBODY)
    assert found.diagnosis_id == "uncoalesced-global-load"
    where = {one.where: one for one in found.removed}
    assert where["fast_h2d/v3_warp_a_token"].change == "a warp a token, its lanes side by side."
    assert where["fast_h2d/v3_warp_a_token"].speedup > 3
    assert where["draft 20261121T221601Z-02975f of lightning_decode"].speedup == pytest.approx(1.88, abs=0.01)
    assert not [name for name in where if name.startswith("lightning_decode/")]
    assert [one.speedup for one in found.removed] == sorted((one.speedup for one in found.removed), reverse=True)


def test_a_step_from_a_library_s_version_is_no_precedent_of_a_fault() -> None:
    """It replaces several kernels by one, so its gain is of more than the fault: softmax/v3 is 4.49x faster than v0."""
    project = Project(ROOT)
    found, _ = removed_before(project, Store(project.reports), "fast_h2d", "redundant-traffic", (), Cleaner(NOBODY))
    where = {one.where for one in found}
    assert "fusion_limit/v3_everything_in_registers" in where
    assert "softmax/v3_three_pass" not in where
