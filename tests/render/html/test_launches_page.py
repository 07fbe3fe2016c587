"""The page of a report of several launches: a list to pick from, a part for each, figures as of `--launch`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from browser_checks import check_page, opened
from factories import launch, metrics_frame
from ncu.csv_made import page as csv_page
from ncu.csv_made import row as csv_row

from ncu_assist.analysis.launches import launch_floor, narrowed
from ncu_assist.frame import combine_launches
from ncu_assist.launch_selection import selection_of
from ncu_assist.pipeline.opened_reports import BareReport, bare_reports
from ncu_assist.pipeline.pages.run import raw_metrics, run_record
from ncu_assist.quantity import duration
from ncu_assist.render.html.page import scoped
from ncu_assist.render.html.run import LaunchPart, metrics_model, run_html, run_sections
from ncu_assist.render.html.run_counters import RunRecord
from ncu_assist.render.html.run_diagnosis import kernels_table
from ncu_assist.render.json.run import show_json
from ncu_assist.render.words.launches import to_win, worth_telling

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DATA = Path(__file__).parents[2] / "data"
LAUNCH_BYTES, BASE_BYTES = 96_000, 500_000  # 26 launches in 3 MB
ONE_S, MANY_S = 0.4, 2.0  # of one launch and of 26
SAME = ("speed", "roofline", "memory", "stalls", "occupancy", "mix")


def opened_report(name: str) -> BareReport:
    path = DATA / f"{name}_h200_2025.3.1.ncu-rep.zst"
    (report,) = bare_reports([str(path)], [path], None)
    return report


@pytest.fixture(scope="module")
def record() -> RunRecord:
    return run_record(opened_report("library_full"))


@pytest.fixture(scope="module")
def path(record: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "report.html"
    made.write_text(run_html(record), encoding="utf-8")
    return made


def parts(record: RunRecord) -> tuple[LaunchPart, ...]:
    found = next(one.model for one in run_sections(record) if one.id == "launch")
    assert isinstance(found, tuple)
    return found


def test_it_passes_every_check(browser: Browser, path: Path, record: RunRecord) -> None:
    check_page(browser, path)
    assert path.stat().st_size < BASE_BYTES + LAUNCH_BYTES * len(record.alone)


@pytest.mark.parametrize("name", ["library_full", "repeats_full"])
def test_rendering_takes_little_time(name: str) -> None:
    """Of the processor, which a busy machine changes little: 0.4 s for one launch, 2 s for 26; 3 MB then."""
    record = run_record(opened_report(name))
    assert len(run_html(record).encode()) < BASE_BYTES + LAUNCH_BYTES * len(record.alone)
    spent = []
    for _ in range(2):
        started = time.process_time()
        run_html(record)
        spent.append(time.process_time() - started)
    assert min(spent) < ONE_S + (MANY_S - ONE_S) / 25 * (len(record.alone) - 1)


@pytest.mark.parametrize("name", ["torch_full", "transpose_full"])
def test_figures_of_a_launch_are_those_of_the_launch_asked_for_alone(name: str) -> None:
    report = opened_report(name)
    whole = run_record(report)
    for part in parts(whole):
        alone = run_record(narrowed(report, selection_of(str(part.index))))
        asked = {one.id: one.model for one in run_sections(alone)}
        shown = {one.id: one.model for one in part.sections}
        assert {id: shown[id] for id in SAME} == {id: asked[id] for id in SAME}
        assert shown["verdict"]["answer"] == asked["verdict"]["answer"]  # type: ignore[index]
        said = show_json(alone.shown)  # what `show --launch N --json` prints
        tiles = {tile.term.label: tile.text for tile in shown["verdict"]["tiles"]}  # type: ignore[index]
        assert tiles["Under ncu"] == duration(said["launches"][0]["duration_ns"])
        assert tiles["Bound by"] == said["bound_by"]
        assert said["focus"] == part.index
        first = shown["diagnosis"]["first"]  # type: ignore[index]
        assert first.rule == said["diagnosis"]["findings"][0]["rule"]
        assert alone.shown.results
        assert part.index in [one.shown.combined.launches[0].index for one in whole.alone]


def test_launches_are_picked_by_link_and_by_keys(browser: Browser, path: Path, record: RunRecord) -> None:
    order = [f"launch-{one.shown.combined.launches[0].index}" for one in record.alone]
    with opened(browser, path) as page:
        seen = "[...document.querySelectorAll('.launch')].filter((one) => one.checkVisibility()).map((one) => one.id)"
        (first,) = page.evaluate(seen)
        assert first in order
        page.locator(f'.pick a[href="#{order[0]}"]').click()
        assert page.evaluate(seen) == [order[0]]
        page.keyboard.press("j")
        assert page.evaluate(seen) == [order[1]]
        page.keyboard.press("k")
        page.keyboard.press("k")
        assert page.evaluate(seen) == [order[0]]
        page.locator(f'.pick a[href="#{order[0]}"]').focus()
        page.keyboard.press("ArrowDown")
        assert page.evaluate(seen) == [order[1]]
        assert page.evaluate("document.activeElement.hash") == f"#{order[1]}"
        picked = page.locator('.pick a[aria-current="true"]')
        assert picked.count() == 1
        page.set_viewport_size({"width": 1280, "height": 300})
        page.evaluate("scrollTo(0, 0)")
        page.keyboard.press("k")  # far above what it says: at least the row is seen
        assert picked.evaluate("one => one.getBoundingClientRect().bottom < innerHeight")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.keyboard.press("j")
        page.evaluate(f"location.hash = 'l{order[2].removeprefix('launch-')}-stalls'")  # a link into another launch
        page.wait_for_function(f"document.getElementById('{order[2]}').checkVisibility()")
        assert page.evaluate(seen) == [order[2]]
    with opened(browser, path, scripts=False) as page:
        assert all(page.locator(f"#{one}").is_visible() for one in order)


def test_all_metrics_follow_the_launch_picked(browser: Browser, path: Path, record: RunRecord) -> None:
    """Its column stands behind that of all together, whichever was there before; one without a column is named."""
    time_of = next(row for row in record.metrics.rows if row.name == "gpu__time_duration.sum")
    own = {f"#{one.index}": f"{value:,.0f}" for one, value in zip(record.metrics.launches, time_of.values, strict=True)}
    row = "[...document.querySelectorAll('table.metrics tr')].find((one) => one.textContent.includes('NAME')).cells[3]"
    with opened(browser, path) as page:
        for column in [*own, *own]:
            page.locator(f'.pick a[href="#launch-{column[1:]}"]').click()
            shown = "(column) => document.querySelectorAll('table.metrics thead th')[3].innerText.startsWith(column)"
            page.wait_for_function(shown, arg=column)  # a link's target is heard of after the click
            heads = page.locator("table.metrics thead th").all_inner_texts()
            assert heads[2].startswith("together")
            assert sorted(one.split()[0] for one in heads[3:-1]) == sorted(own)
            assert page.evaluate(f"{row.replace('NAME', time_of.name)}.textContent").strip() == own[column]
            assert (
                page.locator("[data-picked]").inner_text()
                == f"{column}, the launch picked, is shown next to all launches together."
            )
        page.evaluate("document.querySelector('.launch:not(.shown)').id = 'launch-99'")
        page.evaluate("location.hash = 'launch-99'")
        page.wait_for_function("document.getElementById('launch-99').checkVisibility()")
        assert "#99, the launch picked, is not one of the longest" in page.locator("[data-picked]").inner_text()


def test_what_is_asked_first_stands_first(record: RunRecord) -> None:
    """The longest launch by name, what to do, and of each launch its floor and its costliest line."""
    verdict = next(one.model for one in run_sections(record) if one.id == "verdict")
    assert isinstance(verdict, dict)
    rows = {row.label: row for row in reversed(verdict["answer"])}
    longest = max(record.shown.launches_shown, key=lambda one: one.launch.duration_ns or 0.0).launch
    (link, _), *_ = rows["Longest launch"].links
    assert link.href == f"#launch-{longest.index}"
    assert link.text.startswith(f"#{longest.index} {longest.kernel[:40]}")
    assert verdict["sentence"].startswith(f"Its {len(record.alone)} launches take ")
    told = [{row.label: row for row in part.sections[0].model["answer"]} for part in parts(record)]  # type: ignore[index]
    assert all(" its floor (" in own["Time"].text for own in told)
    first = next(part for part in parts(record) if part.is_first)
    assert ", the most to win: " in first.title
    # a floor that is what a finding leaves is not called what was counted: that needs longer
    for one, rows in zip(record.alone, told, strict=True):
        floor = launch_floor(one.shown.results)
        assert floor is not None
        assert ("the saving of its finding" in rows["Time"].text) == floor.by_finding


def test_the_launch_shown_first_is_that_of_the_first_advice(record: RunRecord) -> None:
    """Advice names the launch with the most to win of those that it is for; the first of these is shown."""
    verdict = next(one.model for one in run_sections(record) if one.id == "verdict")
    advice = [row for row in verdict["answer"] if "less (" in row.text]  # type: ignore[index]
    assert len(advice) == len(record.shown.payoffs[:4])
    first = next(part for part in parts(record) if part.is_first)
    of_one = next(place for place, one in enumerate(record.shown.payoffs) if one.kernels == 1)
    assert [link.href for link, _ in advice[of_one].links] == [f"#launch-{first.index}"]
    assert record.shown.focus is record.shown.payoffs[of_one].worst


def test_time_by_kernel_sums_its_launches(record: RunRecord) -> None:
    assert kernels_table(record.shown) is None  # each was launched once
    shown = run_record(opened_report("repeats_full")).shown
    made = kernels_table(shown, [shown.launches_shown[0].launch.index])
    assert made is not None
    columns = {column.title: place for place, column in enumerate(made.columns)}
    kernels = {one.launch.signature for one in shown.launches_shown}
    assert len(made.rows) == len(kernels) < len(shown.launches_shown)
    assert sum(int(row[columns["launches"]].text) for row in made.rows) == len(shown.launches_shown)
    times = [float(row[columns["time"]].key) for row in made.rows]
    assert times == sorted(times, reverse=True)
    assert sum(times) == pytest.approx(sum(one.launch.duration_ns or 0.0 for one in shown.launches_shown))
    assert all(row[columns["bound by"]].text for row in made.rows)


def test_a_link_that_leads_out_of_a_part_stays() -> None:
    html = '<a id="x" href="#x"><a href="#line-k-cu-3">'
    assert scoped(html, "l3-", leads_out=True) == '<a id="l3-x" href="#l3-x"><a href="#line-k-cu-3">'


def test_ids_of_a_part_are_its_own() -> None:
    html = '<a id="x" href="#y" for="z">id="x"</a><svg aria-labelledby="a b"></svg><a href="r.html">'
    assert scoped(html, "l3-") == (
        '<a id="l3-x" href="#l3-y" for="l3-z">id="x"</a><svg aria-labelledby="l3-a l3-b"></svg><a href="r.html">'
    )


def test_launches_alike_are_not_told_apart(record: RunRecord) -> None:
    """Within a tenth of the most that one could win, all are told with the range; else the one with most to win."""
    payoff = next(one for one in record.shown.payoffs if len(one.rows) > 1)

    def of(*winnable_ns: float) -> Any:
        return replace(payoff, rows=tuple(SimpleNamespace(winnable_ns=own, results=None) for own in winnable_ns))

    alike = of(128e3, 137e3, 130e3)
    assert to_win(alike) == "is shown first; all 3 are alike, 128 to 137 µs each to win"
    assert to_win(of(12e3, 137e3)) == "has the most to win of these 2, 137 µs"
    assert to_win(of(137e3)) == ""


def test_launches_that_are_not_worth_work_are_counted(record: RunRecord) -> None:
    verdict = next(one.model for one in run_sections(record) if one.id == "verdict")
    assert isinstance(verdict, dict)
    (said,) = (row.text for row in verdict["answer"] if row.label == "Not worth work")
    told = {index for one in worth_telling(record.shown) for index in one.launches}
    rest = len(record.shown.launches_shown) - len(told)
    assert said.startswith(f"{rest} of {len(record.shown.launches_shown)} launches" if rest else "none: ")


def test_the_launch_shown_first_has_a_column_though_it_is_short() -> None:
    """Of ten launches the last has most to win and is the shortest: it takes the place of the fifth longest."""
    some = [launch(index, duration_ns=1000.0 - index) for index in range(10)]
    frame = metrics_frame(*({"gpu__time_duration.sum": one.duration_ns} for one in some))
    combined = combine_launches(None, some, [{} for _ in some])
    raw = raw_metrics(frame, combined, 9)
    assert [one.index for one in raw.launches] == [0, 1, 2, 3, 9]
    (times,) = (row.values for row in raw.rows if row.name == "gpu__time_duration.sum")
    assert times == (1000.0, 999.0, 998.0, 997.0, 991.0)
    assert [one.index for one in raw_metrics(frame, combined, 2).launches] == [0, 1, 2, 3, 4]


def test_the_sum_of_a_curve_is_not_shown_as_a_number(record: RunRecord) -> None:
    """Warps for each block size, register count, …: ncu gives their sum as one, which says nothing."""
    curves = ("derived__pct_occupancy_per_", "launch__occupancy_per_")
    made = metrics_model(record.shown, record.metrics)
    rows = {row[0]: row[2] for row in made["rows"] if row[0].startswith(curves)}  # type: ignore[attr-defined]
    assert "launch__occupancy_per_block_size" in rows
    assert all(set(values) == {"curve"} or set(values) <= {"", "0"} for values in rows.values())
    assert "*curve*" in str(made["note"])


def of_csv(folder: Path, rows: list[dict[str, str]]) -> RunRecord:
    """Return the page's data of a CSV export with a launch for each row of metrics."""
    path = folder / "few.csv"
    cells = [csv_row(index, *metrics.values(), kernel=f"k{index}()") for index, metrics in enumerate(rows)]
    path.write_text(
        csv_page(*cells, units={key: "ns" if "duration" in key else "" for key in rows[0]}), encoding="utf-8"
    )
    (report,) = bare_reports([str(path)], [path], None)
    return run_record(report)


