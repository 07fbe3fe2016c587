"""Every macro in a real browser, with friendly and with hostile text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_checks import check_filters, check_page, check_sorts, check_tooltip, opened, settle
from render.html.sampler import sampler_html

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "' autofocus onfocus='document.title=\"owned\"",
    "</script></title></style><!--",
    "javascript:document.title='owned'",
    "java\tscript:document.title='owned'",
    "//example.invalid/x.js",
    "data:text/html,<script>parent.document.title='owned'</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnitset\u202c \u2028 \x00 \x1b[31m \ud800",
    "long" * 400,
)


@pytest.fixture
def sampler(tmp_path: Path) -> Path:
    path = tmp_path / "sampler.html"
    path.write_text(sampler_html(), encoding="utf-8")
    return path


def test_the_sampler_passes_every_check(browser: Browser, sampler: Path) -> None:
    check_page(browser, sampler)


def test_tables_sort_and_filter(browser: Browser, sampler: Path) -> None:
    with opened(browser, sampler) as page:
        name = page.locator("#sample tbody th").first.text_content() or ""
        rows = page.locator("#sample tbody tr")
        check_filters(page, "sample", "slower a", ["a"])
        page.locator("#sample thead th").nth(1).locator("button.sort").click()
        assert [rows.nth(i).locator("td").first.text_content() for i in range(3)] == ["10 a note", "2.0 k", "-"]
        page.locator("#sample thead th").nth(1).locator("button.sort").click()
        assert [rows.nth(i).locator("td").first.text_content() for i in range(3)] == ["2.0 k", "10 a note", "-"]
        check_sorts(page, "sample", "word", ["a", name, "c"])


@pytest.mark.parametrize("width", [1280, 390])
def test_names_of_metrics_explain_themselves(browser: Browser, sampler: Path, width: int) -> None:
    with opened(browser, sampler, width) as page:
        check_tooltip(page, "Memory Throughput")


def test_folded_parts_open_together_and_by_a_link(browser: Browser, sampler: Path) -> None:
    with opened(browser, sampler) as page:
        page.locator("[data-expand]").click()
        assert page.locator("pre.code").is_visible()
        page.keyboard.press("e")
        assert not page.locator("pre.code").is_visible()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(browser: Browser, tmp_path: Path, text: str) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(sampler_html(text), encoding="utf-8")
    with opened(browser, path, 390) as page:
        page.locator("[data-expand]").click()
        settle(page)
        assert page.title() != "owned"
        assert page.locator("main img, main iframe").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        links: list[str] = page.evaluate("[...document.links].map((one) => one.protocol)")
        assert set(links) <= {"file:", "http:", "https:"}
