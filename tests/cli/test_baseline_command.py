"""``ncu-assist baseline``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from commandline import Run, damaged_newest, plain_report
from gated import SMALL, Archive
from kernel_folder import write_kernel

from ncu_assist.cli.baseline_command import command


def test_until_one_is_set_it_is_v0(run: Run, recorded: Path) -> None:
    answer = run("baseline", "show", "lightning_decode")
    assert answer.code == 0
    assert answer.out.startswith("lightning_decode/v0_torch_eager@")
    assert "is @baseline of lightning_decode, because none was set" in answer.out
    shown = run("baseline", "show", "lightning_decode", "--json").json
    assert (shown["schema"], shown["set"], shown["since"]) == ("ncu-assist.baseline/1", False, None)


def test_a_damaged_run_that_best_passes_over_is_named(run: Run, family: Path) -> None:
    place = damaged_newest(family, "v7_lanes_a_row")
    answer = run("baseline", "set", "softmax/@best")
    assert (answer.code, answer.err.count(f"left out: {place}: ")) == (0, 1)
    assert "left out" not in run("baseline", "set", "softmax/v6").err


def test_set_show_and_clear(run: Run, recorded: Path) -> None:
    answer = run("baseline", "set", "v6", "--json").json
    assert (answer["set"], answer["version"]) == (True, "v6_coalesced_store")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer["since"])
    assert run("baseline", "show", "lightning_decode", "--json").json == answer
    assert run("show", "@baseline", "--json").json["run_id"] == answer["run_id"]
    text = run("baseline", "show", "lightning_decode").out
    assert f"is @baseline of lightning_decode since {answer['since']}" in text
    assert "recorded on NVIDIA H200, 2026-11-21; 221 µs on b64_d96" in text
    assert max(map(len, text.splitlines())) <= 80
    assert run("verify").code == 0
    cleared = run("baseline", "clear", "lightning_decode", "--json").json
    assert (cleared["cleared"], cleared["set"], cleared["version"]) == (True, False, "v0_torch_eager")
    assert "is @baseline of lightning_decode, because none was set" in run("baseline", "clear", "lightning_decode").out


def test_show_lists_every_kernels(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Archive(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_kernel(tmp_path)
    for kernel, versions in {"one": ("v0_torch", "v1_own"), "two": ("v0_torch",), "odd": ("own",)}.items():
        for version in versions:
            made.save(version, {SMALL: 1e5}, kernel=kernel)
    pinned = run("baseline", "set", "one/v1", "--json").json
    answer = run("baseline", "show")
    assert (answer.code, max(map(len, answer.out.splitlines())) <= 80) == (0, True)
    rows = {line.split()[0]: line.split()[1:3] for line in answer.out.splitlines()}
    assert (rows["one"], rows["two"]) == (["v1_own", pinned["since"][:10]], ["v0_torch", "no"])
    assert "odd has no baseline: none is set, and odd has no version 'v0'" in answer.out
    assert "add_one has no baseline: none is set" in answer.out  # a folder that was never measured
    assert "ncu-assist baseline set KERNEL/VERSION" in answer.out
    (tmp_path / "reports" / "two" / "baseline.json").write_text("{")
    shown = run("baseline", "show", "--json")
    assert (shown.code, shown.json["schema"]) == (7, "ncu-assist.baselines/1")
    kernels = {one["kernel"]: one for one in shown.json["kernels"]}
    assert [kernels[name]["version"] for name in ("one", "two", "odd", "add_one")] == ["v1_own", None, None, None]
    assert [kernels[name]["set"] for name in ("one", "two", "odd", "add_one")] == [True, True, False, False]
    assert (kernels["two"]["exit_code"], "cannot be read" in kernels["two"]["missing"]) == (7, True)
    assert kernels["one"]["run"]["reference"] == pinned["run"]["reference"]
    assert "try: ncu-assist baseline clear two" in run("baseline", "show").out


def test_it_is_a_run_and_later_edits_do_not_move_it(run: Run, recorded: Path) -> None:
    pinned = run("baseline", "set", "v6", "--json").json
    source = recorded / "kernels" / "lightning_decode" / "v6_coalesced_store.cu"
    source.write_text(source.read_text() + "\nint more;\n")
    assert run("baseline", "show", "lightning_decode", "--json").json == pinned
    diff = run("diff", "@baseline", "v7", "--json").json
    assert (diff["baseline"]["run_id"], diff["verdict"]) == (pinned["run_id"], "faster")
    again = run("baseline", "set", "v6")
    assert (again.code, again.out) == (2, "")
    assert "has changed since it was measured" in again.err
    assert run("baseline", "show", "lightning_decode", "--json").json == pinned  # an error moves nothing


def test_a_report_must_be_imported_first(run: Run, recorded: Path) -> None:
    plain_report(recorded, "my report.ncu-rep")
    answer = run("baseline", "set", "my report.ncu-rep", "--kernel", "train")
    assert (answer.code, answer.out) == (2, "")
    assert "a baseline must be a run in the archive" in answer.err
    assert "try: ncu-assist import 'my report.ncu-rep' --kernel train" in answer.err


@pytest.mark.slow
def test_an_imported_run_can_be_one(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain_report(tmp_path)
    assert run("import", "mine.ncu-rep", "--kernel", "train", "--version", "first").code == 0
    none = run("baseline", "show", "train")
    assert (none.code, none.err) == (0, "")
    assert "train has no baseline: none is set, and train has no version 'v0'" in none.out
    assert "try: ncu-assist baseline set train/first" in none.out
    nothing = run("baseline", "show", "train", "--json").json
    assert (nothing["set"], nothing["run"], nothing["missing"][:21]) == (False, None, "train has no version ")
    assert run("baseline", "set", "train/first").out.startswith("train/first@")
    assert "imported" in run("baseline", "show", "train").out
    cleared = run("baseline", "clear", "train")
    assert cleared.code == 0
    assert "train has no baseline: the one that was set is cleared, and train has no" in cleared.out
    again = run("baseline", "clear", "train")
    assert (again.code, again.out) == (0, none.out)
    gate = run("gate", "train")
    assert (gate.code, "no baseline is set: train has no version 'v0'" in gate.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "v99"], "there is no kernel or version 'v99'"),
        (["set", "@bset"], "did you mean '@best'?"),
        (["set", "v6@2025"], "has no run '2025'"),
        (["set", "gone.ncu-rep"], "there is no report gone.ncu-rep"),
        (["show", "lightning_decod"], "did you mean 'lightning_decode'?"),
        (["clear", "lightning_decod"], "did you mean 'lightning_decode'?"),
        (["clear", "../kernels"], "there is no kernel '../kernels'"),
    ],
)
def test_names_that_mean_nothing(run: Run, recorded: Path, words: list[str], said: str) -> None:
    answer = run("baseline", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_version_that_never_ran(run: Run, recorded: Path) -> None:
    shutil.rmtree(recorded / "reports" / "lightning_decode" / "v6_coalesced_store")
    answer = run("baseline", "set", "v6")
    assert answer.code == 2
    assert "lightning_decode/v6_coalesced_store has not been measured" in answer.err


def test_a_baseline_that_is_gone_or_broken(run: Run, recorded: Path) -> None:
    run("baseline", "set", "v6")
    shutil.rmtree(recorded / "reports" / "lightning_decode" / "v6_coalesced_store")
    answer = run("baseline", "show", "lightning_decode")
    assert (answer.code, answer.out) == (2, "")
    assert "the baseline is gone: lightning_decode/v6_coalesced_store has no run" in answer.err
    assert "try: ncu-assist baseline clear lightning_decode" in answer.err
    (recorded / "reports" / "lightning_decode" / "baseline.json").write_text("{")
    answer = run("baseline", "show", "lightning_decode")
    assert (answer.code, answer.out) == (7, "")
    assert "try: ncu-assist baseline clear lightning_decode" in answer.err
    assert run("baseline", "clear", "lightning_decode").code == 0
    assert run("baseline", "show", "lightning_decode").code == 0


def test_every_part_of_the_group_has_help() -> None:
    assert set(command.commands) == {"set", "show", "clear"}
    for part in command.commands.values():
        assert part.help
        assert [p.name for p in part.params if p.param_type_name == "option" and not p.help] == []  # type: ignore[attr-defined]
