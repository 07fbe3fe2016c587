"""Pieces of a reply -> the reply: its text, shown as it comes and cut where it grows too long, and why it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field

from ncu_assist.suggest.model.clock import Clock
from ncu_assist.suggest.model.events import objects, too_long
from ncu_assist.suggest.model.failures import Dropped
from ncu_assist.suggest.model.line import Line
from ncu_assist.suggest.model.pieces import Piece, piece
from ncu_assist.suggest.model.receiving import Opening, received
from ncu_assist.suggest.model.secret import Scrubber

Show = Callable[[str], None]


@dataclass
class Gathered:
    """A reply while it comes. ``thought`` counts the characters of reasoning, which are not kept."""

    show: Show
    scrubber: Scrubber
    limit: int
    thought: int = 0
    finish: str = ""
    refusal: str = ""
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    _texts: list[str] = field(default_factory=list)
    _characters: int = 0

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def characters(self) -> int:
        """What the model wrote in all, thoughts included."""
        return self._characters + self.thought

    def add(self, found: Piece) -> None:
        """Take one piece. Raises ModelProblem when the reply has grown beyond its limit."""
        self.thought += len(found.thought)
        self.refusal += found.refusal
        self._characters += len(found.text) + len(found.refusal)
        if self.characters > self.limit:
            raise too_long(self.limit)
        self._say(self.scrubber.feed(found.text))
        self.finish = self.finish or found.finish  # the end mark of the stream comes after the reason
        self.prompt_tokens = self.prompt_tokens if found.prompt_tokens is None else found.prompt_tokens
        self.reply_tokens = self.reply_tokens if found.reply_tokens is None else found.reply_tokens

    def end(self) -> None:
        """Take note that no more comes. Raises Dropped where the reply has not said that it is at its end."""
        self._say(self.scrubber.rest())
        if not self.finish:
            raise Dropped("the reply ended before its end")

    def _say(self, text: str) -> None:
        if text:
            self._texts.append(text)
            self.show(text)


def gather(line: Line, opening: Opening, clock: Clock, gathered: Gathered) -> None:
    """Put a question and add what comes back to ``gathered``, to its end.

    Raises what ``received``, ``objects`` and ``piece`` raise; what had come by then is in ``gathered``.
    """
    clock.call()
    with closing(received(line, opening, clock)) as chunks:
        _add_all((piece(found) for found in objects(chunks, gathered.limit, line.scrubber.whole)), clock, gathered)
    gathered.end()


def _add_all(pieces: Iterable[Piece], clock: Clock, gathered: Gathered) -> None:
    for found in pieces:
        if found.text or found.thought or found.refusal:
            clock.spoken()
        gathered.add(found)
