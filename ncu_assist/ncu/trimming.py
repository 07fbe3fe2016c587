"""A report without the machine code of kernels that were not launched.

A launch brings the whole cubin of its kernel, and those of a library hold hundreds of kernels: of a report of four
launches, thirty of thirty-five megabytes. Zeros take their place, so that every offset in the file still holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from ncu_assist.ncu import report_file, wire
from ncu_assist.ncu.cubin.elf import Elf

MANGLED = 5  # field of a launch: its kernel's name in the cubin
CODE, PARAMETERS = ".text.", ".nv.constant0."  # sections of a kernel; a function that kernels call has no parameters


def trimmed(data: bytes) -> bytes:
    """Return the report with zeros for the code of kernels without a launch; raises DamagedData for one that is none.

    Whatever names no kernel, as a range or a graph, keeps all code of its cubins.
    """
    launched = _launched(data)
    out = bytearray(data)
    for block in report_file.blocks(data):
        for entry in block.entries:
            number = report_file.cubin_id(data, entry) if entry.kind == report_file.SOURCES else None
            if number in launched:
                for start, end in _unused(data, entry, launched[number]):
                    out[start:end] = bytes(end - start)
    return bytes(out)


def _launched(data: bytes) -> dict[int | None, set[str]]:
    """Return the kernels that were launched of each cubin, but of those alone that only launches refer to."""
    kernels: dict[int | None, set[str]] = defaultdict(set)
    others: set[int] = set()
    for entry in report_file.results(data):
        names = [data[f.body : f.end].decode("utf-8", "replace") for f in _fields(data, entry, MANGLED)]
        for number in report_file.sources_of(data, entry):
            if entry.kind == report_file.RESULTS and names:
                kernels[number].update(names)
            else:
                others.add(number)
    return {number: names for number, names in kernels.items() if number not in others}


def _unused(data: bytes, entry: report_file.Entry, launched: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield where in the report the code of the other kernels of a cubin lies."""
    for field in _fields(data, entry, report_file.SOURCE_CUBIN):
        elf = Elf.of(data[field.body : field.end])
        names = {section.name for section in elf.sections}
        for section in elf.sections:
            kernel = section.name.removeprefix(CODE)
            if section.name.startswith(CODE) and PARAMETERS + kernel in names and kernel not in launched:
                yield field.body + section.start, field.body + section.start + section.size


def _fields(data: bytes, entry: report_file.Entry, number: int) -> Iterator[wire.Field]:
    return (f for f in wire.fields(data, entry.start, entry.end) if f.number == number and f.wire == wire.BYTES)
