"""The three charts in a real browser: nothing overlaps, sticks out or fails axe, in every shape that they take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_checks import check_fits, check_page
from render.html.charts_page import GALLERY, charts_html, launch, recorded, shown

from ncu_assist.analysis.diff.timing import timed_samples

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LIBRARY = GALLERY.parents[1] / "data" / "library_full_h200_2025.3.1.ncu-rep.zst"
KINDS = (
    (GALLERY / "gallery_compute1_full_h200.ncu-rep.zst", "healthy_tensor_rate"),
    (GALLERY / "gallery_memory1_full_h200.ncu-rep.zst", "host_read"),
    (GALLERY / "gallery_control1_full_h200.ncu-rep.zst", "spill_asked_occupancy"),
    (GALLERY / "gallery_control1_full_h200.ncu-rep.zst", "atomic_global_bins"),
    (LIBRARY, "nvjet"),
)


def test_the_charts_pass_every_check(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "charts.html"
    both = [timed_samples(recorded(version), "b64_d96") for version in ("v7", "v3")]
    path.write_text(charts_html(shown("v7", "b64_d96"), shown("v3", "b64_d96"), *both), encoding="utf-8")
    check_page(browser, path)


@pytest.mark.parametrize(("report", "name"), KINDS, ids=[name for _, name in KINDS])
def test_charts_of_other_kernels_fit(browser: Browser, tmp_path: Path, report: Path, name: str) -> None:
    path = tmp_path / "charts.html"
    path.write_text(charts_html(launch(report, name)), encoding="utf-8")
    check_fits(browser, path)


@pytest.mark.parametrize("version", ["v0", "v1", "v4", "v10"])
def test_charts_of_the_archive_fit(browser: Browser, tmp_path: Path, version: str) -> None:
    path = tmp_path / "charts.html"
    samples = timed_samples(recorded(version), "b64_d96")
    path.write_text(charts_html(shown(version, "b64_d96"), None, samples), encoding="utf-8")
    check_fits(browser, path)
