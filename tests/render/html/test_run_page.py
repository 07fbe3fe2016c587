"""The page of a run: of a recorded version, of a chain, of bare reports, of what is missing, of hostile texts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from browser_checks import (
    check_axe,
    check_filters,
    check_fits,
    check_frame,
    check_page,
    check_sorts,
    check_tooltip,
    first_column,
    opened,
)
from factories import launch, make_run, metrics_frame, samples_frame, save_run, times
from render.html.charts_page import ARCHIVE
from sections import intro, models

from ncu_assist import record
from ncu_assist.analysis.run_view import CloseLook
from ncu_assist.ncu.report import NvidiaFinding
from ncu_assist.pipeline.opened_reports import bare_reports
from ncu_assist.pipeline.pages.run import run_page, run_record
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.answer import WITHOUT_IT, AnswerRow, answer_markdown
from ncu_assist.render.html.run import run_html, run_sections
from ncu_assist.render.html.run_counters import Log, RunRecord, _opcode_bars, stalls_model
from ncu_assist.render.html.run_diagnosis import launches_table, nvidia_section
from ncu_assist.render.table import Badge, Link
from ncu_assist.render.words.launches import bound_note
from ncu_assist.render.words.terms import part_label
from ncu_assist.store import Store, machine_hash

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data"
EVIL = "</script><script>alert(1)</script>\u202e"
BASE_BYTES, LAUNCH_BYTES = 500_000, 100_000


@pytest.fixture(scope="module")
def recorded() -> Store:
    return Store(ROOT / "reports")


def of_version(store: Store, name: str) -> RunRecord:
    stored = next(one for one in store.runs("lightning_decode") if one.run.version.startswith(f"{name}_"))
    return run_record(stored, store)


@pytest.fixture(scope="module")
def v6(recorded: Store) -> RunRecord:
    return of_version(recorded, "v6")


@pytest.fixture(scope="module")
def v0(recorded: Store) -> RunRecord:
    return of_version(recorded, "v0")


def written(tmp_path_factory: pytest.TempPathFactory, text: str) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page_of_v6(v6: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory, run_html(v6))


def test_the_page_of_a_recorded_run_passes_every_check(browser: Browser, page_of_v6: Path) -> None:
    check_page(browser, page_of_v6)


def test_sections_stand_in_the_order_in_which_they_are_asked_for(v6: RunRecord) -> None:
    found = re.findall(r'<section class="card" id="(\w+)"', run_html(v6))
    assert found == [
        "verdict",
        "speed",
        "diagnosis",
        "roofline",
        "memory",
        "stalls",
        "occupancy",
        "timeline",
        "mix",
        "timing",
        "source",
        "nvidia",
        "metrics",
        "facts",
        "raw",
    ]


def test_metrics_are_searched_and_sorted_by_value(browser: Browser, page_of_v6: Path) -> None:
    with opened(browser, page_of_v6) as page:
        check_filters(page, "metrics-table", "DRAM Frequency", ["dram__cycles_elapsed.avg.per_second"])
        check_tooltip(page, "DRAM Throughput")
        page.locator("#metrics-table-filter").fill("launch__block_size")
        page.locator("#metrics-table thead th", has_text="value").locator("button.sort").click()
        shown = page.locator("#metrics-table tbody tr:visible")
        assert shown.count() == 1
        assert "128" in (shown.first.text_content() or "")


def test_values_sort_as_numbers_as_they_are_written(browser: Browser, page_of_v6: Path) -> None:
    with opened(browser, page_of_v6) as page:
        page.locator("#metrics-table thead th", has_text="value").locator("button.sort").click()
        found = page.evaluate(
            """[...document.querySelectorAll('#metrics-table tbody tr')].map((row) => row.cells[2].textContent.trim())
            .filter((text) => /^[-0-9.,e]+$/.test(text)).map((text) => Number(text.replaceAll(',', '')))"""
        )
        assert len(found) > 1000
        assert found == sorted(found)


def test_workloads_sort_by_time(browser: Browser, page_of_v6: Path) -> None:
    with opened(browser, page_of_v6) as page:
        fastest_first = ["b1_d96", "b4_d96", "b1_d128", "b4_d128", "b16_d96"]
        page.get_by_role("button", name="median", exact=False).first.click()
        assert first_column(page, "workloads-table")[:5] == fastest_first
        by_name = [f"b{batch}_d{dim}" for batch in (1, 4, 16, 64, 256) for dim in (96, 128)]
        check_sorts(page, "workloads-table", "workload", by_name)


def test_the_verdict_comes_first_with_floor_and_diagnosis(v6: RunRecord) -> None:
    part = models(run_sections(v6)).verdict
    assert part.badge
    assert part.badge.tone == "good"
    assert part.sentence.startswith("v6 is 2.76x faster than v5 on b64_d96")
    rows = {row.label: row for row in part.answer}
    assert list(rows) == [
        *("What", "Time", "Bound by", "What to do", "Where"),
        *("Against its parent", "Against the best library"),
    ]
    assert rows["Time"].text.startswith("221 µs a call. Floor: 72.3 µs, 305 MB at the 4.22 TB/s of DRAM (measured on ")
    assert rows["Time"].text.endswith("; a device copy of the same bytes takes 75.4 µs, 2.94x away")
    assert (
        rows["Bound by"].text
        == "L1 data pipe: the unit nearest to its peak, busy for 82 % of the time and idle for 18 %"
    )
    badge = rows["What to do"].badge
    assert badge == Badge("221 µs → about 77.7 µs without this fault, estimated 2.85x", "unsure", WITHOUT_IT)
    assert "31.0 sectors where its bytes need 3.9" in rows["What to do"].why
    ((line, words),) = rows["Where"].links
    assert (line.text, line.href) == ("v6_coalesced_store.cu:42", "#line-v6_coalesced_store-cu-42")
    assert words.startswith("100 % of the excess sectors `const float value = ")
    assert rows["Against the best library"].text == "v0_torch_eager"
    assert [tile.term.label for tile in part.tiles][:3] == ["Median time", "Effective bandwidth", "Of copy"]


def test_the_answer_is_copied_as_markdown(browser: Browser, page_of_v6: Path) -> None:
    with opened(browser, page_of_v6, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.get_by_role("button", name="Copy verdict as Markdown").click()
        page.get_by_role("button", name="Copied").wait_for()
        text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("**lightning_decode/v6_coalesced_store@")
    assert "\n- **Where**: `v6_coalesced_store.cu:42` 100 % of the excess sectors `const float value = " in text


def test_keys_lead_from_hot_line_to_hot_line_and_contents_stay_in_view(browser: Browser, page_of_v6: Path) -> None:
    with opened(browser, page_of_v6, reduced_motion="reduce") as page:
        lines = []
        for key in "nnp":
            page.keyboard.press(key)
            lines.append(page.evaluate("location.hash"))
            target = page.locator(":target").bounding_box()
            contents = page.locator("nav.sections").bounding_box()
            assert target
            assert contents
            assert contents["y"] == 0
            assert contents["height"] <= target["y"] < page.viewport_size["height"]  # type: ignore[index]
        assert [line.rpartition("-")[2] for line in lines] == ["42", "46", "42"]
        page.get_by_role("link", name="Top").click()
        assert page.evaluate("scrollY") < 100


def test_facts_say_how_to_measure_it_again(v6: RunRecord) -> None:
    facts = {one.term.label: one.text for _, some in models(run_sections(v6)).facts for one in some}
    assert facts["GPU"] == "NVIDIA H200"
    assert facts["driver"] == "580.159.04"
    assert facts["CUDA"] == "13.0.88"
    assert facts["ncu"] == "2025.3.1.0"
    assert facts["command"] == "ncu-assist profile lightning_decode --workload all --set full"
    assert facts["source"] == "recorded"
    assert facts["clocks"] == "not locked"
    assert facts["source hash"] == v6.shown.run.source_sha256
    assert facts["measured"] == "2026-11-21 08:54:56 UTC"


def test_throughputs_have_their_units_and_the_one_that_binds_is_marked(v6: RunRecord) -> None:
    speed = models(run_sections(v6)).speed
    assert [bar.text for bar in speed.throughputs.bars] == ["16.1 %", "82.1 %", "90.6 %", "36.6 %", "26.4 %"]
    assert [bar.tone for bar in speed.throughputs.bars] == ["", "", "limit", "", ""]
    assert speed.throughputs.bars[-1].ceiling == pytest.approx(0.9, abs=0.05)
    (_, compute, _), (_, memory, _) = speed.units
    assert memory.bars[0].label.label == "L1: data pipe, loads and stores"
    assert memory.bars[0].label.name == "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
    assert memory.bars[0].text == "82.1 %"
    assert compute.bars[0].tone == ""


def test_a_part_is_called_by_what_it_counts_and_one_without_words_as_ncu_calls_it() -> None:
    tensor = "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_cycles_active.avg.pct_of_peak_sustained_elapsed"
    assert part_label(tensor) == "Tensor pipe, all types but FP64"
    assert part_label("sm__inst_executed_realtime.avg.per_cycle_active") == "SM: instructions executed"
    assert part_label("fe__some_counter.sum.pct_of_peak_sustained_elapsed") == "FE: Some Counter"
    assert part_label("lts__t_sectors.avg.pct_of_peak_sustained_elapsed") == "L2: sectors looked up"
    assert part_label("idc__request_cycles_active.avg.pct_of_peak_sustained_elapsed") == "Constant cache: requests"


def test_the_first_finding_has_evidence_and_leads_to_its_line(v6: RunRecord) -> None:
    first = models(run_sections(v6)).diagnosis.first
    assert first
    assert (first.rule, first.severity.text, first.gain) == ("uncoalesced-global-load", "high", "estimated 2.85x")
    assert first.evidence[0].text == "12.7 %"
    at, _, _ = first.places[0]
    assert at.text == "v6_coalesced_store.cu:42"
    assert at.href.startswith("#")
    assert any("sectors of 32 bytes" in piece for paragraph in first.about for piece in paragraph)


def test_instructions_are_counted_by_opcode(v6: RunRecord) -> None:
    mix = models(run_sections(v6)).mix
    assert mix.opcodes.bars[0].label.label == "IMAD"
    assert len(mix.opcodes.bars) <= 15
    assert not mix.opcodes.bars[0].label.meaning
    assert all(bar.tone == "" for bar in mix.pipes.bars)  # L1 binds it, no pipe does


def test_opcodes_of_what_works_on_by_itself_are_explained() -> None:
    bars = _opcode_bars((("HGMMA.64x128x16.F32.BF16", 8e6), ("SYNCS", 1e6), ("FADD", 1e6))).bars
    assert [bool(bar.label.meaning) for bar in bars] == [True, True, False]
    assert "wgmma" in bars[0].label.meaning
    assert "each poll counts" in bars[1].label.meaning


def test_the_stall_that_the_diagnosis_is_about_is_marked(v6: RunRecord) -> None:
    marked = [bar.label.label for bar in models(run_sections(v6)).stalls.bars.bars if bar.tone == "limit"]
    assert marked == ["long scoreboard"]
    (advice,) = models(run_sections(v6)).stalls.advice
    assert advice.startswith("long scoreboard: ")


def test_a_bar_above_what_binds_is_explained(v6: RunRecord) -> None:
    sentence = intro(run_sections(v6), "speed")
    assert sentence.startswith("Bound by L1 data pipe, 82 % busy; L1's bar above that is of active cycles.")


def test_no_bar_is_above_what_it_is_itself() -> None:
    """SMs that count more cycles than the launch has: 76.45 of 100.24 % is 76.6, and *77 is above 76*."""
    combined = SimpleNamespace(
        values={"l1_cache_throughput": 76.45, "l2_cache_throughput": 0.2, "sm_active_share": 100.24}
    )
    bound = SimpleNamespace(name="L1 data pipe", percent=76.4)
    assert bound_note(SimpleNamespace(combined=combined, bottleneck=bound)) == ""  # type: ignore[arg-type]


def test_less_traffic_than_must_move_is_explained(v6: RunRecord) -> None:
    text = run_html(v6)
    assert "0.92x of what must move; less, because the last writes are still in L2 at the end" in text


def test_occupancy_names_its_limiter(v6: RunRecord) -> None:
    part = models(run_sections(v6)).occupancy
    assert part.sentence == "Limited by shared memory: 5 blocks fit an SM."
    assert part.limits.bars[0].text == "5"
    assert part.limits.bars[0].tone == "limit"


def test_a_chain_shows_each_launch(browser: Browser, v0: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> None:
    model = models(run_sections(v0))
    assert len(model.launches.rows) == len(model.launch) == 10
    for part in model.launch:  # what a part says is of its launch alone
        (launch,) = (one for one in v0.shown.combined.launches if one.index == part.index)
        own = models(part.sections)
        assert own.diagnosis.launches is None
        assert launch.kernel[:20] in part.title
        executed = next(one.text for one in own.mix.facts if one.term.label == "Executed Instructions")
        assert executed in next(word.text for word in own.memory.chart.words if word.text.endswith(" inst"))
    assert sum(part.is_first for part in model.launch) == 1
    assert model.metrics.columns[0].label == "together"
    assert len(model.metrics.columns) == 6
    durations = next(values for name, _, values, _ in model.metrics.rows if name == "gpu__time_duration.sum")
    parts = [float(text.replace(",", "")) for text in durations]
    assert parts[0] == pytest.approx(v0.shown.combined.duration_ns)
    assert parts[1:] == sorted(parts[1:], reverse=True)
    path = written(tmp_path_factory, run_html(v0))
    check_fits(browser, path)
    check_frame(browser, path)
    with opened(browser, path) as page:
        first = page.locator(".launch.shown").get_attribute("id")
        page.keyboard.press("j")
        assert page.locator(".launch.shown").get_attribute("id") != first
        assert page.locator("[data-launch-keys]").count() == 1
        ids = "new Set([...document.querySelectorAll('[id]')].map((one) => one.id))"
        links = "[...document.querySelectorAll('a[href^=\"#\"]')].map((one) => decodeURIComponent(one.hash.slice(1)))"
        assert page.evaluate(f"{links}.filter((one) => one && !{ids}.has(one))") == []


def test_keys_for_launches_are_promised_where_there_are_launches_to_pick(browser: Browser, page_of_v6: Path) -> None:
    with opened(browser, page_of_v6) as page:
        assert page.locator("[data-launch-keys]").count() == 0


def test_opcodes_of_a_part_are_of_its_launch(recorded: Store) -> None:
    """Two kernels: one without floating point, and one with; neither part may tell of the other."""
    stored = next(one for one in recorded.runs("layernorm_dropout_residual") if one.run.version == "v5_shuffles")
    record = run_record(stored, recorded)
    (parts,) = (one.model for one in run_sections(record) if one.id == "launch")
    own = [models(part.sections) for part in parts]  # type: ignore[attr-defined]
    opcodes = [{bar.label.label for bar in one.mix.opcodes.bars} for one in own]
    assert ["FFMA" in some for some in opcodes] == [False, True]
    assert [one.roofline.says[0].startswith("No floating-point work") for one in own] == [True, False]
    assert len(run_html(record).encode()) < BASE_BYTES + LAUNCH_BYTES


def test_an_interrupted_launch_says_so(v0: RunRecord) -> None:
    first = v0.shown.launches_shown[0]
    ended = replace(first, launch=replace(first.launch, grid=(0, 0, 0)))
    launches = tuple(ended if one is first else one for one in v0.shown.launches)
    table = launches_table(replace(v0.shown, launches=launches))
    assert table
    assert [cell.text for row in table.rows for cell in row].count("interrupted") == 1


def test_pages_keep_to_their_size(v6: RunRecord, v0: RunRecord) -> None:
    for made in (v6, v0):
        most = BASE_BYTES + LAUNCH_BYTES * (len(made.shown.combined.launches) - 1)
        assert len(run_html(made).encode()) < most


def test_the_same_run_gives_the_same_bytes_on_any_machine(
    v6: RunRecord, recorded: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine_hash()
    live = replace(v6.stored, run=replace(v6.stored.run, source="live", machine=here))
    page = run_page(live, recorded)
    (tmp_path / "machine-id").write_text("another")
    monkeypatch.setattr(machine_hash, "__defaults__", (tmp_path / "machine-id",))  # whoever calls it, by any name
    assert machine_hash() != here
    assert run_page(live, recorded) == page
    assert 'class="callout recorded"' not in page  # it is live, wherever it is written
    assert str(ROOT) not in page


def test_the_runs_that_it_depends_on_are_named(v6: RunRecord) -> None:
    text = run_html(v6)
    assert v6.read
    for one in (v6.stored, *v6.read):
        assert one.run.digest in text
        assert one.reference in text


@pytest.mark.parametrize("name", ["transpose_basic_h200_2025.3.1.ncu-rep.zst", "range_h200_2025.3.1.ncu-rep.zst"])
def test_a_bare_report_of_few_sections_says_what_is_missing(
    name: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = DATA / name
    (report,) = bare_reports([str(path)], [path], None)
    text = run_page(report)
    assert str(DATA) not in text
    assert text.count("Not in this run") >= 5
    assert "ncu --set full" in text
    assert text == run_page(report)
    page = written(tmp_path_factory, text)
    check_fits(browser, page)
    check_frame(browser, page)


def test_a_csv_export_has_counters_and_no_source() -> None:
    path = DATA / "transpose_full_h200_2025.3.1.raw.csv.zst"
    (report,) = bare_reports([path.name], [path], None)
    whole = models(run_sections(run_record(report)))
    model = models(whole.launch[0].sections)
    assert model.diagnosis.has_counters
    assert model.speed.throughputs.bars
    assert not model.speed.units
    assert not model.mix.opcodes.bars
    assert "printed page" in model.source.missing[0]
    assert not whole.nvidia.asked
    assert "printed page" in whole.nvidia.why_missing


def test_a_run_without_counters_has_its_times(tmp_path: Path) -> None:
    run = make_run(profile=None, launches=())
    stored = save_run(Store(tmp_path), run, samples=samples_frame(times(50_000, 1)))
    model = models(run_sections(run_record(stored, Store(tmp_path))))
    assert model.verdict.sentence == "v1 takes 50.0 µs on small; it is compared with no other version"
    assert not model.speed.throughputs.bars
    assert model.diagnosis.first is None
    assert "There are no counters" in run_page(stored, Store(tmp_path))


def test_a_run_without_times_says_so(tmp_path: Path) -> None:
    stored = save_run(Store(tmp_path), make_run(), metrics=metrics_frame({}))
    model = models(run_sections(run_record(stored, Store(tmp_path))))
    assert model.verdict.sentence.startswith("Its launch takes 100 µs under ncu")
    assert model.timing.collect == "ncu-assist bench add_one v1_torch"


def test_a_failed_check_stands_above_all(tmp_path: Path) -> None:
    wrong = record.Check("small", False, "worst error 3.0 at [7]", (0,), 3.0, 3.0)
    stored = save_run(Store(tmp_path), make_run(checks=(wrong,)), metrics=metrics_frame({}))
    text = run_page(stored, Store(tmp_path))
    assert text.index("the check FAILED on small") < text.index('id="verdict"')
    assert "worst error 3.0 at [7]" in text


def test_inputs_in_memory_of_the_host_stand_on_the_page_and_bound_its_floor(tmp_path: Path) -> None:
    workload = record.WorkloadFacts("small", "float32", {"n": 1024}, 300_000_000, 0, 110_000_000)
    memory = record.HostMemory((EVIL,), True, (0, 1), 0, None, 5, 16)
    run = make_run(workloads=(workload,), host_memory=memory)
    samples = samples_frame(times(4e6, 1))
    text = run_page(save_run(Store(tmp_path), run, metrics_frame({}), samples), Store(tmp_path))
    assert "Memory of the host" in text
    assert "PCIe generation 5, 16 lanes" in text
    assert "Floor: 1.99 ms, 110 MB at the 55.2 GB/s of the link from the host (measured on another NVIDIA H200)" in text
    assert "of 110 MB that must cross" in text
    assert "300 MB that must move" not in text
    assert EVIL not in text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with text from outside in every place that takes any."""
    store = Store(tmp_path_factory.mktemp("reports"))
    workload = record.WorkloadFacts(EVIL, EVIL, {}, 8192, 1024)
    run = make_run(
        workloads=(workload,),
        checks=(record.Check(EVIL, False, EVIL, (0,), 1.0, 1.0),),
        launches=(launch(0, EVIL, EVIL, signature=EVIL * 3), launch(1, "b<int>", EVIL, signature='x" onclick="y')),
        device=replace(make_run().device, name=EVIL, driver=EVIL),
        toolchain=record.Toolchain(python=EVIL, torch=EVIL, ncu=EVIL),
        profile=record.Profile(EVIL, EVIL, EVIL, EVIL, None, f"ncu {EVIL} javascript:alert(1)"),
        notes=(EVIL,),
        tool=EVIL,
    )
    metrics = metrics_frame({EVIL: EVIL, "launch__x": 1.0}, {EVIL: EVIL})
    stored = save_run(store, run, metrics=metrics, **{"ncu.log": (EVIL * 4000).encode(), "build.log": b"\x1b[2J\xff"})
    made = run_record(stored, store)
    advice = f'see @url:{EVIL}:javascript:alert(1)@ and @url:a:https://x/"><script>@ {EVIL}'
    finding = NvidiaFinding(EVIL, EVIL, advice, "global", 10.0, EVIL, 1)
    made = replace(
        made, shown=replace(made.shown, close=CloseLook(nvidia=(finding,))), logs=(*made.logs, Log(EVIL, EVIL))
    )
    return written(tmp_path_factory, run_html(made))


