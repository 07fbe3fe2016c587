"""Make the pictures of docs/: what the recorded pages look like in a browser, light and dark.

usage: python benchmarks/page_screenshots.py [FOLDER]      (from the project's root; docs by default)

Needs Chromium and Playwright (the dev extra). A picture is the top of a page, or a section, as a reader sees it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "docs" / "pages" / "lightning_decode"
WIDTH, HEIGHT = 1280, 900


def pictures() -> dict[str, tuple[Path, str]]:
    """Return by name the page that a picture is of, and the section it begins with; empty for its top."""
    run = next((KERNEL / "v6_coalesced_store").glob("*/report.html"))
    diff = KERNEL / "v7_registers_128bit" / "diff-v6_coalesced_store.html"
    return {
        "run": (run, ""),
        "run_memory": (run, "memory"),
        "run_source": (run, "source"),
        "diff": (diff, ""),
        "diff_source": (diff, "source"),
        "ladder": (KERNEL / "index.html", ""),
    }


def shoot(browser: Browser, target: Path, page: Path, section: str, scheme: str) -> None:
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)  # type: ignore[arg-type]
    tab = context.new_page()
    tab.goto(page.as_uri() + (f"#{section}" if section else ""))
    tab.screenshot(path=target)
    context.close()


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, (page, section) in pictures().items():
            for scheme in ("light", "dark"):
                shoot(browser, folder / f"{name}_{scheme}.png", page, section, scheme)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"))
