"""Make the pictures of docs/: what the recorded pages look like in a browser, light and dark.

usage: python benchmarks/page_screenshots.py [FOLDER]      (from the project's root; docs by default)

Needs Chromium and Playwright (the dev extra). A picture is the top of a page, or a section, as a reader sees it.
"""

from __future__ import annotations

import io
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "docs" / "pages" / "lightning_decode"
WIDTH, HEIGHT = 1280, 900
COLOURS = 256


@dataclass(frozen=True)
class Picture:
    """A page, the section that the picture begins with (empty for its top), and the colours of the reader."""

    page: Path
    section: str
    scheme: Literal["light", "dark"]


def pictures() -> dict[str, Picture]:
    """Return the pictures that the guides show, by name."""
    run = next((KERNEL / "v6_coalesced_store").glob("*/report.html"))
    diff = KERNEL / "v7_registers_128bit" / "diff-v6_coalesced_store.html"
    return {
        "run_light": Picture(run, "", "light"),
        "run_memory_light": Picture(run, "memory", "light"),
        "run_source_dark": Picture(run, "source", "dark"),
        "diff_light": Picture(diff, "", "light"),
        "diff_source_light": Picture(diff, "source", "light"),
        "ladder_dark": Picture(KERNEL / "index.html", "", "dark"),
    }


def shoot(browser: Browser, target: Path, picture: Picture) -> None:
    """Write a picture with 256 colours: a third of the size, and none of them is missed."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=picture.scheme)
    tab = context.new_page()
    tab.goto(picture.page.as_uri())
    if picture.section:
        tab.evaluate("id => document.getElementById(id).scrollIntoView({behavior: 'instant'})", picture.section)
    shot = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    shot.quantize(COLOURS, dither=Image.Dither.NONE).save(target, "PNG", optimize=True)
    context.close()


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, picture in pictures().items():
            shoot(browser, folder / f"{name}.png", picture)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"))
