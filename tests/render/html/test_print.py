"""Pages on paper: the answer on a sheet of its own, tables that can be read, no number broken over lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_checks import opened

from ncu_assist.pipeline.opened_reports import bare_reports
from ncu_assist.pipeline.pages.run import run_page, run_record
from ncu_assist.render.html.run import run_html
from ncu_assist.store import Store

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[3]
SHEETS, OF_SOURCE = 6, 3  # at most
PAGE_BYTES = 500_000  # of a run of one launch
A4_WIDTH = 703  # pixels between margins of 12 mm
# Numbers, with their unit, that stand on more than one line.
_BROKEN = """() => [...document.querySelectorAll("td.num, dd.num, .figure")]
  .filter((one) => one.checkVisibility() && !one.querySelector(".note, svg"))
  .filter((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const tops = [...range.getClientRects()].filter((box) => box.width > 1).map((box) => Math.round(box.top / 8));
    return new Set(tops).size > 1;
  }).map((one) => one.textContent.trim())"""


def sheets(page: Page) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


def printed(page: Page) -> None:
    page.set_viewport_size({"width": A4_WIDTH, "height": 1000})
    page.emulate_media(media="print")


def test_a_run_takes_six_sheets_beside_its_source(browser: Browser, tmp_path: Path) -> None:
    store = Store(ROOT / "reports")
    stored = next(one for one in store.runs("lightning_decode") if one.run.version.startswith("v6_"))
    path = tmp_path / "report.html"
    path.write_text(run_page(stored, store), encoding="utf-8")
    assert path.stat().st_size <= PAGE_BYTES
    with opened(browser, path) as page:
        assert sheets(page) <= SHEETS + OF_SOURCE
        page.evaluate("document.getElementById('source').remove()")
        assert sheets(page) <= SHEETS
        printed(page)
        assert page.evaluate(_BROKEN) == []
        assert not page.locator("#metrics-table").is_visible()
        assert page.locator("#verdict").bounding_box()["height"] < 1030  # type: ignore[index]  # one sheet


@pytest.mark.parametrize("name", ["lightning_decode/index.html", "index.html", "lightning_decode/v7_registers_128bit"])
def test_no_value_of_a_ladder_an_index_or_a_diff_is_broken(browser: Browser, name: str) -> None:
    path = ROOT / "docs" / "pages" / name
    with opened(browser, path if path.is_file() else path / "diff-v6_coalesced_store.html") as page:
        printed(page)
        assert page.evaluate(_BROKEN) == []
        assert not page.locator(".no-print:visible").count()


def of_launches(folder: Path) -> Path:
    """Write the page of a report of many launches, and return its path."""
    report = ROOT / "tests" / "data" / "library_full_h200_2025.3.1.ncu-rep.zst"
    (bare,) = bare_reports([str(report)], [report], None)
    path = folder / "report.html"
    path.write_text(run_html(run_record(bare)), encoding="utf-8")
    return path


def test_of_many_launches_the_list_and_the_one_picked_are_printed(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, of_launches(tmp_path)) as page:
        printed(page)
        assert page.locator(".launch:visible").count() == 1
        assert page.evaluate(_BROKEN) == []
        assert page.locator("#launches-table").is_visible()


def test_every_sheet_names_the_columns_of_a_table(browser: Browser, tmp_path: Path) -> None:
    """A button's box is left out where a browser repeats the head of a table on the next sheet: only text is not."""
    with opened(browser, of_launches(tmp_path)) as page:
        printed(page)
        boxes = "all => all.map((one) => getComputedStyle(one).display)"
        found = page.locator("#launches-table thead button").evaluate_all(boxes)
        assert len(found) > 8
        assert set(found) == {"contents"}
