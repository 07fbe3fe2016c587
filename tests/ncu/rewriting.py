"""A report whose messages say something else, its sizes as a writer would have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ncu_assist.ncu import report_file
from ncu_assist.ncu.messages import Messages
from ncu_assist.ncu.report_file import PAYLOAD, Block

Change = Callable[[Any], object]


def with_launch(data: bytes, number: int, change: Change, more: bytes = b"") -> bytes:
    """Return the report after ``change`` of the message of one launch; ``more`` is put behind its fields."""
    entry = list(report_file.results(data))[number]
    block = next(block for block in report_file.blocks(data) if entry in block.entries)
    result = Messages().result(data, entry)
    change(result)
    raw = result.SerializeToString() + more
    payload = data[block.header_end : entry.start - 4] + sized(raw) + data[entry.end : block.entries[-1].end]
    header = b"".join(
        report_file.write_varint(PAYLOAD << 3) + report_file.write_varint(len(payload))
        if field.number == PAYLOAD
        else data[field.start : field.end]
        for field in report_file.fields(data, block.header_start, block.header_end)
    )
    return data[: block.header_start - 4] + sized(header) + payload + data[block.entries[-1].end :]


def interrupt(data: bytes) -> Change:
    """Return what makes a launch one in which the program ended: no sizes, no facts of the launch, NaN for counters."""

    def change(result: Any) -> None:
        names = [name for block in report_file.blocks(data) for name in Messages().header(data, block).strings.strings]
        kept = [one for one in result.metrics if not names[one.name].startswith("launch__")]
        del result.metrics[:]
        result.metrics.extend(kept)
        for one in result.metrics:
            if one.value.HasField("double"):
                one.value.double = float("nan")
        for size in (result.grid, result.block):
            size.x = size.y = size.z = 0

    return change


def with_header(data: bytes, number: int, change: Change, more: bytes = b"") -> bytes:
    """Return the report after ``change`` of the header of one block."""
    block: Block = report_file.blocks(data)[number]
    header = Messages().header(data, block)
    change(header)
    raw = header.SerializeToString() + more
    return data[: block.header_start - 4] + sized(raw) + data[block.header_end :]


def sized(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message
