"""A line of an inline assembly statement with its instruction, which often stands on another of its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

ASSEMBLY = re.compile(r"\basm\b(?:\s+(?:volatile|goto|inline))*\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
MOST_LINES = 8  # below the statement, among which its instruction stands
INSTRUCTION = re.compile(r"[@\s{]*(?:\.reg[^;]*;\s*)*([a-z][\w.:]+)")


def with_instruction(lines: Sequence[str], number: int) -> str:
    """Return the text of a line, from 1; of one in a statement of inline assembly with the statement's instruction.

    Behind the line that begins the statement stands the first instruction of a later line; before a line further down,
    to which compilers book the statement, stands ``asm`` with its instruction. As it is where the instruction stands in
    it, or in none of the lines. Empty for a line that is not there.
    """
    if not 0 < number <= len(lines):
        return ""
    text = lines[number - 1]
    found = ASSEMBLY.search(text)
    if found is None:
        return _of_statement_above(lines, number)
    if _instruction(text[found.end() :]):
        return text
    for later in lines[number : number + MOST_LINES]:
        if instruction := _instruction(later):
            return f"{text.rstrip()} {instruction}"
        if ";" in LITERAL.sub("", later):
            break
    return text


def _of_statement_above(lines: Sequence[str], number: int) -> str:
    """Return a line, with the instruction of the statement that began above and goes on to it before it."""
    text = lines[number - 1]
    if _instruction(text):
        return text
    for start in range(number - 2, max(-1, number - 2 - MOST_LINES), -1):
        if found := ASSEMBLY.search(lines[start]):
            between = [lines[start][found.end() :], *lines[start + 1 : number - 1]]
            bare = LITERAL.sub("", "".join(between))
            instruction = next(filter(None, map(_instruction, between)), "")
            is_open = 1 + bare.count("(") - bare.count(")") > 0
            return f"asm {instruction} {text.strip()}" if is_open and instruction else text
    return text


def _instruction(text: str) -> str:
    """Return the first literal of a line that names an instruction, without its line ends; empty for none."""
    for literal in LITERAL.findall(text):
        words = str(literal).replace("\\n", " ").replace("\\t", " ").strip()
        if INSTRUCTION.match(words) and ("." in words or ";" in words):  # no constraint, such as "memory"
            return f'"{" ".join(words.split())}"'
    return ""
