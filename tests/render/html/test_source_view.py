"""The source of a run with its heat: what it says, and that it holds in a real browser."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_checks import check_page, check_tooltip, opened, settle
from ladder import WORKLOAD, step
from render.html.made_code import NAME, ROWS, TEXT, Row, close, code, html, shown
from render.html.test_sampler import HOSTILE

from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.code import Cost, FunctionCode, SassInstruction
from ncu_assist.ncu.source.tables import barriers, with_instruction
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.sass_view import sass_regions
from ncu_assist.render.html.source_file import SourceFileView, SourceRow
from ncu_assist.render.html.source_heat import Heat
from ncu_assist.render.html.source_view import SourceBudget, SourceView, source_view
from ncu_assist.render.table import Link
from ncu_assist.rules.model.blame import Function
from ncu_assist.rules.model.places import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser

MOST_BYTES = 400_000  # of source and SASS in one page
TYPICAL_BYTES = 200_000
FOUND = {"uncoalesced-global-load": (Place(NAME, 2, "x = load(p);", 0.9), Place("/other", 1, None, 0.1))}


@cache
def recorded(version: int) -> RunView:
    return gather(step(version), WORKLOAD, lines=True)


def view(root: Path, rows: tuple[Row, ...] = ROWS, text: str = TEXT, **columns: float) -> SourceView:
    texts = {NAME: text}
    return source_view(shown(root, close(code(rows, texts, **columns), texts)), FOUND)


def written(root: Path, made: SourceView) -> Path:
    path = root / "source.html"
    path.write_text(html(made), encoding="utf-8")
    return path


def size(made: SourceView) -> int:
    return len(html(made).encode()) - len(html(SourceView(missing=("", ""))).encode())


def test_every_line_has_its_heat(tmp_path: Path) -> None:
    (file,) = view(tmp_path).files
    cells = {row.number: [cell.text for cell in row.cells] for row in file.rows}
    assert cells == {1: [], 2: ["60.0 %", "1 k", "10"], 3: ["30.0 %", "", "10"], 4: ["10.0 %", "", "10"]}
    assert [row.cells[0].level for row in file.rows if row.cells] == [8, 4, 2]
    assert [row.stalls for row in file.rows] == ["", "long scoreboard 100 %", "wait 100 %", "long scoreboard 100 %"]


def test_who_is_held_by_a_barrier_is_told_its_line(tmp_path: Path) -> None:
    """The sampler names what stands behind a barrier in the SASS; in the source that may stand before it."""
    text = "y = p + 1;\n__syncthreads();\nx;"
    held = (Row(1, 5.0, "IADD3 R1, R2, 1", stall="barrier"), Row(3, 5.0, stall="barrier"))
    (file,) = view(tmp_path, (Row(2, 5.0, "BAR.SYNC.DEFER_BLOCKING 0x0", stall="barrier"), *held), text).files
    told = "barrier (line 2) 100 %"
    assert [row.stalls for row in file.rows] == [told, "barrier 100 %", told]
    (file,) = view(tmp_path / "bare", (Row(2, 0.0), *held), text).files
    assert [row.stalls for row in file.rows] == ["held by a barrier 100 %", "", "held by a barrier 100 %"]


def test_an_arrival_at_a_barrier_holds_nobody() -> None:
    waits = (Row(1, 0.0, "BAR.ARV 0x1"), Row(2, 9.0, stall="barrier"))
    assert barriers(code(waits).sass) == {}
    assert Function.of(["BAR.SYNC 0x1", "BAR.ARV 0x1", "FADD R1, R2, R3"]).blamed(2, "barrier") == 0


def test_each_file_has_room_by_its_samples(tmp_path: Path) -> None:
    """What the hottest file does not need is the next one's; none takes all."""
    names = [f"/src/{name}.cu" for name in "abc"]
    texts = {name: "\n".join(f"some_statement_that_is_long({n});" for n in range(1, 1501)) for name in names}
    rows = [
        Row(line, share, file=name)
        for name, share in zip(names, (60.0, 30.0, 10.0), strict=True)
        for line in range(1, 1501, 3)
    ]
    made = source_view(shown(tmp_path, close(code(rows, texts), texts)), {})
    lines = [sum(bool(row.cells) for row in file.rows) for file in made.files]
    assert lines[0] > lines[1] > lines[2] > 10


