"""Every command that reads works where Python lacks what only Unix has, as on Windows; and so does a prompt's dry run.

The modules, functions and flags are hidden from one process that runs all the commands, and from the children that it
starts: readers of reports are such.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SMALL_REPORT, Answer
from recorded_family import copy_family

from ncu_assist.cli import COMMANDS

pytestmark = pytest.mark.slow

KERNEL = "add_relu"
HIDDEN = """
import os, shutil, signal, sys

MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"}
NAMES = (
    "fork forkpty getuid geteuid getgid getegid setuid chown lchown killpg setsid getpgid pidfd_open pread pwrite "
    "statvfs fchown mkfifo sched_getaffinity sysconf O_CLOEXEC O_NOFOLLOW O_NONBLOCK O_DIRECTORY"
).split()


class Hider:
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


for name in MODULES & set(sys.modules):
    del sys.modules[name]
sys.meta_path.insert(0, Hider())
for name in NAMES:
    delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGQUIT", "SIGALRM"):
    delattr(signal, name)

shutil._use_fd_functions = False  # as there: what opens folders is not there either
_open = os.open


def open_no_folder(path, *arguments, **named):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return _open(path, *arguments, **named)


os.open = open_no_folder
"""
DRIVER = """
import contextlib, io, json, sys, traceback

from ncu_assist.cli import main

answers = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["ncu-assist", *words]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        except Exception:
            code = 1
            traceback.print_exc()
    out.flush()
    answers.append((code, out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue()))
print(json.dumps(answers))
"""
ARCHIVED = (  # the words of a command, and its exit code
    ("list", 0),
    ("show v5", 0),
    ("show v5 --lines --ncu-rules", 0),
    ("diff v0 v5", 0),
    ("history", 0),
    ("gate KERNEL", 0),
    ("ledger KERNEL", 0),
    ("baseline show KERNEL", 0),
    ("verify", 0),
    ("export v5", 0),
    ("report v5 -o page.html", 0),
    ("profile KERNEL v5", 0),  # the recorded answer
    ("suggest KERNEL --dry-run", 0),
    ("doctor", 6),
    ("metrics l2_hit_rate", 0),
    ("explain l2_hit_rate", 0),
)
FOREIGN = (
    ("show REPORT", 0),
    ("diff REPORT REPORT", 0),
    ("export REPORT --table rules", 0),
    ("report REPORT", 0),
    ("import REPORT", 0),
)
HELP = tuple((f"{name} --help", 0) for name in COMMANDS)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """What each command came to."""
    root, hidden, programs = (tmp_path_factory.mktemp(name) for name in ("project", "hidden", "programs"))
    copy_family(root, KERNEL)
    (hidden / "sitecustomize.py").write_text(HIDDEN)
    package = str(Path(__file__).parents[2])
    asked = [words for words, _ in (*ARCHIVED, *FOREIGN, *HELP)]
    given = [words.replace("KERNEL", KERNEL).replace("REPORT", str(SMALL_REPORT)).split() for words in asked]
    path = os.pathsep.join([str(hidden), package])
    env = {**os.environ, "PYTHONPATH": path, "PATH": str(programs), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(given)], cwd=root, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {words: Answer(*answer) for words, answer in zip(asked, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize(("words", "code"), [*ARCHIVED, *FOREIGN, *HELP], ids=lambda value: str(value))
def test_a_command_that_measures_nothing_needs_no_unix(answers: dict[str, Answer], words: str, code: int) -> None:
    found = answers[words]
    assert found.code == code, found.err
    assert found.out, found.err
    assert "Traceback" not in found.err
