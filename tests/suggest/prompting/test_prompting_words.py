"""Words for numbers, lines and versions in a prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncu_assist.suggest.evidence.records import (
    EvidenceItem,
    FailedDraft,
    LaunchLine,
    LineNote,
    RemovedFault,
    SourceText,
    VersionStory,
)
from ncu_assist.suggest.prompting import (
    change_words,
    failures_text,
    floating_ideals,
    launches_text,
    note_words,
    number,
    numbered,
    removed_text,
    story_text,
)

QUIET = LineNote(2, 0.0, (), 0.0, None, 0.0, None, 32.0)


@pytest.mark.parametrize(
    ("value", "before", "unit", "words"),
    [
        (221.0, 611.0, "µs", "x0.362"),
        (26.4, 11.7, "%", "+14.7 pt"),
        (24.8, 27.7, "%", "-2.9 pt"),
        (31.0, 31.0, "sectors", "="),
        (5.0, 0.0, "", "new"),
        (0.0, 5.0, "", "x0"),
        (5.0, None, "", "-"),
    ],
)
def test_changes(value: float, before: float | None, unit: str, words: str) -> None:
    assert change_words(EvidenceItem("E1", "a", "a", value, unit, before)) == words


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["sector_efficiency_load", "sectors_per_request_load_excess", "stall_barrier"], ""),
        (["sector_efficiency_load", "sectors_per_request_load", "sectors_per_request_load_ideal"], "The ideal of E2"),
        (["sectors_per_request_store", "dram_bytes", "sectors_per_request_load"], "The ideal of E1, E3"),
    ],
)
def test_what_has_no_fixed_ideal_is_named(names: list[str], ids: str) -> None:
    items = [EvidenceItem(f"E{i}", name, name, 1.0, "", None) for i, name in enumerate(names, 1)]
    text = floating_ideals(items)
    assert text.strip().startswith(ids) if ids else text == ""


def test_numbers_are_as_a_reply_quotes_them() -> None:
    assert [number(one) for one in (31.0, 0.362, 150995.0, None)] == ["31", "0.362", "150995", "-"]


def _margin(share: float, *stalls: tuple[str, float], lanes: float = 32.0) -> LineNote:
    return LineNote(1, share, stalls, 0.0, 1.0, 0.0, None, lanes)


SECTORS = replace(_margin(0.001, ("wait", 0.9)), sectors_excessive=33.1e6, sectors_ratio=8.0)
CONFLICTS = replace(_margin(0.02, lanes=1.0), wavefronts_excessive=4.06e6, wavefronts_ratio=31.5)


@pytest.mark.parametrize(
    ("note", "line", "words"),
    [
        (_margin(0.58, ("wait", 0.77), ("drain", 0.2)), "x", "58 % of samples (wait 77 %, drain 20 %)"),
        (_margin(0.25, ("barrier", 0.9)), "x = 1", "25 % of samples (barrier 90 % at the barrier before it)"),
        (_margin(0.25, ("barrier", 0.9)), "__syncthreads();", "25 % of samples (barrier 90 %)"),
        (SECTORS, "x", "33.1 M excess sectors, 8x what its bytes need"),
        (
            CONFLICTS,
            "x",
            "2 % of samples; 4.06 M excess wavefronts (bank conflicts), 31.5x the least; 1 of 32 lanes active",
        ),
        (replace(_margin(0.05), sectors_excessive=10.0, sectors_ratio=1.001), "x", "5 % of samples"),
    ],
)
def test_notes_on_lines(note: LineNote, line: str, words: str) -> None:
    assert note_words(note, line) == words


def test_a_source_keeps_its_lines_as_they_are() -> None:
    shown = numbered(SourceText("k.cu", ("a  ", "", *("b",) * 8), (QUIET,)))
    assert shown.split("\n")[:3] == [" 1 | a  ", " 2 |", " 3 | b"]
    assert shown.split("\n")[-1] == "10 | b"


def test_the_story() -> None:
    told = (VersionStory("v1_a", "first", "2 µs", "", 2e3), VersionStory("v2_b", "its own", "1 µs", "less", 1e3))
    assert story_text(told, "v2_b") == "v1_a: 2 µs\n    idea: first\nv2_b (the parent): 1 µs\n    moved: less"


def test_launches() -> None:
    first = LaunchLine("k", 1500.0, "4x1x1", "128x1x1", "unexplained")
    told = launches_text([first, LaunchLine("m", None, "1x1x1", "1x1x1", "")])
    assert told.split("\n") == [
        "k  1.50 µs  grid 4x1x1  block 128x1x1  unexplained",
        "m  time unknown  grid 1x1x1  block 1x1x1",
    ]


def test_failures() -> None:
    told = failures_text([FailedDraft("d1", "v6", "a change", "wrong on b1")])
    assert told == "d1 (from v6): a change\n    rejected: wrong on b1"
    missed = FailedDraft("d2", "v6", "a change", "nothing moved", "unproven", "hits up, and it went from 3 to 2")
    assert failures_text([missed]).endswith("unproven: nothing moved\n    disproved: hits up, and it went from 3 to 2")


def test_what_took_a_fault_away() -> None:
    told = removed_text([RemovedFault("softmax/v4", "one pass", 1.5), RemovedFault("draft d1 of rope", "wide", 1.25)])
    assert told == "softmax/v4: 1.50x faster\n    idea: one pass\ndraft d1 of rope: 1.25x faster\n    idea: wide"
