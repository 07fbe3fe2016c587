"""A real Chromium for tests: Debian's, driven by Playwright, from file:// and without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from patience import CEILING_S
from requirements import require

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Root may not use Chromium's sandbox, and containers have a small /dev/shm; the pages under test are our own.
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; skips with the reason where it or Playwright is missing, fails where they were promised."""
    require("chromium", "playwright", "axe")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        arguments = ARGUMENTS if os.geteuid() == 0 else ARGUMENTS[1:]
        started = driver.chromium.launch(executable_path=path, args=arguments, timeout=CEILING_S * 1000)
        yield started
        started.close()
