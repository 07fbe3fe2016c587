"""A launch from the cells of its row: who it is, its sizes and its NVTX ranges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.contents import LaunchFacts
from ncu_assist.ncu.csv_page.kernel import function_name
from ncu_assist.ncu.csv_page.ranges import DEFAULT_DOMAIN, Range, push_pop_ranges, start_end_ranges
from ncu_assist.ncu.csv_page.rows import BLOCK, GRID, KERNEL, PUSH_POP, START_END, dimensions
from ncu_assist.ncu.csv_page.text import AGAIN

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
