"""The page of a diff in a real browser, from recorded runs, foreign reports, chains, and what cannot be compared."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_checks import check_page, first_column, opened, settle
from factories import DEVICE, PROFILE, launch, make_run, metrics_frame, samples_frame, save_run, times
from recorded_family import copy_family
from render.html.test_sampler import HOSTILE
from sections import models

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.pipeline.opened_reports import named
from ncu_assist.pipeline.pages.diff import diff_facts, diff_page
from ncu_assist.pipeline.reading import informed, two_named
from ncu_assist.project import find_project
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.html import diff as html
from ncu_assist.render.markdown import diff_markdown
from ncu_assist.render.table import Link
from ncu_assist.render.words.verdicts import names
from ncu_assist.render.words.why import why_lines
from ncu_assist.store import Store, StoredRun

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPOSITORY = Path(__file__).parents[3]
DATA = REPOSITORY / "tests" / "data"
LIMIT = 500_000 + 2 * 150_000  # of a page of two launches, beside its source
SOURCE = 2_000_000
Facts = Callable[..., DiffFacts]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded archive and a report, in a project of their own."""
    root = tmp_path_factory.mktemp("diff")
    copy_family(root, pages=True)
    (root / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    return root


def recorded(archive: Path, before: str, after: str, **asked: Any) -> tuple[tuple[StoredRun, StoredRun], DiffOptions]:
    project = find_project(archive)
    runs = named(project, [f"lightning_decode/{before}", f"lightning_decode/{after}"], None)
    pair = runs[0], runs[1]
    return pair, informed(Store(archive / "reports"), pair, DiffOptions(**asked))


def facts_of(runs: tuple[StoredRun, StoredRun], reports: Path, options: DiffOptions | None = None) -> DiffFacts:
    return diff_facts(runs, Store(reports), options or DiffOptions())


def bare(*names: str) -> tuple[StoredRun, StoredRun]:
    one, other = named(find_project(DATA), [str(DATA / name) for name in names], None)
    return one, other


def written(folder: Path, facts: DiffFacts) -> Path:
    path = folder / "diff.html"
    path.write_text(html.diff_html(facts), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def faster(archive: Path) -> DiffFacts:
    """v6 against v5: another resource binds now, a line lost its excess, and some metrics got worse."""
    runs, options = recorded(archive, "v5", "v6")
    return facts_of(runs, archive / "reports", options)


@pytest.fixture(scope="module")
def page_path(faster: DiffFacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("page"), faster)


def test_a_recorded_diff_passes_every_check(browser: Browser, page_path: Path) -> None:
    check_page(browser, page_path)


def test_metrics_sort_and_filter(browser: Browser, page_path: Path) -> None:
    with opened(browser, page_path) as page:
        page.locator("#metrics-table-filter").fill("derived__memory_l2_theoretical_sectors_global_excessive improved")
        (found,) = first_column(page, "metrics-table")
        assert found.startswith("Excessive L2 sectors, global")
        header = page.locator("#changes-table thead th").nth(2)
        header.locator("button.sort").click()
        assert header.get_attribute("aria-sort") == "ascending"
        moved = page.locator("#changes-table tbody tr td:nth-child(3)")
        keys = [float(moved.nth(i).get_attribute("data-key") or "nan") for i in range(moved.count())]
        assert keys == sorted(keys)
        assert len(keys) > 5


def test_the_verdict_comes_first_and_says_what_it_stands_on(faster: DiffFacts) -> None:
    made = models(html.diff_sections(faster))
    assert made.verdict.sentence.startswith("v6 is 2.76x faster than v5 on b64_d96 (99 % interval")
    assert made.verdict.badge.text.startswith("▲")
    assert dict(made.verdict.facts)["stands on"] == "the 99 % interval of the paired ratios lies beyond 0.5 %"
    tiles = {tile.term.label: (tile.was, tile.text) for tile in made.verdict.tiles}
    assert tiles["Bound by"] == ("L2 input", "L1 data pipe")
    text = html.diff_html(faster)
    assert text.index('id="verdict"') < text.index('id="why"') < text.index('id="changes"')


def test_nothing_alarms_in_red_where_the_kernel_is_faster(browser: Browser, page_path: Path) -> None:
    """What got worse beside that is told and explained, in ink: lines that take a larger share, more instructions."""
    with opened(browser, page_path) as page:
        assert page.locator("#changes .badge-bad").count() > 0
        inks = """ids => ids.flatMap(id => [...document.querySelectorAll(`#${id} :is(.tone-bad, .badge-bad)`)])
            .map(one => getComputedStyle(one).color)"""
        alarm = page.evaluate(
            """() => {
              const one = document.body.appendChild(document.createElement("i"));
              one.style.color = "var(--bad)";
              return getComputedStyle(one).color;
            }"""
        )
        found = page.evaluate(inks, ["changes", "source", "metrics", "warps"])
        assert found
        assert alarm not in found
        assert "No reason to go back" in page.inner_text("#changes .callout")
        assert "side effect: it got worse, and nothing says that it costs time" in page.inner_text("#changes .legend")


def test_a_wait_at_a_barrier_stands_at_one_line(tmp_path: Path) -> None:
    """Verdict and both tables of lines name the barrier, with where its warps were sampled."""
    copy_family(tmp_path, "gemm_bias_gelu")
    project = find_project(tmp_path)
    one, other = named(project, ["gemm_bias_gelu/v11", "gemm_bias_gelu/v12"], None)
    store = Store(tmp_path / "reports")
    made = models(
        html.diff_sections(facts_of((one, other), tmp_path / "reports", informed(store, (one, other), DiffOptions())))
    )
    told = [one for row in made.verdict.answer for one in row.links if "sampled at" in one[1]]
    assert told[0][0].text == "v12_wgmma.cu:39"
    assert told[0][1].startswith("hottest: ")
    changed, left = made.source.lines["tables"]
    for table in (changed, left):
        assert any(
            row[0].text == "v12_wgmma.cu:39" and "sampled at :40" in f"{row[0].note} {row[-1].text}"
            for row in table.rows
        )
        assert not any(row[0].text == "v12_wgmma.cu:40" for row in table.rows)


def test_why_says_what_bound_and_what_binds_and_the_product(faster: DiffFacts) -> None:
    made = models(html.diff_sections(faster))
    why, answer = made.why, [f"{row.text} {row.links}" for row in made.verdict.answer]
    assert why.first == "was bound by L2 input (85 %), now by L1 data pipe (82 %)"
    assert any("`new_s[tid * D + col] " in line for line in answer)
    gains = [row[-1].key for row in why.products[0].rows]
    product = 1.0
    for gain in gains[:-1]:
        product *= float(gain)
    assert product == pytest.approx(float(gains[-1]))
    assert why.products[0].columns[0].title == "on L2 input, which bound v5"
    assert why.products[1].columns[0].title == "on L1 data pipe, which binds v6"
    work, *rates = why.products[0].rows[:-1]  # of what no longer binds: asked for less, it runs at a lower rate
    assert [work[-1].tone, *(row[-1].tone for row in rates)].count("bad") == 0
    assert any(row[-1].text.endswith("slower") for row in rates)
    assert "The first is about what v5 was bound by" in why.note


def test_a_fault_that_is_gone_is_told_before_the_factors_with_its_line(faster: DiffFacts) -> None:
    made = models(html.diff_sections(faster))
    first, other = (row for row in made.verdict.answer if row.label == "Why" or row.text.startswith("L2 input: "))
    assert first.text.startswith("v5: `uncoalesced-global-store`, a global store touches 24.2 sectors")
    assert "next to nothing of it in v6" in first.text
    assert "Sector efficiency, global stores: 12.4 % in v5, " in first.text
    assert other.text.startswith("L2 input: 8.42x fewer ")


@pytest.mark.parametrize(
    ("kernel", "pair", "told", "silent"),
    [
        # By today's rules v11 has no low occupancy, with as many warps: what it waits for is no latency any more.
        ("flash_attention", ("v10", "v11"), "`tensor-underfed`, feeds tensor cores too little: 55 % busy", "low-occup"),
        # v4 stores as v3 does: conflicts hide a part of what that costs.
        ("lightning_decode", ("v3", "v4"), "`redundant-traffic`", "uncoalesced-global-store"),
    ],
)
def test_a_fault_explains_the_time_only_where_its_evidence_moved(
    kernel: str, pair: tuple[str, str], told: str, silent: str
) -> None:
    project = find_project(REPOSITORY)
    runs, options = two_named(project, (f"{kernel}/{pair[0]}", f"{kernel}/{pair[1]}"), None, DiffOptions())
    made = models(html.diff_sections(diff_facts(runs, Store(project.reports), options)))
    answer = [row.text for row in made.verdict.answer]
    assert told in "\n".join(answer)
    assert not [text for text in answer if silent in text]


def test_what_binds_one_side_alone_names_it() -> None:
    project = find_project(REPOSITORY)
    runs, options = two_named(
        project, ("lightning_decode_deferred/v1", "lightning_decode_deferred/v2"), None, DiffOptions()
    )
    made = models(html.diff_sections(diff_facts(runs, Store(project.reports), options)))
    (row,) = [row for row in made.verdict.answer if row.label == "Bound by"]
    assert row.text.startswith("v1: DRAM (")


def test_a_line_in_whose_place_the_source_shows_another_is_one_row(archive: Path) -> None:
    runs, options = recorded(archive, "v5", "v7")
    facts = facts_of(runs, archive / "reports", options)
    made = models(html.diff_sections(facts))
    link, words = next(one for row in made.verdict.answer for one in row.links if "replaced" in one[1])
    assert link.text == "v5_shared_padded.cu:39 → v7_registers_128bit.cu:45"
    assert words.endswith("33.0 M excess sectors; warps waited there for 358 → 1.69 µs (long scoreboard)")
    line = "replaced: v5.cu:39 → v7.cu:45  `const float value"
    assert any(one.startswith(line) for one in why_lines(None, facts.diff.lines, ("v5", "v7"), 120))
    assert f"- {line}".replace("  ", " ") in diff_markdown(facts.diff)
    store = next(one for row in made.verdict.answer for one in row.links if one[0].text == "v5_shared_padded.cu:41")
    assert store[1].endswith("100 % of its excess sectors; warps waited there for 17.0 µs")
    changed, _ = made.source.lines["tables"]
    rows = {row[0].text: row for row in changed.rows}
    held = rows["v5_shared_padded.cu:44 → v7_registers_128bit.cu:58"]  # sampled behind it, at :59
    assert [cell.text for cell in held[1:3]] == ["159 µs", "3.55 µs"]
    moved = rows["v5_shared_padded.cu:34 → v7_registers_128bit.cu:40"]  # the barrier is of both sides
    assert [cell.text for cell in moved[1:3]] == ["4.53 µs", "18.8 µs"]
    assert moved[-1].text == "▲ more"
    assert not {"▲ appeared", "▼ vanished"} & {row[-1].text for row in changed.rows}
    notes = {bar.label.label: bar.note for bar in made.warps.stalls.bars}
    assert notes["long scoreboard"] == "194 → 31.2 µs"


def test_changes_have_signs_roles_and_an_order(faster: DiffFacts) -> None:
    made = models(html.diff_sections(faster))
    changes = made.changes
    titles = [column.title for column in changes.moved.columns]
    rows = {row[0].text: dict(zip(titles, row, strict=True)) for row in changes.moved.rows}
    assert next(iter(rows)) == "Duration"
    worse = rows["Executed Instructions"]
    assert worse["change"].text == "▲ +73.1 %"
    assert worse["change"].tone == "bad"
    assert worse["role"].badge
    assert worse["role"].badge.text == "side effect"
    assert [(heading, explains) for heading, explains, _ in changes.flags] == [
        ("What got worse as a side effect", False)
    ]
    assert len(made.metrics.rows) > 1000


def test_bars_have_the_baseline_as_a_ghost(faster: DiffFacts) -> None:
    made = models(html.diff_sections(faster))
    assert made.speed
    assert made.warps.stalls
    bars = {bar.label.label: bar for bar in made.speed.bars}
    assert bars["L1 data pipe"].tone == "limit"
    assert bars["L2 input"].text.startswith("▼ 85.1 → 28.0")
    assert bars["L2 input"].ghost == pytest.approx(0.851, abs=0.001)
    assert {bar.tone for bar in made.warps.stalls.bars} == {"good", ""}  # a share may rise while its time falls


def test_lines_link_into_the_sources(faster: DiffFacts, browser: Browser, page_path: Path) -> None:
    changed, _ = models(html.diff_sections(faster)).source.lines["tables"]
    first = changed.rows[0][0]
    assert first.text == "v5_shared_padded.cu:41"
    assert first.note == "new_s[tid * D + col] = value;"
    with opened(browser, page_path) as page:
        link = page.locator("#changed-lines a").first
        link.click()
        assert page.locator(str(link.get_attribute("href"))).is_visible()


def test_it_stays_below_the_size_limits(page_path: Path) -> None:
    text = page_path.read_text(encoding="utf-8")
    start, end = text.index('<section class="card" id="source"'), text.index('<section class="card" id="metrics"')
    assert end - start < SOURCE
    assert len(text.encode()) - (end - start) < LIMIT


def test_the_same_runs_give_the_same_bytes_wherever_they_lie(archive: Path, faster: DiffFacts, tmp_path: Path) -> None:
    shutil.copytree(archive, tmp_path / "elsewhere")
    runs, options = recorded(tmp_path / "elsewhere", "v5", "v6")
    text = diff_page(runs, Store(tmp_path / "elsewhere" / "reports"), options)
    assert text == html.diff_html(faster)
    assert str(tmp_path) not in text
    assert str(archive) not in html.diff_html(faster)
    assert all(stored.run.digest in text for stored in runs)


def test_it_lies_where_it_is_told(archive: Path) -> None:
    runs, options = recorded(archive, "v5", "v6")
    crumbs, links = (Link("lightning_decode", "../index.html"),), ("../v5/report.html", "../v6/report.html")
    text = diff_page(runs, Store(archive / "reports"), options, crumbs=crumbs, links=links)
    assert '<a href="../index.html">lightning_decode</a>' in text
    assert '<a href="../v6/report.html">' in text


def test_a_run_against_itself(archive: Path, browser: Browser, tmp_path: Path) -> None:
    runs, options = recorded(archive, "v6", "v6")
    facts = facts_of(runs, archive / "reports", options)
    made = models(html.diff_sections(facts))
    assert "both sides are the same run" in made.verdict.notes
    assert not made.changes.moved.rows
    assert not made.changes.flags
    check_page(browser, written(tmp_path, facts))


def test_a_chain_against_one_launch(archive: Path, browser: Browser, tmp_path: Path) -> None:
    runs, options = recorded(archive, "v0", "v2")
    facts = facts_of(runs, archive / "reports", options)
    made = models(html.diff_sections(facts))
    assert made.why.first.endswith("10 launches → 1")
    assert any("a launch" in row[0].text for row in made.why.products[0].rows)
    assert made.source
    assert made.source.pair.missing
    assert "no line numbers: it is from libraries, PyTorch, cuBLAS" in made.source.pair.missing[0]
    assert made.source.pair.files
    assert all(file.rows and not file.before for file in made.source.pair.files)  # the other side alone
    assert re.sub(r'data-copy="[^"]*"', "", html.diff_html(facts)).count("from libraries, PyTorch") == 1
    assert (made.speed, made.warps) == (None, None)  # of the chain each launch has its own
    check_page(browser, written(tmp_path, facts))


def test_every_workload_has_its_verdict_in_full(archive: Path) -> None:
    runs, options = recorded(archive, "v5", "v6")
    made = models(html.diff_sections(facts_of(runs, archive / "reports", options)))
    assert len(made.verdicts.rows) == 10
    assert made.verdict.counted == "faster on 10"
    assert "99 % interval " in made.verdict.sentence
    assert " to " in made.verdicts.rows[0][4].text


def test_foreign_programs_pair_their_launches(browser: Browser, tmp_path: Path) -> None:
    names = "repeats_full_h200_2025.3.1.ncu-rep.zst", "repeats_again_full_h200_2025.3.1.ncu-rep.zst"
    facts = facts_of(bare(*names), tmp_path)
    made = models(html.diff_sections(facts))
    assert made.launches
    assert made.launches.pairs
    assert any("×" in row[0].text for row in made.launches.pairs.rows)
    assert made.verdict.badge.text.startswith("?")
    text = html.diff_html(facts)
    assert str(DATA) not in text
    # Two processes of the same code: nothing that is shown of any pair, or of all together, is a change.
    assert not [row for section in (made.changes,) if section for row in section.moved.rows]
    assert made.launches.details == []
    assert {row[-1].text for row in made.metrics.rows} <= {"", "unchanged", "undecided"}
    assert len(made.metrics.rows) > 500
    check_page(browser, written(tmp_path, facts))


def test_reports_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
    source = DATA / "transpose_basic_h200_2025.3.1.ncu-rep.zst"
    paths = [str(shutil.copy(source, tmp_path / folder / "mine.ncu-rep.zst")) for folder in ("before", "after")]
    one, other = named(find_project(tmp_path), paths, None)
    facts = facts_of((one, other), tmp_path)
    assert names(facts.diff) == ("before/mine.ncu-rep.zst", "after/mine.ncu-rep.zst")
    page = html.diff_html(facts)
    assert str(tmp_path) not in page
    assert "more in each: <code>ncu --set full" in page, "the command alone is code"


def test_other_sections_on_a_side_are_said(tmp_path: Path) -> None:
    names = "transpose_full_h200_2025.3.1.ncu-rep.zst", "transpose_basic_h200_2025.3.1.ncu-rep.zst"
    facts = facts_of(bare(*names), tmp_path)
    made = models(html.diff_sections(facts))
    assert made.warps is None
    assert "metrics-table" in html.diff_html(facts)


@pytest.fixture
def made_up(tmp_path: Path) -> Facts:
    """Two runs of add_one with one launch each; changes of the candidate's record, and of its metrics."""

    def make(
        metrics: dict[str, float | None] | None = None, force: bool = False, median_ns: float = 1e5, **changes: Any
    ) -> DiffFacts:
        store = Store(tmp_path / "reports")
        before = samples_frame(times(1e5, 0), version="v1_a")
        after = samples_frame(times(median_ns, 1), version="v2_b")
        one = save_run(store, make_run(version="v1_a"), metrics_frame({}), before)
        counters = metrics_frame(metrics or {}) if changes.get("launches") != () else None
        two = save_run(store, make_run(version="v2_b", **changes), counters, after)
        return diff_facts((one, two), store, DiffOptions(force=force))

    return make


def test_runs_that_cannot_be_compared_show_no_change(made_up: Facts, browser: Browser, tmp_path: Path) -> None:
    facts = made_up(device=replace(DEVICE, name="NVIDIA A100"))
    made = models(html.diff_sections(facts))
    assert made.verdict.badge.text == "not comparable"
    assert made.verdict.tiles == ()
    assert (made.speed, made.roofline, made.source) == (None, None, None)
    assert "different GPUs" in made.missing.missing
    text = html.diff_html(facts)
    assert "≠ forbids a comparison" in text
    assert "▲" not in re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
    check_page(browser, written(tmp_path, facts))


def test_a_forced_comparison_says_so(made_up: Facts) -> None:
    facts = made_up(force=True, device=replace(DEVICE, name="NVIDIA A100"))
    made = models(html.diff_sections(facts))
    assert made.roofline
    assert "(forced)" in made.verdict.sentence
    assert "forced in spite of: the two were measured on different GPUs" in html.diff_html(facts)


def test_a_side_without_counters_is_missing_and_not_empty(made_up: Facts, browser: Browser, tmp_path: Path) -> None:
    facts = made_up(launches=(), profile=None)
    made = models(html.diff_sections(facts))
    assert (made.speed, made.warps) == (None, None)
    assert "v2_b" in made.missing.missing
    assert made.missing.collect == "ncu-assist profile add_one v2 --workload small"
    assert [row.text for row in made.verdict.answer if row.label == "Counters"] == [
        "no counters of v2 on small, so nothing says why: ncu-assist profile add_one v2 --workload small"
    ]
    assert (made.roofline, made.memory, made.source) == (None, None, None)
    assert made.timing
    check_page(browser, written(tmp_path, facts))


def test_what_differs_beside_the_version_stands_in_the_box_of_the_verdict(made_up: Facts, tmp_path: Path) -> None:
    newer = made_up(device=replace(DEVICE, driver="590"))
    (told,) = [row.text for row in models(html.diff_sections(newer)).verdict.answer if row.label == "Also differs"]
    assert told == f"driver: {DEVICE.driver} against 590"
    sizes = [
        save_run(
            Store(tmp_path / "reports"),
            make_run(
                version=f"{blocks}_blocks",
                workloads=(),
                source="imported",
                launches=(launch(0, "sum", None, ranges=(), grid=(blocks, 1, 1)),),  # type: ignore[arg-type]
            ),
            metrics_frame({}),
        )
        for blocks in (1, 1000)
    ]
    text = html.diff_html(facts_of((sizes[0], sizes[1]), tmp_path / "reports"))
    box = text.partition('id="verdict"')[2].partition("<section")[0]
    assert f"threads of sum: 128 against {1000 * 128:,}" in re.sub(r'data-copy="[^"]*"', "", box)


def test_tiles_and_factors_are_of_the_launches_that_are_compared_and_say_of_how_many(tmp_path: Path) -> None:
    def program(version: str, *kernels: str) -> StoredRun:
        launches = tuple(
            launch(n, kernel, None, ranges=(), duration_ns=1e5)  # type: ignore[arg-type]
            for n, kernel in enumerate(kernels)
        )
        counted = {"gpu__time_duration.sum": 1e5, "dram__bytes_read.sum": 1e8, "dram__bytes_write.sum": 0.0}
        run = make_run(version=version, workloads=(), source="imported", launches=launches)
        return save_run(Store(tmp_path / "reports"), run, metrics_frame(*[counted] * len(kernels)))

    facts = facts_of((program("v1_a", "one", "two"), program("v2_b", "one", "two", "three")), tmp_path / "reports")
    made = models(html.diff_sections(facts))
    tiles = {tile.term.label: tile for tile in made.verdict.tiles}
    assert (tiles["Under ncu"].was, tiles["Under ncu"].text) == ("200 µs", "200 µs")
    assert tiles["Under ncu"].note == "2 launches → 2 of 3 launches"
    assert tiles["DRAM traffic"].note.startswith(tiles["Under ncu"].note)


def test_a_change_that_the_whole_hides_is_in_the_answer(tmp_path: Path) -> None:
    def program(version: str, ns: float) -> StoredRun:
        timed = enumerate((("gemm", ns), ("reference", 9e6)))
        launches = tuple(launch(n, kernel, None, ranges=(), duration_ns=time) for n, (kernel, time) in timed)
        run = make_run(version=version, workloads=(), source="imported", launches=launches)
        return save_run(Store(tmp_path / "reports"), run, metrics_frame({}, {}))

    facts = facts_of((program("v1_a", 1e5), program("v2_b", 2e5)), tmp_path / "reports")
    (told,) = [row.text for row in models(html.diff_sections(facts)).verdict.answer if row.label == "But"]
    assert told.startswith("gemm alone is likely 2.00x slower (100 µs → 200 µs): `ncu-assist diff ")
    assert told.endswith(" --filter gemm`")


def test_work_of_a_launch_says_so_where_both_sides_have_as_many() -> None:
    project = find_project(REPOSITORY)
    one, other = named(project, ["lightning_decode_deferred/v1", "lightning_decode_deferred/v3"], None)
    made = models(html.diff_sections(facts_of((one, other), REPOSITORY / "reports")))
    assert {tile.note for tile in made.verdict.tiles if tile.term.label in ("Under ncu", "DRAM traffic")} == {
        "16 launches"
    }
    assert made.why.products[0].rows[0][0].text == "DRAM bytes a launch"


def test_what_explains_a_slowdown_stands_above_the_table(made_up: Facts) -> None:
    worse = {
        "gpu__time_duration.sum": 200_000.0,
        "dram__bytes_read.sum": 600_000_000.0,
        "dram__bytes.sum.per_second": 4.0e12,
    }
    facts = made_up(worse, median_ns=2e5)
    flags = models(html.diff_sections(facts)).changes.flags
    assert [explains for _, explains, _ in flags] == [True]
    text = html.diff_html(facts)
    assert text.index("What got worse and explains the slowdown") < text.index('id="changes-table"')
    assert ">explains<" in text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(made_up: Facts, browser: Browser, tmp_path: Path, text: str) -> None:
    shown = text.replace("\ud800", "?")
    facts = made_up(
        device=replace(DEVICE, name=shown, driver=shown),
        launches=(launch(kernel=shown, signature=shown),),
        profile=replace(PROFILE, command=shown, section_set=shown),
        notes=(shown,),
        force=True,
    )
    with opened(browser, written(tmp_path, facts), 390) as page:
        page.locator("[data-expand]").click()
        settle(page)
        assert page.title() != "owned"
        assert page.locator("main img, main iframe").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
