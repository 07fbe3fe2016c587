"""Which source lines changed: the same line found in another text, and the one that explains most first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from ncu_assist.analysis.diff.lines import (
    LineChanges,
    align_lines,
    explaining_change,
    line_changes,
    most_of_change,
    told_changes,
)
from ncu_assist.ncu.line_sums import LineCost, LineSums

FILE = "/src/v{}.cu"
TEXT = "load();\nstore();\nadd();\n__syncthreads();"
PASS_NS = 1e-3  # a million sectors are a microsecond


def cost(line: int, ns: float, samples: int = 10_000, **excess: float) -> LineCost:
    return LineCost(FILE, line, None, ns, ns / 100_000.0, samples, **excess)


def side(version: int, text: str, *lines: LineCost, duration_ns: float = 100_000.0) -> LineSums:
    name = FILE.format(version)
    named = tuple(replace(one, file=name, text=text.splitlines()[one.line - 1]) for one in lines)
    return LineSums(named, {name: text}, name, duration_ns, PASS_NS)


def shown(changes: LineChanges) -> list[tuple[str, int | None, int | None]]:
    return [
        (one.kind, one.baseline.line if one.baseline else None, one.candidate.line if one.candidate else None)
        for one in changes.changes
    ]


def paired(before: list[str], after: list[str], used: tuple[Collection[int], Collection[int]]) -> dict[int, int]:
    kept, moved = align_lines(before, after, used)
    return kept | moved


def align(before: str, after: str) -> dict[int, int]:
    texts = before.splitlines(), after.splitlines()
    return paired(*texts, (range(len(texts[0]) + 1), range(len(texts[1]) + 1)))


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("a = 1;\nb = 2;", "x = 0;\na = 1;\nb = 2;", {1: 2, 2: 3}),
        ("  if (i) {\n\tb = 2;\n}", "b = 2;", {2: 1}),  # indentation
        ("tile[row * D + col] = value;", "tile[row * (D + 1) + col] = value;", {1: 1}),
        ("out[i] = a[i] + b[i];", "__syncthreads();", {}),
        ("int a = first;\nint b = second;", "int b = second2;\nint a = first1;", {2: 1}),  # pairs do not cross
        ("move(me);\none();\ntwo();\nthree();", "one();\ntwo();\nthree();\nmove(me);", {1: 4, 2: 1, 3: 2, 4: 3}),
        ("}\na();\nb();", "a();\nb();\n}", {2: 1, 3: 2}),  # a brace that moved is no line that moved
        ("", "a();", {}),
    ],
)
def test_lines_are_found_in_another_text(before: str, after: str, pairs: dict[int, int]) -> None:
    assert align(before, after) == pairs


def test_only_lines_that_code_comes_from_pair_by_likeness() -> None:
    texts = ["x[i * n + j] = value;"], ["x[i * (n + 1) + j] = value;"]
    assert paired(*texts, ({1}, {1})) == {1: 1}
    assert paired(*texts, (set(), {1})) == {}


def test_a_line_without_a_partner_vanished_or_appeared() -> None:
    before = side(1, TEXT, cost(1, 60_000.0), cost(2, 40_000.0))
    after = side(2, "load();\nmuch_better();", cost(1, 30_000.0), cost(2, 5_000.0), duration_ns=35_000.0)
    found = line_changes(before, after)
    assert shown(found) == [("vanished", 2, None), ("kept", 1, 1), ("appeared", None, 2)]
    assert [round(one.delta_ns) for one in found.changes] == [-40_000, -30_000, 5_000]
    assert [one.text for one in found.changes] == ["store();", "load();", "much_better();"]


def told(changes: LineChanges) -> list[tuple[str, int | None, int | None, str | None]]:
    return [
        (
            one.became,
            one.baseline.line if one.baseline else None,
            one.candidate.line if one.candidate else None,
            one.text,
        )
        for one in told_changes(changes.changes)
    ]


def test_a_line_in_whose_place_another_stands_is_told_with_it() -> None:
    before = side(1, "load();\nslow(x);\nadd();", cost(1, 20_000.0), cost(2, 40_000.0), cost(3, 10_000.0))
    after = side(2, "load();\nq = better[i];\nadd();", cost(1, 20_000.0), cost(2, 5_000.0), cost(3, 10_000.0))
    found = line_changes(before, after)
    assert shown(found) == [("vanished", 2, None), ("appeared", None, 2)]
    assert [one.became for one in found.changes] == ["vanished", "appeared"]  # of each line by itself
    assert told(found) == [("replaced", 2, 2, "slow(x);")]
    back = line_changes(after, before)
    assert told(back) == [("replaced", 2, 2, "slow(x);")]  # it is the worse one of the two
    assert [(one.direction, one.delta_ns) for one in told_changes(back.changes)] == [(1, 35_000.0)]


def test_no_line_is_replaced_by_one_of_another_language() -> None:
    before = side(1, "load();\nslow(x);\nadd();", cost(1, 20_000.0), cost(2, 40_000.0))
    after = side(2, "load();\nq = better[i];\nadd();", cost(1, 20_000.0), cost(2, 5_000.0))
    named = replace(after, own="/src/v2.py", texts={"/src/v2.py": after.texts[FILE.format(2)]})
    python = replace(named, lines=tuple(replace(one, file="/src/v2.py") for one in after.lines))
    assert [word for word, *_ in told(line_changes(before, python))] == ["vanished", "appeared"]


def held(line: int, barrier: int, ns: float, **excess: float) -> LineCost:
    text = TEXT.splitlines()[barrier - 1]
    return replace(
        cost(line, ns, **excess), stall="barrier", barrier_file=FILE.format(2), barrier_line=barrier, barrier_text=text
    )


def test_warps_that_a_barrier_held_are_told_at_the_barrier_once_with_all_its_time() -> None:
    before = side(1, TEXT, cost(1, 50_000.0), cost(4, 4_000.0))
    text = f"{TEXT}\nnew(a);\nother(b);"
    after = side(2, text, cost(1, 50_000.0), cost(4, 1_000.0), held(5, 4, 20_000.0), held(6, 4, 10_000.0))
    found = line_changes(before, after)
    assert shown(found) == [("appeared", None, 5), ("appeared", None, 6), ("kept", 4, 4)]
    (first, *_) = told_changes(found.changes)
    assert told(found)[0] == ("more", 4, 4, "__syncthreads();")
    assert (first.candidate and first.candidate.ns, first.sampled) == (31_000.0, (FILE.format(2), 5))
    assert len(told(found)) == 1


def test_an_excess_is_told_at_the_line_that_has_it_whatever_held_its_warps() -> None:
    before = side(1, TEXT, cost(1, 50_000.0, sectors_excessive=0.0))
    text = f"{TEXT}\nnew(a);"
    after = side(2, text, cost(1, 50_000.0), held(5, 4, 20_000.0, sectors_excessive=3e7))
    assert told(line_changes(before, after))[0] == ("appeared", None, 5, "new(a);")


def test_a_line_of_both_texts_that_one_side_executed_started_or_stopped() -> None:
    found = line_changes(side(1, TEXT, cost(1, 50_000.0)), side(2, TEXT, cost(2, 50_000.0)))
    assert shown(found) == [("stopped", 1, 1), ("started", 2, 2)]
    assert found.changes[0].candidate is not None
    assert (found.changes[0].candidate.ns, found.changes[0].candidate.text) == (0.0, "load();")


def test_what_lost_its_waste_comes_before_what_lost_more_time() -> None:
    """The store made coalesced saves little time at its own line: loads elsewhere no longer wait behind it."""
    before = side(1, TEXT, cost(1, 80_000.0, sectors_excessive=0.0), cost(2, 5_000.0, sectors_excessive=3e7))
    after = side(2, TEXT, cost(1, 20_000.0, sectors_excessive=0.0), cost(2, 4_500.0, sectors_excessive=0.0))
    found = line_changes(before, after)
    assert shown(found)[:2] == [("kept", 2, 2), ("kept", 1, 1)]
    assert [one.is_material for one in found.changes[:2]] == [True, False]
    assert found.changes[0].pipe_ns == pytest.approx(-30_000.0)
    assert found.changes[0].direction == -1


def test_the_word_says_excess_where_time_went_the_other_way() -> None:
    before = side(1, TEXT, cost(1, 80_000.0), cost(2, 5_000.0, sectors_excessive=3e7), duration_ns=85_000.0)
    after = side(2, TEXT, cost(1, 20_000.0), cost(2, 9_000.0), cost(3, 1_000.0), duration_ns=30_000.0)
    found = line_changes(before, after)
    assert [(one.text, one.became) for one in found.changes] == [
        ("store();", "less excess"),
        ("load();", "less"),
        ("add();", "started"),
    ]
    most = most_of_change(found)
    assert most
    assert most.text == "load();"


def test_the_line_that_made_most_of_the_change_is_kept_among_the_first() -> None:
    numbers, text = range(2, 9), "load();\n" + "\n".join(f"x{n}();" for n in range(2, 9))
    wasteful = [cost(n, 1_000.0, sectors_excessive=1e7) for n in numbers]
    before = side(1, text, cost(1, 90_000.0), *wasteful)
    after = side(2, text, cost(1, 10_000.0), *(cost(n, 1_000.0) for n in numbers), duration_ns=20_000.0)
    found = line_changes(before, after)
    assert len(found.changes) == 5
    assert [one.became for one in found.changes] == [*["less excess"] * 4, "less"]


def test_a_line_that_ran_without_a_sample_did_not_start() -> None:
    before = side(1, TEXT, cost(1, 50_000.0), replace(cost(2, 0.0, 0), instructions=100.0))
    after = side(2, TEXT, cost(1, 50_000.0), replace(cost(2, 50_000.0), instructions=100.0))
    assert ("kept", 2, 2) in shown(line_changes(before, after))


def test_a_trifle_of_waste_ranks_by_its_time() -> None:
    before = side(1, TEXT, cost(1, 80_000.0), cost(2, 5_000.0, wavefronts_excessive=1000.0))
    after = side(2, TEXT, cost(1, 20_000.0), cost(2, 4_900.0, wavefronts_excessive=0.0))
    assert shown(line_changes(before, after)) == [("kept", 1, 1)]


def test_waste_that_only_went_to_another_line_is_none_that_vanished() -> None:
    before = side(1, TEXT, cost(1, 50_000.0, sectors_excessive=6e7))
    after = side(2, TEXT, cost(1, 40_000.0, sectors_excessive=3e7), cost(2, 10_000.0, sectors_excessive=3e7))
    assert [one.pipe_ns for one in line_changes(before, after).changes] == [0.0, 0.0]
    half = replace(after, lines=after.lines[:1])
    assert line_changes(before, half).changes[0].pipe_ns == pytest.approx(-30_000.0)


def test_no_pipe_is_busy_for_longer_than_its_side_took() -> None:
    """An excess says what was asked of L1, and a line that waits elsewhere may have no time; the launch has."""
    before = side(1, TEXT, cost(1, 90_000.0, sectors_excessive=9e8), duration_ns=100_000.0)
    after = side(2, TEXT, cost(1, 20_000.0, sectors_excessive=0.0), duration_ns=30_000.0)
    assert line_changes(before, after).changes[0].pipe_ns == -100_000.0
    assert line_changes(after, before).changes[0].pipe_ns == 100_000.0


def test_what_samples_and_durations_wander_by_is_no_change() -> None:
    """Two runs of one code: 1 % more time, and a line of 100 samples that has 120 the next time."""
    before = side(1, TEXT, cost(1, 90_000.0), cost(2, 1_000.0, samples=100))
    after = side(2, TEXT, cost(1, 90_850.0), cost(2, 1_200.0, samples=120), duration_ns=101_000.0)
    assert line_changes(before, after).changes == ()


def test_at_most_five_are_named() -> None:
    text = "\n".join(f"statement_{number}();" for number in range(9))
    found = line_changes(side(1, text, *(cost(n, 1e4 + n) for n in range(1, 10))), side(2, "other();", cost(1, 9e4)))
    assert len(found.changes) == 5
    assert shown(found)[0] == ("appeared", None, 1)


def test_what_is_left_is_the_hottest_line_then_the_wasteful() -> None:
    lines = cost(1, 60_000.0), cost(2, 5_000.0, sectors_excessive=3e7), cost(3, 20_000.0), cost(4, 10_000.0)
    found = line_changes(LineSums(note="none"), side(2, TEXT, *lines))
    assert [one.line for one in found.left] == [1, 2, 3, 4]
    assert [one.is_wasteful for one in found.left] == [False, True, False, False]


def test_a_side_without_lines_has_a_note_and_no_changes() -> None:
    found = line_changes(side(1, TEXT, cost(1, 1e5)), LineSums(note="no line numbers"))
    assert (found.changes, found.left, found.notes) == ((), (), ("", "no line numbers"))


def foreign(name: str, text: str | None, *lines: tuple[int, float]) -> tuple[list[LineCost], dict[str, str]]:
    costs = [LineCost(name, line, None, ns, ns / 1e5, 10_000) for line, ns in lines]
    return costs, {} if text is None else {name: text}


def program(*files: Any) -> LineSums:
    lines = [line for costs, _ in files for line in costs]
    texts = {name: text for _, one in files for name, text in one.items()}
    return LineSums(tuple(lines), texts, None, 1e5, PASS_NS)


def test_files_belong_together_by_name_and_the_costliest_by_their_role() -> None:
    before = program(foreign("/a/old.cu", "hot();", (1, 60_000.0)), foreign("/a/util.cuh", "x();", (1, 20_000.0)))
    after = program(foreign("/b/util.cuh", "y();\nx();", (2, 10_000.0)), foreign("/b/new.cu", "z();\nhot();", (2, 3e4)))
    found = line_changes(before, after)
    assert shown(found) == [("kept", 1, 2), ("kept", 1, 2)]
    assert [one.candidate.file for one in found.changes if one.candidate] == ["/b/new.cu", "/b/util.cuh"]


def test_an_include_that_nobody_imported_is_the_same_on_both_sides() -> None:
    before = program(foreign("/cuda-12/include/cuda_bf16.hpp", None, (266, 60_000.0)))
    after = program(foreign("/cuda-13/include/cuda_bf16.hpp", None, (266, 20_000.0), (300, 5_000.0)))
    assert shown(line_changes(before, after)) == [("kept", 266, 266), ("started", 300, 300)]


def test_a_line_is_not_read_where_the_other_side_has_no_lines() -> None:
    """The library's kernel that a launch is paired with has no line numbers: nobody knows what is gone."""
    ran = replace(cost(1, 60_000.0), launches=(0,)), replace(cost(2, 40_000.0), launches=(1,))
    before = replace(side(1, TEXT, *ran), lined=frozenset((0, 1)))
    after = replace(side(2, TEXT, replace(cost(1, 30_000.0), launches=(5,))), lined=frozenset((5,)))
    found = line_changes(before, after, [((0,), (5,)), ((1,), (6,))])
    assert shown(found) == [("kept", 1, 1), ("not-read", 2, 2)]
    assert [one.direction for one in found.changes] == [-1, 0]
    back = line_changes(after, before, [((5,), (0,)), ((6,), (1,))])
    assert shown(back) == [("kept", 1, 1), ("not-read", 2, 2)]
    read = line_changes(before, replace(after, lined=frozenset((5, 6))), [((0,), (5,)), ((1,), (6,))])
    assert shown(read) == [("stopped", 2, 2), ("kept", 1, 1)]


