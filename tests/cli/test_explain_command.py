"""``ncu-assist explain``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commandline import Run

from ncu_assist.ncu.catalogue.glossary import GLOSSARY
from ncu_assist.ncu.catalogue.lookup import NVIDIA_RULES
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS
from ncu_assist.rules import RULES


def test_a_metric_by_key_name_and_label(run: Run) -> None:
    by_key = run("explain", "duration")
    assert by_key.code == 0
    assert "Time under the profiler" in by_key.out
    assert "gpu__time_duration.sum" in by_key.out
    assert "within 5 %, below 20 µs wanders; 104 launches on NVIDIA H200" in by_key.out
    assert run("explain", "gpu__time_duration.sum").out == by_key.out
    assert run("explain", "Duration").out == by_key.out


def test_a_derived_metric_shows_its_formula(run: Run) -> None:
    answer = run("explain", "bytes_in_flight")
    assert "Little's law" in answer.out
    assert "needs" in answer.out


def test_another_rollup(run: Run) -> None:
    answer = run("explain", "sm__warps_active.avg.pct_of_peak_sustained_elapsed")
    assert "idle cycles included" in " ".join(answer.out.split())
    assert "achieved_occupancy" in answer.out


@pytest.mark.parametrize("reason", STALL_REASONS)
def test_every_stall_reason(run: Run, reason: str) -> None:
    answer = run("explain", reason)
    assert answer.code == 0
    assert "A warp in this state waits for" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


@pytest.mark.parametrize("name", ["warpgroup_arrive", "stall_warpgroup_arrive"])
def test_the_samplers_spelling_leads_to_the_whole_entry(run: Run, name: str) -> None:
    answer = run("explain", name)
    assert answer.out == run("explain", "gmma").out
    text = " ".join(answer.out.split())
    assert "gmma in counters, warpgroup_arrive in samples per line" in text
    assert "not on tu102, ga100, ga102, ad102, gb100, gb202" in text


@pytest.mark.parametrize("words", [("long", "scoreboard"), ("stall:", "long", "scoreboard"), ("Long scoreboard",)])
def test_a_reason_as_it_is_printed(run: Run, words: tuple[str, ...]) -> None:
    assert run("explain", *words).out.startswith("long_scoreboard: warp stall reason")


@pytest.mark.parametrize("rule", NVIDIA_RULES)
def test_every_rule(run: Run, rule: str) -> None:
    answer = run("explain", rule)
    assert answer.code == 0
    assert answer.out.startswith(f"{rule}: rule of ncu")
    assert max(map(len, answer.out.splitlines())) <= 80


def test_a_unit_that_ncu_prints_wrongly_is_said(run: Run) -> None:
    assert "request (ncu prints cycle)" in run("explain", "immediate_constant_requests").out
    assert "- (ncu prints sectors)" in run("explain", "shared_wavefronts").out
    assert "scheduler_cycles_elapsed" in run("explain", "fp32_flops").out


def test_long_names_stay_within_80_columns(run: Run) -> None:
    for name in ("host_sectors_read", "stall_branch_resolving", "tensor_flops", "stall_wait", "pipe_tensor_hmma"):
        lines = run("explain", name).out.splitlines()
        assert max(map(len, lines)) <= 80
        assert all(line.startswith("  ") for line in lines if "__" in line)


def test_json(run: Run) -> None:
    answer = run("explain", "dram_bytes_read", "--json").json
    assert answer["schema"] == "ncu-assist.explain/1"
    (metric,) = answer["subjects"]
    assert (metric["type"], metric["names"]) == ("metric", ["dram__bytes_read.sum", "dram__bytes_op_read.sum"])
    (stall,) = run("explain", "warpgroup_arrive", "--json").json["subjects"]
    assert (stall["type"], stall["name"], stall["sampled_as"]) == ("stall reason", "gmma", "warpgroup_arrive")
    assert stall["lacking"] == ["tu102", "ga100", "ga102", "ad102", "gb100", "gb202"]
    (rule,) = run("explain", "SOLBottleneck", "--json").json["subjects"]
    assert (rule["type"], rule["name"], rule["section"]) == ("rule", "SOLBottleneck", "SpeedOfLight")
    (derived,) = run("explain", "dram_bytes", "--json").json["subjects"]
    assert (derived["type"], derived["needs"]) == ("derived", ["dram_bytes_read", "dram_bytes_write"])
    (name,) = run("explain", "lts__t_sectors.avg.per_second", "--json").json["subjects"]
    assert (name["type"], name["rollup"], name["see_also"]) == (
        "name",
        "avg.per_second",
        ["l2_sectors", "l2_lookups_busy"],
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("durration", "try: ncu-assist explain duration"),
        ("long_scorebord", "try: ncu-assist explain long_scoreboard"),
        ("dram__bytes_rd.sum", "try: ncu-assist explain dram__bytes_read.sum"),
        ("sm_efficiency", "try: ncu-assist explain sm_active_share"),
        ("SOLBotleneck", "try: ncu-assist explain SOLBottleneck"),
        ("qqqqq", "try: ncu-assist metrics"),
    ],
)
def test_wrongly_typed(run: Run, name: str, said: str) -> None:
    answer = run("explain", name)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_without_a_name(run: Run) -> None:
    assert run("explain").code == 2


@pytest.mark.parametrize("rule", RULES)
def test_every_diagnosis(run: Run, rule: str) -> None:
    answer = run("explain", rule)
    assert answer.code == 0
    assert answer.out.startswith(f"{rule}: ")
    text = " ".join(answer.out.split())
    assert " ".join((RULES[rule].__doc__ or "").split()) in text
    assert all(key in text for key in (*RULES[rule].NEEDS, *RULES[rule].USES))
    assert max(map(len, answer.out.splitlines())) <= 80


def test_a_diagnosis_as_json(run: Run) -> None:
    (subject,) = run("explain", "shared-bank-conflict", "--json").json["subjects"]
    assert (subject["type"], subject["name"]) == ("diagnosis", "shared-bank-conflict")
    assert "pad the rows" in subject["text"]
    assert "shared_wavefronts" in subject["needs"]
    assert subject["uses"] == []


@pytest.mark.parametrize("typed", ["shared-bank-conflicted", "shared_bank_conflit"])
def test_a_diagnosis_misspelt(run: Run, typed: str) -> None:
    answer = run("explain", typed)
    assert answer.code == 2
    assert "ncu-assist explain shared-bank-conflict" in answer.err


def test_a_schema_is_said_by_the_name_of_a_command_or_file(run: Run) -> None:
    for name in ("diff", "run.json"):
        schema = json.loads(run("explain", "--schema", name).out)
        assert schema["properties"]["schema"]["const"] == f"ncu-assist.{name.removesuffix('.json')}/1"
    wrong = run("explain", "--schema", "shw")
    assert (wrong.code, "did you mean 'show'?" in wrong.err) == (2, True)


def test_a_word_of_the_glossary(run: Run) -> None:
    assert run("explain", "Wavefront").out.startswith("wavefront: one pass of a request")
    assert run("explain", "pass").out == run("explain", "replay").out
    (word,) = run("explain", "sector", "--json").json["subjects"]
    assert (word["type"], word["name"]) == ("word", "sector")
    assert "ncu-assist explain wavefront" in run("explain", "wavefrnt").err
    for printed in ("to floor", "of copy", "Speed of light", "SM", "bank conflict", "latency bound", "dispatch stall"):
        assert run("explain", printed).code == 0, printed


def test_a_key_of_an_answer(run: Run) -> None:
    assert run("explain", "estimated_speedup").out.startswith("estimated_speedup: key of an answer: Time now over the")
    (word,) = run("explain", "copy_ns", "--json").json["subjects"]
    assert (word["type"], word["name"], "device copy" in word["text"]) == ("word", "copy_ns", True)
    (warps,) = run("explain", "warps", "--json").json["subjects"]
    assert "in CompiledFunction: Warps that fit an SM by registers" in warps["text"]
    assert run("explain", "duration", "--json").json["subjects"][0]["type"] == "metric"


def test_the_glossary_of_the_docs_is_the_one_that_is_explained() -> None:
    page = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", page, re.MULTILINE)[1:])
    assert rows == {one.name: one.text for one in GLOSSARY.values()}


WORDS = (
    *("SOL", "coalescing", "roofline", "HBM", "IPC", "thread block", "shared memory", "register", "spilling"),
    *("ILP", "scoreboard", "memory-bound", "compute bound", "CUDA graph", "cp.async", "cluster", "hit rate"),
)


@pytest.mark.parametrize("word", WORDS)
def test_words_of_the_field_are_known(run: Run, word: str) -> None:
    assert run("explain", word).code == 0


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("warp divergence", "warp-divergence"),
        ("low_occupancy", "low-occupancy"),
        ("register spills", "register-spill"),
        ("tensor cores", "tensor core"),
        ("IPC", "ipc"),
        ("regs", "register"),
        ("smem", "shared memory"),
        ("occ", "occupancy"),
        ("tmem", "TMEM"),
    ],
)
def test_a_word_is_known_however_it_is_written(run: Run, typed: str, name: str) -> None:
    (subject,) = run("explain", typed, "--json").json["subjects"]
    assert name in (subject["name"], subject.get("key"))
