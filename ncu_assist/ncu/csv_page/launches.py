"""A launch from the cells of its row: the function's name in its signature, its sizes and its NVTX ranges.

A cell of ranges is ``3165  ""<default domain>:step 1:none:none:none:none:none:none""  ""…"" ``: ncu doubles the quotes
around each range but escapes nothing inside it, neither quotes nor colons, so a cell is taken apart by what stands
between the ranges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.contents import LaunchFacts
from ncu_assist.ncu.csv_page.text import AGAIN, BLOCK, GRID, KERNEL, PUSH_POP, START_END, dimensions

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
            opening = OPENING[sign]  # the innermost of this kind closes, and with it a < inside that only compared
            while opening in open_brackets and open_brackets.pop() != opening:
                pass
        at = found.end()
    kept.append(text[at:] if len(open_brackets) == 1 else "")
    return "".join(kept)


DEFAULT_DOMAIN = "<default domain>"
BETWEEN = re.compile(r'""\s+(?:\d+\s+)?""')  # the number of a second thread may stand between two ranges
EDGES = re.compile(r'\s*(?:\d+\s+)?""(.*)""\s*', re.DOTALL)
RANGE_ID = re.compile(r"\d+:")
ATTRIBUTES = 6  # after domain and name: payload type and value, colour type and colour, message type and message
PLAIN = ":none" * ATTRIBUTES


@dataclass(frozen=True)
class Range:
    """One NVTX range around a launch."""

    domain: str
    name: str

    def __str__(self) -> str:
        """Return the name, behind its domain unless that is the default one."""
        return self.name if self.domain == DEFAULT_DOMAIN else f"{self.domain}:{self.name}"


def push_pop_ranges(cell: str) -> tuple[Range, ...]:
    """Return the ranges of a push/pop cell, outermost first; raises ValueError when it is none."""
    return tuple(_range(entry) for entry in _entries(cell))


def start_end_ranges(cell: str) -> tuple[Range, ...]:
    """Return the ranges of a start/end cell, where each begins with its number; raises ValueError when it is none."""
    return tuple(_range(RANGE_ID.sub("", entry, count=1)) for entry in _entries(cell))


def _entries(cell: str) -> list[str]:
    if not cell.strip():
        return []
    inside = EDGES.fullmatch(cell)
    if inside is None:
        raise ValueError("no NVTX ranges")
    return BETWEEN.split(inside.group(1))


def _range(entry: str) -> Range:
    """Return the range of 'domain:name:…'. A domain with a colon cannot be told from its range: it ends there."""
    domain, _, rest = entry.partition(":")
    if rest.count(":") < ATTRIBUTES:
        raise ValueError("an NVTX range without its attributes")
    return Range(domain, _name(rest))


def _name(rest: str) -> str:
    if rest.endswith(PLAIN):
        return rest[: -len(PLAIN)]
    # A range pushed with a message has it twice, as its name and last: both with the same number of colons.
    parts = rest.split(":")
    size = (len(parts) - ATTRIBUTES + 1) // 2
    name, message = ":".join(parts[:size]), ":".join(parts[-size:])
    return name if name == message else rest.rsplit(":", ATTRIBUTES)[0]


WHOLE = re.compile("[0-9]{1,19}")
MANGLED = "_Z"  # how a name starts that --print-kernel-base mangled printed
_function_name = lru_cache(maxsize=1024)(function_name)


def launch_of(facts: Mapping[str, str], names: int, texts: dict[int, int], file: str) -> LaunchFacts:
    """Return the launch that these cells, by column, describe; ``names`` and ``texts`` as in LaunchFacts."""
    signature = facts[KERNEL]
    pushed, started = _ranges(facts, file)
    return LaunchFacts(
        kernel=_function_name(signature),
        signature=signature,
        mangled=signature if signature.startswith(MANGLED) else "",
        grid=dimensions(facts[GRID]),
        block=dimensions(facts[BLOCK]),
        process=_whole(facts.get("Process ID")),
        context=_whole(facts.get("Context")),
        stream=_whole(facts.get("Stream")),
        ranges=tuple(each.name for each in pushed if each.domain == DEFAULT_DOMAIN),
        domain_ranges=tuple(str(each) for each in pushed if each.domain != DEFAULT_DOMAIN),
        start_end_ranges=tuple(str(each) for each in started),
        names=names,
        texts=texts,
    )


def _ranges(facts: Mapping[str, str], file: str) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    try:
        return push_pop_ranges(facts.get(PUSH_POP, "")), start_end_ranges(facts.get(START_END, ""))
    except ValueError as error:
        raise DamagedData(
            f"{file} is damaged: the NVTX ranges of launch {facts['ID']} cannot be read", AGAIN
        ) from error


def _whole(cell: str | None) -> int | None:
    return int(cell) if cell and WHOLE.fullmatch(cell) else None