def test_hostile_texts_are_inert(browser: Browser, hostile: Path) -> None:
    text = hostile.read_text(encoding="utf-8")
    assert "\u202e" not in text
    assert text.count("<script>") == 1
    assert 'href="javascript' not in text
    assert 'onclick="y"' not in text
    check_fits(browser, hostile)
    check_axe(browser, hostile)
    with opened(browser, hostile) as page:
        assert page.locator("main script").count() == 0


def test_advice_of_nvidia_stands_with_its_estimate(v6: RunRecord) -> None:
    first, _ = models(run_sections(v6)).nvidia.findings[0]
    assert (first.rule, round(first.speedup_pct), first.speedup_type) == ("UncoalescedGlobalAccess", 74, "global")
    assert "excessive sectors" in first.message


def test_a_long_log_is_cut_in_the_middle(tmp_path: Path) -> None:
    log = b"begin " + b"x" * 100_000 + b" end"
    stored = save_run(Store(tmp_path), make_run(), metrics=metrics_frame({}), **{"ncu.log": log})
    text = run_page(stored, Store(tmp_path))
    assert "begin xxx" in text
    assert "xxx end" in text
    assert "characters in the middle are left out" in text
    assert len(text) < 200_000


@pytest.mark.slow
def test_a_stall_has_one_name_with_that_of_ncu_and_what_stands_apart_is_said(recorded: Store) -> None:
    """Of the kernel with wgmma and TMA: its barriers are told without the waits that ncu books there too."""
    stored = next(one for one in recorded.runs("flash_attention") if one.run.version == "v13_products_ahead")
    page = models(run_sections(run_record(stored, recorded)))
    said = {bar.label.label: bar.label.meaning for bar in page.stalls.bars.bars}
    assert {"wgmma (in ncu: barrier)", "mbarrier (in ncu: long scoreboard)", "wait", "barrier"} <= said.keys()
    assert said["barrier"].endswith("; waits for wgmma, which ncu counts here too, stand apart")
    assert [one.partition(":")[0] for one in page.stalls.advice] == ["wait"]
    assert {"wgmma (in ncu: barrier)", "mbarrier (in ncu: long scoreboard)"} <= {t.label for t in page.source.stalls}
    to_do = next(row for row in page.verdict.answer if row.label == "What to do")
    assert to_do.badge.text == "820 µs → about 644 µs without this fault, estimated 1.27x"
    (beside,) = [beside for _, beside in page.nvidia.findings if beside]
    assert "9 warps an SM keep tensor cores busy for 71 % of the time" in beside
    assert "explain" not in beside


