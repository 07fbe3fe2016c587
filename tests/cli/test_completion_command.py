"""Completion: what click offers for half-typed commands, and that bash, zsh and fish offer it when Tab is pressed."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from commandline import Run
from patience import CEILING_S
from recorded_family import copy_family
from requirements import needs

from ncu_assist.cli import COMMANDS, cli
from ncu_assist.cli.completing import VARIABLE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with softmax and its runs, the current folder."""
    copy_family(tmp_path, "softmax")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(line: str) -> list[str]:
    """Return what is offered for the last word of a line."""
    *words, last = line.split(" ")
    found = ShellComplete(cli, {}, "ncu-assist", VARIABLE).get_completions(words, last)
    return [one.value if one.type == "plain" else f"({one.type})" for one in found]


def test_kernels_and_versions(here: Path) -> None:
    assert offered("list ") == ["softmax"]
    assert offered("show so") == ["softmax"]
    assert "softmax/v3_three_pass" in offered("show softmax/v3")
    assert "softmax/v3_three_pass" in offered("diff softmax/v1_torch_softmax softmax/v3")
    assert offered("profile softmax v3") == ["v3_three_pass"]
    assert offered("profile softmax v3_three_pass v4") == ["v4_online"]
    assert "v3_three_pass" not in offered("check softmax v3_three_pass v")
    assert offered("show v3") == ["v3_three_pass"], "the only kernel is meant"


def test_runs_workloads_and_launches(here: Path) -> None:
    runs = offered("show softmax/v6@")
    assert runs
    assert all(one.startswith("softmax/v6@2026") for one in runs)
    assert offered("show @b") == ["@best", "@baseline"]
    workloads = offered("profile softmax --workload ")
    assert len(workloads) > 1
    assert offered("show softmax/v6_row_in_registers --workload ") == workloads
    assert offered("show softmax/v1_torch_softmax --launch ") == ["0", "1", "2"]
    assert offered("show softmax/v6_row_in_registers --filter softmax_h") == ["softmax_held"]


def test_gpu_models_by_a_word_of_their_names(here: Path) -> None:
    assert offered("history softmax --gpu ") == ["H200"]
    copy_family(here, "gemm_bias_gelu")
    assert offered("history gemm_bias_gelu --gpu ") == ["H100", "H200"]


def test_metrics_and_words(here: Path) -> None:
    assert "dram_bytes_read" in offered("trend --metric dram_")
    assert "duration,dram_bytes_read" in offered("export --metrics duration,dram_bytes_r")
    assert "l2-bound" in offered("explain l2")
    assert "long_scoreboard" in offered("explain long_s")
    assert "triage" in offered("explain --schema tri")


def test_commands_options_and_choices(here: Path) -> None:
    assert offered("tri") == ["triage"]
    assert set(offered("")) == set(COMMANDS)
    assert "--profile-top" in offered("triage --pro")
    assert offered("report --outp") == ["--output"]
    assert offered("bench softmax --flush m") == ["memset"]


def test_programs_and_reports_are_files(here: Path) -> None:
    assert offered("profile tra") == ["(file)"]
    assert offered("show their.ncu") == ["(file)"]
    assert offered("show their.ncu-rep --launch ") == []


@pytest.mark.parametrize("line", ["list ", "show softmax/v", "show softmax/v6 --launch ", "check softmax v"])
def test_what_is_broken_offers_nothing_and_is_silent(here: Path, capfd: pytest.CaptureFixture[str], line: str) -> None:
    (here / "pyproject.toml").write_text("[tool.ncu-assist]\nwrong = 1\n")
    assert [one for one in offered(line) if one != "(file)"] == []
    assert capfd.readouterr() == ("", "")


