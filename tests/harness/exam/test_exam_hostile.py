"""What a draft does to its process, to its results and to the events is the draft's failure, never an answer."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from cheats_on_cpu import RIGHT
from patience import leaping
from requirements import needs

pytest.importorskip("torch")

from made_exams import in_processes, in_this_process, plan_of

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox import LimitExceeded, sandbox_for
from ncu_assist.harness import client
from ncu_assist.harness.results import FAILURES
from ncu_assist.process import Completed

pytestmark = pytest.mark.slow

LEAVES = "import os\n\n\ndef add_one(x, y):\n    os._exit(0)\n"
CRASHES = "def add_one(x, y):\n    import os, signal\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
HEAD = "import json, pathlib, signal, sys\n\nOUT = json.load(open(sys.argv[2]))['request']['out']\n\n"
HANGS = HEAD + "\ndef add_one(x, y):\n    pathlib.Path(OUT, 'busy').touch()\n    signal.pause()\n"
SAYS = '        print(\'\\n{"event":"round"}\', flush=True)\n'
CHATS = HEAD + f"\ndef add_one(x, y):\n    while True:\n{SAYS}        pathlib.Path(OUT, 'busy').touch()\n"
RAISES = "def add_one(x, y):\n    raise ValueError('no luck')\n"
LIES = (
    "import json\nprint('\\n' + json.dumps({'event': 'problem', 'text': 'no GPU', 'exit_code': 6}), flush=True)\n"
    "raise SystemExit(6)\n"
)
SPIES = (
    "import pathlib, sys\n\nROOT = pathlib.Path(sys.argv[2]).parent.parent\n"
    "SEEN = [*ROOT.rglob('secret/*'), *ROOT.parents[2].rglob('kernels/*/v0_right.py')]\n"
    "assert [f for f in SEEN if not f.is_relative_to(ROOT / 'inside')] == [], SEEN\n\n\n"
) + RIGHT
REPLACES = (
    "import os, pathlib, sys, time\n\n\ndef late():\n    out = pathlib.Path(sys.argv[2]).parent.parent / 'out'\n"
    "    while not [*out.rglob('samples.json')]:\n        time.sleep(0.01)\n    time.sleep(0.3)\n"
    "    for file in out.rglob('samples.json'):\n        file.unlink()\n        file.symlink_to('/etc/passwd')\n"
    "    for file in out.rglob('answer-*'):\n        file.unlink()\n        os.mkfifo(file)\n"
    "    for file in out.rglob('facts.json'):\n        file.write_text('{')\n\n\n"
    "if os.fork() == 0:\n    late()\n    os._exit(0)\n\n\n"
) + RIGHT


@needs("torch")
@pytest.mark.parametrize(
    ("source", "failure", "reason"),
    [
        (CRASHES, "check small: crashed with signal 11 (SIGSEGV)", "no answer came"),
        (RAISES, "check small: ValueError: no luck; check odd: ValueError: no luck", "no answer came"),
        (LIES, "load: no GPU", "no answer came"),
        ("def other():\n    pass\n", "load: v1_draft.py defines no function 'add_one'", "no answer came"),
    ],
)
def test_a_draft_that_ends_its_process_has_failed(source: str, failure: str, reason: str, tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, source), tmp_path)
    assert examined.measured.failures == {"v1_draft": failure}
    assert {check.reason for check in examined.measured.checks["v1_draft"]} == {reason}
    assert examined.suspicions == ()


@pytest.mark.parametrize("condition", ["CALLS[0] == 4", "CALLS[0] > 9", "x.numel() != 1024"])
def test_a_draft_that_fails_now_and_then_has_failed_and_is_no_cheat(condition: str, tmp_path: Path) -> None:
    source = f"CALLS = [0]\n\n\ndef add_one(x, y):\n    CALLS[0] += 1\n    if {condition}:\n        raise ValueError\n"
    examined = in_this_process(plan_of(tmp_path, source + "    torch.add(x, 1.0, out=y)\n"), tmp_path)
    assert "ValueError" in examined.measured.failures["v1_draft"]
    assert examined.suspicions == ()


class Overflowing:
    """An executor whose program was ended for writing too much."""

    name = "overflowing"

    def run(self, *arguments: object, **how: object) -> Completed:
        raise LimitExceeded("it wrote 5 GiB")


def test_writing_too_much_is_the_drafts_failure(tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, RIGHT), tmp_path, executor=Overflowing())
    assert examined.measured.failures == {"v1_draft": "exam: it wrote 5 GiB"}


def test_whoever_leaves_early_has_answered_nothing(tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, LEAVES), tmp_path)
    assert [check.passed for check in examined.measured.checks["v1_draft"]] == [False, False]
    assert examined.measured.samples is None


@pytest.mark.parametrize(
    ("source", "module", "words"),
    [
        (HANGS, client, r"gave no sign of life for \d+ s and was ended"),
        (CHATS, process, r"was not done after \d+ s and was ended"),
    ],
)
def test_silence_and_chatter_both_end(
    source: str, module: ModuleType, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(tmp_path, source)
    leaping(monkeypatch, module, lambda: any(plan.folders.writable.rglob("busy")), again=True)
    examined = in_processes(plan, tmp_path, ("check",))
    assert re.search(words, examined.measured.failures["v1_draft"])


def test_results_that_are_replaced_are_not_followed(tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, REPLACES), tmp_path)
    said = {s.words.removeprefix("what the draft's process left is damaged: ") for s in examined.suspicions}
    assert any("samples.json" in words and "symbolic links" in words for words in said)
    assert any(words.startswith("facts.json: Input data was truncated") for words in said)
    assert {s.id for s in examined.suspicions} == {"results"}
    assert examined.measured.samples is None
    reasons = {check.reason for check in examined.measured.checks["v1_draft"]}
    assert all(reason.endswith("is not a regular file") for reason in reasons)


@needs("torch")
def test_in_a_sandbox_it_is_the_same(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SPIES)
    try:
        sandbox = sandbox_for(tmp_path, (plan.folders.writable,), (plan.folders.readable,))
    except EnvironmentProblem as problem:
        pytest.skip(problem.message)
    examined = in_processes(plan, tmp_path, executor=replace(sandbox, local=Local(tmp_path / "locks")))
    assert examined.suspicions == ()
    assert examined.measured.failures == {}
    assert [check.reason for check in examined.measured.checks["v1_draft"]] == ["", ""]
    assert examined.measured.samples is not None


def test_without_a_sandbox_a_draft_sees_more(tmp_path: Path) -> None:
    assert (
        "AssertionError" in in_processes(plan_of(tmp_path, SPIES), tmp_path, ("check",)).measured.failures["v1_draft"]
    )


def test_hooks_at_the_end_do_not_run(tmp_path: Path) -> None:
    hook = f"import atexit, pathlib\n\natexit.register(pathlib.Path({str(tmp_path / 'hooked')!r}).touch)\n\n\n"
    assert in_processes(plan_of(tmp_path, hook + RIGHT), tmp_path, ("check",)).suspicions == ()
    assert not (tmp_path / "hooked").exists()


def test_what_ends_before_the_draft_is_loaded_is_not_its_fault(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, RIGHT)
    plan.kernel.folder.joinpath("kernel.toml").write_text("summary = 1")
    with pytest.raises(UsageProblem, match="must be a str"):
        in_processes(plan, tmp_path)


def test_a_wrong_reference_ends_the_exam(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, RIGHT)
    (Path(plan.secret.kernel_folder) / "reference.py").write_text("def make_inputs(w, s, d):\n    return 1 / 0\n")
    with pytest.raises(StageFailed, match="make_inputs fails: ZeroDivisionError"):
        in_processes(plan, tmp_path)
    assert not list(plan.folders.writable.rglob(FAILURES))


DEEP = "'[' * 200_000 + ']' * 200_000"
FORGES = "import json, os, pathlib, sys\n\nOUT = pathlib.Path(json.load(open(sys.argv[2]))['request']['out'])\n"


def test_nesting_without_end_is_damage_and_breaks_no_reader(tmp_path: Path) -> None:
    files = ("facts.json", "answers.jsonl", "failures.jsonl", "patched.json", "samples.json")
    inside = dict.fromkeys(files, f"'{{\"toolchain\": {{}}, \"x\": ' + {DEEP} + '}}'") | {"patched.json": DEEP}
    source = FORGES + "".join(f"(OUT / '{file}').write_text({inside[file]})\n" for file in files) + "os._exit(0)\n"
    examined = in_processes(plan_of(tmp_path, source), tmp_path, ("check",))
    assert {s.id for s in examined.suspicions} == {"results"}
    for file in files:
        assert sum(file in s.words for s in examined.suspicions) == 1, file


def test_what_a_draft_says_is_cut(tmp_path: Path) -> None:
    line = "json.dumps(dict(version='v1_draft', question=0, touched='input ' + 'Z' * 500_000, again=False))"
    names = "json.dumps(['P' * 200_000] * 4)"
    source = f"{FORGES}(OUT / 'answers.jsonl').write_text({line})\n(OUT / 'patched.json').write_text({names})\n"
    told = "print('\\n' + json.dumps(dict(event='problem', text='T' * 100_000)), flush=True)\nos._exit(1)\n"
    examined = in_processes(plan_of(tmp_path, source + told), tmp_path, ("check",))
    assert {s.id for s in examined.suspicions} == {"patched", "modified"}
    assert all(len(s.words) < 3_000 for s in examined.suspicions)
    assert len(examined.measured.failures["v1_draft"]) < 3_000


def test_another_gpu_than_there_is_cannot_be_told(tmp_path: Path) -> None:
    gpu = "dict(name='A', uuid_sha256='', compute_capability='', sm_count=1, l2_bytes=1, memory_bytes=1, driver='')"
    late = f"(OUT / 'facts.json').write_text(json.dumps(dict(toolchain=dict(), device={gpu})))\nos._exit(0)\n"
    examined = in_processes(plan_of(tmp_path, FORGES + late), tmp_path, ("check",))
    assert examined.suspicions == ()
    assert examined.measured.device is None
