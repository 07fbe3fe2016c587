"""Which files a CUDA source includes that are no headers of a library: as text, however the directive is written."""

from __future__ import annotations

import re

from ncu_assist.suggest.reply.launcher_text import without_comments

# A line that goes on, digraphs, what GCC and clang know beside ISO's words. Trigraphs are off in nvcc's dialects.
_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_DIRECTIVE = re.compile(r"(?:#|%:)[ \t\v\f]*(?:include_next|include|import|embed)\b[ \t\v\f]*([^\n]*)")
_OPERAND = re.compile(r'"[^"]*"?|<[^>]*>?|\S*')
_OF_A_LIBRARY = re.compile(r"<(?!/)(?!.*\.\.)[\w./+-]+>")
_ANY_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)


def private_includes(source: str) -> set[str]:
    """Return what a source includes in quotes, by a path from the root or upwards, or by the name of a macro.

    By such a name the compiler's words could show a model any file that the compiler can read. Comments are read as
    such and not: what is one within a string is not told apart everywhere. A help, as ``check_entry_point`` is.
    """
    joined = _CONTINUED.sub("", source)
    readings = (joined, without_comments(joined), _ANY_COMMENT.sub(" ", joined))
    named = (_OPERAND.match(rest) for text in readings for rest in _DIRECTIVE.findall(text))
    return {one[0] for one in named if one and not _OF_A_LIBRARY.fullmatch(one[0])}