def test_the_barrier_that_holds_most_is_named_and_none_of_another_function(tmp_path: Path) -> None:
    bar = "BAR.SYNC 0x0"
    first = (Row(1, 0.0, bar), Row(3, 1.0, stall="barrier"), Row(2, 0.0, bar), Row(3, 9.0, stall="barrier"))
    assert barriers(code(first).sass) == {(NAME, 3): (NAME, 2)}
    other = code((Row(1, 0.0, bar), Row(3, 1.0, stall="barrier")))
    assert barriers(other.sass.assign(offset=[16, 0])) == {}
    assert barriers(other.sass.assign(line=None)) == {}
    assert barriers(other.sass.drop(columns="stall_barrier")) == {}


def test_columns_say_what_their_sum_is_and_why_one_is_not_there(tmp_path: Path) -> None:
    made = view(tmp_path)
    assert [(c.term.label, c.total) for c in made.columns] == [
        ("Samples", "of all"),
        ("Excess sectors", "1 k of 2.04 k"),
        ("Instructions", "40"),
    ]
    assert made.columns[0].term.name == "smsp__pcsamp_sample_count"
    assert made.notes == ("No column for excess wavefronts: none.",)
    assert view(tmp_path / "other", sectors_excessive=float("nan")).notes == (
        "No column for excess sectors: not counted; excess wavefronts: none.",
    )


def test_a_trifle_of_an_excess_is_not_hot(tmp_path: Path) -> None:
    (file,) = view(tmp_path, (Row(2, 50.0, sectors_excessive=4.0),), sectors=1e6).files
    assert [cell.level for cell in file.rows[1].cells] == [8, 1, 8]


def test_lines_lead_to_their_instructions_and_those_back(tmp_path: Path) -> None:
    made = view(tmp_path, (*ROWS, Row(1, 0.0, instructions=0.0)))
    assert [(row.number, row.sass) for row in made.files[0].rows if row.sass] == [
        *((2, Link("1", "#s0-0")), (3, Link("1", "#s0-10")), (4, Link("1", "#s0-20"))),
    ]
    (function,) = made.functions
    assert [column.label for column in function.columns] == ["Samples", "Excess sectors", "Instructions", "Sectors"]
    first = function.rows[0]
    assert (first.offset, first.code, first.line) == ("0000", "LDG.E R4, [R2.64]", Link("2", "#line-a-cu-2"))
    assert [cell.text for cell in first.cells] == ["60.0 %", "1 k", "10", "2.01 k"]
    assert first.stalls == "long scoreboard 100 %"
    assert [row.line for row in function.rows][3:] == [None, Link("1", "#line-a-cu-1")]


def test_instructions_say_what_they_access_and_how_many_threads_took_part(tmp_path: Path) -> None:
    kinds = {"memory_space": "Global", "memory_access": "Load", "memory_access_bits": 128, "thread_instructions": 40.0}
    (function,) = view(tmp_path, **kinds).functions  # type: ignore[arg-type]
    assert (function.rows[0].access, function.rows[0].cells[-1].text) == ("Global Load 128", "4")
    assert function.columns[-1].label == "Threads"


def test_findings_mark_their_lines_and_lead_to_them(tmp_path: Path) -> None:
    made = view(tmp_path)
    assert [row.marks for row in made.files[0].rows] == [(), ("uncoalesced-global-load",), (), ()]
    assert made.href(NAME, 2) == "#line-a-cu-2"
    assert (made.href(NAME, 99), made.href(None, None)) == ("", "")
    ((_, jumps),) = made.findings
    assert [(link.href, share) for link, share in jumps] == [("#line-a-cu-2", "90 %"), ("", "10 %")]


def test_the_hottest_lines_come_first(tmp_path: Path) -> None:
    table = view(tmp_path).hottest
    assert table
    assert [row[0].text for row in table.rows] == ["a.cu:2", "a.cu:3", "a.cu:4"]
    assert [row[0].link.href for row in table.rows if row[0].link] == ["#line-a-cu-2", "#line-a-cu-3", "#line-a-cu-4"]


def test_code_without_lines_is_sass_alone(tmp_path: Path) -> None:
    rows = tuple(replace(row, line=None) for row in ROWS)
    made = source_view(shown(tmp_path, close(code(rows), note="the code has no line numbers")), {})
    assert (made.files, made.hottest) == ((), None)
    (function,) = made.functions
    assert (function.share, function.is_open, len(function.rows)) == ("100.0 %", True, 4)
    assert function.rows[0].cells[0].level == 8
    assert "The code has no line numbers." in made.notes


