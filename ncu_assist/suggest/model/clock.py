"""How long one answer may still take, and the words for when it took too long."""

from __future__ import annotations

import time

from ncu_assist.errors import ModelProblem
from ncu_assist.suggest.model.records import Limits

MORE_TIME = "ask again later, or a faster model with --model"


class Clock:
    """The time limits of one answer, all its retries and waits included."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._start = time.monotonic()
        self._spoken = False

    def elapsed(self) -> float:
        """Return the seconds since the question was put."""
        return time.monotonic() - self._start

    def left(self) -> float:
        """Return the seconds that remain of the whole."""
        return self.limits.whole_s - self.elapsed()

    def call(self) -> None:
        """Begin another request: its first word is waited for anew."""
        self._spoken = False

    def spoken(self) -> None:
        """Take note that the reply has begun."""
        self._spoken = True

    def patience(self) -> float:
        """Return how long to wait for the next sign of life, in seconds, 0 or less when time is up."""
        return min(self.left(), self.limits.silence_s if self._spoken else self.limits.first_s)

    def overdue(self) -> ModelProblem:
        """Return what to say once patience is at its end."""
        if self.left() <= 0:
            return ModelProblem(f"the model took longer than the {self.limits.whole_s:g} s allowed", MORE_TIME)
        if self._spoken:
            silence = self.limits.silence_s
            return ModelProblem(f"the model fell silent in the middle of its reply, for {silence:g} s", MORE_TIME)
        return ModelProblem(f"the model said nothing for {self.limits.first_s:g} s", MORE_TIME)
