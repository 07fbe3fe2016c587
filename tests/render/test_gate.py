"""A gate as text, Markdown and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from factories import DEVICE
from gated import CONFLICTS, LARGE, SMALL, Archive

from ncu_assist.analysis.gate import Gate, GateCheck
from ncu_assist.analysis.gate.limits import CYCLES, Limit
from ncu_assist.pipeline.gating import GateRequest, gate
from ncu_assist.render.json.diff import gate_json
from ncu_assist.render.markdown import gate_markdown
from ncu_assist.render.terminal.diff import gate_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words.gate import complaints, values

LIMITS = ("time:2%", f"{CONFLICTS}:+0")
TIMES = {SMALL: 1e5, "medium": 1e5, LARGE: 1e6}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    made = Archive(tmp_path)
    monkeypatch.chdir(tmp_path)
    made.save("v0_torch", TIMES, {})
    return made


def judged(archive: Archive, *fail_on: str) -> Gate:
    return gate(archive.project, GateRequest("v1", fail_on=fail_on or LIMITS))


def test_the_reasons_stand_last_and_what_failed_behind_what_is_unclear(archive: Archive) -> None:
    archive.save("v1_own", {SMALL: 1.02e5, "medium": 1.02e5, LARGE: 1.2e6}, {CONFLICTS: 5.0})
    lines = gate_text(judged(archive), Style()).splitlines()
    assert lines[0] == "add_one/v1 against v0, as no baseline is set"
    assert lines[2] == "limits: time 2 %, shared_wavefronts_excessive +0"
    assert lines[5].startswith("small     FAIL  ? time +")
    assert lines[-1] == "regression: 4 of 6 checks failed, 2 are unclear"
    starts = [line.split()[0] for line in lines if line.startswith(("UNCLEAR", "FAIL", "try:"))]
    assert starts == ["UNCLEAR", "try:", "FAIL", "FAIL", "FAIL", "FAIL"]
    assert any(line.startswith("FAIL add_one/v1 against v0: large time +2") for line in lines)
    assert "FAIL add_one/v1 against v0: large shared_wavefronts_excessive 0 to 5 (limit +0)" in lines
    assert max(map(len, lines)) <= 80


def test_what_is_unclear_for_one_reason_is_one_line_and_one_command(archive: Archive) -> None:
    archive.save("v1_own", {SMALL: 1.02e5, "medium": 1.02e5, LARGE: 1e6}, {})
    ((_, message, command),) = complaints(judged(archive))
    assert message.startswith("small settles at 2.4 %, medium settles at 2.")
    assert "(time, limit 2 %): nothing shows that it is beyond the limit" in message
    assert command == "ncu-assist bench add_one v0 v1 --rounds 400 --workload all"


def test_all_is_well(archive: Archive) -> None:
    archive.save("v1_own", {SMALL: 5e4, "medium": 1e5, LARGE: 1e6}, {})
    lines = gate_text(judged(archive), Style()).splitlines()
    assert lines[-1] == "pass: 6 checks on 3 workloads"
    assert [line.split()[1] for line in lines[5:8]] == ["ok", "ok", "ok"]
    assert "shared_wavefronts_excessive =" in lines[5]
    assert "\x1b[" in gate_text(judged(archive), Style(color=True))


def test_a_small_change_can_be_seen(archive: Archive) -> None:
    name = "smsp__inst_executed.sum"
    archive.save("v1_own", TIMES, {name: 1_000_300.0})
    text = gate_text(judged(archive, "instructions:+0"), Style(120))
    assert "instructions 0.0 % (1000000 to 1000300, limit +0 + 200 noise)" in text


def test_values_have_the_digits_that_tell_them_apart() -> None:
    limit = Limit(CYCLES, True, 0.002, "relative", "0.2%")
    check = GateCheck(SMALL, limit, "regression", "slower", 131072.345678, 131612.7, 0.004)
    assert values(check) == "131.1 k to 131.6 k"
    assert values(replace(check, candidate=262144.7)) == "131 k to 262 k"


def test_what_was_forced_and_what_differs_is_said(archive: Archive) -> None:
    archive.save("v1_own", TIMES, {}, device=replace(DEVICE, name="NVIDIA H100"))
    forced = gate(archive.project, GateRequest("v1", fail_on=("time:5%",), force=True))
    text = gate_text(forced, Style())
    assert "forced: compared although the two were measured on different GPUs" in text
    assert "GPU model: NVIDIA H200 against NVIDIA H100" in text
    assert "v0: measured on NVIDIA H200" in text


def test_many_limits_break_between_limits_only(archive: Archive) -> None:
    archive.save("v1_own", TIMES, {})
    keys = (
        "time:5%",
        "instructions:+0",
        "registers:+0",
        "dram_bytes:5%",
        "achieved_occupancy:-5pt",
        "dram_throughput:5pt",
    )
    lines = gate_text(judged(archive, *keys), Style()).splitlines()
    rows = lines[lines.index(next(line for line in lines if line.startswith("workload"))) + 1 :]
    assert max(map(len, lines)) <= 80
    assert all(line.endswith(("=", ",", "%")) for line in rows[:6])


def test_names_from_outside_do_not_steer_the_terminal(archive: Archive) -> None:
    odd = "a\x1b[31m|<b>@x"
    archive.save("v2_before", {odd: 1e5})
    archive.save("v3_after", {odd: 2e5})
    result = gate(archive.project, GateRequest("v3", "v2"))
    assert "\x1b" not in gate_text(result, Style())
    markdown = gate_markdown(result)
    assert "\x1b" not in markdown
    assert "<b>" not in markdown
    assert "\\|" in markdown


def test_the_noise_on_top_of_a_limit_is_shown(archive: Archive) -> None:
    name = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
    keys = ("dram_throughput:1pt", "dram_bytes:1%")
    bytes_ = "dram__bytes_read.sum"
    archive.save("v1_own", {SMALL: 1e5}, {name: 81.5, bytes_: 2.1e8})
    told = judged(archive, *keys)
    noise = told.checks[0].noise or 0.0
    shown = f"dram_throughput (limit 1 pt + {noise:.1f} pt noise)"
    assert noise > 0.5
    for text in (gate_text(told, Style(300)), gate_markdown(told)):
        assert f"kept as noise: small -1.5 pt, {shown}" in text.replace("\\", "")
    assert "limits: dram_throughput 1 pt + noise, dram_bytes 1 % + noise" in gate_text(told, Style(300))
    assert gate_json(told)["checks"][0]["noise"] == noise
    archive.save("v2_own", {SMALL: 1e5}, {name: 83.0 - 1.0 - 1.5 * noise, bytes_: 2.0e9})
    worse = gate(archive.project, GateRequest("v2", fail_on=keys))
    (unclear, failed) = (message for _, message, _ in complaints(worse))
    assert f"(dram_throughput, limit 1 pt + {noise:.1f} pt noise): it may be noise" in unclear
    assert " % noise)" in failed


def test_markdown_folds_the_details(archive: Archive) -> None:
    archive.save("v1_own", {SMALL: 1.02e5, "medium": 1e5, LARGE: 1.2e6}, {})
    lines = gate_markdown(judged(archive)).splitlines()
    assert lines[0] == "### Gate: add_one/v1 against v0, as no baseline is set"
    assert lines[2] == "**regression: 1 of 6 checks failed, 1 is unclear**"
    assert lines[4].startswith("- **UNCLEAR** small settles at 2.4 %")
    assert lines[4].endswith(". Try: ncu-assist bench add_one v0 v1 --rounds 400 --workload small")
    assert lines[5].startswith("- **FAIL** large time +2")
    folded = lines[lines.index("<details>") :]
    assert folded[1] == "<summary>All checks (6)</summary>"
    assert folded[3] == "| workload | metric | limit | v0 | v1 | change (99 %) | outcome |"
    assert len([line for line in folded if line.startswith("| ")]) == 2 + 6
    assert folded[-1] == "</details>"


def test_json_has_numbers_and_null_for_what_is_absent(archive: Archive) -> None:
    archive.save("v1_own", TIMES, {CONFLICTS: None})
    answer = json.loads(json.dumps(gate_json(judged(archive)), allow_nan=False))
    assert answer["schema"] == "ncu-assist.gate/1"
    assert (answer["kernel"], answer["outcome"], answer["source"]) == ("add_one", "unclear", "live")
    assert answer["baseline"].startswith("add_one/v0_torch@")
    assert answer["candidate"].startswith("add_one/v1_own@")
    time, conflicts = answer["checks"][:2]
    assert (time["metric"], time["limit"], time["limit_amount"], time["direction"]) == ("time", "2%", 0.02, "rise")
    assert (time["workload"], time["unit"], time["outcome"], time["reason"], time["next"]) == (
        *("small", "ns", "pass", None, None),
    )
    assert all(isinstance(time[key], float) for key in ("baseline", "candidate", "delta", "delta_low", "delta_high"))
    assert time["delta_low"] < time["delta"] < time["delta_high"]
    assert (conflicts["baseline"], conflicts["candidate"], conflicts["delta"]) == (0.0, None, None)
    assert (conflicts["outcome"], conflicts["verdict"], conflicts["delta_low"]) == ("unclear", "missing", None)
    assert conflicts["label"] == "Bank conflicts (wavefronts)"
    assert "not counted in v1" in conflicts["reason"]


def test_markdown_does_not_repeat_values_where_no_change_is_known(archive: Archive) -> None:
    other = replace(DEVICE, name="NVIDIA H100")
    archive.save("v1_own", {SMALL: 1e5, "medium": 1e5, LARGE: 1e6}, device=other)
    (row, *_) = [line for line in gate_markdown(judged(archive, "time:2%")).splitlines() if "| small" in line]
    assert "100.0 µs to" not in row
    assert row.count("| - |") == 1
