"""What compute-sanitizer found, in words: what is wrong, at which line, in which kernel, by which thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.render.escape import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ncu_assist.harness.sanitizer import CodePlace, Sanitized, SanitizerFinding

LETTERS = 60  # of a name that a source chose
MOST_TOLD = 3  # findings of one tool in one sentence


def finding_words(one: SanitizerFinding) -> str:
    """Return a finding as a sentence: ``out of bounds at v2.cu:14: read of 4 bytes, … (in f, thread …)``."""
    places = " and ".join(_place(place) for place in (one.place, one.other) if place is not None)
    access = f": {one_line(one.access, 2 * LETTERS)}" if one.access else ""
    kernel = one.called_at or one.place
    where = [f"in {one_line(kernel.kernel, LETTERS)}"] if kernel.kernel else []
    where += [f"by way of {_place(one.called_at)}"] if one.called_at else []
    where += [f"thread {_numbers(one.thread)}"] if one.thread else []
    where += [f"block {_numbers(one.block)}"] if one.block else []
    where += [f"{one.count:,} times"] if one.count > 1 else []
    return f"{one_line(one.words, 200)}{f' at {places}' if places else ''}{access}" + (
        f" ({', '.join(where)})" if where else ""
    )


def result_words(result: Sanitized) -> str:
    """Return what a tool found in a version, or why it has no result; empty where it found nothing."""
    if result.findings:
        told = "; ".join(finding_words(one) for one in result.findings[:MOST_TOLD])
        rest = len(result.findings) - MOST_TOLD
        told += f"; and {rest} more" if rest > 0 else ""
        told += f"; {result.unprinted:,} messages more were not printed" if result.unprinted else ""
        return f"{result.tool}: {told}"
    return f"{result.tool}: no result: {one_line(result.problem, 500)}" if result.problem else ""


def clean_words(results: Sequence[Sanitized]) -> str:
    """Return which tools found nothing, where and after how long; empty where none did."""
    clean = [one for one in results if not one.findings and not one.problem]
    if not clean:
        return ""
    workloads = dict.fromkeys(name for one in clean for name in one.workloads)
    tools, seconds = dict.fromkeys(one.tool for one in clean), sum(one.seconds for one in clean)
    return f"{', '.join(tools)}: nothing found on {', '.join(map(one_line, workloads))} ({seconds:.0f} s)"


def _place(place: CodePlace) -> str:
    if not place.file:
        return one_line(place.kernel, LETTERS)
    return f"{one_line(place.file, LETTERS)}:{place.line}"


def _numbers(numbers: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"
