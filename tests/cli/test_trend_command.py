"""``ncu-assist trend``: what is found in made-up histories, and how it is said."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from commandline import Run
from factories import DEVICE, WORKLOAD
from gitted import Repository
from trended import creep, history, made_on, steps

import ncu_assist
from ncu_assist.record import Check, Commit, Toolchain


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_step_is_named_with_what_changed_there(here: Path, run: Run) -> None:
    newer = {
        "device": replace(DEVICE, driver="590.10"),
        "toolchain": Toolchain(nvcc="13.1"),
        "source_sha256": "ef" * 32,
    }
    history(here, {"v1_torch": steps(24, 18, 0.012)}, facts=dict.fromkeys(range(18, 24), newer))
    text = run("trend", "add_one").out
    assert "▼ 1 step" in text
    flat = " ".join(text.split())
    assert "slower in one step on 2026-10-19 (99 %: +0." in flat
    assert "between 20261018T070000Z-000011 and 20261019T070000Z-000012" in flat
    assert "driver 580.95 to 590.10" in flat
    assert "commit 121212121212 to 131313131313" in flat
    assert "try: ncu-assist diff add_one/v1@" in flat  # no commit brings an older driver back
    assert max(map(len, text.splitlines())) <= 80


def test_a_bisection_is_advised_where_commits_lie_between(here: Path, run: Run) -> None:
    """Not between a commit and its parent, nor where one is no ancestor of the other; unknown ones may be elsewhere."""
    repository = Repository(here)
    first, second, third = (repository.commit(message=name) for name in ("first", "second", "third"))
    for before, after, advised in (
        ("12" * 20, "13" * 20, True),
        (first, third, True),
        (first, second, False),
        (third, first, False),
    ):
        commits = {day: {"commit": Commit(before if day < 18 else after, False)} for day in range(24)}
        shutil.rmtree(here / "reports", ignore_errors=True)
        history(here, {"v1_torch": steps(24, 18, 0.012)}, facts=commits)
        (change,) = run("trend", "--json").json["series"][0]["changes"]
        bisect = f"ncu-assist bisect add_one/v1_torch --good {before[:12]} --bad {after[:12]} --workload small"
        assert (change["next"] == bisect) == advised
        assert change["next"].startswith("ncu-assist bisect" if advised else "ncu-assist diff")


def test_a_creep_below_every_limit_is_found(here: Path, run: Run) -> None:
    history(here, {"v1_torch": creep(24, 9, 0.003)})
    found = run("trend", "--json").json["series"][0]
    change = found["changes"][-1]
    assert change["kind"] == "creep"
    assert change["per_run"] == pytest.approx(0.003, abs=0.001)
    assert change["low"] < 1.003 ** (change["runs"] - 1) - 1 < change["high"]
    assert len(found["runs"]) == 24
    assert found["runs"][0]["commit"] == {"id": "01" * 20, "dirty": False}


def test_what_got_faster_is_a_change_too(here: Path, run: Run) -> None:
    history(here, {"v1_torch": steps(16, 10, -0.03)})
    flat = " ".join(run("trend").out.split())
    assert "▲ v1_torch: -" in flat
    assert "try: ncu-assist diff add_one/v1@20261010T070000Z-000009 add_one/v1@20261011T070000Z-00000a" in flat


def test_what_does_not_change_is_said_to(here: Path, run: Run) -> None:
    history(here, {"v1_torch": [1.0] * 12, "v2_new": [0.8]})
    text = run("trend").out
    assert "no change" in text
    assert "too few runs" in text
    assert "▼" not in text
    steady, new = run("trend", "--json").json["series"]
    assert f"a step of {100 * steady['least_step']:.1f} % is found within 5 runs" in " ".join(text.split())
    assert new["least_step"] is None


def test_commits_have_the_fastest_version_each(here: Path, run: Run) -> None:
    dirty = {3: {"commit": Commit("77" * 20, True)}}
    history(here, {"v1_torch": [1.0] * 8, "v2_new": [2.0, 2.0, 0.5]}, facts=dirty)
    found = run("trend", "--by", "commit", "--json").json
    assert found["by"] == "commit"
    assert [run["version"] for run in found["series"][0]["runs"]] == [*["v1_torch"] * 2, "v2_new", *["v1_torch"] * 5]


def test_another_gpu_is_a_line_of_its_own(here: Path, run: Run) -> None:
    other = {"device": replace(DEVICE, name="NVIDIA H100")}
    history(here, {"v1_torch": [1.0] * 6 + [1.5] * 6}, facts=dict.fromkeys(range(6, 12), other))
    found = run("trend", "--json").json["series"]
    assert [(one["gpu"], len(one["runs"]), one["changes"]) for one in found] == [
        ("NVIDIA H200", 6, []),
        ("NVIDIA H100", 6, []),
    ]


def test_the_runs_of_one_gpu(here: Path, run: Run) -> None:
    other = {"device": replace(DEVICE, name="NVIDIA H100")}
    history(here, {"v1_torch": [1.0] * 6 + [1.5] * 5}, facts=dict.fromkeys(range(6, 11), other))
    for words, gpu, runs in (("h100", "NVIDIA H100", 5), ("NVIDIA H200", "NVIDIA H200", 6)):
        (series,) = run("trend", "--gpu", words, "--json").json["series"]
        assert (series["gpu"], len(series["runs"])) == (gpu, runs)
    (series,) = ncu_assist.trend("add_one", gpu="H100").trend.series
    assert len(series.points) == 5
    for words, said in (("T4", "no GPU model"), ("NVIDIA", "2 GPU models")):
        refused = run("trend", "--gpu", words)
        assert (refused.code, refused.out) == (2, "")
        assert f"'{words}' fits {said} that add_one was measured on: NVIDIA H100, NVIDIA H200" in refused.err


def test_all_workloads_are_series_of_their_own(here: Path, run: Run) -> None:
    archive = history(here, {"v1_torch": [1.0] * 3})
    archive.save("v1_torch", {"small": 1e5, "large": 1e6}, **{**made_on(5), "workloads": (
        WORKLOAD, replace(WORKLOAD, name="large"))})  # fmt: skip
    found = run("trend", "--workload", "all", "--json").json
    assert found["workload"] == "all"
    assert [(one["version"], len(one["runs"])) for one in found["series"]] == [
        ("v1_torch on small", 4),
        ("v1_torch on large", 1),
    ]
    assert "add_one on all workloads" in run("trend", "--workload", "all").out
    archive = history(here / "steps", {"v1_torch": steps(16, 10, 0.03)})
    for word in ("trend", "--workload", "all", "-o", "page.html"), ("trend", "--workload", "all", "--by", "commit"):
        assert run(*word).code == 0


def test_the_newest_runs_stand_first_on_the_page(here: Path, run: Run) -> None:
    history(here, {"v1_torch": steps(16, 10, 0.03)})
    run("trend", "-o", "page.html")
    table = (here / "page.html").read_text().partition("Its runs")[2]
    assert table.index("@20261016T") < table.index("@20261001T")


def test_runs_that_measured_something_else_are_left_out_and_counted(here: Path, run: Run) -> None:
    wrong = {"checks": (Check("small", False, "element 3 differs", (0,), None, None),)}
    larger = {"workloads": (replace(made_on(0)["workloads"][0], integers={"n": 4096}),)}
    history(here, {"v1_torch": [1.0] * 9}, facts={2: wrong, 3: larger})
    answer = run("trend", "--json").json
    assert len(answer["series"][0]["runs"]) == 7
    assert any("wrong: 1 of 9 runs" in note for note in answer["notes"])
    assert any("other sizes" in note and "1 of 9 runs" in note for note in answer["notes"])


def test_counters_are_followed(here: Path, run: Run) -> None:
    archive = history(here, {"v1_torch": [1.0] * 3})
    archive.save("v1_torch", {"small": 1e5}, {"launch__registers_per_thread": 48.0}, **made_on(5))
    found = run("trend", "--json", "--metric", "registers").json
    assert [run["counters"]["registers"] for run in found["series"][0]["runs"]] == [None, None, None, 48.0]
    assert "registers" in run("trend", "--metric", "registers").out
    refused = run("trend", "--metric", "registres")
    assert refused.code == 2
    assert "did you mean 'registers'" in refused.err


def test_a_page_and_markdown(here: Path, run: Run) -> None:
    history(here, {"v1_torch": steps(12, 6, 0.05)})
    assert "page.html" in run("trend", "-o", "page.html").out
    page = (here / "page.html").read_text()
    assert "timing-dots" in page
    assert "slower in one step" in page
    assert run("trend", "-o", "page.html").code == 0  # a page of ours is replaced
    assert (here / "page.html").read_text() == page
    assert "- **▼** v1_torch" in run("trend", "--format", "markdown").out
    assert run("trend", "-o", "page.txt").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add_one", "--workload", "large"), "no run of add_one was timed on workload 'large'; known: small"),
        (("add_two",), "there is no kernel 'add_two'"),
        (("reports/their.ncu-rep",), "reports/their.ncu-rep is a report, but trend needs a kernel's runs"),
        (("add_one/v9",), "add_one has no version 'v9'"),
    ],
)
def test_what_means_nothing_is_refused(here: Path, run: Run, words: tuple[str, ...], said: str) -> None:
    history(here, {"v1_torch": [1.0] * 2})
    refused = run("trend", *words)
    assert refused.code == 2
    assert said in refused.err
    assert "try: ncu-assist" in refused.err


def test_the_recorded_archive_has_no_changes(repository: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(repository)
    found = run("trend", "lightning_decode", "--json").json
    assert found["workload"] == "b64_d96"
    assert not any(one["changes"] for one in found["series"])
