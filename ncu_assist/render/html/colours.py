"""Source lines with the colours of their language, by Pygments: CUDA, C++ and Python; other files stay plain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import PurePath

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from ncu_assist.render.escape import plain

# What is coloured, the most special first, and the class of style.css.
KINDS: tuple[tuple[_TokenType, str], ...] = (
    (Comment.Preproc, "kp"), (Comment, "kc"), (String, "ks"), (Number, "kn"), (Keyword, "kw"), (Name.Builtin, "kw"),
    (Name.Decorator, "kp"),
)  # fmt: skip
C_LIKE = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".c", ".cc", ".cpp", ".cxx", ".inc")
MOST_LETTERS = 100_000  # of lines that are coloured together: Pygments reads 1 MB in about 2 s


def coloured(file: str, lines: Sequence[str]) -> tuple[Markup, ...]:
    """Return lines of a file, which follow one another, as HTML; without colours where the language is not known."""
    suffix = PurePath(file).suffix.lower()
    if suffix not in (*C_LIKE, ".py") or sum(map(len, lines)) > MOST_LETTERS:
        return tuple(map(_plain, lines))
    return _coloured(suffix == ".py", tuple(lines))


@lru_cache(maxsize=256)
def _coloured(is_python: bool, lines: tuple[str, ...]) -> tuple[Markup, ...]:
    """Return lines with colours. Launches of one kernel show the same ones."""
    flat = "\n".join(line.translate(LINE_ENDS) for line in lines)
    made: list[list[str]] = [[]]
    kinds = ((_class(kind), text) for kind, text in _lexer(is_python).get_tokens(flat))
    for name, tokens in groupby(kinds, key=lambda one: one[0]):
        for place, piece in enumerate("".join(text for _, text in tokens).split("\n")):
            if place:
                made.append([])
            if piece:
                shown = str(_plain(piece))
                made[-1].append(f"<i class={name}>{shown}</i>" if name and piece.strip() else shown)
    found = tuple(Markup("".join(pieces)) for pieces in made[: len(lines)])
    return found if len(found) == len(lines) else tuple(map(_plain, lines))


# What Python takes for the end of a line and a compiler does not, and the lexer's own ends of lines.
LINE_ENDS = {ord(letter): " " for letter in "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"}


@lru_cache
def _lexer(is_python: bool) -> Lexer:
    return (PythonLexer if is_python else CudaLexer)(stripnl=False, ensurenl=False)


@lru_cache
def _class(kind: _TokenType) -> str:
    return next((name for of, name in KINDS if kind in of), "")


def _plain(text: str) -> Markup:
    return escape(plain(text))
