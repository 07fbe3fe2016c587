"""Briefs of answers that are far too long, of reports that say what to do, and of answers that lack parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_family import ROOT
from typing_extensions import get_type_hints

from ncu_assist.agents import briefs
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.explaining import explain_any
from ncu_assist.pipeline.exporting import FACTS

LAUNCH: dict[str, Any] = {
    "index": 0,
    "kernel": "k",
    "workload": "",
    "duration_ns": 1234.5678,
    "time_share": 0.5,
    "bound_by": "DRAM",
    "floor": None,
    "findings": [],
    "winnable_ns": None,
}


def launches(count: int, kernel: str = "k") -> dict[str, Any]:
    rows = [{**LAUNCH, "index": number, "kernel": kernel} for number in range(count)]
    return {"reference": "r", "launches_profiled": count, "launches": rows, "across_launches": []}


class TestFitted:
    def test_what_fits_is_whole_but_for_its_digits(self) -> None:
        told = briefs.fitted(briefs.launches(launches(2), 0, 10), 1_000)
        assert [one["index"] for one in told["launches"]] == [0, 1]
        assert told["launches"][0]["duration_ns"] == 1235.0
        assert "left_out" not in told

    def test_what_was_not_asked_for_and_what_had_no_room_are_counted_together(self) -> None:
        told = briefs.fitted(briefs.launches(launches(1_000, "a" * 400), 10, 100), 1_000)
        shown = len(told["launches"])
        assert 0 < shown < 100
        assert told["left_out"] == {"launches": 1_000 - 10 - shown}
        assert briefs.tokens_of(told) <= 1_000

    def test_a_text_that_is_longer_than_all_there_is_room_for(self) -> None:
        told = briefs.fitted({"prompt": "x" * 100_000, "prompt_id": "p"}, 500, ("prompt",))
        assert briefs.tokens_of(told) <= 500
        assert told["prompt_id"] == "p"

    def test_a_name_that_steers_a_terminal_is_spelled_out(self) -> None:
        told = briefs.fitted(briefs.launches(launches(1, "\x1b[2Jcall accept\u202e"), 0, 10), 1_000)
        assert told["launches"][0]["kernel"] == "\\x1b[2Jcall accept\\u202e"
        assert "launches[].kernel" in told["untrusted"]

    @given(
        st.dictionaries(
            st.text(max_size=8),
            st.one_of(st.text(max_size=3_000), st.lists(st.text(max_size=900), max_size=40), st.floats(-1e300, 1e300)),
            min_size=1,
            max_size=8,
        )
    )
    def test_every_result_fits(self, result: dict[str, Any]) -> None:
        assert briefs.tokens_of(briefs.fitted(result, 500)) <= 500


@pytest.mark.parametrize(("line", "stalls"), [(0, ["wait", "barrier"]), (7, ["barrier"])])
def test_instructions_of_a_line_or_of_all(line: int, stalls: list[str]) -> None:
    common = {"launch": 0, "sass": "S", "file": "a\\b/k.cu", "sectors_excessive": 0.0, "wavefronts_excessive": None}
    rows = [
        {**common, "offset": 16, "line": 7, "samples": 3.0, "stall_barrier": 2.0, "stall_wait": 1.0},
        {**common, "offset": 0, "line": 1, "samples": 1.0, "stall_wait": 1.0, "stall_wait_not_issued": 9.0},
    ]
    told = briefs.sass({"run": {"reference": None}, "rows": rows}, line, 10)
    assert [one["stall"] for one in told["instructions"]] == stalls
    assert {one["file"] for one in told["instructions"]} == {"k.cu"}
    assert told["instructions"][-1]["share_of_samples"] == 0.75


def test_instructions_are_of_one_launch_and_their_jumps_are_offsets() -> None:
    common = {"file": "k.cu", "line": 7, "sectors_excessive": 0.0, "wavefronts_excessive": None, "opcode": "BRA"}
    rows = [
        {**common, "launch": launch, "offset": offset, "address": 0x7FA0_0000 + offset, "sass": sass, "samples": 3.0}
        for launch in (2, 5)
        for offset, sass in ((16, "@!P0  BRA 0x7fa00040"), (32, "BRA 0x7f000000"))
    ]
    told = briefs.sass({"run": {"reference": None}, "rows": rows}, 0, 1, 5)
    assert (told["launch"], told["left_out"]) == (5, {"instructions": 1})
    assert [(one["sass"], one["share_of_samples"]) for one in told["instructions"]] == [("@!P0  BRA 64", 0.5)]
    first = briefs.sass({"run": {"reference": None}, "rows": rows}, 0, 9, 7)
    assert first["launch"] == 2  # where the launch asked for has no code
    assert first["instructions"][1]["sass"] == "BRA 0x7f000000"  # into another function


def test_metrics_name_the_workload_of_their_launch_and_leave_out_what_is_absent() -> None:
    facts = {**dict.fromkeys(FACTS), "launch": 3, "workload": "b64", "a.sum": 2.0, "b.sum": None}
    outside = {**facts, "launch": 0, "workload": "", "b.sum": "text"}
    columns = [{"name": name, "unit": None} for name in (*FACTS, "a.sum", "b.sum")]
    told = briefs.metrics({"run": {"reference": None}, "columns": columns, "rows": [facts, outside], "notes": []})
    assert [(one["launch"], one.get("workload"), one["metric"], one["value"]) for one in told["metrics"]] == [
        (3, "b64", "a.sum", 2.0),
        (0, None, "a.sum", 2.0),
        (0, None, "b.sum", "text"),
    ]


def test_the_tokens_in_the_guide_are_those_that_were_measured() -> None:
    measured = json.loads((ROOT / "benchmarks" / "results" / "agent_tokens.json").read_text())
    guide = (ROOT / "docs" / "guide" / "agents.md").read_text()
    assert f"takes {measured['list_of_tools']:,} and the instructions {measured['instructions']:,}" in guide
    for tool, row in measured["tools"].items():
        whole = f"{row['whole_answer_median']:,}" if row["whole_answer_median"] else "–"
        assert f"| `{tool}` | {row['median']:,} | {row['most']:,} | {row['budget']:,} | {whole} |" in guide
        assert row["most"] <= row["budget"]


def test_each_key_of_a_result_is_explained() -> None:
    shapes = [one for one in vars(briefs).values() if isinstance(one, type) and hasattr(one, "__required_keys__")]
    keys = {key for shape in shapes for key in get_type_hints(shape)}
    assert {"next_limit", "left_out", "flaws", "busiest"} < keys
    unknown = []
    for key in sorted(keys - set(briefs.KEYS)):
        try:
            explain_any(key)
        except UsageProblem:
            unknown.append(key)
    assert unknown == []
    assert all(word in {*keys, "share_of_finding", "share_of_samples"} for word in briefs.KEYS)
