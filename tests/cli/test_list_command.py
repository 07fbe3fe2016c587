"""``ncu-assist list``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Run
from kernel_folder import PYTHON_VERSION, TOML, write_kernel


def test_kernels_versions_and_what_was_measured(run: Run, recorded: Path) -> None:
    answer = run("list")
    assert answer.code == 0
    assert "lightning_decode" in answer.out
    assert "b64_d96 (default)" in answer.out
    assert "recorded on NVIDIA H200" in answer.out
    assert answer.out.index("v9_streaming_hints") < answer.out.index("v10_row_groups")
    assert max(map(len, answer.out.splitlines())) <= 80


def test_json(run: Run, recorded: Path) -> None:
    answer = run("list", "lightning_decode", "--json").json
    assert answer["schema"] == "ncu-assist.list/1"
    kernel = answer["kernels"][0]
    assert kernel["default_workload"] == "b64_d96"
    v7 = next(v for v in kernel["versions"] if v["version"] == "v7_registers_128bit")
    assert v7["status"] == "measured"
    assert v7["run"]["source"] == "recorded"
    assert v7["median_ns"] == pytest.approx(74_000, rel=0.1)


def test_a_changed_source_is_not_measured(run: Run, recorded: Path) -> None:
    path = recorded / "kernels" / "lightning_decode" / "v7_registers_128bit.cu"
    path.write_text(path.read_text() + "\nint more;\n")
    versions = run("list", "lightning_decode", "--json").json["kernels"][0]["versions"]
    assert {v["version"]: v["status"] for v in versions}["v7_registers_128bit"] == "not measured"


def test_a_workload_that_is_for_some_versions_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path, toml=TOML.replace("n = 1000\n", 'n = 1000\nversions = ["v0"]\n'))
    monkeypatch.chdir(tmp_path)
    assert "workloads: small (default), odd (v0 only)" in run("list").out
    assert run("list", "--json").json["kernels"][0]["only_for"] == {"odd": ["v0"]}


def test_an_unknown_version_of_a_workload_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kernel(tmp_path, toml=TOML.replace("n = 1000\n", 'n = 1000\nversions = ["v7"]\n'))
    monkeypatch.chdir(tmp_path)
    for words in (["list", "add_one"], ["bench", "add_one"], ["history", "add_one"]):
        answer = run(*words)
        assert answer.code == 2
        assert "workload 'odd' is for 'v7', which is no version" in answer.err


def test_an_empty_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("list")
    assert answer.code == 0
    assert "there are no kernels" in answer.out
    assert run("list", "--json").json["kernels"] == []


def test_an_unknown_kernel(run: Run, recorded: Path) -> None:
    answer = run("list", "lightning_decod")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean 'lightning_decode'?" in answer.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("summary", "sumary", "did you mean 'summary'?"),
        ('flops = "n"\n', "", "lacks the key 'flops'"),
        ("[outputs]", "[outputs", "not valid TOML"),
    ],
)
def test_a_wrong_kernel_toml(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    write_kernel(tmp_path, toml=TOML.replace(old, new, 1))
    monkeypatch.chdir(tmp_path)
    for words_of_command in (["list", "add_one"], ["check", "add_one"], ["profile", "add_one"]):
        answer = run(*words_of_command)
        assert answer.code == 2
        assert "add_one/kernel.toml" in answer.err
        assert words in answer.err


def test_two_versions_with_one_number(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kernel(tmp_path, {"v1_a.py": PYTHON_VERSION, "v1_b.py": PYTHON_VERSION})
    monkeypatch.chdir(tmp_path)
    for words in (["list", "add_one"], ["bench", "add_one"], ["profile", "add_one"]):
        answer = run(*words)
        assert answer.code == 2
        assert "v1_a.py and v1_b.py have the same number 1" in answer.err
        assert "try: rename one of them" in answer.err


def test_a_kernel_that_cannot_be_read_does_not_hide_the_others(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path)
    broken = tmp_path / "kernels" / "broken"
    broken.mkdir()
    (broken / "kernel.toml").write_text("[")
    monkeypatch.chdir(tmp_path)
    answer = run("list")
    assert answer.code == 0
    assert "v0_torch" in answer.out
    assert "cannot be read: broken/kernel.toml: not valid TOML" in " ".join(answer.out.split())
