"""``ncu-assist gate``, most of it as the program that is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Answer, Run
from gated import CONFLICTS, LARGE, SMALL, Archive
from patience import CEILING_S

PROGRAM = Path(sys.executable).with_name("ncu-assist")
DATA = Path(__file__).parent.parent / "data"
LIMITS = ("--fail-on", "time:2%", "--fail-on", "shared_wavefronts_excessive:+0")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """A version 0 and one each that is faster, slower, has conflicts, is unclear, is damaged."""
    made = Archive(tmp_path_factory.mktemp("gate"))
    for version, small, conflicts in (
        ("v0_torch", 1e5, 0.0),
        ("v1_faster", 9e4, 0.0),
        ("v2_slower", 1.2e5, 0.0),
        ("v3_conflicts", 9e4, 7.0),
        ("v4_unclear", 1.02e5, 0.0),
        ("v5_damaged", 9e4, 0.0),
    ):
        stored = made.save(version, {SMALL: small, LARGE: 1e6}, {CONFLICTS: conflicts})
    data = (stored.folder / "samples.parquet").read_bytes()
    (stored.folder / "samples.parquet").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    return made


def installed(archive: Archive, *words: str) -> Answer:
    """Call the installed program in the project."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        [PROGRAM, "gate", *words],
        cwd=archive.project.root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=CEILING_S,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_the_program_is_installed_here() -> None:
    assert PROGRAM.is_file()


def test_exit_code_0_where_every_limit_is_kept(archive: Archive) -> None:
    answer = installed(archive, "add_one/v1", *LIMITS)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1] == "pass: 4 checks on 2 workloads"


@pytest.mark.parametrize(
    ("version", "words"), [("v2", "small time +"), ("v3", "small shared_wavefronts_excessive 0 to 7 (limit +0)")]
)
def test_exit_code_3_where_one_is_broken_and_the_reason_last(archive: Archive, version: str, words: str) -> None:
    answer = installed(archive, version, "--against", "v0", *LIMITS)
    assert (answer.code, answer.err) == (3, "")
    lines = answer.out.splitlines()
    assert lines[-1].startswith("regression: ")
    assert f"FAIL add_one/{version} against v0: {words}" in " ".join(answer.out.split())
    assert lines[-2].startswith("FAIL ")


def test_exit_code_4_where_one_cannot_be_told(archive: Archive) -> None:
    answer = installed(archive, "v4", *LIMITS)
    assert (answer.code, answer.err) == (4, "")
    lines = answer.out.splitlines()
    assert lines[-1] == "unclear: 1 of 4 checks could not be settled"
    assert lines[-2] == "try: ncu-assist bench add_one v0 v4 --rounds 400 --workload small"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("shared_wavefront_excessive:+0", "did you mean 'shared_wavefronts_excessive'?"),
        ("gld_efficiency:2pt", "did you mean 'sector_efficiency_load'?"),
        ("time=2%", "is not of the form METRIC:[+|-]NUMBER[%|pt]"),
        ("dram_throughput:2%", "dram_throughput:2pt"),
    ],
)
def test_exit_code_2_for_what_is_no_limit(archive: Archive, limit: str, words: str) -> None:
    answer = installed(archive, "v5", "--fail-on", limit)  # also where the run is damaged
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
    assert "try: ncu-assist " in answer.err


def test_exit_code_7_for_damaged_data(archive: Archive) -> None:
    answer = installed(archive, "v5")
    assert (answer.code, answer.out) == (7, "")
    assert "samples.parquet was changed" in answer.err


@pytest.mark.parametrize(
    "words",
    [("v9",), ("v1", "--workload", "huge"), ("v1", "--against", "v9"), ("v1", "--json", "--format", "markdown")],
)
def test_exit_code_2_for_what_does_not_exist(archive: Archive, words: tuple[str, ...]) -> None:
    answer = installed(archive, *words)
    assert (answer.code, answer.out) == (2, "")


def test_every_form_has_the_same_exit_code(archive: Archive) -> None:
    as_json = installed(archive, "v2", *LIMITS, "--json")
    assert (as_json.code, json.loads(as_json.out)["outcome"]) == (3, "regression")
    markdown = installed(archive, "v2", *LIMITS, "--format", "markdown")
    assert markdown.code == 3
    assert "<details>" in markdown.out


def test_the_recorded_ladder(run: Run, recorded: Path) -> None:
    assert run("gate", "lightning_decode/v7", "--against", "v6").code == 0
    assert run("gate", "lightning_decode").code == 0  # its last version against its first
    answer = run("gate", "v4", "--against", "v3", *LIMITS)
    assert answer.code == 3
    assert "b64_d96 shared_wavefronts_excessive 0 to 36.6 M (limit +0)" in " ".join(answer.out.split())
    assert max(map(len, answer.out.splitlines())) <= 80


def test_bare_reports_are_never_a_hard_verdict(run: Run) -> None:
    paths = [str(DATA / f"repeats_{name}h200_2025.3.1.ncu-rep.zst") for name in ("full_", "again_full_")]
    answer = run("gate", paths[1], "--against", paths[0], "--json")
    assert answer.code == 4
    assert "one duration a side" in answer.json["checks"][0]["reason"]
    counters = run("gate", paths[1], "--against", paths[0], "--fail-on", "instructions:+0", "--json")
    alone = run("gate", paths[1])
    assert (alone.code, alone.out) == (2, "")
    assert "has no baseline" in alone.err
    assert (counters.code, counters.json["checks"][0]["workload"], counters.json["source"]) == (0, None, "imported")


def test_the_help_says_what_a_limit_is(run: Run) -> None:
    answer = run("gate", "--help")
    assert answer.code == 0
    assert "[+|-]NUMBER[%|pt]" in answer.out
    assert "could be points or a part of it: refused" in answer.out
