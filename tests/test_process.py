import os
import signal
import subprocess
import sys
import tempfile
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from patience import CEILING_S, has_ended, leaping, press_ctrl_c, soon

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.process import Waiting


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_and_exit_code_are_kept() -> None:
    done = process.run(python("import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"))
    assert (done.exit_code, done.stdout, done.stderr, done.timed_out) == (3, "a\n", "b\n", False)


def test_lines_arrive_as_they_come() -> None:
    lines: list[str] = []
    process.run(python("print('one'); print('two')"), on_line=lines.append)
    assert lines == ["one", "two"]


def waiting(then: str = "") -> list[str]:
    """A program that says its number and then waits for ever, and what it does before that."""
    return python(f"import os, signal\n{then}\nprint(os.getpid(), flush=True)\nwhile True: signal.pause()")


IGNORES = "for s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)"


def test_a_time_limit_ends_the_whole_group(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    leaping(monkeypatch, process, lambda: len(said) == 1)
    code = "import subprocess; p = subprocess.Popen(['sleep', 'infinity']); print(p.pid, flush=True); p.wait()"
    assert process.run(python(code), timeout_s=3600.0, on_line=said.append).timed_out
    assert has_ended(int(said[0]))


def test_a_child_that_ignores_sigint_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.05)
    said: list[str] = []
    done = process.run(waiting(IGNORES), on_line=said.append, is_stuck=lambda: bool(said))
    assert (done.timed_out, done.exit_code) == (True, -signal.SIGKILL)


def test_stuck_is_asked_while_it_runs() -> None:
    answers = iter([False, False, True])
    assert process.run(waiting(), is_stuck=lambda: next(answers)).timed_out
    assert list(answers) == []


def test_ctrl_c_ends_the_child_and_is_passed_on() -> None:
    said: list[str] = []

    def interrupt(line: str) -> None:
        said.append(line)
        press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        process.run(waiting(), on_line=interrupt)
    assert has_ended(int(said[0]))


