"""The versions of an exam, built while the process that answers starts, and delivered to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import StageFailed
from ncu_assist.harness.exam.plan import Plan


class NotBuilt(StageFailed):
    """A version does not compile; ``outcomes`` has the words of the compiler."""

    def __init__(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        lacking = [name for name, outcome in outcomes.items() if outcome.artifact is None]
        super().__init__(f"{' and '.join(lacking)} does not build")
        self.outcomes = dict(outcomes)


class Delivery:
    """A context manager around a build in a thread of its own; on leaving it the build has ended."""

    def __init__(self, plan: Plan, build: Callable[[], Mapping[str, BuildOutcome]]) -> None:
        self._plan, self._build = plan, build
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Delivery:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._thread.join()

    @property
    def failed(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._error is not None

    def check(self) -> None:
        """Raise what kept the versions from being delivered."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            outcomes = self._build()
            if any(outcome.artifact is None for outcome in outcomes.values()):
                raise NotBuilt(outcomes)
            self._plan.deliver(outcomes)
        except BaseException as error:
            self._error = error