def test_stalls_say_what_ncu_sums_and_whether_they_are_bad_here() -> None:
    """v19 waits at mbarriers: mostly warps that only load, at two lines of its roles; ncu's barrier has wgmma in it."""
    stored = next(one for one in ARCHIVE.runs("flash_attention") if one.run.version == "v19_heads_in_l2")
    shown = gather(stored, None, ARCHIVE, lines=True, ncu_rules=True)
    model = stalls_model(shown)
    assert model["as_ncu"] == (
        "As ncu sums them: wait 33.4 %, long scoreboard 10.9 %, barrier 10.8 %, dispatch stall 9.4 %."
    )
    told = model["here"]
    assert isinstance(told, list)
    here, room = told
    assert here.startswith("Here wait is part of what tensor-underfed is about (estimated 1.15x); ")
    assert "most are at online.cuh:81 (47 %)" in here
    assert shown.lines_of_stall("wait")[0][1:] == (81, pytest.approx(0.467, abs=0.005))
    at_lines = sum(share for _, _, share in shown.lines_of_stall("mbarrier")[:1])
    assert at_lines < shown.room_share < 1.0  # the line that waits for room, and less than all
    assert room.startswith("Of mbarrier, 7.0 of 10.7 % is warps that only load")
    section = nvidia_section(shown).model
    assert isinstance(section, dict)
    beside = {one.rule: said for one, said in section["findings"]}
    assert beside["CPIStall"].startswith("Our `tensor-underfed` is also about this wait. It finds 13 % of the time")
    plain = stalls_model(gather(next(one for one in ARCHIVE.runs("rope") if one.run.version.startswith("v1_")), None))
    assert plain["as_ncu"] == ""


