"""The pages that this repository ships: they open clean, are of the runs beside them, and name no machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from browser_checks import check_axe, check_fits, check_phone_and_axe, check_without_scripts, opened
from pipeline.measured import Notes
from recorded_family import copy_family
from test_recorded_archive import ADDRESS, FAMILIES, FORBIDDEN, PROJECT, SHIPPED

from ncu_assist.pipeline.pages.writing import PageRequest, report
from ncu_assist.project import Project
from ncu_assist.record import Run
from ncu_assist.store import Store
from ncu_assist.verdict import paired_speedup

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


ROW = re.compile(r'<th scope="row"[^>]*>([^<]*)</th>\n((?:<td .*\n)+)')
CELL = re.compile(r'<td class="[^"]*"(?: data-label="[^"]*")?(?: data-key="([^"]*)")?>([^< ]*)')


@pytest.mark.parametrize("kernel", FAMILIES)
def test_own_against_library_is_what_the_bench_recorded(kernel: str) -> None:
    """Each time on the ladder's page is the median of the samples of one bench, each ratio the paired one of two."""
    text = (FOLDER / kernel / "index.html").read_text(encoding="utf-8")
    table = text.partition('id="library-table"')[2].partition("</table>")[0]
    medians: dict[tuple[str, str], set[float]] = {}
    taken: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for stored in SHIPPED:
        if stored.run.kernel == kernel:
            samples = stored.samples()
            for (version, workload, _), own in samples.groupby(["version", "workload", "bench_id"], observed=True):
                medians.setdefault((str(version), str(workload)), set()).add(float(own["time_ns"].median()))
                taken.setdefault((str(version), str(workload)), []).append(own)
    rows = ROW.findall(table)
    assert rows
    for workload, cells in rows:
        (ratio, _), (own_ns, own), (library_ns, library) = CELL.findall(cells)
        assert any(float(own_ns) == pytest.approx(one) for one in medians[own, workload])
        assert any(float(library_ns) == pytest.approx(one) for one in medians[library, workload])
        pairs = product(taken[library, workload], taken[own, workload])
        assert any(paired_speedup(*both) == pytest.approx(float(ratio)) for both in pairs)


RUN_BYTES = 500_000  # of a run of one launch
BUNDLED = "mul_add_sigmoid"


@pytest.mark.timeout(3000)  # twenty versions are forty pages
@pytest.mark.parametrize("kernel", FAMILIES)
def test_every_page_of_the_archive_opens_clean_and_fits(browser: object, kernel: str, tmp_path: Path) -> None:
    """Each run, diff and ladder of a kernel, and the index, made anew of the recorded runs."""
    copy_family(tmp_path, kernel)
    project = Project(tmp_path)
    report(project, PageRequest(kernel), Notes())
    runs = {one.run.run_id: one.run for one in Store(project.reports).runs(kernel)}
    paths = sorted(tmp_path.rglob("*.html"))
    assert len([path for path in paths if path.name == "report.html"]) == len({run.version for run in runs.values()})
    judged: dict[tuple[str, int], dict[str, int]] = {}
    for path in paths:
        kind = path.name.partition("-")[0], len(path.parts)  # a run, a diff, a ladder, the index
        check_phone_and_axe(browser, path, judged.setdefault(kind, {}))  # type: ignore[arg-type]
        if path.name == "report.html" and most_launches(runs[path.parent.name]) == 1:
            assert path.stat().st_size <= RUN_BYTES, path


def test_a_bundle_opens_clean_and_fits(browser: object, tmp_path: Path) -> None:
    copy_family(tmp_path, BUNDLED)
    bundle = tmp_path / "bundle.html"
    report(Project(tmp_path), PageRequest(BUNDLED, bundle=True, output=bundle), Notes())
    check_phone_and_axe(browser, bundle)  # type: ignore[arg-type]


def most_launches(run: Run) -> int:
    """The launches of a call on the workload that has most of them."""
    return max(Counter(one.call for one in run.launches).values(), default=0)


def test_they_are_what_the_runs_say_now(tmp_path: Path) -> None:
    """All of them, made again elsewhere: `benchmarks/shipped_pages.py` brings them up to date."""
    script = PROJECT.root / "benchmarks" / "shipped_pages.py"
    subprocess.run([sys.executable, script, tmp_path], cwd=PROJECT.root, check=True)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")) == sorted(NAMES)
    assert [name for name in NAMES if (FOLDER / name).read_bytes() != (tmp_path / name).read_bytes()] == []
