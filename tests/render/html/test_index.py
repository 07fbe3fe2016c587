"""The index page, from a recorded archive with damage in it, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_checks import check_filters, check_page, check_sorts, check_tooltip, opened
from factories import DEVICE, make_run, samples_frame, save_run, times
from recorded_family import copy_family
from sections import models

from ncu_assist.analysis.archive import ArchiveState
from ncu_assist.pipeline.pages.index import archive_state
from ncu_assist.project import find_project
from ncu_assist.render.html.index import index_html, index_sections
from ncu_assist.store import Store

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MADE_UP = {"softmax": 3e5, "reduce": 5e4, "gemm": 7e6, "scan": 9e4, "sort": 2e6, "spmv": 4e4}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> ArchiveState:
    """The recorded kernel, six made-up ones, an imported run with a hostile GPU name, and a damaged run."""
    root = tmp_path_factory.mktemp("index")
    copy_family(root, pages=True)
    (root / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    store = Store(root / "reports")
    for seed, (kernel, ns) in enumerate(MADE_UP.items()):
        save_run(store, make_run(kernel=kernel), samples=samples_frame(times(ns, seed)))
    gpu = replace(DEVICE, name="<script>alert(1)</script> \u202ereversed")
    save_run(store, make_run(kernel="a_foreign", source="imported", device=gpu, workloads=(), checks=(), machine=None))
    (save_run(store, make_run(kernel="lost")).folder / "run.json").write_text("<script>")
    return archive_state(find_project(root))


@pytest.fixture(scope="module")
def path(state: ArchiveState, tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("page") / "index.html"
    written.write_text(index_html(state), encoding="utf-8")
    return written


def test_the_index_passes_every_check(browser: Browser, path: Path) -> None:
    check_page(browser, path)


def test_kernels_sort_and_filter(browser: Browser, path: Path) -> None:
    with opened(browser, path) as page:
        check_filters(page, "kernels-table", "recorded", ["lightning_decode"])
        by_time = ["spmv", "reduce", "lightning_decode", "scan", "a_foreign", "softmax", "sort", "gemm"]
        check_sorts(page, "kernels-table", "time", by_time)
        check_tooltip(page, "of copy")


def test_the_index_says_what_the_archive_holds(state: ArchiveState) -> None:
    made = models(index_sections(state))
    rows = {row[0].text: row for row in made.kernels.rows}
    titles = [column.title for column in made.kernels.columns]
    decode = dict(zip(titles, rows["lightning_decode"], strict=True))
    assert decode["best version"].text.startswith("v")
    assert decode["against the baseline"].badge
    assert decode["against the baseline"].badge.text.startswith("▲ ")
    assert decode["against the baseline"].note == "over v0_torch_eager"
    assert decode["of copy"].text.endswith(" %")
    assert decode["source"].badge
    assert decode["source"].badge.text == "recorded"
    foreign = dict(zip(titles, rows["a_foreign"], strict=True))
    assert foreign["time"].note == "under ncu"
    assert [row[0].text.split("/")[0] for row in made.damaged.table.rows] == ["lost"]


def test_links_lead_only_to_pages_that_exist(state: ArchiveState) -> None:
    assert ' href="lightning' not in index_html(state)
    there = index_html(state, {"lightning_decode/index.html"})
    assert there.count(' href="lightning_decode/') == 1


def test_the_same_archive_gives_the_same_bytes(state: ArchiveState) -> None:
    text = index_html(state)
    assert text == index_html(state)
    assert "<script>alert" not in text
    assert "\u202e" not in text
    for stored in (one.shown for one in state.kernels):
        assert stored.run.digest in text


def test_an_empty_archive_says_what_to_do() -> None:
    assert "ncu-assist profile KERNEL" in index_html(ArchiveState((), (), ()))