def test_without_text_there_are_the_numbers(tmp_path: Path) -> None:
    made = source_view(shown(tmp_path, close(code(texts={}), {})), {})
    (file,) = made.files
    assert (file.has_text, [row.number for row in file.rows]) == (False, [2, 3, 4])
    assert "neither in the report nor" in html(made)


def test_text_of_the_run_s_own_folder_says_so(tmp_path: Path) -> None:
    look = close(code(), kept=frozenset([NAME]))
    assert "Text from the run's source folder" in html(source_view(shown(tmp_path, look), {}))
    assert "source folder" not in html(view(tmp_path / "other"))


def test_a_run_that_keeps_no_report_says_what_collects_one(tmp_path: Path) -> None:
    made = source_view(shown(tmp_path, close(None, note="the run keeps no report")))
    assert made.missing == ("the run keeps no report", "ncu-assist profile add_one v1_made")
    assert "the run keeps no report" in html(made)


def test_a_report_without_counters_says_what_is_missing(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("samples", "instructions", "sectors", "sectors_excessive"), float("nan"))
    nothing |= dict.fromkeys(("wavefronts", "wavefronts_excessive"), float("nan"))
    assert view(tmp_path, **nothing).missing == (
        "what each line cost was not counted",
        "ncu-assist profile add_one v1_made",
    )


def test_samples_without_a_line_are_told(tmp_path: Path) -> None:
    made = view(tmp_path, (*ROWS, Row(None, 100.0, "BRA")))
    assert "50.0 % of the samples are in code without source lines: see the SASS at the end." in " ".join(made.notes)
    assert [(one.share, one.is_open) for one in made.functions] == [("100.0 %", False)]


def test_a_line_of_several_kernels_leads_to_the_hotter_one(tmp_path: Path) -> None:
    rows = (Row(2, 5.0, "LDG.E R4, [R2.64]"), Row(2, 6.0, "LDG.E R8, [R2.64]", kernel="other"))
    made = view(tmp_path, rows)
    assert [one.name for one in made.functions] == ["other", "k"]
    assert made.files[0].rows[1].sass == Link("2", "#s0-10")


def test_lines_whose_instructions_have_no_room_say_how_many_and_where_all_are(tmp_path: Path) -> None:
    whole = view(tmp_path / "whole")
    assert not any("without a link" in note for note in whole.notes)
    texts = {NAME: TEXT}
    made = source_view(
        shown(tmp_path / "cut", close(code(ROWS, texts), texts)), FOUND, SourceBudget(sass=250, hidden=0)
    )
    told = [row.sass for row in made.files[0].rows if row.sass]
    assert [one.text for one in told] == ["1", "1", "1"]
    assert [bool(one.href) for one in told] == [True, False, False]
    (note,) = [note for note in made.notes if "without a link" in note]
    assert note.endswith("--table sass -o sass.csv")
    (cut,), (all_of_it,) = made.functions, whole.functions
    here = sum(bool(row.id) for row in cut.rows)
    assert 0 < here < cut.count == all_of_it.count
    assert cut.size == f"{here} of {cut.count} instructions here; the rest are cold: ncu-assist export --table sass"
    assert all_of_it.size == f"{all_of_it.count} instructions"


def test_instructions_with_few_samples_can_be_opened_without_scripts(browser: Browser, tmp_path: Path) -> None:
    cold = [Row(4, 0.0, f"FFMA R{number}, R1, R2, R3") for number in range(40)]
    texts = {NAME: TEXT}
    made = source_view(shown(tmp_path, close(code((*ROWS, *cold), texts), texts)), FOUND, SourceBudget(sass=700))
    (function,) = made.functions
    gap = next(row for row in function.rows if row.hidden)
    assert gap.hidden.count("FFMA") == len(cold)
    assert len(gap.hidden.splitlines()) == int(gap.code.split()[0])
    assert gap.hidden.startswith("0030\t\tEXIT\n0040\ta.cu:4\tFFMA R0, R1, R2, R3\n0050\t4\tFFMA R1,")  # a file once
    assert gap.code == "41 instructions without samples"
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(written(tmp_path, made).as_uri())
    page.locator(".function > summary").click()
    code_of_gap = page.locator(".gap pre")
    assert not code_of_gap.is_visible()
    page.locator(".gap summary").click()
    assert code_of_gap.is_visible()
    context.close()
    with opened(browser, written(tmp_path, made)) as page:  # with scripts a line's number opens and marks its own
        page.locator("#line-a-cu-4 a").click()
        assert page.locator(".gap pre mark").count() == len(cold)
        assert page.locator(".gap pre").is_visible()


