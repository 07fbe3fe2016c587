"""A redacted frame has the same rows and numbers, and texts that differed still differ."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ncu_assist.analysis.diff.lines import LineChange, LineChanges
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.render.redact import Identity
from ncu_assist.render.redact.frames import redact_frame, redact_lines

KNOWN = Identity(users=("alice", "sectors"))


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "launch": pd.Series([0, 1, 2], dtype="int32"),
            "metric": pd.Categorical(["l2_sectors", "l2_sectors", "alice"]),
            "value": [1.0, float("nan"), 3.0],
            "text": [None, "/a/b/k.cu", "/c/d/k.cu"],
            "ranges": [("/a/b/k.cu", "step"), (), ("alice",)],
            "file": pd.Categorical(["/a/x.foo", "/b/x.foo", None]),
            "host": ["h1", "h1", "h2"],
            "created": pd.Series([pd.Timestamp(0, unit="s", tz="UTC")] * 3),
        }
    )


def test_every_text_goes_and_every_number_stays() -> None:
    before = frame()
    after = redact_frame(before, KNOWN)
    assert list(after.columns) == list(before.columns)
    assert after["text"].tolist()[1:] == ["<path>/k.cu", "<path 2>/k.cu"]
    assert after["text"].isna()[0]
    assert after["ranges"].tolist() == [("<path>/k.cu", "step"), (), ("<user>",)]
    assert after["file"].tolist()[:2] == ["<path>/x.foo", "<path 2>/x.foo"]
    assert after["host"].tolist() == ["<host>", "<host>", "<host 2>"]
    for name in ("launch", "metric", "value", "created"):
        pd.testing.assert_series_equal(after[name], before[name])
    pd.testing.assert_frame_equal(before, frame())


def test_placeholders_do_not_depend_on_the_order_of_rows() -> None:
    after = redact_frame(frame(), KNOWN)
    turned = redact_frame(frame().iloc[::-1], KNOWN).iloc[::-1]
    assert after["text"].tolist()[1:] == turned["text"].tolist()[1:]
    assert after["file"].tolist()[:2] == turned["file"].tolist()[:2]


def test_a_frame_without_text_is_the_same() -> None:
    plain = pd.DataFrame({"launch": [1], "value": [2.0]})
    assert redact_frame(plain, KNOWN) is plain
    assert redact_frame(frame().iloc[:0], KNOWN).empty


def test_lines_of_a_diff_lose_every_path_and_name_also_those_of_their_barriers() -> None:
    line = LineCost("/home/alice/k.cu", 3, "x; // alice", 1e3, 0.5, stall="barrier")
    held = replace(line, barrier_file="/home/alice/ring.cuh", barrier_line=4, barrier_text="sync(); // alice")
    told = LineChange("vanished", held, line, 0.0, False, sampled=("/home/alice/k.cu", 3))
    change = LineChange("vanished", held, None, 0.0, False, told=told)
    found = redact_lines(LineChanges((change,), (held,), own=("/home/alice/k.cu", None)), {}, KNOWN)
    assert "alice" not in repr(found) + repr(found.changes[0].told)
    assert found.left[0].waits_at.place == ("<path>/ring.cuh", 4)