def test_a_workload_on_which_every_sample_was_late_hides_no_time(recorded: Store) -> None:
    """Nothing was counted of it: what is shown is the first workload with a time, and why another has none."""
    stored = next(one for one in recorded.runs("fast_h2d") if one.run.version.startswith("v8_"))
    of = models(run_sections(run_record(stored, recorded)))
    assert of.verdict.sentence.startswith("v8 takes 520 µs on t16k")
    assert of.verdict.notes[0].startswith("No time on t256k: every sample was late, ")
    assert of.timing.chart is not None
    asked = models(run_sections(run_record(stored, recorded, asked="t256k")))
    assert asked.verdict.sentence.startswith("No time on t256k: every sample was late, ")
    assert (asked.verdict.notes, asked.verdict.to_see_more) == ((), "")
    assert asked.timing.missing.startswith("No time on t256k: every sample was late, ")
    assert not asked.timing.collect


def test_the_answer_as_markdown_keeps_its_code_and_its_labels() -> None:
    hottest = (Link("k.cu:68", "#l"), "29.7 % of samples `for (i = 0; i < n; i++) {`, barrier (line 66) 97 %")
    more = AnswerRow("Hottest line", "", links=(hottest,))
    rows = (AnswerRow("What to do", "fuse"), AnswerRow("", "use floats"), more)
    *_, first, second, last = answer_markdown("a", "b", rows).splitlines()
    assert (first, second) == ("- **What to do**: fuse", "- **What to do**: use floats")
    assert last == (
        "- **Hottest line**: `k.cu:68` 29.7 % of samples `for (i = 0; i < n; i++) {`, barrier (line 66) 97 %"
    )
