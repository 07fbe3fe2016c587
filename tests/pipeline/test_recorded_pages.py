"""The pages that this repository ships: they open clean, are of the runs beside them, and name no machine."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from browser_checks import check_axe, check_fits, check_without_scripts, opened
from test_recorded_archive import ADDRESS, FAMILIES, FORBIDDEN, PROJECT, SHIPPED

pytestmark = pytest.mark.slow

FOLDER = PROJECT.root / "docs" / "pages"
KERNEL = FOLDER / "lightning_decode"
PAGES = sorted(FOLDER.rglob("*.html"))
NAMES = [str(path.relative_to(FOLDER)) for path in PAGES]
RUN = next((KERNEL / "v6_coalesced_store").glob("*/report.html"), KERNEL)
CHAIN = next((KERNEL / "v0_torch_eager").glob("*/report.html"), KERNEL)
DIFF = KERNEL / "v7_registers_128bit" / "diff-v6_coalesced_store.html"
ONE_OF_EACH = [RUN, DIFF, KERNEL / "index.html", FOLDER / "index.html"]
WHERE_THEY_LEAD = "all => all.map((one) => new URL(one.getAttribute('href'), location).href)"  # also in a drawing
PAGE_BYTES, LAUNCH_BYTES, SOURCE_BYTES = 500_000, 150_000, 2_000_000


def launches(path: Path) -> int:
    """The launches of one call of the versions that a page is about: a run's of one, a diff's of two."""
    kernel, _, rest = path.relative_to(FOLDER).as_posix().partition("/")
    about = [one.run for one in SHIPPED if one.run.kernel == kernel and one.run.version in rest]
    calls = {run.version: Counter(one.workload for one in run.launches) for run in about}
    return max(2, sum(max(call.values(), default=0) for call in calls.values()))


@pytest.mark.parametrize("kernel", FAMILIES)
def test_there_is_a_page_of_each_kernel(kernel: str) -> None:
    """`benchmarks/shipped_pages.py` writes what is shipped; `ncu-assist report KERNEL` writes the others."""
    assert (FOLDER / kernel / "index.html").is_file()
    assert kernel in (FOLDER / "index.html").read_text()


def test_a_page_of_each_kind_is_there() -> None:
    assert all(path.is_file() for path in ONE_OF_EACH)


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_a_page_is_small_and_names_no_machine(path: Path) -> None:
    page = path.read_bytes()
    assert len(page) <= PAGE_BYTES + launches(path) * LAUNCH_BYTES + SOURCE_BYTES
    assert FORBIDDEN.findall(page) == []
    assert ADDRESS.findall(page) == []


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_a_page_opens_without_an_error_or_a_request(browser: object, path: Path) -> None:
    with opened(browser, path) as page:  # type: ignore[arg-type]
        assert page.inner_text("h1")


@pytest.mark.parametrize("path", [*ONE_OF_EACH, CHAIN], ids=["run", "diff", "ladder", "index", "chain"])
def test_a_page_of_each_kind_fits(browser: object, path: Path) -> None:
    check_fits(browser, path)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ONE_OF_EACH, ids=["run", "diff", "ladder", "index"])
def test_a_page_of_each_kind_is_reachable_for_everybody(browser: object, path: Path) -> None:
    check_axe(browser, path)  # type: ignore[arg-type]
    check_without_scripts(browser, path)  # type: ignore[arg-type]


def test_links_lead_to_pages_that_are_there(browser: object) -> None:
    for path in ONE_OF_EACH:
        with opened(browser, path) as page:  # type: ignore[arg-type]
            found = page.eval_on_selector_all(
                "a[href]", "all => all.map((one) => new URL(one.getAttribute('href'), location).href)"
            )
        files = {url.partition("#")[0].removeprefix("file://") for url in found if url.startswith("file:")}
        assert [one for one in files if not Path(one).is_file()] == []


def test_they_are_what_the_runs_say_now(tmp_path: Path) -> None:
    """All of them, made again elsewhere: `benchmarks/shipped_pages.py` brings them up to date."""
    script = PROJECT.root / "benchmarks" / "shipped_pages.py"
    subprocess.run([sys.executable, script, tmp_path], cwd=PROJECT.root, check=True)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")) == sorted(NAMES)
    assert [name for name in NAMES if (FOLDER / name).read_bytes() != (tmp_path / name).read_bytes()] == []