def test_every_reference_and_kernel_is_completed() -> None:
    names = {"reference", "kernel", "baseline", "candidate", "named", "wanted", "workload", "launch", "metrics"}
    free = {("import", "kernel"), ("new", "kernel"), ("profile", "kernel"), ("ceilings", "reference")}  # new, or a GPU
    lacking = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for one in (command, *getattr(command, "commands", {}).values()):
            lacking += [
                (name, param.name)
                for param in one.params
                if param.name in names and param._custom_shell_complete is None and (name, param.name) not in free
            ]
    assert lacking == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_what_click_makes(run: Run, shell: str) -> None:
    answer = run("completion", shell)
    assert answer.code == 0
    assert f"{VARIABLE}={shell}_complete" in answer.out


def test_another_shell(run: Run) -> None:
    answer = run("completion", "tcsh")
    assert (answer.code, answer.out) == (2, "")
    assert "'bash', 'zsh', 'fish'" in answer.err


def _tools(folder: Path) -> dict[str, str]:
    folder.mkdir()
    ours = folder / "ncu-assist"
    ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ncu_assist "$@"\n')
    ours.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(folder),
            "TERM": "dumb", "PS1": "> "}  # fmt: skip


def _typed(argv: list[str], setup: str, line: str, expected: str, cwd: Path, env: dict[str, str]) -> str:
    """Type into a shell that believes it has a terminal; return what it shows once ``expected`` stands there."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env, start_new_session=True)
    os.close(theirs)
    shown = ""
    try:
        for text, awaited in ((f"{setup}; echo rea''dy\n", "ready"), (line, expected)):
            os.write(ours, text.encode())
            until = time.monotonic() + CEILING_S
            while awaited not in shown and time.monotonic() < until:
                if select.select([ours], [], [], 0.2)[0]:
                    shown += os.read(ours, 4096).decode(errors="replace")
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]|[\x07\x08]", "", shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [("ncu-assist show soft\t", "show softmax"), ("ncu-assist check softmax v6\t", "v6_row_in_registers")],
)
def test_bash(here: Path, line: str, expected: str) -> None:
    bash = shutil.which("bash")
    assert bash
    setup = 'eval "$(ncu-assist completion bash)"'
    argv = [bash, "--norc", "--noprofile", "-i"]
    assert expected in _typed(argv, setup, line, expected, here, _tools(here / "bin"))


@pytest.mark.slow
@needs("zsh")
def test_zsh(here: Path) -> None:
    setup = 'autoload -Uz compinit; compinit -u; eval "$(ncu-assist completion zsh)"'
    line, expected = "ncu-assist check softmax v6\t", "v6_row_in_registers"
    assert expected in _typed(["zsh", "-f", "-i"], setup, line, expected, here, _tools(here / "bin"))


@pytest.mark.slow
@needs("fish")
def test_fish(here: Path) -> None:
    env = _tools(here / "bin")
    words = "ncu-assist completion fish | source; complete -C 'ncu-assist check softmax v6'; "
    words += "complete -C 'ncu-assist show softm'; complete -C 'ncu-assist tri'"
    done = subprocess.run(["fish", "--no-config", "-c", words], cwd=here, env=env, capture_output=True, text=True)
    assert [line.split("\t")[0] for line in done.stdout.split()][:1] == ["v6_row_in_registers"], done.stderr
    assert {"softmax", "triage"} <= set(done.stdout.split())


def test_completion_needs_no_table(here: Path) -> None:
    """A key must not wait for pandas."""
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": "ncu-assist show softmax/v6 --launch ", "COMP_CWORD": "4"}
    env = {**os.environ, "PYTHONPATH": str(ROOT), **asked}
    code = "import atexit, sys\natexit.register(lambda: sys.stderr.write(str('pandas' in sys.modules)))\n"
    code += "from ncu_assist.cli import main\nsys.argv = ['ncu-assist']\nmain()"
    done = subprocess.run([sys.executable, "-c", code], cwd=here, env=env, capture_output=True, text=True)
    assert "plain,0" in done.stdout
    assert done.stderr == "False"
