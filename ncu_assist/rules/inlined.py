"""The user's own line of each instruction: one from a library's file goes to the line that called it.

ncu names the innermost file of inlined code and not its caller. The cubin knows all of them where nvcc made it, and
then the innermost own line is taken. A cubin of Triton's names lines, but no callers, neither in its line table nor in
the PTX that it keeps: there it is the line that most likely calls.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from ncu_assist.ncu.code import Code
from ncu_assist.rules.likely_caller import Body, Line

if TYPE_CHECKING:
    import pandas as pd

# Where CUDA, compilers and packages keep their files; those that ncu imported may be among them.
LIBRARY = re.compile(
    r"/cuda[^/]*/(?:.*/)?include/|/targets/[^/]+/include/|/usr/(?:local/)?include/|/c\+\+/|/cutlass/include/"
    r"|/(?:site|dist)-packages/|/triton/language/|/torch/_inductor/"
    r"|(?:^|/)(?:triton_helpers|standard)\.py$"  # Triton's, also where folders were made unreadable
)


def own_lines(code: Code) -> pd.DataFrame:
    """Return the instructions with their own line in ``file`` and ``line``; as they are where none is the user's.

    ``is_guess`` tells where that is the line that most likely calls them, as the report does not say which does.
    """
    sass = code.sass
    files = sass["file"].astype(object)
    lines = _known_lines(code)
    is_guess = [line is None for line in lines]
    if all(is_guess) or not any(is_guess):
        found = sass.assign(file=files, is_guess=False)
        return found if all(is_guess) else _with_lines(found, lines)
    texts, names = sass["sass"].astype(str).tolist(), [str(file) for file in files]
    known: dict[Hashable, list[Line | None]] = {}  # launches of one kernel have the same code
    for rows in _bodies(sass):
        body = tuple(texts[row] for row in rows), tuple(lines[row] for row in rows), tuple(names[row] for row in rows)
        if body not in known:
            known[body] = Body(*body, code).lines()
        for row, line in zip(rows, known[body], strict=True):
            lines[row] = line
    return _with_lines(sass.assign(is_guess=is_guess), lines)


def _known_lines(code: Code) -> list[Line | None]:
    """Return the innermost own line that each instruction is known to come from, None where none is."""
    imported = {file for file, _ in code.texts}
    sass = code.sass

    @functools.cache
    def is_own(file: str) -> bool:
        return not LIBRARY.search(file) and (file in imported or not imported)

    @functools.cache
    def of(chain: tuple[Line, ...]) -> Line | None:
        return next((line for line in chain if is_own(line[0])), None)

    chains = sass["chain"] if "chain" in sass else [None] * len(sass)
    lines = zip(chains, sass["file"].astype(object), sass["line"].fillna(0), strict=True)
    return [of(chain or ((str(file), int(line)),)) if chain or line else None for chain, file, line in lines]


def _with_lines(sass: pd.DataFrame, lines: Sequence[Line | None]) -> pd.DataFrame:
    import pandas as pd

    columns = ([line[place] if line else None for line in lines] for place in (0, 1))
    made = (pd.Series(column, dtype=object, index=sass.index) for column in columns)
    return sass.assign(**dict(zip(("file", "line"), made, strict=True)))


def _bodies(sass: pd.DataFrame) -> Iterator[list[int]]:
    """Yield the rows of each function of each launch."""
    groups: dict[tuple[int, str], list[int]] = {}
    for row, key in enumerate(zip(sass["launch"], sass["kernel"].astype(str), strict=True)):
        groups.setdefault(key, []).append(row)
    yield from groups.values()
