"""Fixtures that many tests share, and the rule that a promised tool may not be skipped."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # what records the archive is tested, too

from browser import browser as browser
from read_once import reports_read_once as reports_read_once
from requirements import promised

ROOT = Path(__file__).parent.parent
AT_THE_END = pytest.StashKey[list[str]]()
# Folders that a clone does not carry, and a program of npm, which not every machine has.
SKIPS_THAT_REMAIN = ("shared", "public report", "needs the inspector")

# The same examples in every run, however long one takes: no test fails by how fast the machine is.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """Turn a skip into a failure where the environment promised every tool."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and promised():
        reason = str(report.longrepr)
        if not any(word in reason for word in SKIPS_THAT_REMAIN):
            report.outcome = "failed"
            report.longrepr = f"skipped although NCU_ASSIST_REQUIRE=all: {reason}"


@pytest.fixture
def repository() -> Path:
    """The root of this repository."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Workers of one run do not wait for each other's turn at a GPU, which none of them has."""
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            folder = tmp_path_factory.mktemp("locks")
            patch.setattr("ncu_assist.executors.local.lock_folder", lambda: folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_last_error(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The last error of whoever runs the tests, which `bug-report` sends, is not that of a test."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))  # which children obey too
        yield


@pytest.fixture(autouse=True)
def heard_ctrl_c() -> Iterator[None]:
    """Every test hears SIGINT, and its children do: neither a shell's background nor a test before takes it away."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what a worker found out to the process that writes the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["at_the_end"] = session.config.stash.get(AT_THE_END, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker found out."""
    node.config.stash.setdefault(AT_THE_END, []).extend(getattr(node, "workeroutput", {}).get("at_the_end", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what tests found out beside passing, whatever the verbosity."""
    for line in config.stash.get(AT_THE_END, []):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def at_the_end(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Keeps a line that is printed when all tests are done."""
    return pytestconfig.stash.setdefault(AT_THE_END, []).append
