"""The ladder page: of the recorded kernel, of one with hostile texts and failures, of a program, in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from browser_checks import check_fits, check_page, check_sorts, check_tooltip, opened
from drafts_made import hostile as hostile_draft
from drafts_made import save_draft, several
from factories import DEVICE, WORKLOAD, launch, make_run, metrics_frame, samples_frame, save_run, times
from kernel_folder import write_kernel
from recorded_family import copy_family
from sections import models

from ncu_assist import record
from ncu_assist.analysis.archive import KernelLadder
from ncu_assist.pipeline.pages.index import kernel_ladder
from ncu_assist.project import Project, find_project
from ncu_assist.render.html.ladder import ladder_html, ladder_sections
from ncu_assist.render.html.ladder_chart import small_charts
from ncu_assist.render.html.ladder_tables import idea, version_comments
from ncu_assist.render.table import RunLinks
from ncu_assist.render.words.history import OF_ONE_LAUNCH, legend
from ncu_assist.render.words.terms import against
from ncu_assist.sources import discover_versions, source_sha256
from ncu_assist.store import Store
from ncu_assist.store.drafts import DraftArchive
from ncu_assist.verdict import Verdict

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<script>alert(1)</script> \u202ereversed \x1b[31m"
WORKLOADS = (WORKLOAD, replace(WORKLOAD, name=HOSTILE))
V6, V7 = "v6_coalesced_store", "v7_registers_128bit"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the recorded archive in which the samples of v9 were changed and the record of v8 is none."""
    root = tmp_path_factory.mktemp("ladder")
    copy_family(root)
    store = Store(root / "reports")
    path = store.runs("lightning_decode", "v9_streaming_hints")[0].folder / "samples.parquet"
    path.write_bytes(bytes(reversed(path.read_bytes())))
    (store.runs("lightning_decode", "v8_loads_first")[0].folder / "run.json").write_text("{")
    return find_project(root)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A kernel with an unmeasured version, one that failed its check, and hostile texts wherever they fit."""
    root = tmp_path_factory.mktemp("hostile")
    sources = {f"v{n}_{name}.py": f"# {HOSTILE}\n# {'x' * 9_000}\nx = {n}\n" for n, name in enumerate(("torch", "bad"))}
    write_kernel(root, {**sources, "v2_fast.py": "x = 2\n", "v3_new.py": "x = 3\n"})
    store, device = Store(root / "reports"), replace(DEVICE, name=HOSTILE)
    failed = tuple(record.Check(one.name, False, HOSTILE, (0,), 1.0, 1.0) for one in WORKLOADS)
    for number, version in enumerate(discover_versions(root / "kernels/add_one")[:3]):
        facts = {"version": version.name, "source_sha256": source_sha256(version.path), "device": device}
        run = make_run(**facts, workloads=WORKLOADS, created=f"2026-11-2{number}T07:45:00Z")
        own = {f"source/{version.path.name}": version.path.read_bytes()}
        if number == 1:
            save_run(store, replace(run, checks=failed, launches=()), **own)
        else:
            launches = tuple(launch(place, workload=one.name) for place, one in enumerate(WORKLOADS))
            parts = [
                samples_frame(times(2e4 / (number + 1), number), version=version.name, workload=one.name)
                for one in WORKLOADS
            ]
            save_run(store, replace(run, launches=launches), metrics_frame({}, {}), pd.concat(parts), **own)
    archive = DraftArchive(store.reports)
    for number, fate in enumerate(("kept", "rejected", "unproven", "drafted")):
        archive.save(hostile_draft(id=f"20261121T08000{number}Z-abcdef", fate=fate), {})
    (archive.save(hostile_draft(id="20261121T080009Z-abcdef"), {}).folder / "draft.json").write_text(HOSTILE)
    return find_project(root)


def content(project: Project, kernel: str, pages: frozenset[str] = frozenset()) -> Any:
    return models(ladder_sections(kernel_ladder(project, kernel), RunLinks(pages)))


def written(project: Project, kernel: str, folder: Path) -> Path:
    path = folder / "index.html"
    path.write_text(ladder_html(kernel_ladder(project, kernel)), encoding="utf-8")
    return path


def test_the_recorded_ladder_passes_every_check(browser: Browser, recorded: Project, tmp_path: Path) -> None:
    path = written(recorded, "lightning_decode", tmp_path)
    check_page(browser, path)
    with opened(browser, path) as page:
        measured = ["v10_row_groups", V7, "v2_triton_masked", V6, "v0_torch_eager", "v1_triton_padded"]
        slow = ["v5_shared_padded", "v4_shared_memory", "v3_global_memory"]
        ordered = [*measured, *slow, "v8_loads_first", "v9_streaming_hints"]
        check_sorts(page, "steps-table", "median", ordered)
        check_tooltip(page, "of copy")


def test_the_longest_words_of_a_step_end_before_what_binds(
    browser: Browser, recorded: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster = Verdict("faster", None, "interval-beyond", 1.0504, 1.05, 1.051, 100, by_clock=True)
    assert against(faster) == "△ 1.050x faster at a higher clock"
    monkeypatch.setattr("ncu_assist.render.html.ladder_chart.against", lambda _: against(faster))
    check_fits(browser, written(recorded, "lightning_decode", tmp_path))


def test_a_hostile_ladder_is_inert_and_passes_every_check(browser: Browser, hostile: Project, tmp_path: Path) -> None:
    path = written(hostile, "add_one", tmp_path)
    text = path.read_text()
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    made = content(hostile, "add_one")
    assert made.drafts
    assert len(made.drafts.table.rows) == 5
    assert 'id="drafts-table"' in text
    check_page(browser, path)


def test_the_library_that_is_named_is_not_named_again_as_the_same() -> None:
    """v9, a framework's, is as fast as the fastest own version: that is said where it is named as the library."""
    said = content(Project(Path(__file__).parents[3]), "fast_h2d").times.verdict
    headline = said.partition(". ")[0]
    assert "as fast as v9_triton_mapped" in headline
    assert headline.count("v9") == 1


