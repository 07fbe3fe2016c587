"""Which line stands next to which."""

from __future__ import annotations

from ncu_assist.analysis.diff.lines import Aligned, align_lines, aligned_rows, numbered_rows


def rows(before: list[str], after: list[str]) -> list[tuple[int | None, int | None, str]]:
    used = range(1, len(before) + 1), range(1, len(after) + 1)
    kept, moved = align_lines(before, after, used)
    return [(row.before, row.after, row.kind) for row in aligned_rows(before, after, kept | moved)]


def test_the_same_text() -> None:
    assert rows(["a", "b"], ["a", "  b"]) == [(1, 1, "same"), (2, 2, "same")]


def test_removed_and_added_lines() -> None:
    assert rows(["a", "b", "c"], ["a", "c", "d"]) == [
        (1, 1, "same"),
        (2, None, "removed"),
        (3, 2, "same"),
        (None, 3, "added"),
    ]


def test_a_line_in_the_place_of_another_stands_beside_it() -> None:
    assert rows(["a", "xxxx", "yyyy", "b"], ["a", "1234567", "b"]) == [
        (1, 1, "same"),
        (2, 2, "replaced"),
        (3, None, "removed"),
        (4, 3, "same"),
    ]


def test_a_changed_line_stands_beside_what_it_was() -> None:
    before, after = ["a", "total += tile[row * D + col];"], ["a", "total += tile[row * (D + 1) + col];"]
    assert rows(before, after)[1] == (2, 2, "changed")


def test_a_moved_line_says_where_it_went() -> None:
    found = aligned_rows(["m1", "a", "b"], ["a", "b", "m1"], {1: 3, 2: 1, 3: 2})
    assert found == [
        Aligned(1, None, "removed", 3),
        Aligned(2, 1, "same"),
        Aligned(3, 2, "same"),
        Aligned(None, 3, "added", 1),
    ]


def test_every_line_stands_once_and_in_order() -> None:
    before, after = [f"{n % 7} {n}" for n in range(60)], [f"{n % 5} {n * 2}" for n in range(50)]
    partners = {n: (n * 37) % 50 + 1 for n in range(1, 50)}
    found = aligned_rows(before, after, partners)
    assert [row.before for row in found if row.before] == list(range(1, 61))
    assert [row.after for row in found if row.after] == list(range(1, 51))


def test_files_without_text_go_by_number() -> None:
    assert numbered_rows([3, 7], [7, 9]) == [Aligned(3, None, "same"), Aligned(7, 7, "same"), Aligned(None, 9, "same")]
