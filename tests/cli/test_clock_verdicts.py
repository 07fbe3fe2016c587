"""A version that is faster at a higher clock: the same words from every command, in a colour that praises nobody."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from commandline import Run
from factories import samples_frame, times
from gated import SMALL, Archive

from ncu_assist.render.words.terms import verdict_badge
from ncu_assist.suggest.evidence.gathering import _against
from ncu_assist.verdict import compare

CLOCKED = "faster at a higher clock"
GAIN = 1.05  # in time
VERSIONS = {"v0_old": (GAIN, 1700.0), "v1_clocked": (1.0, GAIN * 1700.0), "v2_fewer_cycles": (1 / GAIN, GAIN * 1700.0)}


class ClockedArchive(Archive):
    """An archive whose samples have the SM clock of VERSIONS."""

    def _samples(self, version: str, workload: str, bench_id: str, median_ns: float) -> pd.DataFrame:
        self.seed += 1
        every = times(median_ns, self.seed, noise=0.001)
        clock = VERSIONS[version][1]
        return samples_frame(every, version=version, workload=workload, bench_id=bench_id, sm_clock_mhz=clock)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Three versions, each 5 % faster than the one before: the first two take as many cycles, the last one fewer."""
    made = ClockedArchive(tmp_path_factory.mktemp("clocks"))
    for version, (part, _) in VERSIONS.items():
        made.save(version, {SMALL: part * 1e5}, {})
    return made


