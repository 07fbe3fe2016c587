"""What lines and instructions cost, all launches together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from render.html.made_code import NAME, ROWS, TEXT, Row, code

from ncu_assist.ncu.code import source_costs, split_lines


def test_shares_are_of_all_samples_also_those_without_a_line() -> None:
    made = source_costs(code((*ROWS, Row(None, 100.0, "BRA"))), {NAME: TEXT})
    (file,), (function,) = made.files, made.functions
    assert [(line.number, line.cost.samples) for line in file.lines] == [(2, 0.3), (3, 0.15), (4, 0.05)]
    assert (file.cost.samples, function.cost.samples) == (0.5, 0.5)
    assert [one.sass for one in function.instructions] == ["EXIT", "BRA"]
    assert file.text == ("// a kernel", "\tx = load(p);", "\ty = x + 1;", "\tstore(p, y);")


def test_sums_are_those_of_the_instructions() -> None:
    totals = source_costs(code(), {}).totals
    assert (totals["samples"], totals["instructions"], totals["sectors_excessive"]) == (100.0, 40.0, 1000.0)
    assert (totals["sectors"], totals["wavefronts_excessive"]) == (2040.0, 0.0)


def test_what_was_not_counted_is_not_nought() -> None:
    made = source_costs(code(samples=float("nan"), sectors_excessive=float("nan")), {})
    assert not {"samples", "sectors_excessive"} & made.totals.keys()
    assert made.totals["wavefronts_excessive"] == 0.0
    assert made.files[0].text is None
    assert made.files[0].lines[0].cost.sectors_excessive == 0.0


def test_launches_of_the_same_code_are_added_up() -> None:
    once = code()
    again = once.sass.assign(launch=1)
    import pandas as pd

    both = replace(once, sass=pd.concat([once.sass, again], ignore_index=True))
    made = source_costs(both, {})
    assert [len(line.instructions) for line in made.files[0].lines] == [1, 1, 1]
    assert made.files[0].lines[0].cost.instructions == 20.0
    assert made.files[0].lines[0].cost.samples == pytest.approx(0.6)


def test_code_at_the_same_address_of_another_kernel_is_other_code() -> None:
    import pandas as pd

    once = code()
    other = once.sass.assign(launch=1, kernel=pd.Categorical(["other"] * len(ROWS)))
    made = source_costs(replace(once, sass=pd.concat([once.sass, other], ignore_index=True)), {})
    assert [one.kernel for one in made.files[0].lines[0].instructions] == ["k", "other"]


def test_waits_are_the_stalls_of_a_line_and_issuing_is_none() -> None:
    rows = (Row(2, 70.0), Row(2, 25.0, stall="wait"), Row(2, 5.0, stall="selected"), Row(3, 9.0, stall="selected"))
    lines = source_costs(code(rows), {}).files[0].lines
    assert lines[0].cost.waits == (("long_scoreboard", 0.7), ("wait", 0.25))
    assert lines[1].cost.waits == ()


def test_files_come_with_the_hottest_first() -> None:
    made = source_costs(code((Row(2, 10.0, file="/b.h"), Row(1, 90.0, file="/z.cu"), Row(3, 0.0, file="/a.h"))), {})
    assert [file.name for file in made.files] == ["/z.cu", "/b.h", "/a.h"]


def test_lines_end_where_a_compiler_ends_them() -> None:
    assert split_lines("a\x0cb\r\nc\u2028d\n") == ("a\x0cb", "c\u2028d")
    assert split_lines("a\n\nb") == ("a", "", "b")
    assert split_lines("") == ()