@pytest.mark.parametrize("place", ["subprocess.Popen", "_Reader", "_Guard._tell"])
def test_ctrl_c_just_as_the_child_starts_ends_it_too(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    *owners, name = place.split(".")
    owner: Any = reduce(getattr, owners, process)
    plain = getattr(owner, name)
    started: list[int] = []
    popen = subprocess.Popen

    def start(argv: list[str], **options: Any) -> subprocess.Popen[str]:
        child = popen(argv, **options)
        started.append(child.pid)
        return child

    def pressed(*arguments: Any, **options: Any) -> object:
        result = plain(*arguments, **options)
        if started:
            press_ctrl_c()
        return result

    process._GUARD.ready()
    monkeypatch.setattr(process.subprocess, "Popen", start)
    plain = start if name == "Popen" else plain
    monkeypatch.setattr(owner, name, pressed)
    with pytest.raises(KeyboardInterrupt):
        process.run(python("import signal; signal.pause()"))
    assert has_ended(started[0])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_kills_a_child_that_ignores_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    kill = os.killpg

    def again(group: int, number: signal.Signals) -> None:
        kill(group, number)
        if number == signal.SIGINT:
            press_ctrl_c()

    def interrupt(line: str) -> None:
        said.append(line)
        press_ctrl_c()

    monkeypatch.setattr(process, "GRACE_S", CEILING_S)
    monkeypatch.setattr(process.os, "killpg", again)
    with pytest.raises(KeyboardInterrupt):
        process.run(waiting(IGNORES), on_line=interrupt)
    assert has_ended(int(said[0]))


def test_a_program_that_is_not_there_is_an_environment_problem() -> None:
    with pytest.raises(EnvironmentProblem, match="no-such-program"):
        process.run(["no-such-program"])


def test_a_flood_of_output_does_not_fill_memory() -> None:
    done = process.run(python("for _ in range(100_000): print('x' * 100)"))
    assert len(done.stdout) < process.CAPTURE_LIMIT + 200


def test_an_error_of_the_watcher_ends_the_group_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without asking it first, which a program that does not listen would draw out."""
    said: list[str] = []
    sent: list[int] = []
    kill = os.killpg
    monkeypatch.setattr(process.os, "killpg", lambda group, number: (sent.append(number), kill(group, number)))

    def complain() -> bool:
        if said:
            raise ValueError("too much")
        return False

    with pytest.raises(ValueError, match="too much"):
        process.run(waiting(IGNORES), on_line=said.append, is_stuck=complain)
    assert sent == [signal.SIGKILL]
    assert has_ended(int(said[0]))


@pytest.mark.parametrize("stream", ["on_line", "on_error_line"])
@pytest.mark.parametrize("then", ["", "import signal; signal.pause()"])
def test_an_error_of_who_hears_the_lines_is_passed_on(stream: str, then: str) -> None:
    def hear(line: str) -> None:
        raise ValueError(line)

    file = "stdout" if stream == "on_line" else "stderr"
    code = f"import sys; print('this', file=sys.{file}, flush=True); {then}"
    with pytest.raises(ValueError, match="this"):
        process.run(python(code), **{stream: hear}, timeout_s=CEILING_S)  # type: ignore[arg-type]


def test_a_line_without_an_end_arrives_in_pieces() -> None:
    lines: list[str] = []
    done = process.run(python(f"print('x' * {3 * process.LINE_LIMIT})"), on_line=lines.append)
    assert [len(line) for line in lines][:3] == [process.LINE_LIMIT] * 3
    assert len(done.stdout) <= process.CAPTURE_LIMIT


def test_a_program_does_not_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    """Nor does what it started, where none of them listens to SIGINT."""
    said = tmp_path / "pids"
    inner = f"import os, signal\n{IGNORES}\nopen({str(said)!r}, 'a').write(f'{{os.getpid()}}\\n')"
    ours = f"import subprocess, sys\n{inner}\nif len(sys.argv) < 2: subprocess.Popen([*sys.orig_argv, 'x'])\n"
    ours += "while True: signal.pause()"
    main = python(f"from ncu_assist import process; process.run([{sys.executable!r}, '-c', {ours!r}])")
    started = subprocess.Popen(main)
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    assert soon(lambda: said.is_file() and len(said.read_text().split()) == len(children.read_text().split()) == 2)
    started.kill()
    started.wait()
    assert all(has_ended(int(pid)) for pid in said.read_text().split())


def test_the_guard_stands_before_the_program_starts() -> None:
    """A process that is killed at once after it started a program takes it along: the guard is the older child."""
    program = "import os, sys; print(os.getpid(), open('/proc/{0}/task/{0}/children'.format(os.getppid())).read())"
    parent = (
        f"import sys; from ncu_assist import process; print(process.run([sys.executable, '-c', {program!r}]).stdout)"
    )
    said = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, check=True).stdout
    own, *children = map(int, said.split())
    assert len(children) == 2
    assert children[1] == own


def test_a_program_that_waits_gets_its_work_as_a_line_and_is_heard_from_its_start() -> None:
    lines: list[str] = []
    waiting = Waiting(lambda pipe: ["sh", "-c", f'echo ready; read -r work < "{pipe}"; echo "did $work"; exit 3'])
    assert waiting.ready.wait(CEILING_S)
    assert not waiting.is_over
    done = waiting.run(b"a b", lines.append)
    assert (done.exit_code, lines, done.timed_out) == (3, ["ready", "did a b"], False)
    assert waiting.is_over


def test_a_program_that_waits_too_long_after_its_work_came_is_ended() -> None:
    waiting = Waiting(lambda pipe: ["sh", "-c", f'read -r work < "{pipe}"; sleep 1000'])
    assert waiting.run(b"", timeout_s=0.2).timed_out


def test_a_program_that_waits_is_ended_with_its_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    waiting = Waiting(lambda pipe: ["cat", pipe])
    assert list(tmp_path.iterdir())
    waiting.end()
    assert waiting.is_over
    assert waiting.ready.is_set()
    assert not list(tmp_path.iterdir())


def test_a_program_that_cannot_be_started_is_told_when_it_is_given_work() -> None:
    waiting = Waiting(lambda pipe: ["/no/such/program", pipe])
    assert waiting.ready.wait(CEILING_S)
    with pytest.raises(EnvironmentProblem, match="cannot start"):
        waiting.run(b"")
