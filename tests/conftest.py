"""Fixtures that many tests share, and the rule that a promised tool may not be skipped."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browser import browser as browser
from requirements import promised

ROOT = Path(__file__).parent.parent
AT_THE_END = pytest.StashKey[list[str]]()
SKIPS_THAT_REMAIN = ("shared", "public report")  # folders that a clone does not carry


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what tests found out beside passing, whatever the verbosity."""
    for line in config.stash.get(AT_THE_END, []):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def at_the_end(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Keeps a line that is printed when all tests are done."""
    return pytestconfig.stash.setdefault(AT_THE_END, []).append
