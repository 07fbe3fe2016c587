"""The line of an inline assembly statement with its instruction, which often stands on the lines below."""

from __future__ import annotations

import re
from collections.abc import Sequence

ASSEMBLY = re.compile(r"\basm\b(?:\s+(?:volatile|goto|inline))*\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
MOST_LINES = 8  # below the statement, among which its instruction stands
INSTRUCTION = re.compile(r"[@\s{]*(?:\.reg[^;]*;\s*)*([a-z][\w.:]+)")


def with_instruction(lines: Sequence[str], number: int) -> str:
    """Return the text of a line, from 1; behind that of an assembly statement the first instruction of a later line.

    As it is where the instruction stands in it, or in none of the lines below. Empty for a line that is not there.
    """
    if not 0 < number <= len(lines):
        return ""
    text = lines[number - 1]
    found = ASSEMBLY.search(text)
    if found is None or _instruction(text[found.end() :]):
        return text
    for later in lines[number : number + MOST_LINES]:
        if instruction := _instruction(later):
            return f"{text.rstrip()} {instruction}"
        if ";" in LITERAL.sub("", later):
            break
    return text


def _instruction(text: str) -> str:
    """Return the first literal of a line that names an instruction, without its line ends; empty for none."""
    for literal in LITERAL.findall(text):
        words = str(literal).replace("\\n", " ").replace("\\t", " ").strip()
        if INSTRUCTION.match(words) and ("." in words or ";" in words):  # no constraint, such as "memory"
            return f'"{" ".join(words.split())}"'
    return ""