def test_the_instructions_that_the_diagnosis_is_about_are_shown_before_hotter_ones() -> None:
    def one(kernel: str, opcodes: Sequence[tuple[str, float]]) -> FunctionCode:
        made = [SassInstruction(kernel, 16 * n, f"{op} R1", Cost(samples=s)) for n, (op, s) in enumerate(opcodes)]
        return FunctionCode(kernel, Cost(samples=sum(s for _, s in opcodes)), tuple(made))

    hot = one("k", [("MOV", 0.002)] * 450)
    called = one("k", [*[("FADD", 0.003)] * 30, ("STL", 0.0001), ("LDL", 0.0001)])
    for about, are_shown in (((), False), (("LDL", "STL"), True)):
        _, own = sass_regions((hot, called), 20_000, about)
        assert ({30, 31} <= {i for region in own for i in region}) is are_shown


def test_functions_have_room_by_their_samples_and_those_without_are_named(tmp_path: Path) -> None:
    rows = [Row(2, 6.0, f"FADD R{n}, R4, 1") for n in range(40)] + [Row(3, 200.0, "FMUL R1, R1, R1", kernel="other")]
    look = close(code((*rows, Row(4, 0.1, "FFMA R1, R1, R1, R1", kernel="cold")), {NAME: TEXT}), {NAME: TEXT})
    made = source_view(shown(tmp_path, look), FOUND, SourceBudget(sass=500, hidden=0))
    assert [one.name for one in made.functions] == ["k", "other"]  # k alone would fill it
    assert made.left_out.startswith("No room here for the SASS of cold (<0.1 % of samples). All: ")
    assert made.left_out in unescape(html(made))


def test_jumps_lead_to_offsets_as_the_column_has_them(tmp_path: Path) -> None:
    """The report has addresses of the process; these functions were loaded at 4096."""
    rows = (Row(2, 9.0, "@!P0 BRA 0x1020"), Row(3, 1.0, "LOP3.LUT R0, R1, 0x1010"), Row(4, 1.0, "CALL.REL 0x9000"))
    (function,) = view(tmp_path, rows).functions
    assert [row.code for row in function.rows] == ["@!P0 BRA 0x0020", "LOP3.LUT R0, R1, 0x1010", "CALL.REL 0x9000"]


def test_files_of_one_name_have_places_of_their_own(tmp_path: Path) -> None:
    rows = (Row(1, 5.0, file="/a/x.cu"), Row(1, 3.0, file="/b/x.cu"), Row(1, 1.0, file='/c/"><b>.cu'))
    made = source_view(shown(tmp_path, close(code(rows, {}), {})), {})
    assert [file.rows[0].id for file in made.files] == ["line-x-cu-1", "line-x-cu.2-1", "line-b-cu-1"]


@pytest.mark.slow
def test_ten_megabytes_of_source_keep_the_hot_lines(tmp_path: Path) -> None:
    text = "\n".join(f"x[{n}] = \"<&>\" + '{n}';" for n in range(400_000))
    assert len(text) > 9_000_000
    rows = tuple(Row(n * 1000 + 1, float(n), sass=f"FADD R{n}, R4, 1") for n in range(1, 399))
    made = view(tmp_path, rows, text)
    (file,) = made.files
    assert size(made) < MOST_BYTES
    assert {row.number for row in file.rows if row.cells} >= {row.line for row in rows[-100:]}
    assert "lines 398,002 to 400,000, cold: not on this page" in [row.text for row in file.rows if not row.number]


@pytest.mark.slow
def test_more_hot_lines_than_fit_leave_the_coldest_out_and_say_so(tmp_path: Path) -> None:
    text = "\n".join(["z" * 500] * 20_000)
    rows = tuple(Row(n, float(n), sass="FADD " * 20) for n in range(1, 10_001))
    made = view(tmp_path, rows, text)
    (file,) = made.files
    assert size(made) < MOST_BYTES
    assert file.rows[-2].number == 10_000
    assert "lines with cost, those with fewest samples, are left out" in html(made)


def test_a_line_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    made = view(tmp_path, text=f"a\n{'b' * 1_000_000}\nc\nd\n")
    assert size(made) < 20_000
    assert made.files[0].rows[1].text.endswith("more letters")


