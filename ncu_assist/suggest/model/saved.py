"""Reads a reply that was saved from any chat window; nothing is asked of any model."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import BinaryIO

from ncu_assist.errors import UsageProblem

LARGEST_BYTES = 1_000_000  # a kernel's file is tens of thousands
STDIN = "-"
SAVE_AGAIN = "save the reply as plain text in UTF-8"
MARKS = (  # the longer ones first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def saved_reply(path: Path | str, stdin: BinaryIO | None = None) -> str:
    """Return the text of the reply in the file ``path``, or of standard input for ``-``.

    Raises UsageProblem for a file that cannot be read, is empty, too large, or no text.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    content = _content(path, stdin)
    if len(content) > LARGEST_BYTES:
        raise UsageProblem(f"{name} is larger than {LARGEST_BYTES:,} bytes: no reply is that long", SAVE_AGAIN)
    text = _decoded(content, name)
    if not text.strip():
        raise UsageProblem(f"{name} is empty: there is no reply in it", SAVE_AGAIN)
    return text


def _content(path: Path | str, stdin: BinaryIO | None) -> bytes:
    if str(path) == STDIN:
        return (stdin or sys.stdin.buffer).read(LARGEST_BYTES + 1)
    try:
        with Path(path).open("rb") as stream:
            return stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageProblem(
            f"the reply {path} cannot be read: {error.strerror}", "--reply with a file that exists"
        ) from None


def _decoded(content: bytes, name: str) -> str:
    encoding = next((encoding for mark, encoding in MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        words = f"{name} is not text in {encoding}: byte {error.start} cannot be read"
        raise UsageProblem(words, SAVE_AGAIN) from None
    if "\0" in text:
        raise UsageProblem(f"{name} is not text: it holds zero bytes", SAVE_AGAIN)
    return text
