"""Two sources side by side: aligned, with the time of both sides and the change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_checks import check_page, opened
from render.html.made_code import NAME, ROWS, TEXT, Row, close, code, html, shown
from render.html.test_sampler import HOSTILE

from ncu_assist.render.html.sass_view import MOST_PAIRED
from ncu_assist.render.html.source_pair import SourcePair, source_pair

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MOST_BYTES = 2_000_000
AFTER = "/src/b.cu"
NEW_TEXT = "// a better kernel\n\tx = load(p);\n\ty = x + 2;\n\tstore(p, y);\n"
NEW_ROWS = (Row(2, 30.0, "LDG.E R4, [R2.64]", AFTER), Row(3, 60.0, file=AFTER), Row(4, 10.0, file=AFTER))


def pair(
    root: Path, rows: tuple[Row, ...] = NEW_ROWS, text: str = NEW_TEXT, before: tuple[Row, ...] = ROWS
) -> SourcePair:
    old = shown(root / "old", close(code(before)), "v1_old")
    texts = {AFTER: text}
    return source_pair(old, shown(root / "new", close(code(rows, texts), texts), "v2_new"))


def test_lines_stand_beside_each_other_with_their_times(tmp_path: Path) -> None:
    made = pair(tmp_path)
    (file,) = made.files
    assert (made.names, made.unit, file.before, file.after) == (("v1_old", "v2_new"), "µs", "a.cu", "b.cu")
    assert [(row.before.number, row.after.number) for row in file.rows if row.before and row.after] == [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 4),
    ]
    times = [(row.before.heat.text, row.after.heat.text) for row in file.rows if row.before and row.after]
    assert times == [("", ""), ("60.0", "30.0"), ("30.0", "60.0"), ("10.0", "10.0")]
    assert [row.kind for row in file.rows] == ["replaced", "same", "changed", "same"]


def test_both_sides_have_the_colours_of_their_language(tmp_path: Path) -> None:
    (file,) = pair(tmp_path, text="/* a better\n\tx = load(p); */\n\ty = 2;\n\tstore(p, y);\n").files
    codes = [str(row.after.code) for row in file.rows if row.after]
    assert codes[:3] == [
        "<i class=kc>/* a better</i>",
        "<i class=kc>\tx = load(p); */</i>",
        "\ty = <i class=kn>2</i>;",
    ]
    assert all("load" in str(row.before.code) for row in file.rows if row.before and row.before.number == 2)


def test_the_change_of_time_and_of_excess(tmp_path: Path) -> None:
    (file,) = pair(tmp_path).files
    assert [(row.change, row.tone) for row in file.rows] == [
        ("", ""),
        ("▼ -30.0", "good"),
        ("▲ +30.0", "bad"),
        ("", ""),
    ]
    assert [row.note for row in file.rows] == ["", "1 k → 0 excess sectors", "", ""]


def test_a_change_within_noise_is_not_marked(tmp_path: Path) -> None:
    rows = (Row(2, 59.5, file=AFTER), Row(3, 30.5, file=AFTER), Row(4, 10.0, file=AFTER))
    made = pair(tmp_path, rows)
    assert {row.change for row in made.files[0].rows} == {""}
    assert made.sass == []


def test_instructions_of_lines_whose_time_changed_stand_beside_each_other(tmp_path: Path) -> None:
    """The line that changed most comes first; instructions are aligned by their opcodes, in the order of addresses."""
    before = (Row(2, 50.0, "LDG.E R4, [R2.64]"), Row(2, 20.0, "@P0 FADD R1, R4, R5"), Row(3, 30.0, "FMUL R1, R1, R2"))
    after = (
        *(Row(2, 1.0, "LDG.E.128 R8, [R2.64]", AFTER), Row(2, 8.0, "@!P1 FADD R2, R8, R9", AFTER)),
        *(Row(3, 21.0, "FMUL R3, R2, R2", AFTER), Row(4, 70.0, "STG.E [R6.64], R3", AFTER)),
    )
    made = pair(tmp_path, after, before=before)
    assert [(one.line.text, one.change, one.counts) for one in made.sass] == [
        *(("b.cu:4", "▲ +70.0 µs", (0, 1)), ("b.cu:2", "▼ -61.0 µs", (2, 2)), ("b.cu:3", "▼ -9.0 µs", (1, 1))),
    ]
    ids = {row.id for row in made.files[0].rows}
    assert all(one.line.href.removeprefix("#") in ids and not one.left_out for one in made.sass)
    added, changed, kept = (one.rows for one in made.sass)
    assert [(left, right and right[2], same) for left, right, same in added] == [(None, "STG.E [R6.64], R3", False)]
    assert [(left and left[1].text, right and right[1].text, same) for left, right, same in changed] == [
        *(("50.0", "1.0", False), ("20.0", "8.0", True)),
    ]
    assert [same for *_, same in kept] == [True]


def test_the_sass_of_a_line_of_inline_assembly_has_its_instruction_in_the_title(tmp_path: Path) -> None:
    text = 'x\nasm volatile("mma.sync.m16 %0, %1;"\n  : "=f"(a)\n  : "r"(b));\n'
    (one,) = [sass for sass in pair(tmp_path, (Row(4, 90.0, "HMMA", AFTER),), text).sass if sass.line.text == "b.cu:4"]
    assert one.code.startswith("asm ")
    assert "mma.sync.m16" in one.code


def test_of_many_instructions_those_with_most_samples_are_shown(tmp_path: Path) -> None:
    rows = tuple(Row(2, float(number), f"FADD R{number}, R1, R2", AFTER) for number in range(1, MOST_PAIRED + 11))
    (one,) = [sass for sass in pair(tmp_path, rows).sass if sass.line.text == "b.cu:2"]
    assert one.left_out == 10
    assert next(after[2].split()[1] for _, after, _ in one.rows if after) == "R11,"


def test_both_sides_share_one_scale_of_colours(tmp_path: Path) -> None:
    (file,) = pair(tmp_path, (Row(2, 5.0, file=AFTER), Row(None, 95.0, "BRA"))).files
    levels = [(row.before.heat.level, row.after.heat.level) for row in file.rows if row.before and row.after]
    assert levels[1] == (8, 1)


def test_links_lead_to_lines_of_either_side(tmp_path: Path) -> None:
    made = pair(tmp_path)
    assert made.href((NAME, 2), is_candidate=False) == made.href((AFTER, 2), is_candidate=True) == "#pair-b-cu-2"
    assert (made.href((NAME, 99), is_candidate=False), made.href(None, is_candidate=True)) == ("", "")


def test_a_side_without_lines_says_why(tmp_path: Path) -> None:
    old = shown(tmp_path / "old", close(None, note="the run keeps no report"), "v1_old")
    made = source_pair(old, shown(tmp_path / "new", close(code()), "v2_new"))
    why = "There is nothing to align: v1_old: the run keeps no report."
    assert made.missing == (why, "ncu-assist profile add_one v1_old")
    assert "v1_old: the run keeps no report" in html(made, is_pair=True)
    assert made.files
    assert not any(file.before for file in made.files)
    assert "only in v2_new" in html(made, is_pair=True)


def test_code_without_lines_is_told(tmp_path: Path) -> None:
    made = pair(tmp_path, (*NEW_ROWS, Row(None, 100.0, "BRA")))
    assert made.notes == ("v2_new: 50 % of its samples are in code without source lines.",)


def test_files_that_one_side_lacks_stand_alone(tmp_path: Path) -> None:
    made = pair(tmp_path, (*NEW_ROWS, Row(7, 5.0, file="/other/header.h")))
    assert [(file.before, file.after) for file in made.files] == [("a.cu", "b.cu"), ("", "header.h")]
    assert [(row.before, row.after and row.after.number, row.kind) for row in made.files[1].rows] == [(None, 7, "same")]


@pytest.mark.slow
def test_long_files_keep_what_changed_and_what_costs(tmp_path: Path) -> None:
    text = "\n".join(f"line {n} <" for n in range(40_000))
    look = [close(code((Row(20_000, 9.0),), {NAME: some}), {NAME: some}) for some in (text, text + "\nnew")]
    made = source_pair(shown(tmp_path / "a", look[0], "v1_old"), shown(tmp_path / "b", look[1], "v2_new"))
    (file,) = made.files
    assert [row.note for row in file.rows if not (row.before or row.after)] == [
        "19987 lines unchanged and without cost",
        "19976 lines unchanged and without cost",
    ]
    assert len(html(made, is_pair=True).encode()) < MOST_BYTES


@pytest.mark.slow
def test_it_passes_every_check_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "pair.html"
    rows = (*NEW_ROWS, Row(5, 7.0, file=AFTER), Row(7, 5.0, file="/other/header.h"))
    path.write_text(html(pair(tmp_path, rows, NEW_TEXT + "long" * 90), is_pair=True), encoding="utf-8")
    check_page(browser, path)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(browser: Browser, tmp_path: Path, text: str) -> None:
    text = text.replace("\ud800", "")
    name = f"/src/{text}.cu"
    look = close(code((Row(1, 5.0, text, name), Row(None, 5.0)), {name: text}), {name: text})
    made = source_pair(shown(tmp_path / "a", look, "v1_old"), shown(tmp_path / "b", close(code()), "v2_new"))
    path = tmp_path / "pair.html"
    path.write_text(html(made, is_pair=True), encoding="utf-8")
    assert "\u202e" not in path.read_text(encoding="utf-8")
    with opened(browser, path, 390) as page:
        assert page.title() != "owned"
        assert page.locator("main img, main iframe, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert TEXT.split("\n")[0] in (page.locator("main").text_content() or "")