@pytest.mark.slow
def test_it_passes_every_check_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    rows = (*ROWS, Row(None, 5.0, "BRA"), Row(7, 3.0, file="/src/header.h"), Row(4, 2.0, wavefronts_excessive=70.0))
    check_page(browser, written(tmp_path, view(tmp_path, rows, TEXT + "long" * 90)))


@pytest.mark.slow
def test_a_line_and_its_instructions_are_marked_together_both_ways(browser: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, view(tmp_path, (*ROWS, Row(2, 1.0, "IMAD R2, R2, 4, R0"))))
    with opened(browser, path) as page:
        same = "[...document.querySelectorAll('tr.same')].map((row) => row.id)"
        page.locator("#line-a-cu-2 a").click()
        assert page.evaluate("document.querySelector(':target').id") == "s0-0"
        assert page.locator("#s0-0").is_visible()
        assert page.evaluate(same) == ["line-a-cu-2", "s0-0", "s0-40"]
        page.locator("#s0-10 code").click()
        assert page.evaluate(same) == ["line-a-cu-3", "s0-10"]
        page.locator("#s0-40 a").click()
        assert page.evaluate("document.querySelector(':target').id") == "line-a-cu-2"
        assert page.evaluate(same) == ["line-a-cu-2", "s0-0", "s0-40"]
        page.locator("#hot-lines a").first.click()
        assert page.evaluate("document.querySelector(':target').id") == "line-a-cu-2"
        check_tooltip(page, "Excess sectors")
        check_tooltip(page, "long scoreboard")
    with opened(browser, path, scripts=False) as page:
        page.locator("#line-a-cu-3 a").click()
        assert page.evaluate("document.querySelector(':target').id") == "s0-10"


def test_cold_lines_are_folded_and_five_around_heat_are_not(browser: Browser, tmp_path: Path) -> None:
    text = "\n".join(f"x[{n}];" for n in range(1, 101))
    rows = (Row(50, 96.0), Row(3, 4.0, file="/src/header.h"))
    made = source_view(shown(tmp_path, close(code(rows, {NAME: text}), {NAME: text})), {})
    hot, header = made.files
    assert [(cold, len(rows)) for rows, cold in hot.blocks] == [
        *(("lines 1 to 44, cold", 44), ("", 11), ("lines 56 to 100, cold", 45)),
    ]
    assert (hot.is_open, header.is_open) == (True, False)
    with opened(browser, written(tmp_path, made)) as page:
        line = page.locator("#line-a-cu-1")
        assert not line.is_visible()
        page.get_by_role("button", name="lines 1 to 44, cold").click()
        assert line.is_visible()
        page.evaluate("location.hash = 'line-a-cu-99'")
        assert page.locator("#line-a-cu-99").is_visible()
    with opened(browser, tmp_path / "source.html", scripts=False) as page:
        assert page.locator("#line-a-cu-1").is_visible()


def test_cold_lines_and_what_is_not_on_the_page_between_them_are_one_fold() -> None:
    gap = SourceRow(0, "lines 1 to 8, cold: not on this page", lines=(1, 8))
    cold = [SourceRow(number, "x") for number in range(9, 25)]
    hot = SourceRow(30, "hot", cells=(Heat("90 %", 8),))
    file = SourceFileView("f", "a.cu", "a.cu", "90 %", (gap, *cold, hot, replace(gap, lines=(40, 50))), True, (), 0)
    assert [cold for _, cold in file.blocks] == ["lines 1 to 24, cold", "", ""]


def test_expanding_all_shows_cold_lines_and_leaves_them(browser: Browser, tmp_path: Path) -> None:
    text = "\n".join(f"line_{number};" for number in range(1, 61))
    path = written(tmp_path, view(tmp_path, (Row(30, 90.0), Row(31, 10.0)), text))
    with opened(browser, path) as page:
        assert not page.locator("tbody.cold:visible").count()
        for _ in range(3):  # open, fold, open
            page.keyboard.press("e")
        assert page.locator("tbody.cold:visible").count() == 2
        assert not page.locator("[data-unfold]:visible").count()
        assert page.get_by_text("line_10;").is_visible()


def test_the_search_of_the_browser_meets_cold_lines(browser: Browser, tmp_path: Path) -> None:
    text = "\n".join(f"line_{number};" for number in range(1, 61))
    with opened(browser, written(tmp_path, view(tmp_path, (Row(30, 90.0), Row(31, 10.0)), text))) as page:
        assert not page.get_by_text("line_10;").is_visible()
        page.keyboard.press("Control+f")
        assert page.get_by_text("line_10;").is_visible()


