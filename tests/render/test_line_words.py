"""Source lines in words: what is shown of names and texts from outside, and of who waits at a barrier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ncu_assist.analysis.diff.lines import LineChange, LineChanges
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.render.words.why import why_lines

EVIL = "evil\x1b[31m\u202e\nline"
STEPS = [(3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (9, 10), (2, 7), (10, 7), (7, 6), (0, 2)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = y;", "held by a barrier"),
        ("__syncthreads();", "barrier"),
        ('asm("bar.sync 0;");', "barrier"),
        (None, "barrier"),
    ],
)
def test_who_waits_behind_a_barrier_is_not_said_to_hold_it(text: str | None, words: str) -> None:
    (shown,) = why_lines(None, LineChanges(left=(line(1, text=text),), durations_ns=(1e5, 1e5)), ("v1", "v2"))
    assert shown.endswith(f", {words}")


def test_the_line_of_the_barrier_is_shown_where_it_is_known() -> None:
    held = line(1, barrier_file="/src/v1_made.cu", barrier_line=3, barrier_text="__syncthreads();")
    (shown,) = why_lines(None, LineChanges(left=(held,), durations_ns=(1e5, 1e5)), ("v1", "v2"))
    assert shown == "hottest: v1_made.cu:3  `__syncthreads();`  50 µs (50 %), sampled at :1"


def line(number: int, **changes: Any) -> LineCost:
    facts = {"text": "x = y;", "ns": 50_000.0, "share": 0.5, "samples": 1000, "stall": "barrier"}
    return LineCost("/src/v1_made.cu", number, **(facts | changes))


def test_foreign_text_is_harmless() -> None:
    evil = replace(line(1, text=EVIL, stall=EVIL), file=EVIL)
    change = LineChange("vanished", evil, None, 0.0, True)
    lines = why_lines(None, LineChanges((change,), (evil,), ("", EVIL), durations_ns=(2e5, 1e5)), (EVIL, EVIL))
    assert len(lines) == 3
    assert not any(character in "".join(lines) for character in "\x1b\u202e\n")


def test_a_long_note_goes_on_below() -> None:
    note = "the code has no line numbers: compile with -lineinfo"
    lines = why_lines(None, LineChanges((), (), (note, note)), ("baseline", "candidate"))
    assert lines == [
        "lines: baseline and candidate: the code has no line numbers: compile with",
        "  -lineinfo",
    ]


def test_long_names_keep_their_end() -> None:
    name = "/a/very/long/path/that/no/line/has/room/for/report_before.ncu-rep"
    change = LineChange("kept", line(1), line(2, ns=10_000.0), 0.0, False)
    found = LineChanges((change,), (line(2),), ("", "no samples"), durations_ns=(1e5, 6e4))
    lines = why_lines(None, found, (name, name))
    assert lines[0] == "less: v1_made.cu:1 → v1_made.cu:2  `x = y;`  50 → 10 µs"
    assert lines[-1] == f"lines: …{name[-23:]}: no samples"
