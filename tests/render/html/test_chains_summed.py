"""The launches of a chain are one call: run, diff and ladder show their sum, and say how many they are."""

from __future__ import annotations

import pytest
from recorded_family import STORY, copy_family
from sections import models

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.pipeline.history import history
from ncu_assist.pipeline.pages.diff import diff_facts
from ncu_assist.pipeline.showing import gather
from ncu_assist.project import Project
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.html.diff_verdict import verdict_section
from ncu_assist.render.html.run_verdict import tiles
from ncu_assist.store import Store, StoredRun

pytestmark = pytest.mark.slow

CHAIN, ONE, WORKLOAD = "v0_torch_eager", "v2_triton_masked", "b64_d96"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("chains")
    copy_family(root)
    return Project(root)


@pytest.fixture
def chain(project: Project) -> StoredRun:
    return Store(project.reports).runs(STORY, CHAIN)[0]


def summed(stored: StoredRun, metric: str) -> float:
    """Add up a metric over the launches of one call, from the table as it is stored."""
    own = [launch.index for launch in stored.run.launches if launch.workload == WORKLOAD]
    assert len(own) > 5
    metrics = stored.metrics()
    found = metrics[(metrics["metric"] == metric) & metrics["launch"].isin(own)]
    assert len(found) == len(own)
    return float(found["value"].sum())


def test_the_page_of_a_run(project: Project, chain: StoredRun) -> None:
    shown = gather(chain, WORKLOAD, Store(project.reports))
    found = {tile.term.label: tile for tile in tiles(shown)}
    assert found["Under ncu"].text == duration(summed(chain, "gpu__time_duration.sum"))
    assert found["Under ncu"].note == f"{len(shown.combined.launches)} launches"
    moved = summed(chain, "dram__bytes_read.sum") + summed(chain, "dram__bytes_write.sum")
    assert found["DRAM traffic"].text == quantity(moved, "byte")
    assert "x of what must move" in found["DRAM traffic"].note


def test_the_page_of_a_diff(project: Project, chain: StoredRun) -> None:
    store = Store(project.reports)
    other = store.runs(STORY, ONE)[0]
    facts = diff_facts((chain, other), store, DiffOptions(WORKLOAD))
    found = {tile.term.label: tile for tile in models([verdict_section(facts)]).verdict.tiles}
    assert found["Under ncu"].was == duration(summed(chain, "gpu__time_duration.sum"))
    assert found["Under ncu"].note == "10 launches → 1 launch"
    moved = summed(chain, "dram__bytes_read.sum") + summed(chain, "dram__bytes_write.sum")
    assert found["DRAM traffic"].was == quantity(moved, "byte")
    assert found["DRAM traffic"].note == "10 launches → 1 launch"


def test_the_ladder(project: Project, chain: StoredRun) -> None:
    shown = history(project, STORY, WORKLOAD)
    cell = shown.cell(shown.rows[0])
    assert cell.duration_ns == pytest.approx(summed(chain, "gpu__time_duration.sum"))
    assert cell.time_ns == chain.run.timing(WORKLOAD).median_ns  # type: ignore[union-attr]  # of the whole call
    assert cell.combined is not None
    assert cell.combined.values["dram_bytes"] == pytest.approx(
        summed(chain, "dram__bytes_read.sum") + summed(chain, "dram__bytes_write.sum")
    )
