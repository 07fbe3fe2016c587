"""``ncu-assist watch``: a line a step for editors and pipes, a view with keys on a terminal."""

from __future__ import annotations

import io
import json
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commandline import Run, measure_here, without_ncu
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, VERSIONS, WORKLOADS, WRONG
from requirements import require
from rich.console import Console
from rich.live import Live
from schemas import held

from ncu_assist.analysis.ladder import Attempt
from ncu_assist.cli import INTERRUPTED
from ncu_assist.cli.watch_command import KEYS, Keys, Screen
from ncu_assist.store import Store


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require("torch")
    made = write_kernel(tmp_path, VERSIONS, WORKLOADS)
    measure_here(monkeypatch, tmp_path)
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    return made


def acted(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object] | str) -> None:
    """Do or press one after the other, each once the watch is idle, then q."""
    waiting: Iterator[Callable[[], object] | str] = iter([*acts, "q"])

    def next_key(keys: Keys) -> str | None:
        act = next(waiting)
        if isinstance(act, str):
            return act
        act()
        return None

    monkeypatch.setattr(Keys, "next", next_key)


@pytest.mark.slow
def test_a_line_a_step_for_editors(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = folder / "v1_shared.py"
    acted(monkeypatch, lambda: edited.write_text(WRONG), lambda: edited.write_text(RIGHT + "# b\n"))
    answer = run("watch", "add_one", "--json")
    assert answer.code == 0
    steps = [held(json.loads(line)) for line in answer.out.splitlines()]
    assert [(one["attempt"], one["state"]) for one in steps] == [
        (1, "measuring"), (1, "failed"), (1, "failed"), (2, "measuring"), (2, "timed"), (2, "profiling"), (2, "done")
    ]  # fmt: skip
    assert "elements are wrong" in steps[1]["failure"]
    assert [(one["baseline"], one["candidate"]) for one in steps[4]["verdicts"]] == [("v0_naive", "v1_shared")]
    assert steps[4]["seconds"] > 0
    assert {one.run.version for one in Store(folder.parent.parent / "reports").runs()} == {"v0_naive", "v1_shared"}


@pytest.mark.slow
def test_lines_and_keys(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = folder / "v1_shared.py"
    acted(monkeypatch, "p", lambda: edited.write_text(RIGHT + "# a\n"), "p", "o", "k")
    answer = run("watch", "add_one", "--no-profile", "--against", "v0")
    assert answer.code == 0
    assert "#1 v1: measuring" in answer.out
    assert "#1 v1: timed, " in answer.out
    assert " s after the save" in answer.out
    assert "v1" in answer.out.split("after the save\n")[1].splitlines()[0]
    assert "#2 v1: done" in answer.out  # p: with counters
    assert "kept as v2_shared.py" in answer.err
    assert (folder / "v2_shared.py").read_text().startswith("# parent: v1\n")
    (page,) = folder.parent.parent.glob("reports/add_one/v1_shared/*/report.html")
    assert str(page.relative_to(Path.cwd())) in answer.err


def test_wrong_names(run: Run, folder: Path) -> None:
    assert "did you mean 'add_one'?" in run("watch", "ad_one").err
    unknown = run("watch", "add_one", "--against", "v9")
    assert (unknown.code, unknown.out) == (2, "")


def test_keys_are_heard_one_by_one_and_only_q_ends_what_runs() -> None:
    reading, writing = os.pipe()
    keys = Keys(reading, threading.Event())
    assert not keys.is_quit()
    os.write(writing, b"oK")
    assert not keys.is_quit()
    assert [keys.next(), keys.next(), keys.next()] == ["o", "k", None]
    os.write(writing, b"q")
    assert keys.is_quit()
    assert keys.next() == "q"
    os.close(writing)
    assert keys.next() == "q"  # the terminal is gone
    os.close(reading)


@pytest.mark.parametrize("sent", [b"\x1bOP", b"\x1b[A", b"\x1b[15~", b"\x1b[1;5P", b"\x1b[[A", b"\x1bk", b"\x1b\x1bOk"])
def test_what_a_function_key_sends_is_no_letter(sent: bytes) -> None:
    reading, writing = os.pipe()
    keys = Keys(reading, threading.Event())
    os.write(writing, sent + b"p")
    assert [keys.next(), keys.next()] == ["p", None]
    for one in sent:  # a slow line brings it in parts
        os.write(writing, bytes([one]))
        assert not keys.is_quit()
    os.write(writing, b"o")
    assert [keys.next(), keys.next()] == ["o", None]
    os.close(writing)
    os.close(reading)


def test_after_esc_alone_letters_are_keys_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    keys = Keys(reading, threading.Event())
    os.write(writing, b"\x1b")
    assert keys.next() is None
    monkeypatch.setattr("ncu_assist.cli.watch_command.SEQUENCE_S", 0.0)
    os.write(writing, b"q")
    assert keys.next() == "q"
    os.close(writing)
    os.close(reading)


def test_the_end_of_the_session_quits() -> None:
    ended = threading.Event()
    keys = Keys(None, ended)
    assert not keys.is_quit()
    ended.set()
    assert keys.is_quit()


@pytest.mark.slow
def test_keys_after_an_edit_that_failed(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("ncu_assist.cli.watch_command.Lines.status", lambda _, text: said.append(text))
    edited = folder / "v1_shared.py"
    acted(monkeypatch, lambda: edited.write_text("def ("), "p", "k", "o", lambda: edited.write_text(WRONG), "k")
    answer = run("watch", "add_one", "--no-profile")
    assert answer.code == 0
    assert [text for text in said if "the last edit of v1 failed, so there is nothing to profile" in text][2:]
    assert not [text for text in said if "no edit yet" in text]
    assert "v1: not kept, as it failed: " in answer.err
    assert not list(folder.glob("v2*"))


@pytest.mark.slow
def test_p_without_ncu_leaves_the_verdict(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = folder / "v1_shared.py"
    acted(monkeypatch, lambda: edited.write_text(RIGHT + "# a\n"), lambda: without_ncu(monkeypatch, folder), "p")
    answer = run("watch", "add_one", "--no-profile")
    assert answer.code == 0
    assert "v1: ncu (Nsight Compute) is not installed here" in answer.err
    assert "#1 v1: timed" in answer.out
    assert "#2" not in answer.out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    made: list[Path] = []
    before = signal.getsignal(number)

    def kill() -> None:
        made.extend(Path(tempfile.gettempdir()).glob("ncu-assist-watch-*"))
        signal.raise_signal(number)

    monkeypatch.setattr(tempfile, "tempdir", str(folder.parent))
    acted(monkeypatch, kill)
    assert run("watch", "add_one", "--no-profile").code == INTERRUPTED
    assert made
    assert not [path for path in made if path.exists()]
    assert signal.getsignal(number) == before


def test_the_view_has_the_last_ten() -> None:
    text = io.StringIO()
    with Live(console=Console(file=text, force_terminal=True, width=100), auto_refresh=False) as live:
        screen = Screen(live, "add_one")
        for number in range(1, 13):
            screen.show(Attempt(number, "v4_step", "failed", 1.5, failure=f"check w0: number {number}"))
        screen.note("a line that stays")
    shown = text.getvalue()
    last = shown[shown.rindex("watching add_one") :]
    assert "number 12" in last
    assert "number 3" in last
    assert "number 2" not in last.replace("number 12", "")
    assert KEYS in last
    assert "a line that stays" in shown
