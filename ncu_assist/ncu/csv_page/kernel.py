"""The function name inside a demangled signature."""

from __future__ import annotations

import re

BRACKET = re.compile(r"[<>()\[\]{}]")
OPENING = {">": "<", ")": "(", "]": "[", "}": "{"}


def function_name(signature: str) -> str:
    """Return the name without return type, namespaces, template arguments and parameters.

    ``void ops::scale<float, 2>(T1 *, int)`` is ``scale``. A text that is no signature is its own name, so that a name
    printed without parameters, of a Triton kernel for instance, comes back as it is.
    """
    words = _outside_brackets(signature).removesuffix(" const").split()
    return (words[-1].rpartition("::")[2] if words else "") or signature


def _outside_brackets(text: str) -> str:
    """Return what stands outside all brackets, up to the parameter list."""
    kept, open_brackets, at = [], [""], 0
    for found in BRACKET.finditer(text):
        sign = found.group()
        if len(open_brackets) == 1:
            kept.append(text[at : found.start()])
        if sign not in OPENING:
            open_brackets.append(sign)
        elif sign != ">" or open_brackets[-1] == "<":  # the > of -> or of a comparison closes nothing
            _close(open_brackets, OPENING[sign])
        at = found.end()
    kept.append(text[at:] if len(open_brackets) == 1 else "")
    return "".join(kept)


def _close(open_brackets: list[str], opening: str) -> None:
    """Drop the innermost bracket of this kind and what was left open inside it: a < that only compares."""
    if opening in open_brackets:
        while open_brackets.pop() != opening:
            pass
