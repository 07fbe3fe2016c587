"""What a sandboxed process told and how it ended: whether the draft is to blame, or what is around it."""

from __future__ import annotations

from collections.abc import Callable

from ncu_assist.errors import NcuAssistError, StageFailed
from ncu_assist.harness.client import ERRORS, STDERR_TAIL, Watch, what_happened
from ncu_assist.harness.events import Event, parse
from ncu_assist.harness.exam.sealing import TRIPPED
from ncu_assist.harness.results import VersionFailure
from ncu_assist.process import Completed

WORDS_LIMIT = 2_200  # letters of what a draft says; an exception of an honest one is cut at 2,000
NAME_LIMIT = 120  # letters of a name that a draft may have made up


class Story:
    """Of the events of a sandboxed process those that matter afterwards, however many there are."""

    def __init__(self, draft: str, on_event: Callable[[Event], None] = lambda event: None) -> None:
        self.draft, self.draft_was_loaded, self.tripped = draft, False, False
        self._on_event = on_event

    def line(self, line: str) -> None:
        """Take one line of the process's stdout."""
        event = parse(line)
        if event is not None:
            self.tell(event)

    def tell(self, event: Event) -> None:
        """Take an event and pass it on."""
        if (event.event, event.stage, event.version) == ("begin", "load", self.draft):
            self.draft_was_loaded = True
        self.tripped = self.tripped or (event.event, event.stage) == ("failed", TRIPPED)
        self._on_event(event)


def blame(completed: Completed, watch: Watch, story: Story) -> VersionFailure | None:
    """Return how the draft failed where its process did not end well, None where it did.

    Whatever is told after the draft was loaded, the draft may have told. Raises what the process reported before.
    """
    if completed.exit_code == 0 and not completed.timed_out:
        return None
    happened = _happened(completed, watch)
    if story.draft_was_loaded:
        last = watch.fatal or watch.current
        told = watch.fatal or watch.problem
        words = shortened(told.text if told and told.text else happened)
        stage, workload = (last.stage, last.workload) if last else ("exam", "")
        return VersionFailure(story.draft, shortened(stage, NAME_LIMIT), shortened(workload, NAME_LIMIT), words, True)
    if watch.problem is not None:
        raise ERRORS.get(watch.problem.exit_code, NcuAssistError)(watch.problem.text, watch.problem.hint)
    words = completed.stderr[-STDERR_TAIL:].strip()
    raise StageFailed(f"the sandboxed process {happened}\n{words}".rstrip(), "ncu-assist doctor")


def _happened(completed: Completed, watch: Watch) -> str:
    """Return how a process ended; one that was told to end while it still talked was not silent, but too slow."""
    if completed.timed_out and not watch.is_stuck():
        return f"was not done after {completed.seconds:.0f} s and was ended"
    return what_happened(completed, watch.limit_s)


def shortened(text: str, limit: int = WORDS_LIMIT) -> str:
    """Return text that a draft may have written, at most so long: it goes into records, tables and prompts."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