def test_it_says_what_history_says(recorded: Project) -> None:
    made = content(recorded, "lightning_decode")
    rows = {row.name: row for row in made.times.chart.rows}
    assert made.times.verdict.startswith(
        "v10_row_groups is the fastest own version on b64_d96: 73.7 µs, 5.31x faster (99 %: 5.29 to 5.35) than "
        "v0_torch_eager (391 µs), the fastest library, perhaps the same as v7. A device copy of the same bytes takes "
        "75.4 µs, 102 % of its time."
    )
    assert (rows[V7].time, rows[V7].step, rows[V7].bound, rows[V7].band) == (
        "73.9 µs",
        "▲ 2.99x faster",
        "DRAM 81 %",
        "dram",
    )
    assert {mark.look for mark in made.times.chart.marks} == {"ceiling", "curve-ghost", "peer"}
    assert [mark.text for mark in made.times.chart.marks][:2] == [
        "floor, assumed 72.3 µs",
        "device copy of the same bytes 75.4 µs",
    ]
    assert made.estimated
    said_of = {row[0].text for row in made.estimated.table.rows}
    assert "v4_shared_memory" in said_of
    assert "v2_triton_masked" not in said_of  # one launch after eleven: another program has no fault of the other gone
    assert any("redundant-traffic" in row[1].text for row in made.estimated.table.rows)
    assert made.bandwidth
    assert made.bandwidth.bars[7].text == "4.13 TB/s · 102 %"
    assert len(made.workloads.small) == 10
    assert len(made.workloads.table.columns) == 11
    tried = {version: paragraphs for version, paragraphs, _ in made.tried}
    assert [label for label, _ in tried["v5_shared_padded"]] == ["Changes", "expected", "measured"]


