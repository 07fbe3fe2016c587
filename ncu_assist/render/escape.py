"""Text from outside, such as kernel names and sources, made harmless for a terminal."""

from __future__ import annotations

import unicodedata

from ncu_assist.errors import cut

HARMLESS = "\n\t"
INVISIBLE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")  # controls, direction overrides, private and lone surrogates


def plain(text: str) -> str:
    """Return ``text`` with every character that steers a terminal or cannot be seen spelled out, as ``\\x1b``."""
    text = readable(text)
    if text.replace("\n", "").replace("\t", "").isprintable():  # nearly every text, and some are long
        return text
    return "".join(c if c in HARMLESS or unicodedata.category(c) not in INVISIBLE else _spelled(c) for c in text)


def readable(text: str) -> str:
    """Return ``text`` with the bytes of a file's name that Python could not read in this locale read as UTF-8."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return text


def one_line(text: str, limit: int = 200) -> str:
    """Return ``text`` made harmless, on one line, cut with an ellipsis after ``limit`` characters."""
    return cut(" ".join(plain(text).split()), limit)


def whole_clauses(text: str, limit: int) -> str:
    """Return ``text`` as ``one_line`` does, of a longer one whole clauses: half of one may say the opposite.

    Clauses end with a semicolon. Only where the first is too long is it cut.
    """
    line = one_line(text, len(text) + limit)
    end = line.rfind("; ", 0, limit)
    return one_line(text, limit) if len(line) <= limit or end < 0 else f"{line[:end]} …"


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
