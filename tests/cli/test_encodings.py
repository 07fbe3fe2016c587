"""Terminals that cannot show every sign, and names of files that this locale cannot read."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import SMALL_REPORT, Run, files, measure_here
from kernel_folder import write_kernel
from pipeline.measured import VERSIONS, WORKLOADS
from requirements import require

from ncu_assist.cli import COMMANDS, main

STRANGE = os.fsdecode(b"caf\xe9")  # no UTF-8: read so by Python, as every byte beyond ASCII is in the C locale
READING = {
    "doctor": ["doctor"],
    "list": ["list"],
    "profile": ["profile", "lightning_decode"],
    "show": ["show", "v7"],
    "diff": ["diff", "v5", "v6", "--format", "markdown"],
    "history": ["history", "--workload", "b64_d96"],
    "ledger": ["ledger"],
    "report": ["report", "nöwhere"],
    "gate": ["gate", "lightning_decode/v9", "--against", "v8", "--workload", "b64_d96"],
    "baseline": ["baseline", "show"],
    "export": ["export", "v7", "--metrics", "duration"],
    "metrics": ["metrics"],
    "explain": ["explain", "bytes_in_flight"],
    "ceilings": ["ceilings", "--show"],
    "verify": ["verify"],
    "query": ["query", "select nöwhere"],
    "archive": ["archive", "pack", "nöwhere"],
    "watch": ["watch", "nöwhere"],
    "worker": ["worker", "nöwhere"],
    "tune": ["tune", "nöwhere", "v1"],
    "import": ["import", "nöwhere.ncu-rep"],
    "check": ["check", "nöwhere"],
    "bench": ["bench", "nöwhere.cu"],
    "suggest": ["suggest", "nöwhere", "--dry-run"],
    "trend": ["trend", "lightning_decode"],
    "bisect": ["bisect", "lightning_decode/v7", "--good", "nöwhere", "--bad", "HEAD"],
    "init": ["init"],
    "new": ["new", "nöwhere", "--from", "nöwhere.cu"],
    "demo": ["demo", "--help"],
    "skill": ["skill", "--print"],
    "mcp": ["mcp", "--help"],
    "triage": ["triage", "nöwhere.json"],
    "completion": ["completion", "bash"],
    "bug-report": ["bug-report"],
}
RuleResults = Callable[..., tuple[int, str, str]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> RuleResults:
    """Run a command whose stdout and stderr have this encoding; return its exit code and what both got."""

    def call(encoding: str, *words: str) -> tuple[int, str, str]:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for _ in range(2)]
        monkeypatch.setattr(sys, "argv", ["ncu-assist", *words])
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            with pytest.raises(SystemExit) as ended:
                main()
            for stream in streams:
                stream.flush()
        out, err = (stream.buffer.getvalue().decode(encoding) for stream in streams)  # type: ignore[attr-defined]
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    return call


def test_every_command_is_tried_here() -> None:
    assert set(READING) == set(COMMANDS)


@pytest.mark.slow
def test_a_terminal_of_latin_1_takes_what_every_command_prints(told: RuleResults, recorded: Path) -> None:
    for words in READING.values():
        code, out, err = told("latin-1", *words)
        expected, whole, _ = told("utf-8", *words)
        assert code == expected, (words, err)
        assert out or err, words
        assert out.count("\n") == whole.count("\n"), words


@pytest.mark.slow
def test_signs_that_carry_meaning_keep_it_and_columns_stay(told: RuleResults, recorded: Path, run: Run) -> None:
    _, plainer, _ = told("latin-1", "diff", "v5", "v6")
    whole = run("diff", "v5", "v6").out
    assert [len(line) for line in plainer.splitlines()] == [len(line) for line in whole.splitlines()]
    worse = next(line for line in whole.splitlines() if "▲" in line)
    assert worse.replace("▲", "^") in plainer
    assert "µs" in plainer, "what the encoding has stays"


@pytest.mark.slow
def test_json_is_whole_in_any_encoding(told: RuleResults, recorded: Path, run: Run) -> None:
    for encoding in ("latin-1", "ascii", "utf-8"):
        assert json.loads(told(encoding, "show", "v7", "--json")[1]) == run("show", "v7", "--json").json


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder and a report whose names are no UTF-8."""
    folder = tmp_path_factory.mktemp("names") / STRANGE
    folder.mkdir()
    (folder / f"{STRANGE}.ncu-rep.zst").write_bytes(SMALL_REPORT.read_bytes())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["show", "--lines", "--json"],  # which NVIDIA's reader reads
        ["export", "--metrics", "duration"],
        ["report", "-o", "page.html"],
        ["import"],
    ],
)
def test_a_report_with_a_name_that_is_no_utf_8(
    told: RuleResults, strange: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(strange)
    code, out, err = told("utf-8", words[0], f"{STRANGE}.ncu-rep.zst", *words[1:])
    assert code == 0, err
    assert out or "page.html" in files(strange)


def test_a_name_that_only_this_locale_cannot_read_is_shown_as_it_is(told: RuleResults, strange: Path) -> None:
    name = "käse".encode().decode("ascii", "surrogateescape")  # as in the C locale
    _, _, err = told("utf-8", "show", f"{name}.ncu-rep")
    assert "there is no report käse.ncu-rep" in err


@pytest.mark.slow
def test_a_project_in_a_folder_with_such_a_name(
    told: RuleResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("torch")
    root = tmp_path / STRANGE
    root.mkdir()
    write_kernel(root, VERSIONS, WORKLOADS)
    measure_here(monkeypatch, root, rounds=2)
    code, out, err = told("utf-8", "profile", "add_one", "v0")
    assert code == 0, err
    assert "passed" in out