def said_of_all(record: RunRecord) -> dict[str, str]:
    verdict = next(one.model for one in run_sections(record) if one.id == "verdict")
    assert isinstance(verdict, dict)
    return {row.label: row.text for row in verdict["answer"]}


def test_launches_without_durations_have_a_page(tmp_path: Path) -> None:
    record = of_csv(tmp_path, [{"launch__registers_per_thread": "16"}] * 5)
    assert "k4" in run_html(record)
    said = said_of_all(record)
    assert "Short launches" not in said
    assert said["Not known"].startswith("5 of 5 launches (#0, #1, #2, #3, #4): ")


def test_launches_with_too_few_counters_are_not_called_not_worth_work(tmp_path: Path) -> None:
    times = ("800000", "500000", "100000")
    said = said_of_all(
        of_csv(tmp_path, [{"gpu__time_duration.sum": one, "dram__bytes.sum": "1000000"} for one in times])
    )
    assert "Not worth work" not in said
    assert said["Not known"] == (
        "3 of 3 launches (#0, #1, #2) take 100 % of the time: what would help is not known: too few counters"
    )


def test_time_above_the_floor_without_a_cause_is_not_called_not_worth_work(tmp_path: Path) -> None:
    """Units were counted, what warps wait for was not: 1 % busy for no known reason."""
    one = {
        "gpu__time_duration.sum": "800000", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "1.0",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed": "1.0",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "1.0",
        "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": "1.0",
    }  # fmt: skip
    record = of_csv(tmp_path, [one, one])
    assert [row.first.finding.rule for row in record.shown.launches_shown if row.first] == ["unexplained"] * 2
    assert all(row.results and not row.results.diagnosis.lacks_counters for row in record.shown.launches_shown)
    said = said_of_all(record)
    assert "Not worth work" not in said
    assert said["Not known"].endswith(" above an assumed floor, cause unknown")