def test_damaged_runs_are_named_and_stop_nothing(recorded: Project) -> None:
    made = content(recorded, "lightning_decode")
    assert sorted(row[0].text.split("/")[1] for row in made.damaged.table.rows) == [
        "v8_loads_first",
        "v9_streaming_hints",
    ]
    rows = {row.name: row for row in made.times.chart.rows}
    assert rows["v9_streaming_hints"].dot is None
    assert rows["v9_streaming_hints"].time == "its run is damaged"
    assert rows["v10_row_groups"].step
    assert any(note.startswith("v10_row_groups: compared with v7") for note in made.notes.notes)


def test_links_lead_only_to_pages_that_exist(recorded: Project) -> None:
    (run,) = Store(recorded.reports).runs("lightning_decode", V7)
    there = frozenset({f"{V7}/{run.run.run_id}/report.html", f"{V7}/diff-{V6}.html", "../index.html"})
    text = ladder_html(kernel_ladder(recorded, "lightning_decode"), there)
    links = {one.partition('"')[0] for one in text.split(' href="')[1:] if not one.startswith(("#", "data:"))}
    assert links == there


def test_failed_and_unmeasured_versions_say_so(hostile: Project) -> None:
    made = content(hostile, "add_one")
    rows = {row.name: row for row in made.times.chart.rows}
    assert (rows["v1_bad"].time, rows["v1_bad"].dot, rows["v1_bad"].tone) == ("✕ FAILED", None, "bad")
    assert rows["v3_new"].time == "not measured"
    assert rows["v2_fast"].step.startswith("▲ 3.0")
    assert [mark.text for mark in made.times.chart.marks][1].startswith("baseline v0_torch ")
    tried = {version: cut for version, _, cut in made.tried}
    assert tried["v0_torch"] > 0
    assert "v2_fast" not in tried


def test_a_program_without_workloads_has_a_ladder(browser: Browser, tmp_path: Path) -> None:
    store = Store(tmp_path / "reports")
    for number in range(2):
        run = make_run(kernel="foreign", version=f"build{number}", workloads=(), checks=(), source_sha256=None)
        alone = launch(workload=None, ranges=(), duration_ns=1e5 / (number + 1))
        metrics = metrics_frame({"gpu__time_duration.sum": 1e5 / (number + 1)})
        save_run(store, replace(run, launches=(alone,), created=f"2026-11-2{number}T07:45:00Z"), metrics)
    project = find_project(tmp_path)
    made = content(project, "foreign")
    assert [row.time for row in made.times.chart.rows] == ["100 µs", "50 µs"]
    assert made.times.chart.label.startswith("time under ncu")
    assert not made.times.chart.marks
    assert made.bandwidth is None
    assert not hasattr(made, "workloads")
    check_page(browser, written(project, "foreign", tmp_path))


def test_a_kernel_with_one_version_has_a_ladder(browser: Browser, tmp_path: Path) -> None:
    save_run(Store(tmp_path / "reports"), make_run(kernel="one"), samples=samples_frame(times(2e4, 1)))
    check_page(browser, written(find_project(tmp_path), "one", tmp_path))


def test_drafts_are_shown_with_their_fate(browser: Browser, tmp_path: Path) -> None:
    archive = DraftArchive(tmp_path / "reports")
    save_run(Store(archive.reports), make_run(), samples=samples_frame(times(2e4, 1)))
    several(archive)
    (save_draft(archive, id="broken").folder / "draft.json").unlink()
    project = find_project(tmp_path)
    table = content(project, "add_one").drafts.table
    rows = {row[0].text: [cell.badge.text if cell.badge else cell.text for cell in row[1:]] for row in table.rows}
    kept = ["▲ kept", "Keep the state in registers.", "1.80x → 1.42x", "1 of 2", "v1", "1", "some-model"]
    assert rows["20261121T080000Z-abcdef"] == kept
    assert rows["20261121T080100Z-000002"][0] == "✕ rejected"
    assert rows["20261121T080100Z-000002"][2:4] == ["1.80x → 0.80x", "1 of 2"]
    assert rows["20261121T080200Z-000003"][:4] == ["✕ rejected", "no reply could be used", "-", "-"]
    assert rows["broken"][0] == "✕ damaged"
    assert [row[1].note for row in table.rows][1:] == [
        "slower than its parent: 0.80x on small",
        "its reply could not be used: it is empty",
        "draft.json is missing",
    ]
    assert table.rows[1][2].note == "wrong in the reply: it cites E9"
    check_page(browser, written(project, "add_one", tmp_path))


