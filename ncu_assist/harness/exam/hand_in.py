"""Handing in answers: outputs as files of raw bytes, and a line on each. Runs in the sandbox."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ncu_assist.harness.exam import raw
from ncu_assist.harness.exam.paper import ANSWERS, Answer, answer_file
from ncu_assist.harness.problem import Tensors


class HandIn:
    """The folder that answers go to."""

    def __init__(self, out: Path) -> None:
        self._out = out

    def outputs(self, version: str, question: int, results: Tensors, again: bool = False) -> None:
        """Write the outputs of a call."""
        for place, result in enumerate(results):
            raw.write(result, self._out / answer_file(version, question, place, again))

    def line(self, answer: Answer) -> None:
        """Write what is to be said of a call; it is answered then."""
        with (self._out / ANSWERS).open("ab") as file:
            file.write(msgspec.json.encode(answer) + b"\n")
