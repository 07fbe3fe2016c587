import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_and_exit_code_are_kept() -> None:
    done = process.run(python("import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"))
    assert (done.exit_code, done.stdout, done.stderr, done.timed_out) == (3, "a\n", "b\n", False)


def test_lines_arrive_as_they_come() -> None:
    lines: list[str] = []
    process.run(python("print('one'); print('two')"), on_line=lines.append)
    assert lines == ["one", "two"]


def test_a_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    lines = (
        "import subprocess",
        "p = subprocess.Popen(['sleep', '60'])",
        f"open({str(pid_file)!r}, 'w').write(str(p.pid))",
    )
    done = process.run(python("\n".join((*lines, "p.wait()"))), timeout_s=1.0)
    assert done.timed_out
    with pytest.raises(ProcessLookupError):
        _wait_until_gone(int(pid_file.read_text()))


def test_a_child_that_ignores_sigint_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    code = "import time\nfrom signal import *\nfor s in (SIGINT, SIGTERM): signal(s, SIG_IGN)\ntime.sleep(60)"
    done = process.run(python(code), timeout_s=0.5)
    assert (done.timed_out, done.exit_code) == (True, -signal.SIGKILL)


def test_stuck_is_asked_while_it_runs() -> None:
    started = time.monotonic()
    done = process.run(python("import time; time.sleep(60)"), is_stuck=lambda: time.monotonic() - started > 0.3)
    assert done.timed_out
    assert done.seconds < 30


def test_ctrl_c_ends_the_child_and_is_passed_on() -> None:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        process.run(python("import time; time.sleep(60)"))


def test_a_program_that_is_not_there_is_an_environment_problem() -> None:
    with pytest.raises(EnvironmentProblem, match="no-such-program"):
        process.run(["no-such-program"])


def test_a_flood_of_output_does_not_fill_memory() -> None:
    done = process.run(python("for _ in range(100_000): print('x' * 100)"))
    assert len(done.stdout) < process.CAPTURE_LIMIT + 200


def _wait_until_gone(pid: int) -> None:
    for _ in range(100):
        os.kill(pid, 0)
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            raise ProcessLookupError
        time.sleep(0.05)


def test_an_error_of_the_watcher_ends_the_group_at_once(tmp_path: Path) -> None:
    def complain() -> bool:
        raise ValueError("too much")

    started = time.monotonic()
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    with pytest.raises(ValueError, match="too much"):
        process.run(python(code), is_stuck=complain)
    assert time.monotonic() - started < 2.0


def test_a_line_without_an_end_arrives_in_pieces() -> None:
    lines: list[str] = []
    done = process.run(python(f"print('x' * {3 * process.LINE_LIMIT})"), on_line=lines.append)
    assert [len(line) for line in lines][:3] == [process.LINE_LIMIT] * 3
    assert len(done.stdout) <= process.CAPTURE_LIMIT
