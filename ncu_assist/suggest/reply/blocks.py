"""Code in a reply beside its JSON: fenced blocks, and blocks of SEARCH and REPLACE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ncu_assist.suggest.reply.records import Edit, UnusableReply

LANGUAGES = ("", "cuda", "cu", "cuh", "c", "cpp", "c++", "cxx", "cc", "python", "py", "python3", "triton")
_FENCE = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})[ \t]*(?P<word>[^\s`]*)[^\n`]*$")
_MARKS = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
_FORM = f"an edit is a line '{_MARKS[0]}', the old lines, '{_MARKS[1]}', the new lines, '{_MARKS[2]}'"


@dataclass(frozen=True)
class Code:
    """The code of a reply: whole files, one each block, and edits."""

    sources: tuple[str, ...]
    edits: tuple[Edit, ...]


def code_of(text: str) -> Code:
    """Return the code in a reply's text; raises UnusableReply for a block that is not closed.

    A block is code where its language is one of ours or is not named; its content is never looked into but for edits.
    """
    edits, rest = _edits(text)
    sources = tuple(content for word, content in _blocks(rest) if word.lower() in LANGUAGES and content.strip())
    return Code(sources, tuple(edits))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and content of the fenced blocks; as in Markdown, only a fence as long as the first closes it."""
    ticks, word = "", ""
    lines: list[str] = []
    for line in text.split("\n"):
        fence = _FENCE.match(line.rstrip("\r"))
        if not ticks:
            if fence:
                ticks, word, lines = fence["ticks"], fence["word"], []
        elif fence and not fence["word"] and fence["ticks"].startswith(ticks):
            yield word, "".join(f"{one}\n" for one in lines)
            ticks = ""
        else:
            lines.append(line)
    if ticks and "".join(lines).strip():
        raise UnusableReply("its last block of code is not closed, so the reply was cut off")


def _edits(text: str) -> tuple[list[Edit], str]:
    """Return the edits of a text, and the text without them."""
    edits: list[Edit] = []
    rest: list[str] = []
    state = -1
    parts: tuple[list[str], list[str]] = ([], [])
    for line in text.split("\n"):
        mark = next((place for place, one in enumerate(_MARKS) if line.rstrip() == one), None)
        if mark is None or (mark == 1 and state != 0):
            (rest if state < 0 else parts[state]).append(line)
        elif mark != state + 1:
            raise UnusableReply(f"its edits are not in the form asked for: {_FORM}")
        elif mark < 2:
            state, parts = mark, parts if mark else ([], [])
        else:
            edits.append(Edit(*("".join(f"{one}\n" for one in part) for part in parts)))
            state = -1
    if state >= 0:
        raise UnusableReply("its last edit is not closed, so the reply was cut off")
    return edits, "\n".join(rest)
