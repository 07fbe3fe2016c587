"""``ncu-assist bench``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Run, measure_here
from kernel_folder import PYTHON_VERSION, TOML, write_kernel
from requirements import require


def test_times_and_verdicts(run: Run, live_project: Path) -> None:
    answer = run("bench", "add_one", "v0", "v1", "--rounds", "20")
    assert answer.code == 0
    assert answer.out.startswith("add_one\nmeasured")
    assert "v1" in answer.out.splitlines()[2]
    assert "v0" in answer.out.splitlines()[2]
    assert "median" in answer.out


def test_json(run: Run, live_project: Path) -> None:
    answer = run("bench", "add_one", "--flush", "none", "--json")
    assert answer.code == 0
    assert answer.json["schema"] == "ncu-assist.bench/1"
    assert answer.json["verdicts"] == []
    assert [v["workloads"][0]["timing"]["samples"] for v in answer.json["versions"]] == [12, 12]


@pytest.mark.slow
def test_what_has_not_changed_is_not_timed_again(run: Run, live_project: Path) -> None:
    first = run("bench", "add_one", "v0", "v1", "--rounds", "15", "--json").json
    again = run("bench", "add_one", "v0", "v1", "--rounds", "15", "--json")
    assert again.json["verdicts"] == first["verdicts"]
    assert "add_one v0, v1: measured on 20" in again.err
    assert [one["kept"] for one in again.json["versions"]] == [True, True]
    forced = run("bench", "add_one", "v0", "v1", "--rounds", "15", "--again", "--json").json
    assert [one["kept"] for one in forced["versions"]] == [False, False]
    assert {one["run_id"] for one in forced["versions"]}.isdisjoint(one["run_id"] for one in first["versions"])


def test_wrong_names(run: Run, live_project: Path) -> None:
    assert "did you mean 'add_one'?" in run("bench", "ad_one").err
    assert "known: v0" in run("bench", "add_one", "v00").err
    assert "did you mean 'w0'?" in run("bench", "add_one", "--workload", "w00").err
    assert run("bench", "add_one", "--flush", "often").code == 2


@pytest.mark.slow
def test_without_a_gpu(run: Run, recorded: Path) -> None:
    require("torch")
    answer = run("bench", "lightning_decode", "v0")
    assert (answer.code, answer.out) == (6, "")
    assert "there is no working NVIDIA driver" in answer.err
    assert "try: " in answer.err


def test_versions_that_do_not_serve_the_same_workloads(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is timed where it serves; a verdict needs both."""
    require("torch")
    half = TOML.replace("n = 1000\n", 'n = 1000\nversions = ["v1"]\n')
    write_kernel(tmp_path, dict.fromkeys(("v0_a.py", "v1_b.py", "v2_c.py"), PYTHON_VERSION), half)
    measure_here(monkeypatch, tmp_path)
    answer = run("bench", "add_one", "v0", "v1", "v2", "--workload", "all", "--json")
    assert answer.code == 0
    assert [(one["candidate"], one["workload"]) for one in answer.json["verdicts"]] == [
        ("v1_b", "small"), ("v2_c", "small")
    ]  # fmt: skip
    found = {one["version"]: one for one in answer.json["versions"]}
    assert {name: [w["name"] for w in one["workloads"]] for name, one in found.items()} == {
        "v0_a": ["small"], "v1_b": ["small", "odd"], "v2_c": ["small"]
    }  # fmt: skip
    assert found["v0_a"]["not_served"] == ["odd"]
    table = run("bench", "add_one", "--workload", "all").out
    assert table[table.index("\nodd\n") :].splitlines()[3].startswith("v1_b")
    assert "only for v1_b" in table
    assert "v0_a" not in table[table.index("\nodd\n") :]
    refused = run("bench", "add_one", "v0", "--workload", "odd")
    assert (refused.code, refused.out) == (2, "")
    assert "odd is not for add_one v0" in refused.err


def test_verdicts_are_against_the_first_named_or_there_are_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("torch")
    wrong = PYTHON_VERSION.replace("1.0", "2.0")
    write_kernel(tmp_path, {"v0_a.py": PYTHON_VERSION, "v1_b.py": PYTHON_VERSION, "v2_wrong.py": wrong})
    measure_here(monkeypatch, tmp_path)
    answer = run("bench", "add_one", "v1", "v0", "--json")
    assert [(one["baseline"], one["candidate"]) for one in answer.json["verdicts"]] == [("v1_b", "v0_a")]
    answer = run("bench", "add_one", "v2", "v0", "v1", "--json")
    assert answer.json["verdicts"] == []
    assert "v2 has no time on small, so there is no verdict against it" in answer.err


def test_a_version_that_serves_another_dtype_is_not_said_to_be_unmeasured(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("torch")
    versions = {"v0_a.py": PYTHON_VERSION, "v1_half.py": f"# dtypes: float16\n{PYTHON_VERSION}"}
    write_kernel(tmp_path, versions)
    measure_here(monkeypatch, tmp_path)
    answer = run("bench", "add_one", "--json").json
    assert [one["status"] for one in answer["versions"]] == ["measured", "not served"]
    table = run("bench", "add_one").out
    assert "not for v1_half" in table
    assert "not measured" not in table