@pytest.fixture
def run_here(run: Run, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(archive.project.root)
    return run


def test_diff_says_time_and_cycles(run_here: Run) -> None:
    told = run_here("diff", "add_one/v0", "add_one/v1").out.replace("\n", " ")
    assert f"v1 is 1.050x {CLOCKED} than v0 on small" in told
    assert re.search(r"; (the same|1\.001x (fewer|more)) cycles\)", told)
    plain = run_here("diff", "add_one/v1", "add_one/v2").out.replace("\n", " ")
    assert "v2 is 1.050x faster than v1 on small" in plain
    assert "; in cycles too)" in plain
    turned = run_here("diff", "add_one/v2", "add_one/v1").out.replace("\n", " ")
    assert re.search(r"v1 is 1\.\d+x slower than v2 on small \(.*; in cycles too\)", turned)


def test_the_json_keeps_its_word_and_gains_the_cycles(run_here: Run) -> None:
    answer = run_here("diff", "add_one/v0", "add_one/v1", "--json").json
    assert (answer["verdict"], answer["words"], answer["by_clock"]) == ("faster", CLOCKED, True)
    assert answer["cycles"]["verdict"] == "same"
    assert answer["cycles"]["low"] < answer["cycles"]["speedup"] < answer["cycles"]["high"]
    rows = run_here("history", "add_one", "--json").json["rows"]
    assert [row["cells"][0]["words"] for row in rows] == [None, CLOCKED, "faster"]
    assert [row["cells"][0]["by_clock"] for row in rows] == [None, True, False]
    shown = run_here("show", "add_one/v1", "--json").json
    assert shown["before"]["words"] == CLOCKED


def test_history_and_show_use_the_same_words_without_praise(run_here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    out = run_here("history", "add_one").out
    told = " ".join(out.split())
    assert re.search(r"v1_clocked .*△ 1\.050x faster at a higher clock", out)
    assert "▲ 1.050x faster" in told
    few = r"(the same|1\.00\dx (fewer|more)) cycles"
    assert re.search(rf"v1_clocked: time and SM cycles differ: small △ 1\.050x {CLOCKED}, {few}", told)
    assert f"1.050x {CLOCKED} than v0" in run_here("show", "add_one/v1").out.replace("\n", " ")
    assert f"△ 1.050x {CLOCKED}" in run_here("history", "add_one", "--format", "markdown").out
    assert run_here("diff", "add_one/v0", "add_one/v1", "--format", "markdown").out.startswith("⚪")


def test_pages_show_it_in_a_neutral_colour(archive: Archive, run_here: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run_here("report", "add_one", "--output", str(page)).code == 0
    badges = re.findall(r'class="badge badge-(\w+)"[^>]*>([^<]*)<', page.read_text())
    assert {tone for tone, text in badges if text.startswith(("△", "▽"))} == {"same"}
    assert {tone for tone, text in badges if text.startswith("▲")} == {"good"}
    assert f'<span class="note">{CLOCKED.partition(" ")[2]}</span>' in page.read_text()


def test_gate_can_limit_cycles(archive: Archive, run_here: Run) -> None:
    asked = ("gate", "add_one/v1", "--against", "add_one/v0")
    by_time = run_here(*asked, "--fail-on", "time:0%")
    assert by_time.code == 0
    told = by_time.out.replace("\n", " ")
    assert re.search(rf"{CLOCKED} on small: -4\.8 % in time, (the same|1\.001x (fewer|more)) cycles", told)
    assert run_here(*asked, "--fail-on", "cycles:0%").code == 0
    more = run_here("gate", "add_one/v0", "--against", "add_one/v2", "--fail-on", "cycles:2%", "--json")
    assert more.code == 3
    (check,) = more.json["checks"]
    assert (check["metric"], check["verdict"], check["unit"]) == ("cycles", "slower", "cycle")
    assert check["baseline"] == pytest.approx(1e5 / GAIN * GAIN * 1.7, rel=1e-3)
    assert check["delta_low"] > 0.02


def test_gate_cycles_break_where_time_is_kept(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = ClockedArchive(tmp_path)
    archive.save("v0_old", {SMALL: 1e5}, {})
    archive.save("v1_clocked", {SMALL: 1e5}, {})  # as fast, at a clock that is 5 % higher
    monkeypatch.chdir(tmp_path)
    asked = ("gate", "add_one/v1", "--against", "add_one/v0", "--json")
    assert run(*asked, "--fail-on", "time:2%").code == 0
    broken = run(*asked, "--fail-on", "cycles:2%")
    assert broken.code == 3
    assert broken.json["checks"][0]["delta"] == pytest.approx(GAIN - 1, abs=1e-3)
    assert json.dumps(broken.json)  # no NaN among it


def test_gate_tells_cycles_as_every_other_quantity(archive: Archive, run_here: Run) -> None:
    asked = ("gate", "add_one/v0", "--against", "add_one/v2", "--fail-on")
    told = " ".join(run_here(*asked, "cycles:2%").out.split())
    assert re.search(r"small cycles \+5\.\d % \(\d\d\d k to \d\d\d k, limit 2 %\)", told), told


def test_gate_takes_the_cycles_that_ncu_counted_where_no_bench_tells_them(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive(tmp_path)  # whose samples know of no clock
    for version, cycles in (("v0_old", 1e5), ("v1_more", 2e5)):
        archive.save(version, {SMALL: 1e5}, {"gpc__cycles_elapsed.max": cycles})
    monkeypatch.chdir(tmp_path)
    answer = run("gate", "add_one/v1", "--against", "add_one/v0", "--fail-on", "cycles:2%", "--json")
    assert answer.code == 3
    (check,) = answer.json["checks"]
    assert (check["baseline"], check["candidate"]) == (1e5, 2e5)
    assert check["noise"] > 0  # a counter's, of which a bench has none


def test_a_prompt_uses_the_same_words() -> None:
    frames = [
        samples_frame(times(ns, seed, noise=0.001), sm_clock_mhz=mhz)
        for seed, (ns, mhz) in enumerate(((1.05e5, 1700.0), (1e5, 1785.0)))
    ]
    assert _against(compare(*frames)) == f"1.050x {CLOCKED} than"


def test_the_recorded_layer_that_only_leaves_more_clock() -> None:
    """gemm_bias_gelu v10 takes more cycles than v9 and less time: its tiles draw less power."""
    from ncu_assist.store import Store
    from ncu_assist.verdict import select

    store = Store(Path(__file__).parents[2] / "reports")
    frames = [
        select(stored.samples(), stored.run.version, "square8k")
        for version in ("v9_fragments_ahead", "v10_grouped_tiles")
        for stored in store.runs("gemm_bias_gelu", version)[:1]
    ]
    verdict = compare(*frames)
    assert verdict.words == CLOCKED
    assert verdict.cycles is not None
    assert verdict.cycles.speedup < 1 < (verdict.speedup or 0)
    badge = verdict_badge(verdict)
    assert badge is not None
    assert badge.tone == "same"