def test_without_drafts_nothing_is_said_of_them(recorded: Project) -> None:
    made = ladder_html(kernel_ladder(recorded, "lightning_decode"))
    assert "drafts-table" in made
    bare = replace(kernel_ladder(recorded, "lightning_decode"), drafts=())
    assert "raft" not in ladder_html(bare).partition("<main")[2]


def test_a_comment_becomes_paragraphs(recorded: Project) -> None:
    ladder = kernel_ladder(recorded, "lightning_decode")
    comment = "Changes, to v1: a\nb\n\nexpected: nothing.\n- one\n- two\nA sentence goes on: and on\nin a line: more"
    ((_, paragraphs, _),) = version_comments({V7: comment}, ladder.history)
    assert paragraphs == [
        ("Changes, to v1", "a b"),
        ("expected", "nothing."),
        ("", "- one"),
        ("", "- two A sentence goes on: and on in a line: more"),
    ]


def test_a_number_behind_what_binds_is_explained(recorded: Project) -> None:
    """v0 calls ten kernels: what binds it is that of the longest, its diagnosis of all."""
    assert OF_ONE_LAUNCH in legend(kernel_ladder(recorded, "lightning_decode").history)


def test_half_a_sentence_is_no_label(recorded: Project) -> None:
    """Lines as v8 and v9 of rope have them: a colon near the start of a line need not name a paragraph."""
    ladder = kernel_ladder(recorded, "lightning_decode")
    comment = (
        "Changes, to v7: any\naddress: by element. Two\nLoads: are wide.\nexpected: one.\nmeasured (a run, H200): 2 us"
    )
    ((_, paragraphs, _),) = version_comments({V7: comment}, ladder.history)
    assert paragraphs == [
        ("Changes, to v7", "any address: by element. Two Loads: are wide."),
        ("expected", "one."),
        ("measured (a run, H200)", "2 us"),
    ]


def test_the_same_ladder_gives_the_same_bytes(recorded: Project) -> None:
    ladder: KernelLadder = kernel_ladder(recorded, "lightning_decode")
    text = ladder_html(ladder)
    assert text == ladder_html(kernel_ladder(recorded, "lightning_decode"))
    assert all(stored.run.digest in text for stored in ladder.runs)
    assert str(recorded.root) not in text


MARKS = {"good": "▲", "bad": "▼", "up": "△", "down": "▽", "unsure": "?", "same": "=", "plain": "●"}


@pytest.mark.parametrize("kernel", ["lightning_decode", "elementwise_add", "gemm_bias_gelu"])
def test_legends_explain_the_marks_that_are_drawn(kernel: str, tmp_path: Path) -> None:
    copy_family(tmp_path, kernel)
    page = ladder_html(kernel_ladder(find_project(tmp_path), kernel))
    for section in ("times", "workloads"):
        drawn = page.partition(f'<section class="card" id="{section}"')[2].partition("</section>")[0]
        said = drawn.partition('<p class="legend">')[2].partition("</p>")[0]
        told = [part.split()[0] for part in said.split(" · ") if part.split()[0] in MARKS.values()]
        assert sorted(told) == sorted({mark for tone, mark in MARKS.items() if f"dot-{tone}" in drawn})
        assert ("nothing to compare with" in said) == ("dot-plain" in drawn)
        assert ("dotted: the fastest library" in said) == (section == "workloads" and 'class="peer"' in drawn)


