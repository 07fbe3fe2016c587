"""What every child process does around its work: it can be interrupted, and tells the parent what went wrong."""

from __future__ import annotations

import signal
from collections.abc import Callable

from ncu_assist.errors import NcuAssistError
from ncu_assist.harness import events
from ncu_assist.harness.events import Event

CONTEXT_LOST = 5  # the exit code of a child whose GPU answers no more


def exit_code_of(work: Callable[[], int]) -> int:
    """Do the work and return the exit code: its own, or the one of the error that was reported."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a call that hangs in C never gets back to Python to be interrupted
    try:
        return work()
    except NcuAssistError as error:
        events.emit(Event("problem", text=error.message, hint=error.hint, exit_code=error.exit_code))
        return error.exit_code