def test_a_statement_that_stands_twice_moved_and_is_not_gone() -> None:
    """v12 of flash attention has the two waits of v11 elsewhere: what went is another line."""
    frame = "a();\nb();\nc();\n"
    before = side(1, f"{frame}fetch();\nwait();\nuse();\nwait();", cost(4, 3e4), cost(5, 4e4), cost(7, 2e4))
    after = side(2, f"wait();\nstep();\nwait();\n{frame}", cost(1, 4.5e4), cost(3, 2e4), duration_ns=7e4)
    found = line_changes(before, after, every=True)
    assert shown(found) == [("vanished", 4, None), ("moved", 5, 1), ("moved", 7, 3)]
    assert [one.is_beyond for one in found.changes] == [True, True, False]
    assert line_changes(before, after).changes == found.changes[:2]
    told = explaining_change(found)
    assert told
    assert told.text == "fetch();"


def test_a_statement_that_went_to_another_file_moved() -> None:
    before = program(foreign("/a/v1.cu", "work();\nwait(0);", (1, 50_000.0), (2, 40_000.0)))
    after = program(
        foreign("/a/v1.cu", "work();", (1, 50_000.0)), foreign("/a/new.cuh", "x();\n  wait(0);", (2, 60_000.0))
    )
    before, after = (
        replace(one, lines=tuple(replace(c, text=one.texts[c.file].splitlines()[c.line - 1]) for c in one.lines))
        for one in (before, after)
    )
    assert shown(line_changes(before, after)) == [("moved", 2, 2)]
