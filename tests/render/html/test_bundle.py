"""Several pages as one file: what is shown first, where links lead, what is left out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_checks import check_frame, opened

from ncu_assist.render.html.index import bundle_html
from ncu_assist.render.html.page import Head, PageSection, Provenance, page, table_section
from ncu_assist.render.table import Cell, Column, Link, Table, Term

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUN, DIFF = "v1%20a/20260101T000000Z-abcdef/report.html", "v1%20a/diff-v0.html"


def made(title: str, *links: str) -> str:
    cells = tuple((Cell("x", link=Link(f"to {one}", one)), Cell("t", term=Term(title, "name", title))) for one in links)
    table = Table("links-table", "Links", (Column("to"), Column("word")), cells)
    every = replace(table, id="metrics-table")
    sections = (
        table_section("links", "Links", table),
        PageSection("metrics", "All metrics", {"table": every, "legend": ("MANY",)}, "table_section.html.j2"),
    )
    return page(Head(title, "", (), Provenance((), 0, "cd" * 32)), sections[: 2 if links else 1])


@pytest.fixture
def bundle() -> str:
    return bundle_html(
        {
            "index.html": made("Ladder", RUN, "v9/none.html"),
            RUN: made("Run", "../diff-v0.html", "../../index.html"),
            DIFF: made("Diff", "20260101T000000Z-abcdef/report.html#links", "https://example.org/"),
        }
    )


def test_links_between_pages_lead_within_the_file_and_others_nowhere(bundle: str) -> None:
    for href in ("#p1-content", "#p2-content", "#p0-content", "#p1-links", "https://example.org/"):
        assert f'href="{href}"' in bundle
    assert re.findall(r'href="[^"]*\.html"', bundle) == []
    assert "<a>to v9/none.html</a>" in bundle


def test_metrics_are_in_the_first_page_alone_and_what_terms_mean_is_kept(bundle: str) -> None:
    assert bundle.count("MANY") == 1
    assert 'href="#p1-metrics"' not in bundle
    assert bundle.count('<div popover id="p1-t1">') == 1
    assert bundle.count('popovertarget="p1-t1"') == 2


@pytest.mark.slow
def test_pages_are_walked_through(browser: Browser, bundle: str, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    path = tmp_path / "bundle.html"
    path.write_text(bundle, encoding="utf-8")
    check_frame(browser, path)
    with opened(browser, path) as shown:
        heading = shown.locator("h1:visible")
        assert heading.all_text_contents() == ["Ladder"]
        for link, title in ((f"to {RUN}", "Run"), ("to ../diff-v0.html", "Diff"), ("All versions", "Ladder")):
            shown.locator("a:visible", has_text=link).first.click()
            expect(heading).to_have_text([title])
        shown.go_back()
        expect(heading).to_have_text(["Diff"])
    with opened(browser, path, scripts=False) as shown:
        assert shown.locator("h1:visible").all_text_contents() == ["Ladder", "Run", "Diff"]