def test_a_statement_of_assembly_shows_its_instruction(tmp_path: Path) -> None:
    waits = '    "{\\n.reg .pred p;\\n"\n    "mbarrier.try_wait.b64 p, [%1];\\n}" : "=r"(x));\n'
    text = f'f();\nasm volatile(\n{waits}asm("membar;");\n'
    made = view(tmp_path, (Row(2, 90.0), Row(5, 10.0)), text)
    assert made.hottest
    notes = [row[0].note for row in made.hottest.rows]
    assert notes == ['asm volatile( "mbarrier.try_wait.b64 p, [%1]; }"', 'asm("membar;");']


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        (
            'asm("mma.sync %0;"\n  : "+f"(c)\n  : "r"(a[0]));\n',
            3,
            'asm "mma.sync %0;" : "r"(a[0]));',
        ),  # compilers book it
        ('asm("mma.sync %0;" : "+f"(c));\nf(a);\n', 2, "f(a);"),  # the statement ended above
        ('asm("mma.sync %0, %1;"\n  " // (" :: "r"(x)\n);\n', 3, 'asm "mma.sync %0, %1;" );'),
        ('g(\n  "a.b;",\n  x);\n', 3, "  x);"),  # no assembly
        ("f();\n", 9, ""),
    ],
)
def test_a_line_further_down_in_a_statement_shows_its_instruction_too(text: str, number: int, shown: str) -> None:
    assert with_instruction(text.split("\n"), number) == shown


def test_source_has_the_colours_of_its_language(tmp_path: Path) -> None:
    (file,) = view(tmp_path, text='/* one\n two */ __global__ void f() { return "<&>"; } // x\n\n\n').files
    assert [str(row.code) for row in file.rows[:2]] == [
        "<i class=kc>/* one</i>",
        "<i class=kc> two */</i> <i class=kw>__global__</i> <i class=kw>void</i> f() { "
        "<i class=kw>return</i> <i class=ks>&#34;&lt;&amp;&gt;&#34;</i>; } "
        "<i class=kc>// x</i>",
    ]


def test_instructions_sort_by_what_they_cost_and_back_by_their_place(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, view(tmp_path))) as page:
        page.locator("details.function").first.evaluate("one => { one.open = true; }")
        offsets = "[...document.querySelectorAll('table.sass tbody tr[id]')].map((one) => one.cells[0].textContent)"
        samples = offsets.replace("one.cells[0].textContent", "parseFloat(one.cells[2].textContent)")
        placed = page.evaluate(offsets)
        column = page.locator("table.sass th").filter(has_text="Samples").locator("button.sort")
        column.click()
        column.click()
        cost = page.evaluate(samples)
        assert cost == sorted(cost, reverse=True)
        assert len(set(cost)) > 1
        page.locator("table.sass th").filter(has_text="Offset").locator("button.sort").click()
        assert page.evaluate(offsets) == placed


def test_tabs_stay(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, view(tmp_path))) as page:
        assert page.locator("#line-a-cu-2 code").first.text_content() == "\tx = load(p);"


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(browser: Browser, tmp_path: Path, text: str) -> None:
    text = text.replace("\ud800", "")  # a report is UTF-8: no lone surrogate comes out of one
    name = f"/src/{text}.cu"
    rows = (Row(1, 5.0, text, name, kernel=text, stall="wait"), Row(None, 5.0, text, kernel=text))
    look = close(code(rows, {name: text}), {name: text})
    found = {text: (Place(name, 1, text, 1.0),)}
    path = written(tmp_path, source_view(shown(tmp_path, look), found))
    assert "\u202e" not in path.read_text(encoding="utf-8")
    with opened(browser, path, 390) as page:
        page.locator("[data-expand]").click()
        settle(page)
        assert page.title() != "owned"
        assert page.locator("main img, main iframe, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "hottest"), [(0, None), (1, "v1_triton_padded.py:29"), (6, "v6_coalesced_store.cu:42")]
)
def test_recorded_runs_are_light(version: int, hottest: str | None) -> None:
    made = source_view(recorded(version))
    assert size(made) < TYPICAL_BYTES
    assert (made.hottest.rows[0][0].text if made.hottest else None) == hottest
    assert html(made) == html(source_view(recorded(version)))


@pytest.mark.slow
def test_a_recorded_run_passes_every_check_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    check_page(browser, written(tmp_path, source_view(recorded(1))))