def test_a_narrow_screen_has_a_drawing_of_its_own(browser: Browser, recorded: Project, tmp_path: Path) -> None:
    """Each version with its time and its step, none of it to the right of the screen."""
    drawn = content(recorded, "lightning_decode").times.chart
    with opened(browser, written(recorded, "lightning_decode", tmp_path)) as page:
        assert not page.is_visible("#ladder-narrow")
        page.set_viewport_size({"width": 390, "height": 900})
        assert not page.is_visible("#ladder-chart")
        said = page.text_content("#ladder-narrow svg")
        box = page.locator("#ladder-narrow .scroll")
        assert box.evaluate("one => one.scrollWidth <= one.clientWidth")
    for wide, narrow in zip(drawn.rows, drawn.narrow.rows, strict=True):
        assert (narrow.time, narrow.step, narrow.shape) == (wide.time, wide.step, wide.shape)
        assert all(words in said for words in (narrow.name, narrow.time, narrow.step))


@pytest.mark.parametrize("drawing", ["ladder-narrow", "ladder-chart"])
def test_no_line_crosses_the_name_of_another(recorded: Project, drawing: str) -> None:
    """All lines lie below all names, and each name has a halo that hides them."""
    page = ladder_html(kernel_ladder(recorded, "lightning_decode"))
    svg = page.partition(f'id="{drawing}"')[2].partition("</svg>")[0]
    names = [found.start() for found in re.finditer('<text class="label halo"[^>]*>(floor|device copy|v0_torch)', svg)]
    lines = [found.start() for found in re.finditer('<line class="(ceiling|curve-ghost|peer)', svg)]
    assert len(lines) == len(names) == 3
    assert max(lines) < min(names)


def test_rows_of_tables_are_blocks_on_a_narrow_screen(browser: Browser, recorded: Project, tmp_path: Path) -> None:
    with opened(browser, written(recorded, "lightning_decode", tmp_path)) as page:
        page.set_viewport_size({"width": 390, "height": 900})
        wide = page.eval_on_selector_all(
            "table.stacks",
            "all => all.filter(one => one.scrollWidth > one.parentElement.clientWidth).map(one => one.id)",
        )
        assert wide == []
        titles = page.eval_on_selector_all(
            "#steps-table tbody tr:nth-child(7) td", "all => all.map(one => one.dataset.label)"
        )
        assert titles[:3] == ["median", "vs parent", "of copy"]


def test_a_step_says_what_its_version_changed(recorded: Project) -> None:
    rows = {row[0].text: row[0].note for row in content(recorded, "lightning_decode").steps.table.rows}
    assert rows[V6] == "the new state leaves shared memory by flat index at the end"
    assert idea("Changes, to v3: `a` warp loads. It waits.") == "a warp loads"
    assert idea("word " * 40).endswith("word …")
    assert idea("") == ""


@pytest.mark.parametrize("times_over", [1, 3])
def test_dots_of_one_chart_stand_apart_and_say_what_they_are(recorded: Project, times_over: int) -> None:
    history = kernel_ladder(recorded, "lightning_decode").history
    for small in small_charts(replace(history, rows=history.rows * times_over)):
        gaps = [after - before for (before, *_), (after, *_) in pairwise(small.dots)]
        assert min(gaps) >= 2.5 * small.radius  # a triangle is that wide
        assert all(said.startswith("v") and ": " in said for *_, said in small.dots)


def test_a_version_against_a_library_is_not_joined_to_the_one_before() -> None:
    """v3 and v4 of flash_attention are both against v0, a library's own: each starts a line, in each small chart."""
    history = kernel_ladder(find_project(Path(__file__).parents[3]), "flash_attention").history
    starts = [row for row in history.rows if not row.is_peer and row.before == "v0_torch_math"]
    assert [row.version for row in starts] == ["v3_triton", "v4_row_a_thread"]
    drawn = small_charts(history)
    assert drawn
    for small in drawn:
        starts_x = [f"{x:g} " for x, *_, said in small.dots if said.startswith("v4_row_a_thread")]
        parts = small.path.split("M")[1:]
        assert all(not part.split("L")[1:].count(x) for part in parts for x in starts_x)
        assert parts[0].startswith(starts_x[0]) if starts_x else True
