"""Wrong inputs over what strangers do first: each says what happened and why, and what to try; no traceback.

The tables of `new`, `profile`, and `triage` stand in the tests of these commands; here are reports and the rest.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from commandline import Run, plain_report
from test_new_command import WRONG
from test_profile_command import WRONG_PROGRAMS
from test_triage_command import WRONG_TRIAGES
from traced import write_nsys

DOCS = Path(__file__).parents[2] / "docs"
# Journey, what is typed, exit code, what is said, what is to be tried.
ROWS = [
    ("report", "show", 2, "nothing has been measured yet; 2 reports are here: new.ncu-rep, their", "show new.ncu-rep"),
    ("report", "report", 2, "nothing has been measured yet; 2 reports are here", "ncu-assist show new.ncu-rep"),
    ("report", "diff", 2, "nothing has been measured yet; 2 reports are here", "diff their.ncu-rep new.ncu-rep"),
    ("report", "show nowhere.ncu-rep", 2, "there is no report nowhere.ncu-rep", "ncu-assist show their.ncu-rep"),
    ("report", "show their.ncu-re", 2, "their.ncu-re", "their.ncu-rep"),
    ("report", "show .", 2, ". is not a report, but a folder with 7: -dash.ncu-rep, cut.ncu-rep", "ncu-assist show"),
    ("report", "show words.ncu-rep", 7, "not an Nsight Compute report", "check the file's name"),
    ("report", "show cut.ncu-rep", 7, "cut", "profile again"),
    ("report", "show empty.ncu-rep", 7, "empty", "profile again"),
    ("report", "show their.ncu-rep --launch 99 --lines", 2, "99", "ncu-assist show their.ncu-rep --launch 2 --lines"),
    ("report", "show --launch=99 their.ncu-rep", 2, "99", "ncu-assist show --launch 2 their.ncu-rep"),
    ("report", "show -dash.ncu-rep", 2, "-dash.ncu-rep is a file", "ncu-assist show ./-dash.ncu-rep"),
    ("report", "show their.ncu-rep --launch x", 2, "x", "--launch"),
    ("report", "show their.ncu-rep --filter nosuchkernel", 2, "nosuchkernel", "--filter NAME"),
    ("report", "show their.ncu-rep --workload w", 2, "workload", ""),
    ("report", "show their.ncu-rep --kernel k", 2, "--kernel", ""),
    ("report", "diff their.ncu-rep nowhere.ncu-rep", 2, "there is no report nowhere.ncu-rep", "ncu-assist"),
    ("report", "diff their.ncu-rep words.ncu-rep", 7, "not an Nsight Compute report", "check the file's name"),
    ("report", "report their.ncu-rep --output nowhere/page.html", 2, "does not exist", "--output"),
    ("report", "report their.ncu-rep --output notes.txt", 2, "notes.txt already exists", "--force"),
    ("report", "report their.ncu-rep --output page.pdf", 2, "page.pdf: a page is HTML", "--output page.html"),
    ("report", "their.ncu-rep --lines", 2, "is a report, not a command", "ncu-assist show their.ncu-rep --lines"),
    ("report", "show new.ncu-rep their.ncu-rep", 2, "diff shows two runs", "ncu-assist diff new.ncu-rep their.ncu-rep"),
    (
        "report",
        "new.ncu-rep their.ncu-rep",
        2,
        "is a report, not a command",
        "ncu-assist diff new.ncu-rep their.ncu-rep",
    ),
    (
        "report",
        "import new.ncu-rep their.ncu-rep --kernel k",
        2,
        "import takes one report at a time",
        "ncu-assist import --kernel k new.ncu-rep; ncu-assist import --kernel k their.ncu-rep",
    ),
    ("report", "history their.ncu-rep", 2, "that is a report, and can be shown", "ncu-assist show their.ncu-rep"),
    ("report", "list their.ncu-rep", 2, "that is a report, and can be shown", "ncu-assist show their.ncu-rep"),
    ("report", "export their.ncu-rep --table lins", 2, "did you mean 'lines'?", "export their.ncu-rep --table lines"),
    ("report", "export their.ncu-rep --metrics nosuchmetric", 2, "nosuchmetric", "ncu-assist metrics"),
    ("report", "export their.ncu-rep --output notes.txt", 2, "the format of a .txt file is not known", "--format csv"),
    ("report", "export their.ncu-rep --output old.csv", 2, "old.csv already exists", "--force"),
    ("report", "import nowhere.ncu-rep", 2, "there is no report nowhere.ncu-rep", "ncu-assist"),
    (
        "report",
        "import .",
        2,
        ". is not a report: it is a folder; it holds 7: -dash.ncu-rep, cut",
        "ncu-assist import ./-dash.ncu-rep",
    ),
    ("report", "import words.ncu-rep", 7, "not an Nsight Compute report", "check the file's name"),
    ("report", "import their.ncu-rep --kernel ../x", 2, "cannot be the name of a kernel", "use letters"),
    ("report", "import other.sqlite", 7, "other.sqlite", "ncu --set full"),
    ("report", "show trace.sqlite", 7, "a Nsight Systems report", "ncu-assist triage"),
    ("report", "show other.json", 7, "a JSON file", "ncu-assist triage"),
    ("triage", "triage other.sqlite", 2, "no export of Nsight Systems", "nsys export --type sqlite"),
    ("triage", "triage their.ncu-rep", 2, "is a report of Nsight Compute", "ncu-assist show their.ncu-rep"),
    ("triage", "triage notes.txt", 2, "notes.txt is a file", "chmod +x"),
    ("triage", "triage other.json", 2, "no traceEvents", "export_chrome_trace"),
    ("demo", "demo .", 2, "already exists", "ncu-assist demo"),
    ("demo", "demo notes.txt/here", 6, "cannot write notes.txt/here", "another folder"),
    ("two files", "check scale", 2, "there is no kernel 'scale'", "ncu-assist list"),
    ("two files", "diff v0 v1", 2, "v0", "ncu-assist"),
    ("two files", "history scale", 2, "there is no kernel 'scale'", "ncu-assist"),
    ("shell", "completion tcsh", 2, "'bash', 'zsh', 'fish'", "ncu-assist completion bash"),
    ("shell", "completion fsh", 2, "did you mean 'fish'?", "ncu-assist completion fish"),
    ("shell", "show --lnes", 2, "No such option '--lnes' of ncu-assist show; did you mean '--lines'?", "show --lines"),
    ("shell", "show --zzz", 2, "No such option '--zzz' of ncu-assist show", "ncu-assist show --help"),
    ("shell", "show their.ncu-rep --launch", 2, "'--launch' requires an argument", "ncu-assist show --help"),
    ("shell", "import", 2, "'REPORT'; usage: ncu-assist import [OPTIONS] REPORT", "ncu-assist import REPORT"),
    ("shell", "suggest build k/v1", 2, "Missing option '--reply'", "ncu-assist suggest build k/v1 --reply FILE, or"),
    ("shell", "new a b", 2, "unexpected extra argument (b)", "ncu-assist new a --from FILE.cu"),
    ("shell", "new a b.cu --torch", 2, "unexpected extra argument (b.cu)", "ncu-assist new a --torch --from b.cu"),
    ("shell", "diff a b c", 2, "[BASELINE] [CANDIDATE]", "ncu-assist diff a b"),
    ("shell", "diff softmax v3 v4", 2, "[BASELINE] [CANDIDATE]", "ncu-assist diff softmax/v3 v4"),
    ("shell", "diff v3 v4 v5", 2, "[BASELINE] [CANDIDATE]", "ncu-assist diff v3 v4"),
    ("shell", "show --workload v3 softmax v3", 2, "argument (v3)", "ncu-assist show --workload v3 softmax/v3"),
    ("shell", "report k --bundle x.html", 2, "--output names the file", "ncu-assist report k --bundle -o x.html"),
    ("shell", "report softmax v3", 2, "unexpected extra argument (v3); usage:", "ncu-assist report softmax/v3"),
    (
        "shell",
        "report softmax v3 v4",
        2,
        "diff writes the page of two runs",
        "ncu-assist diff softmax/v3 v4 -o diff.html",
    ),
    ("shell", "baseline set softmax v3", 2, "unexpected extra argument (v3)", "ncu-assist baseline set softmax/v3"),
    ("shell", "baseline st", 2, "ncu-assist baseline has no command 'st'; did you mean 'set'?", "baseline set"),
    ("shell", "profile x --rounds abc", 2, "'abc' is not a valid whole number", "ncu-assist profile x --rounds 1"),
    ("shell", "gate --fail-on tme", 2, "a KERNEL, for its newest version", "ncu-assist gate KERNEL"),
    ("shell", "explain bank_conflit", 2, "did you mean 'bank conflict'?", "ncu-assist explain 'bank conflict'"),
    ("shell", "explain bank conflit", 2, "did you mean 'bank conflict'?", "ncu-assist explain 'bank conflict'"),
    ("shell", "bug-report --output notes.txt", 2, "notes.txt already exists", "--force"),
    ("shell", "explain nosuchword_at_all", 2, "nosuchword_at_all", "ncu-assist"),
    (
        "two files",
        "diff one.cu two.cu",
        2,
        "but diff compares runs",
        "ncu-assist profile --kernel one two.cu; ncu-assist diff",
    ),
    ("two files", "show one", 2, "one.cu is here, and can be profiled", "ncu-assist profile one.cu"),
    ("two files", "report one.cu", 7, "this is a source file, and no report", "ncu-assist profile one.cu"),
    ("shell", "report v3 v6", 2, "diff writes the page of two runs", "ncu-assist diff v3 v6 -o diff.html"),
    ("shell", "version", 2, "there is no command 'version', but an option", "ncu-assist --version"),
    ("shell", "help", 2, "there is no command 'help', but an option", "ncu-assist --help"),
    ("shell", "help show", 2, "there is no command 'help', but an option", "ncu-assist show --help"),
    ("shell", "completion", 2, "Choose from: bash, zsh, fish; usage: ", "ncu-assist completion bash"),
    ("shell", "compare a b", 2, "did you mean 'diff'?", "ncu-assist diff a b"),
    ("shell", "tune k v1 --values A=1,2 B=3,4", 2, "quote the values as one word", "--values A=1,2 --values B=3,4"),
    ("shell", "explain atomics", 2, "did you mean 'atomic-contention'?", "ncu-assist explain atomic-contention"),
    ("shell", "explain uncoalesced", 2, "uncoalesced", "ncu-assist explain"),
    ("triage", "triage trac.sqlite", 2, "did you mean 'trace.sqlite'?", "ncu-assist triage trace.sqlite"),
    ("report", "show their.ncu-rep --kernel-name k", 2, "did you mean '--filter'?", "show their.ncu-rep --filter k"),
    ("report", "show -k k their.ncu-rep", 2, "did you mean '--filter'?", "show --filter k their.ncu-rep"),
    ("report", "show their.ncu-rep --section Occupancy", 2, "No such option '--section'", "ncu-assist show --help"),
    ("report", "gate new.ncu-rep --baseline their.ncu-rep", 2, "did you mean '--against'?", "--against their.ncu-rep"),
    ("report", "diff --baseline new.ncu-rep their.ncu-rep", 2, "'--baseline' of ncu-assist diff", "diff --help"),
    ("report", "export --csv their.ncu-rep", 2, "did you mean", "ncu-assist export --format=csv their.ncu-rep"),
    ("shell", "profile --launch-skip 1 -- ./x", 2, "'--skip-launches'?", "profile --skip-launches 1 -- ./x"),
    ("shell", "profile -c 1 -- ./x", 2, "did you mean '--max-launches'?", "profile --max-launches 1 -- ./x"),
    ("report", "roofline their.ncu-rep", 2, "did you mean 'show'?", "ncu-assist show their.ncu-rep"),
    ("report", "ncu their.ncu-rep", 2, "did you mean 'show'?", "ncu-assist show their.ncu-rep"),
    ("shell", "ncu ./x", 2, "did you mean 'profile'?", "ncu-assist profile ./x"),
    ("report", "show https://example.org/a.ncu-rep", 2, "is a web address", "curl -LO https://example.org/a.ncu-rep"),
    ("report", "show -", 2, "read from a file, not from a pipe", "ncu-assist show FILE.ncu-rep"),
    ("two files", "suggest kernel.cu --dry-run", 7, "this is a source file", "ncu-assist new kernel --from kernel.cu"),
    ("two files", "new kernel.cu", 2, "kernel.cu is a file", "ncu-assist new kernel --from kernel.cu"),
    ("two files", "list kernel.cu", 2, "is a file without main()", "ncu-assist new kernel --from kernel.cu"),
    ("two files", "list one.cu", 2, "a program can be profiled", "ncu-assist profile one.cu"),
    ("shell", "suggest foo", 2, "there is no kernel or version 'foo'", "ncu-assist list"),
    ("shell", "profil x", 2, "there is no command 'profil'; did you mean 'profile'?", "ncu-assist profile x"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    """A folder of somebody who has a report and a few files, and no project."""
    monkeypatch.chdir(tmp_path)
    whole = plain_report(tmp_path, "their.ncu-rep")
    (tmp_path / "cut.ncu-rep").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    (tmp_path / "words.ncu-rep").write_text("just words")
    shutil.copy(whole, tmp_path / "new.ncu-rep")
    for age, name in enumerate(("words.ncu-rep", "cut.ncu-rep", "new.ncu-rep", "their.ncu-rep")):
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    (tmp_path / "empty.ncu-rep").write_text("")
    (tmp_path / "-dash.ncu-rep").write_text("")
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "old.csv").write_text("a,b")
    for name in ("one.cu", "two.cu"):
        (tmp_path / name).write_text("int main() {}")
    (tmp_path / "kernel.cu").write_text("__global__ void kernel(float* x) {}")
    write_nsys(tmp_path / "trace.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as database:
        database.execute("CREATE TABLE runs (id INTEGER)")
    return tmp_path


@pytest.mark.parametrize(("journey", "typed", "code", "said", "tried"), ROWS, ids=[row[1] for row in ROWS])
def test_it_is_told_what_is_wrong_and_what_to_try(
    run: Run, here: Path, journey: str, typed: str, code: int, said: str, tried: str
) -> None:
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    answer = run(*typed.split())
    assert (answer.code, answer.out) == (code, ""), answer.err
    told = " ".join(answer.err.split())
    assert "Traceback" not in told
    assert said in told
    assert tried in told.lower() or tried in told.partition("ry: ")[2] + told.partition("Try ")[2]
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before, "nothing is written"
    assert _is_explained(answer.err.removeprefix("error: ").partition("\n  try: ")[0]), "the docs have it"


def _is_explained(message: str) -> bool:
    """Tell whether the site's page of all messages has this one, or the page on frequent ones words of it."""
    rows = re.findall(r"^\| (`[^|]+) \|", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
    quoted = [one for row in rows for one in re.findall(r"`([^`]+)`", row)]
    return any(one in message for one in quoted) or any(one.pattern.search(message) for one in _messages())


@functools.cache
def _messages() -> tuple[Any, ...]:
    spec = importlib.util.spec_from_file_location("site_messages", DOCS / "site_messages.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    found: tuple[Any, ...] = module.messages()
    return found


def test_there_are_many_of_each_kind() -> None:
    assert len(ROWS) + len(WRONG) + len(WRONG_PROGRAMS) + len(WRONG_TRIAGES) >= 90
    assert {row[0] for row in ROWS} == {"report", "triage", "demo", "two files", "shell"}
